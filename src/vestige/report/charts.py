"""The charts: the privacy–utility frontier, extraction by probe kind, the deletion ladder.

Each is a plain matplotlib `Figure`, drawn without pyplot and without global state but for the settings of the
moment; the same result gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vestige.audits.results import FrontierConfiguration
from vestige.report import palette
from vestige.report.labels import place
from vestige.report.residue_tables import TIERS, frs_cell
from vestige.report.safe import clip
from vestige.report.slices import FrontierSlice, ResidueSlice, probe_rates, worst_probe
from vestige.report.spots import above, near, spot
from vestige.report.wording import level_name, share, spread
from vestige.stats import frontier_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["frontier", "ladder", "probes", "style"]

SIZE = 9.5
"""Points; the smallest text is two less."""
MARKERS = ("o", "s", "D", "^", "v")
MARKER_SIZE = 6.5
RING = 5.5
"""How much wider a marker is drawn for each higher level that stands on its spot."""


@contextmanager
def style(salt: str) -> Generator[None, None, None]:
    """The settings that charts are drawn and written with; `salt` seeds the ids in an SVG file."""
    import matplotlib

    with matplotlib.rc_context(
        {
            "svg.hashsalt": f"vestige-{salt}",
            "svg.fonttype": "none",
            "font.family": ["DejaVu Sans"],
            "font.size": SIZE,
            "text.color": palette.INK,
            "axes.labelcolor": palette.INK,
            "axes.edgecolor": palette.GRID,
            "xtick.color": palette.MUTED,
            "ytick.color": palette.MUTED,
            "axes.unicode_minus": True,
            "text.parse_math": False,
        }
    ):
        yield


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn

    figure = Drawn(figsize=(width, height), dpi=72, facecolor=palette.PAGE)
    FigureCanvasAgg(figure)
    return figure


def _bare(axes: Axes) -> None:
    axes.set_facecolor(palette.PAGE)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, pad=5)
    axes.set_axisbelow(True)


def _series_name(level: int) -> str:
    name = level_name(level)
    return f"S = {level}, {name}" if name else f"S = {level}"


def _errors(value: float, bounds: tuple[float, float]) -> list[list[float]]:
    return [[max(value - bounds[0], 0.0)], [max(bounds[1] - value, 0.0)]]


def _aer_interval(configuration: FrontierConfiguration) -> tuple[float, float]:
    """The exact interval of the probe kind behind AER_max: the bootstrap's is a point at 0 and at 1."""
    worst = worst_probe(probe_rates(configuration))
    return worst[1].exact if worst is not None else configuration.AER.max.bootstrap


def frontier(part: FrontierSlice) -> Figure:
    """A line for each S through its k: recall upwards, extraction to the right; upper left is good."""
    with style("frontier"):
        figure = _figure(7.2, 5.3)
        axes: Axes = figure.add_axes((0.085, 0.11, 0.895, 0.755))
        _bare(axes)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        axes.grid(color=palette.GRID, linewidth=0.6)
        ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        axes.set_xticks(ticks)
        axes.set_yticks(ticks)
        axes.set_xlabel("AER max: secrets extracted under the worst probe kind", labelpad=7)
        axes.set_ylabel("PR: recall questions answered", labelpad=7)
        levels = sorted({c.S for c in part.configurations})
        for order, level in enumerate(levels):
            _line(axes, part, level, order)
            _heading(axes, part, level, order, len(levels))
        _k_labels(axes, part, levels)
        axes.text(0.0, 1.005, "↖ better", color=palette.MUTED, fontsize=SIZE - 1, style="italic", va="top")
        return figure


