"""The figures: ROC curves on two logarithmic axes, scores of members and others, ablations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vestige.audits.membership.results import MembershipResult
from vestige.report import palette
from vestige.report.charts import style
from vestige.report.figures import Drawing
from vestige.report.membership.lines import ATTACK_NAMES
from vestige.report.membership.scores import Scores
from vestige.stats import roc_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawings"]

SETTINGS = ("black", "gray", "white")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (3, 1)))


def drawings(result: MembershipResult, scores: Scores) -> list[Drawing]:
    """Those that there is something to draw for."""
    shown = [s for s in SETTINGS if any(setting == s for _, setting in scores.columns)]
    if not shown or scores.table.member.all() or not scores.table.member.any():
        return []
    out = [_roc(result, scores, shown), _histograms(scores, shown)]
    if result.ablations:
        out.append(_ablations(result, shown))
    return out


def _panels(count: int, height: float, columns: int | None = None) -> tuple[object, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, height), facecolor="none", layout="constrained")
    width = columns or count
    axes = [figure.add_subplot(-(-count // width), width, i + 1) for i in range(count)]
    for one in axes:
        one.set_facecolor("none")
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
        one.tick_params(length=0, pad=4)
    return figure, axes


def _roc(result: MembershipResult, scores: Scores, shown: list[str]) -> Drawing:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    floor = 0.5 / max(10, int((~scores.table.member).sum()))
    with style("membership-roc"):
        figure, axes = _panels(len(shown), 3.1)
        for one, setting in zip(axes, shown, strict=True):
            names = [a for a, s in scores.columns if s == setting]
            for i, attack in enumerate(names):
                values = scores.columns[attack, setting]  # pyright: ignore[reportArgumentType]
                known = np.isfinite(values)
                curve = roc_curve(values[known], scores.table.member[known])
                one.plot(
                    np.maximum(curve.fpr, floor),
                    np.maximum(curve.tpr, floor),
                    drawstyle="steps-post",
                    color=palette.level(i),
                    linestyle=DASHES[i % len(DASHES)],
                    linewidth=1.4,
                    label=ATTACK_NAMES[attack],
                )
            one.plot([floor, 1], [floor, 1], color=palette.GRID, linewidth=1)
            one.set_xscale("log")
            one.set_yscale("log")
            for axis in (one.xaxis, one.yaxis):
                axis.set_major_formatter(
                    FuncFormatter(_rate)
                )  # matplotlib's own would be formulas, which are not drawn
                axis.set_minor_formatter(NullFormatter())
            one.set_title(f"{setting}-box", fontsize=9)
            one.set_xlabel("false positive rate")
            one.legend(fontsize=7, frameon=False, loc="lower right")
        axes[0].set_ylabel("true positive rate")
    caption = (
        "ROC curves on two logarithmic axes, all thresholds, all repeats together; the straight line is chance. Rates "
        f"below {floor:.2g} are drawn there."
    )
    text = "; ".join(
        f"{ATTACK_NAMES[r.attack]} {r.setting}-box AUC {r.auc.value:.3f}"
        for r in result.rows
        if r.auc.value is not None
    )
    return Drawing("membership-roc", figure, caption, f"ROC curves. {text}.")  # type: ignore[arg-type]


def _rate(value: float, place: int | None) -> str:
    return f"{value:g}"


def _histograms(scores: Scores, shown: list[str]) -> Drawing:
    first = next(a for a, _ in scores.columns)
    member = scores.table.member
    with style("membership-scores"):
        figure, axes = _panels(len(shown), 2.4)
        for one, setting in zip(axes, shown, strict=True):
            values = scores.columns.get((first, setting))  # pyright: ignore[reportArgumentType]
            one.set_title(f"{ATTACK_NAMES[first]}, {setting}-box", fontsize=9)
            if values is None or not np.isfinite(values).any():
                continue
            known = np.isfinite(values)
            ends = float(values[known].min()), float(values[known].max()) + 1e-9
            bins = [float(b) for b in np.linspace(*ends, 25)]
            for flag, colour, name in (
                (True, palette.LEVELS[0], "members"),
                (False, palette.LEVELS[1], "others"),
            ):
                own = values[known & (member == flag)]
                one.hist(own, bins=bins, color=colour, alpha=0.55, label=name)
            one.set_xlabel("score")
            one.legend(fontsize=7, frameon=False, loc="upper center")
        axes[0].set_ylabel("candidates")
    return Drawing(
        "membership-scores",
        figure,  # type: ignore[arg-type]
        "Scores of members and of others. What overlaps cannot be told apart.",
        "Histograms of the scores of members and of others, by setting.",
    )


PANELS = (
    ("questions", "K, number of questions"),
    ("retrieved", "retrieved units looked at"),
    ("w_p", "w_p, of the log-probability"),
    ("w_m", "w_m, of the nearest unit"),
    ("follow_up", "question for the source"),
)
"""Ablations with what is changed."""


def _ablations(result: MembershipResult, shown: list[str]) -> Drawing:
    held = [(name, label) for name, label in PANELS if any(a.name == name for a in result.ablations)]
    columns = min(3, len(held))
    lines = -(-len(held) // columns)
    every = [a.auc.value for a in result.ablations if a.auc.value is not None]
    low, high = min(every, default=0.5), max(every, default=1.0)
    room = max(0.02, 0.08 * (high - low))
    with style("membership-ablations"):
        figure, axes = _panels(len(held), 0.4 + 2.2 * lines, columns)
        for number, (one, (name, label)) in enumerate(zip(axes, held, strict=True)):
            for i, setting in enumerate(shown):
                own = [a for a in result.ablations if a.name == name and a.setting == setting]
                points = [(a.value, a.auc.value) for a in own if a.auc.value is not None]
                if points:
                    x, y = zip(*points, strict=True)
                    one.plot(
                        x,
                        y,
                        marker="osD"[i % 3],
                        color=palette.level(i),
                        linewidth=1.4,
                        label=f"{setting}-box",
                    )
            one.set_xlabel(label)
            one.set_ylim(low - room, high + room)
            if name == "follow_up":
                one.set_xticks([0, 1], ["without", "with"])
                one.set_xlim(-0.3, 1.3)
            if one.get_legend_handles_labels()[0]:
                one.legend(fontsize=7, frameon=False)
            if number % columns == 0:
                one.set_ylabel("MRMMIA's AUC")
    return Drawing(
        "membership-ablations",
        figure,  # type: ignore[arg-type]
        "MRMMIA with one thing changed, from the same pass: fewer questions, fewer retrieved units looked at, other "
        "weights, and without the question for the source where that was asked too.",
        "AUC by number of questions, number of retrieved units, weights and follow-up.",
    )
