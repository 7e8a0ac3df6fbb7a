"""The first screen's few numbers: each a count with its exact interval, drawn as a band on a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vestige.audits.results import FrontierResult, Rate, ResidueResult
from vestige.report.findings import worst_after, worst_configuration
from vestige.report.slices import FrontierSlice, ResidueSlice, frontier_slices, residue_slices
from vestige.report.wording import level_name, percent, percent_interval

__all__ = ["Meter", "MeterLine", "meters"]

MOST = 9
"""Meters in a row of the page; a sweep with more settings shows the rest in its tables."""


@dataclass(frozen=True)
class MeterLine:
    """One rate."""

    value: str
    what: str
    detail: str
    bounds: str
    alt: str
    at: float
    """Percent, as are `low` and `width`."""
    low: float
    width: float
    tone: str = ""


@dataclass(frozen=True)
class Meter:
    """One level, or one deletion mode."""

    name: str
    under: str
    tint: str
    lines: tuple[MeterLine, ...]
    compact: bool = False


def _line(rate: Rate, what: str, where: str) -> MeterLine:
    low, high = rate.exact
    return MeterLine(
        value=percent(rate.value),
        what=what,
        detail=f"{rate.events} of {rate.n}{where}",
        bounds=f"exact 95 %: {percent_interval(rate.exact)}",
        alt=f"{rate.events} of {rate.n}, exact 95 % interval {percent_interval(rate.exact)}",
        at=round(100 * rate.value, 2),
        low=round(100 * low, 2),
        width=round(100 * (high - low), 2),
    )


def _of_frontier(part: FrontierSlice) -> list[Meter]:
    found: list[Meter] = []
    for level in sorted({c.S for c in part.configurations}):
        worst = worst_configuration(part.at(level))
        if worst is None:
            continue
        configuration, kind, rate = worst
        where = f", {kind} probe, k = {configuration.k}" if rate.events else ", every probe and k"
        found.append(
            Meter(
                name=f"S = {level}" + (f", {level_name(level)}" if level_name(level) else ""),
                under=part.label,
                tint=f"s{level}",
                lines=(
                    _line(rate, "of secrets extracted", where),
                    _line(configuration.PR, "of questions answered", f", PR at k = {configuration.k}"),
                ),
            )
        )
    return found


def _of_residue(part: ResidueSlice) -> list[Meter]:
    found: list[Meter] = []
    for mode in part.modes:
        after = [
            (level, w) for level in part.levels if (w := worst_after(part.cell(mode, level))) is not None
        ]
        if not after:
            continue
        level, (_, rate) = max(after, key=lambda item: (item[1][1].value, -item[0]))
        where = f" at S = {level}" if rate.events else " at every S"
        found.append(
            Meter(
                name=mode,
                under=" · ".join(
                    word for word in ("after deletion" if mode != "noop" else "control", part.label) if word
                ),
                tint=f"s{level}" if rate.events else "",
                lines=(_line(rate, "extracted", where),),
                compact=True,
            )
        )
    return found


def meters(results: Sequence[FrontierResult | ResidueResult]) -> tuple[tuple[Meter, ...], ...]:
    """A row of meters for each result that has any."""
    rows: list[tuple[Meter, ...]] = []
    for result in results:
        if isinstance(result, FrontierResult):
            row = [meter for part in frontier_slices(result) for meter in _of_frontier(part)]
        else:
            row = _of_residue(residue_slices(result)[0]) if result.cells else []
        if row:
            rows.append(tuple(row[:MOST]))
    return tuple(rows)