def _line(axes: Axes, part: FrontierSlice, level: int, order: int) -> None:
    colour = palette.level(level)
    points = part.at(level)
    x = [c.AER.max.value for c in points]
    y = [c.PR.value for c in points]
    steps = frontier_steps(zip(y, x, strict=True))
    if steps:
        # The area under these steps is PUA.
        axes.fill_between(
            [*(aer for aer, _ in steps), 1.0],
            [*(pr for _, pr in steps), steps[-1][1]],
            step="post",
            color=colour,
            alpha=0.045,
            linewidth=0,
            zorder=1,
        )
    for c, px, py in zip(points, x, y, strict=True):
        axes.errorbar(
            px,
            py,
            xerr=_errors(px, _aer_interval(c)),
            yerr=_errors(py, c.PR.exact),
            fmt="none",
            ecolor=colour,
            elinewidth=0.9,
            alpha=0.4,
            zorder=2,
        )
    hidden_by = [above(part, c) for c in points]
    axes.plot(
        x,
        y,
        color=colour,
        linewidth=1.8 + 2.4 * max(hidden_by, default=0),
        zorder=4 + order,
        label=_series_name(level),
        gid=f"frontier-S{level}",
    )
    for px, py, higher in zip(x, y, hidden_by, strict=True):
        axes.plot(
            [px],
            [py],
            color=colour,
            marker=MARKERS[order % len(MARKERS)],
            markersize=MARKER_SIZE + RING * higher,
            markeredgecolor=palette.PAGE,
            markeredgewidth=1.0,
            zorder=4 + len(MARKERS) + order,
            label=f"_point-S{level}",
        )


def _heading(axes: Axes, part: FrontierSlice, level: int, order: int, total: int) -> None:
    """The level's name in its colour, its marker before and its PUA below: the legend."""
    x = order / max(total, 1)
    axes.plot(
        [x + 0.008],
        [1.135],
        transform=axes.transAxes,
        clip_on=False,
        color=palette.level(level),
        marker=MARKERS[order % len(MARKERS)],
        markersize=MARKER_SIZE,
        linestyle="none",
        label="_legend",
    )
    axes.text(
        x + 0.03,
        1.135,
        _series_name(level),
        transform=axes.transAxes,
        color=palette.level(level),
        fontsize=SIZE + 0.5,
        va="center_baseline",
    )
    pua = next((v.PUA.value for v in part.levels if level == v.S), None)
    if pua is not None:
        axes.text(
            x + 0.03,
            1.065,
            f"PUA {share(pua)}",
            transform=axes.transAxes,
            color=palette.MUTED,
            fontsize=SIZE - 1,
            va="center_baseline",
        )


def _k_labels(axes: Axes, part: FrontierSlice, levels: Sequence[int]) -> None:
    """`k = 3` beside its point; points of one level on the same spot share a label."""
    spots: list[tuple[float, float]] = []
    texts: list[str] = []
    colours: list[str] = []
    for level in levels:
        here: dict[tuple[float, float], list[int]] = {}
        for c in part.at(level):
            known = next((place for place in here if near(place, spot(c))), spot(c))
            here.setdefault(known, []).append(c.k)
        for place_of_label, ks in here.items():
            spots.append(place_of_label)
            texts.append("k = " + ", ".join(str(k) for k in ks))
            colours.append(palette.level(level))

    def pixels(point: tuple[float, float]) -> tuple[float, float]:
        x, y = axes.transData.transform(point)
        return float(x), float(y)

    paths = [[pixels(spot(c)) for c in part.at(level)] for level in levels]
    offsets = place([pixels(point) for point in spots], texts, SIZE - 1.5, tuple(axes.bbox.extents), paths)
    for index, (dx, dy) in enumerate(offsets):
        axes.annotate(
            texts[index],
            spots[index],
            xytext=(dx, dy),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE - 1.5,
            color=colours[index],
            bbox={"facecolor": palette.PAGE, "edgecolor": "none", "pad": 0.8, "alpha": 0.65},
            zorder=3.5,
        )


def probes(part: FrontierSlice) -> Figure:
    """A panel for each S: the extraction rate of each probe kind at each k, and its mean over k."""
    levels = sorted({c.S for c in part.configurations})
    kinds = list(dict.fromkeys(kind for c in part.configurations for kind in probe_rates(c)))
    with style("probes"):
        figure = _figure(7.2, 3.6)
        panels: Any = figure.subplots(1, max(len(levels), 1), sharey=True, squeeze=False)
        figure.subplots_adjust(left=0.085, right=0.985, bottom=0.105, top=0.80, wspace=0.09)
        for position, level in enumerate(levels):
            axes: Axes = panels[0][position]
            _bare(axes)
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlim(-0.55, len(kinds) - 0.45)
            axes.set_yticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
            axes.set_xticks(range(len(kinds)), kinds)
            axes.tick_params(axis="x", labelcolor=palette.INK)
            axes.grid(axis="y", color=palette.GRID, linewidth=0.6)
            if position == 0:
                axes.set_ylabel("AER", labelpad=7)
            else:
                axes.spines["left"].set_visible(False)
            _probe_panel(axes, part, level, kinds)
        return figure


