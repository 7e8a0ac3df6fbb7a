"""The figure: what is left to attackers against what is left to users, a line a defence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vestige.audits.defence.conclusion import best_attack, told_apart
from vestige.audits.defence.results import DefenceArm, DefenceResult
from vestige.report import palette
from vestige.report.charts import style
from vestige.report.figures import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawings"]

MARKERS = "osD^vP*X<"


def drawings(result: DefenceResult) -> list[Drawing]:
    """The figure, where utility was measured."""
    if all(arm.PR_strict is None for arm in result.arms):
        return []
    from matplotlib.figure import Figure

    with style("defences"):
        figure = Figure(figsize=(7.6, 3.9), facecolor="none")
        axes = [figure.add_subplot(1, 3, i + 1) for i in range(3)]
        for one, label, of in (
            (axes[0], "best black-box AUC", _auc),
            (axes[1], "its TPR at the least FPR", _tpr),
            (axes[2], "AER", _aer),
        ):
            _panel(one, result, label, of)
        axes[0].set_ylabel("PR_strict")
        names, texts = axes[0].get_legend_handles_labels()
        figure.legend(names, texts, fontsize=7, frameon=False, loc="lower center", ncols=5)
        figure.subplots_adjust(left=0.08, right=0.985, top=0.97, bottom=0.33, wspace=0.25)
    told = "; ".join(
        f"{arm.label}: AUC {value:.3f}, PR_strict {arm.PR_strict.value:.2f}"
        for arm in result.arms
        if (value := _auc(arm)) is not None and arm.PR_strict is not None
    )
    caption = (
        "What each defence leaves to attackers (left is better) and to users (up is better). Lines join the strengths "
        "of one defence; the larger the mark the stronger it is; the cross is the agent alone."
    )
    return [Drawing("defences", figure, caption, f"Attack success against retained questions. {told}.")]


def _panel(one: Axes, result: DefenceResult, label: str, of: Callable[[DefenceArm], float | None]) -> None:
    one.set_facecolor("none")
    for side in ("top", "right"):
        one.spines[side].set_visible(False)
    one.tick_params(length=0, pad=4)
    names = list(dict.fromkeys(arm.defence for arm in result.arms))
    for i, name in enumerate(names):
        points = [
            (x, arm.PR_strict.value)
            for arm in result.arms
            if arm.defence == name and arm.PR_strict is not None and (x := of(arm)) is not None
        ]
        if not points:
            continue
        x, y = zip(*points, strict=True)
        if name is None:
            one.plot(
                x, y, marker="x", linestyle="none", color=palette.INK, markersize=9, label="none", zorder=5
            )
            continue
        colour = palette.level(i - 1)
        one.plot(x, y, color=colour, linewidth=1.0, alpha=0.7)
        marker = MARKERS[(i - 1) % len(MARKERS)]
        for j, (a, b) in enumerate(points):
            text = name.replace("_", " ") if not j else None
            one.plot(
                [a], [b], marker=marker, color=colour, linestyle="none", markersize=4 + 2 * j, label=text
            )
    one.set_xlabel(label)
    one.set_ylim(-0.04, 1.04)


def _auc(arm: DefenceArm) -> float | None:
    found = told_apart(arm)
    return None if found is None else found[0]


def _tpr(arm: DefenceArm) -> float | None:
    best = best_attack(arm, "black")
    points = [] if best is None else [p for p in best.at_fpr if p.tpr is not None]
    return min(points, key=lambda p: p.target).tpr if points else None


def _aer(arm: DefenceArm) -> float | None:
    return None if arm.AER_any is None else arm.AER_any.value
