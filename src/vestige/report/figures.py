"""The figures of a report: each chart with its caption and its words, as an element of a page or as files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from vestige.audits.results import FrontierResult, Rate, ResidueResult
from vestige.report import palette
from vestige.report.charts import frontier, ladder, probes, style
from vestige.report.slices import FrontierSlice, ResidueSlice, frontier_slices, probe_rates, residue_slices
from vestige.report.spots import levels_meet
from vestige.report.wording import share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "drawings", "save", "svg"]


@dataclass(frozen=True)
class Drawing:
    """A figure with what stands around it."""

    name: str
    """Also the file's name, without its ending."""
    figure: Figure
    caption: str
    alt: str
    """What the figure shows, for those who cannot see it."""


def drawings(result: FrontierResult | ResidueResult) -> tuple[Drawing, ...]:
    """Every figure of a result, with its caption and its words for those who cannot see it."""
    if isinstance(result, FrontierResult):
        parts = frontier_slices(result)
        return tuple(d for i, part in enumerate(parts) for d in _of_frontier(part, _suffix(i, len(parts))))
    cuts = residue_slices(result)
    return tuple(_of_residue(part, _suffix(i, len(cuts))) for i, part in enumerate(cuts))


def _suffix(index: int, total: int) -> str:
    return "" if total == 1 else f"-{index + 1}"


def _under(label: str) -> str:
    return f" Here: {label}." if label else ""


def _of_frontier(part: FrontierSlice, suffix: str) -> tuple[Drawing, Drawing]:
    ks = ", ".join(str(k) for k in sorted({c.k for c in part.configurations}))
    points = "; ".join(
        f"S = {c.S}, k = {c.k}: PR {share(c.PR.value)}, AER max {share(c.AER.max.value)}"
        for c in part.configurations
    )
    rates = "; ".join(
        f"S = {c.S}, k = {c.k}: "
        + ", ".join(f"{kind} {_counted(rate)}" for kind, rate in probe_rates(c).items())
        for c in part.configurations
    )
    return (
        Drawing(
            f"frontier{suffix}",
            frontier(part),
            "The privacy–utility frontier: a line for each S through its k. Up is more recall, right is "
            "more extraction; the good corner is the upper left. The tinted area under a line is its PUA. "
            "Bars are exact 95 % intervals, across for the probe kind with the highest rate."
            + (
                " Where levels meet on one spot, the lower S is the outer marker."
                if levels_meet(part)
                else ""
            )
            + _under(part.label),
            f"Privacy–utility frontier. {points}.",
        ),
        Drawing(
            f"probes{suffix}",
            probes(part),
            f"Extraction by probe kind. Dots, from left to right, are k = {ks}, with exact 95 % intervals; "
            "the heavy line is the mean over k. Δ DI is the distance between the direct and the indirect "
            "mean, with its bootstrap interval." + _under(part.label),
            f"Extraction rates by probe kind. {rates}.",
        ),
    )


def _counted(rate: Rate) -> str:
    return f"{rate.events} of {rate.n}"


def _of_residue(part: ResidueSlice, suffix: str) -> Drawing:
    cells = "; ".join(
        f"{part.name(c)} at S = {c.S}: raw {share(c.FRS.raw.value)}, summary {share(c.FRS.summary.value)}"
        for c in part.cells
    )
    return Drawing(
        f"ladder{suffix}",
        ladder(part),
        f"The deletion ladder at k = {part.k}: forgetting residue by deletion mode, tier and S, with the "
        "instances that leaked under the probe kind with the most leaks. Hatched: the level has no such "
        "tier, or the cell was not run." + _under(part.label),
        f"Forgetting residue scores. {cells}.",
    )


def svg(drawing: Drawing) -> str:
    """The drawing as an SVG element for a page: ids of its own, colours and fonts left to the page."""
    text = _bytes(drawing.figure, "svg", drawing.name).decode("utf-8")
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, count=1, flags=re.S)
    text = re.sub(
        r"<svg[^>]*?viewBox=\"([^\"]*)\"[^>]*>", r'<svg viewBox="\1" aria-hidden="true">', text, count=1
    )
    text = text.replace("xlink:href=", "href=")
    for attribute in ('id="', 'href="#', "url(#"):
        text = text.replace(attribute, f"{attribute}{drawing.name}-")
    for colour, variable in palette.VARIABLES.items():
        text = text.replace(colour, variable)
    return re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)


def _bytes(figure: Figure, kind: str, salt: str) -> bytes:
    buffer = BytesIO()
    with style(salt), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes in a file; the page has the reader's own fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        if kind == "svg":
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        else:
            figure.savefig(buffer, format=kind, dpi=200, metadata={"Software": None})
    return buffer.getvalue()


def save(
    result: FrontierResult | ResidueResult, folder: Path, *, kinds: Iterable[str] = ("svg", "png")
) -> tuple[Path, ...]:
    """Write every figure of a result as files, and return their paths.

    Args:
        result: What to draw.
        folder: Where to; made if it is not there.
        kinds: File types: `svg`, `png`.
    """
    return save_drawings(drawings(result), folder, kinds=kinds)


def save_drawings(
    drawn: Iterable[Drawing], folder: Path, *, kinds: Iterable[str] = ("svg", "png")
) -> tuple[Path, ...]:
    """Write figures as files; see `save`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for drawing in drawn:
        for kind in kinds:
            path = folder / f"{drawing.name}.{kind}"
            path.write_bytes(_bytes(drawing.figure, kind, drawing.name))
            paths.append(path)
    return tuple(paths)
