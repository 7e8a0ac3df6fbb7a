"""The tables of a report on defences, as data."""

from __future__ import annotations

from vestige.audits.defence.conclusion import REFUSALS, best_attack
from vestige.audits.defence.results import ArmAttack, DefenceArm, DefenceResult
from vestige.audits.membership.results import Estimate
from vestige.audits.results import Rate
from vestige.report.membership.lines import ATTACK_NAMES
from vestige.report.tables import Cell, Column, Row, Table

__all__ = ["LIMITS", "tables"]

LIMITS = (
    "An AUC near 0.5 says that these attacks do not tell members from others behind the defence. An attacker who knows "
    "the defence may ask otherwise.",
    "Counting refusals: an attacker who knows the filter's sentence counts how often it comes. A blocked reply has "
    "log-probability 0, since it is said with certainty; the gray-box scores behind a filter are mostly made of that.",
    "A paragraph in a prompt does nothing for a reader without a language model (extractive). Before an agent without "
    "the knob `instructions` it stands before each question, and so in what the memory is searched with.",
    "PR_strict counts a refusal as a question not answered: whoever may ask loses as much as whoever may not.",
    "White-box attacks see what is retrieved. A defence of the reply alone changes nothing for them.",
    "One strength is one point. Between two strengths nothing was measured.",
)


def tables(result: DefenceResult) -> list[Table]:
    """All of them, in the order of the report."""
    return [_main(result), *(_attacks(result, setting) for setting in ("black", "gray", "white"))]


def _rate(rate: Rate | None, why: str) -> Cell:
    if rate is None:
        return Cell("n/c", reason=why or "not asked")
    low, high = rate.exact
    return Cell(f"{rate.events} of {rate.n}", detail=f"[{low:.3f}, {high:.3f}]")


def _main(result: DefenceResult) -> Table:
    rows = [
        Row(
            arm.label,
            (
                _best(arm, "black"),
                _best(arm, "gray"),
                _best(arm, "white"),
                _tpr(arm),
                _rate(arm.AER_any, arm.not_asked),
                _rate(arm.PR_strict, arm.not_asked),
            ),
            "; ".join((arm.means.split("; strength:")[0], *_facts(arm))),
        )
        for arm in result.arms
    ]
    names = ("black-box AUC", "gray-box AUC", "white-box AUC", "TPR at FPR", "AER", "PR_strict")
    return Table(
        title="What defences buy and what they cost",
        columns=tuple(Column(n) for n in names),
        rows=tuple(rows),
        corner="defence",
        note="AUC of the best attack of each setting. AER: instances whose canary is told under at least one probe "
        "kind. PR_strict: retained questions answered. Both with exact 95 % intervals.",
    )


def _facts(arm: DefenceArm) -> list[str]:
    """What the reader must know of how the defence was made."""
    return [text for name, text in arm.facts.items() if name != "texts"]


def _tpr(arm: DefenceArm) -> Cell:
    """The best black-box attack's, at the smallest false positive rate that there are non-members for."""
    best = best_attack(arm, "black")
    points = [] if best is None else [p for p in best.at_fpr if p.tpr is not None]
    if not points:
        return Cell("n/c", reason="there are too few non-members for a false positive rate")
    point = min(points, key=lambda p: p.target)
    low, high = point.exact or (0.0, 1.0)
    reached = f"reached {100 * (point.achieved or 0):.2g} % [{100 * low:.2g}, {100 * high:.2g}]"
    return Cell(f"{point.tpr:.3f}", detail=f"FPR {100 * point.target:g} %, {reached}")


def _best(arm: DefenceArm, setting: str) -> Cell:
    found = [a for a in arm.attacks if a.setting == setting and a.auc.value is not None]
    if not found:
        why = next((a.unavailable for a in arm.attacks if a.setting == setting and a.unavailable), "no score")
        return Cell("n/c", reason=why)
    best = max(found, key=lambda a: a.auc.value or 0.0)
    refusals = arm.refusals
    if setting == "black" and refusals is not None and (refusals.value or 0.0) > (best.auc.value or 0.0):
        return _estimate(refusals, REFUSALS)
    return _estimate(best.auc, ATTACK_NAMES[best.attack])


def _estimate(estimate: Estimate, name: str = "") -> Cell:
    if estimate.value is None:
        return Cell("n/c", reason=estimate.reason or "cannot be computed")
    parts = [name] if name else []
    if estimate.interval is not None:
        parts.append(f"[{estimate.interval[0]:.3f}, {estimate.interval[1]:.3f}]")
    return Cell(f"{estimate.value:.3f}", detail=" ".join(parts))


def _attacks(result: DefenceResult, setting: str) -> Table:
    names = list(dict.fromkeys(a.attack for arm in result.arms for a in arm.attacks if a.setting == setting))
    columns = [c for n in names for c in (f"{ATTACK_NAMES[n]}: AUC", "change")]
    rows: list[Row] = []
    for arm in result.arms:
        held = {a.attack: a for a in arm.attacks if a.setting == setting}
        rows.append(Row(arm.label, tuple(c for n in names for c in _pair(held.get(n)))))
    return Table(
        title=f"{setting.capitalize()}-box attacks behind each defence",
        columns=tuple(Column(c) for c in columns),
        rows=tuple(rows),
        corner="defence",
        note="Change: AUC behind the defence minus AUC without, paired over the candidates that both scored.",
    )


def _pair(attack: ArmAttack | None) -> tuple[Cell, Cell]:
    if attack is None or attack.unavailable:
        why = "not asked" if attack is None else attack.unavailable
        return Cell("n/c", reason=why), Cell("–")
    change = attack.change
    if change is None or change.value is None:
        return _estimate(attack.auc), Cell("–")
    span = "" if change.interval is None else f"[{change.interval[0]:+.3f}, {change.interval[1]:+.3f}]"
    return _estimate(attack.auc), Cell(f"{change.value:+.3f}", detail=span)
