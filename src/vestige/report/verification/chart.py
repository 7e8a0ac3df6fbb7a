"""The residual figure: the margin as a band, the interval that decides, the bootstrap beside it, and action rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vestige.audits.verification.results import Residual
from vestige.report import palette
from vestige.report.charts import style
from vestige.report.figures import Drawing
from vestige.report.verification.words import CONDITION_ORDER, CONDITIONS, counted, percent, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["residual_drawing"]

READINGS = {
    "inside": ("inside the margin", palette.LEVELS[2], "o"),
    "outside": ("wholly outside the margin", palette.LEVELS[0], "X"),
    "straddles": ("not told apart from the margin: too few pairs to decide", palette.LEVELS[4], "D"),
    "not_assessable": ("cannot be assessed", palette.MUTED, "s"),
}


def residual_drawing(residual: Residual, alpha: float, name: str) -> Drawing | None:
    """The figure of a residual; None where there is no value to draw."""
    if residual.value is None:
        return None
    with style(name):
        figure = _figure(residual)
    low, high = residual.interval
    reading = READINGS[residual.position][0]
    rates = "; ".join(
        f"{CONDITIONS[c][0]} {counted(residual.rates[c])}" for c in CONDITION_ORDER if c in residual.rates
    )
    caption = (
        f"Above: how much more often the removed arm chose the target's option than its never-exposed twin, with the "
        f"{percent(1 - 2 * alpha)} interval that decides ({residual.method}, n = {residual.n}); it is {reading}. "
        f"The band is the margin ±{residual.margin:g} that was fixed before the run."
        + (
            " The thin line is a bootstrap interval: drawn beside, it decides nothing."
            if residual.bootstrap
            else ""
        )
        + f" Below: how often each condition chose that option, with exact {percent(1 - alpha)} intervals."
    )
    alt = (
        f"Residual {signed(residual.value)}, interval {signed(low)} to {signed(high)}, {reading} "
        f"±{residual.margin:g}. Decisions for the target's option: {rates}."
    )
    return Drawing(name, figure, caption, alt)


def _figure(residual: Residual) -> Figure:
    from matplotlib.figure import Figure

    shown = [c for c in CONDITION_ORDER if c in residual.rates and residual.rates[c].n]
    above, below = 1.3, 0.34 * len(shown) + 0.25 if shown else 0.0
    between, under, over = (0.85 if shown else 0.0), 0.32, 0.52
    height = over + above + between + below + under
    figure = Figure(figsize=(7.6, height), facecolor="none")
    left, width = 0.165, 0.725
    top = figure.add_axes((left, (under + below + between) / height, width, above / height))
    _difference(top, residual)
    if shown:
        bottom = figure.add_axes((left, under / height, width, below / height))
        _rates(bottom, residual, shown)
    return figure


def _difference(axes: Axes, residual: Residual) -> None:
    axes_: Any = axes
    value = residual.value if residual.value is not None else 0.0
    low, high = residual.interval
    margin = residual.margin
    extremes = [abs(low), abs(high), abs(value), margin, *(abs(b) for b in residual.bootstrap or ())]
    reach = min(max(1.3 * max(extremes), 1.8 * margin), 1.05)
    words, colour, marker = READINGS[residual.position]
    axes_.axvspan(-margin, margin, color=palette.VOID, linewidth=0, zorder=0)
    for edge in (-margin, margin):
        axes_.axvline(edge, color=palette.MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    axes_.axvline(0, color=palette.GRID, linewidth=1, zorder=1)
    axes_.plot([low, high], [0, 0], color=colour, linewidth=4.2, solid_capstyle="butt", zorder=3)
    axes_.plot(
        [value], [0], marker=marker, markersize=8.5, color=colour, markeredgecolor=palette.PAGE, zorder=4
    )
    if residual.bootstrap:
        a, b = residual.bootstrap
        axes_.plot([a, b], [-0.62, -0.62], color=palette.INK, linewidth=0.9, zorder=3)
        for end in (a, b):
            axes_.plot([end, end], [-0.74, -0.5], color=palette.INK, linewidth=0.9, zorder=3)
    axes_.text(
        min(max(value, -0.72 * reach), 0.72 * reach),
        0.38,
        f"{signed(value)}  [{signed(low)}, {signed(high)}]",
        ha="center",
        va="bottom",
        fontweight="bold",
        color=colour,
        fontsize=9.5,
    )
    for edge, text in ((-margin, f"−δ = −{margin:g}"), (margin, f"δ = {margin:g}")):
        axes_.annotate(
            text,
            (edge, 1.25),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
            color=palette.MUTED,
            annotation_clip=False,
        )
    axes_.set_xlim(-reach, reach)
    axes_.set_ylim(-1.05, 1.25)
    labels = [(0.0, "decides")] + ([(-0.62, "bootstrap")] if residual.bootstrap else [])
    axes_.set_yticks([y for y, _ in labels], [t for _, t in labels])
    axes_.set_title(
        f"Residual: {words}", loc="left", fontsize=9.5, fontweight="bold", pad=19, color=palette.INK
    )
    _bare(axes_, signed_ticks=True)


def _rates(axes: Axes, residual: Residual, shown: list[Any]) -> None:
    axes_: Any = axes
    for index, condition in enumerate(shown):
        rate = residual.rates[condition]
        y = -index
        colour = palette.LEVELS[0] if condition == "exposed_removed" else palette.LEVELS[1]
        marker = "D" if condition == "exposed_removed" else "o"
        axes_.plot([0, 1], [y, y], color=palette.GRID, linewidth=0.8, zorder=1)
        axes_.plot(list(rate.exact), [y, y], color=colour, linewidth=2.4, solid_capstyle="butt", zorder=2)
        axes_.plot(
            [rate.value],
            [y],
            marker=marker,
            markersize=6.5,
            color=colour,
            markeredgecolor=palette.PAGE,
            zorder=3,
        )
        axes_.annotate(
            counted(rate),
            (1, y),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=palette.MUTED,
            annotation_clip=False,
        )
    axes_.set_yticks([-i for i in range(len(shown))], [CONDITIONS[c][0] for c in shown])
    axes_.set_ylim(-len(shown) + 0.4, 0.6)
    axes_.set_xlim(0, 1)
    axes_.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes_.set_title("Decisions for the target's option", loc="left", fontsize=9.5, fontweight="bold", pad=6)
    _bare(axes_)


def _bare(axes: Any, *, signed_ticks: bool = False) -> None:
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(palette.GRID)
    axes.tick_params(axis="both", length=0, labelsize=9)
    axes.tick_params(axis="y", labelcolor=palette.INK, pad=6)
    if signed_ticks:
        axes.xaxis.set_major_formatter(_tick)


def _tick(x: float, position: int) -> str:
    """A signed tick label; matplotlib hands over the position too."""
    return "0" if abs(x) < 1e-9 else f"{x:+.2g}".replace("-", "−")
