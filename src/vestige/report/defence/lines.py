"""What a terminal is told of a comparison of defences."""

from __future__ import annotations

from vestige.attacks.terms import Setting
from vestige.audits.defence.conclusion import REFUSALS, best_attack
from vestige.audits.defence.results import DefenceArm, DefenceResult
from vestige.audits.membership.results import AtFpr
from vestige.report.membership.lines import ATTACK_NAMES, rate_at

__all__ = ["best_rate", "defence_lines", "rate_of"]


def defence_lines(result: DefenceResult) -> list[str]:
    """The statement, then a line an arm."""
    lines = [result.statement, ""]
    width = max(len(arm.label) for arm in result.arms) + 2
    lines.append(
        f"{'defence':<{width}}{'black-box AUC':<36}{'white-box AUC':<36}{'PR_strict':<12}{'AER':<12}TPR at FPR"
    )
    for arm in result.arms:
        lines.append(
            f"{arm.label:<{width}}{_best(arm, 'black'):<36}{_best(arm, 'white'):<36}{rate_of(arm.PR_strict):<12}"
            f"{rate_of(arm.AER_any):<12}{best_rate(arm)}".rstrip()
        )
    if result.arms[0].not_asked:
        lines += ["", f"PR_strict and AER: not measured: {result.arms[0].not_asked}"]
    return lines


def _best(arm: DefenceArm, setting: Setting) -> str:
    best = best_attack(arm, setting)
    refusals = arm.refusals
    held = 0.0 if best is None or best.auc.value is None else best.auc.value
    if setting == "black" and refusals is not None and (refusals.value or 0.0) > held:
        return f"{refusals.value:.3f} ({REFUSALS})"
    if best is None or best.auc.value is None:
        return "not scored"
    change = best.change
    told = "" if change is None or change.value is None else f", {change.value:+.3f}"
    return f"{best.auc.value:.3f} ({ATTACK_NAMES[best.attack]}{told})"


def rate_of(rate: object) -> str:
    """`18 of 20`, or a dash."""
    events, n = getattr(rate, "events", None), getattr(rate, "n", None)
    return "–" if n is None else f"{events} of {n}"


def best_rate(arm: DefenceArm) -> str:
    """The best black-box attack's TPR at the smallest false positive rate that there are non-members for."""
    best = best_attack(arm, "black")
    points: list[AtFpr] = [] if best is None else [p for p in best.at_fpr if p.tpr is not None]
    if not points:
        return "–"
    point = min(points, key=lambda p: p.target)
    return f"{100 * point.target:g} %: {rate_at(point)}"