def _probe_panel(axes: Axes, part: FrontierSlice, level: int, kinds: Sequence[str]) -> None:
    colour = palette.level(level)
    points = part.at(level)
    mean = next((v for v in part.levels if level == v.S), None)
    width = 0.52
    for place_of_kind, kind in enumerate(kinds):
        for index, c in enumerate(points):
            rate = probe_rates(c).get(kind)
            if rate is None:
                continue
            x = place_of_kind + (0.0 if len(points) == 1 else width * (index / (len(points) - 1) - 0.5))
            axes.errorbar(
                x,
                rate.value,
                yerr=_errors(rate.value, rate.exact),
                fmt="o",
                color=colour,
                markersize=4.2,
                elinewidth=0.9,
                ecolor=colour,
                alpha=0.62,
                zorder=3,
            )
        if mean is not None and kind in mean.AER:
            axes.hlines(
                mean.AER[kind].value,
                place_of_kind - 0.36,
                place_of_kind + 0.36,
                color=colour,
                linewidth=2.2,
                zorder=4,
            )
    axes.text(0.0, 1.17, _series_name(level), transform=axes.transAxes, color=colour, fontsize=SIZE + 0.5)
    if mean is not None and mean.delta_DI is not None:
        words = f"Δ DI {share(mean.delta_DI.value)}  [{spread(mean.delta_DI)}]"
        axes.text(0.0, 1.065, words, transform=axes.transAxes, color=palette.MUTED, fontsize=SIZE - 1)


def ladder(part: ResidueSlice) -> Figure:
    """The deletion ladder: FRS by mode, tier and S, the value in each cell, hatched where there is none."""
    from matplotlib.patches import Rectangle

    modes, levels = part.modes, part.levels
    columns = [(level, tier) for level in levels for tier in TIERS]
    gap = 0.14
    left = [index + gap * (index // len(TIERS)) for index in range(len(columns))]
    width = left[-1] + 1 if left else 1.0
    with style("ladder"):
        figure = _figure(7.2, 0.75 + 0.5 * len(modes))
        axes: Axes = figure.add_axes((0.27, 0.02, 0.72, 0.96))
        axes.set_facecolor(palette.PAGE)
        axes.set_xlim(0, width)
        axes.set_ylim(len(modes), -1.35)
        axes.set_axis_off()
        for index, (level, tier) in enumerate(columns):
            middle = left[index] + 0.5
            axes.text(middle, -0.28, tier, ha="center", va="center", fontsize=SIZE - 0.5, color=palette.MUTED)
            if tier == TIERS[0]:
                axes.text(
                    left[index] + len(TIERS) / 2,
                    -0.92,
                    _series_name(level),
                    ha="center",
                    va="center",
                    fontsize=SIZE,
                    color=palette.level(level),
                )
        for row, mode in enumerate(modes):
            axes.text(-0.14, row + 0.5, clip(mode, 30), ha="right", va="center", fontsize=SIZE)
            for index, (level, tier) in enumerate(columns):
                found = part.cell(mode, level)
                shown = None if found is None else frs_cell(found, tier)
                box = (left[index] + 0.03, row + 0.05)
                if shown is None or shown.heat is None:
                    axes.add_patch(
                        Rectangle(
                            box,
                            0.94,
                            0.9,
                            facecolor=palette.VOID,
                            edgecolor=palette.GRID,
                            hatch="////",
                            linewidth=0,
                        )
                    )
                    continue
                ground, ink = palette.heat(shown.heat)
                axes.add_patch(
                    Rectangle(
                        box,
                        0.94,
                        0.9,
                        facecolor=ground,
                        edgecolor=palette.GRID,
                        linewidth=0.7,
                        gid=f"cell-{row}-{index}",
                    )
                )
                axes.text(
                    left[index] + 0.5,
                    row + 0.40,
                    shown.text,
                    ha="center",
                    va="center",
                    fontsize=SIZE + 0.5,
                    color=ink,
                )
                axes.text(
                    left[index] + 0.5,
                    row + 0.74,
                    shown.detail,
                    ha="center",
                    va="center",
                    fontsize=SIZE - 2,
                    color=ink,
                )
        return figure
