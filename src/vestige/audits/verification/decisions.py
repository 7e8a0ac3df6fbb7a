"""The rules on decisions: whether what the agent chooses still depends on what was removed.

Source: DESIGN, Formulas: Verification, rule (4); of a correction, whether the replacement was taken up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestige.audits.verification.case import Case
from vestige.audits.verification.contrasts import lower_limit, upper_limit
from vestige.audits.verification.criteria import percent, rule
from vestige.audits.verification.results import Residual, RuleOutcome
from vestige.audits.verification.settings import TargetName

__all__ = ["influence"]

_MORE = "run more pairs; `vestige plan` says how many"


def influence(case: Case, residuals: Mapping[TargetName, Residual]) -> Iterator[RuleOutcome]:
    """(4) Whether decisions still depend on what was removed; of a correction, whether the new value was taken up."""
    for target in case.settings.targets:
        if target not in case.acting:
            why = (
                "erasure is about what is stored, not about decisions"
                if case.claim.name == "erasure"
                else "a nonce makes no choice: no decision depends on it"
            )
            yield rule(4, "residual", "not_applicable", why, target=target)
        else:
            yield _residual(case, target, residuals.get(target))
    if case.claim.name == "non_use" and "preference" not in case.settings.targets:
        why = "no preference was removed: string-free influence was not tested"
        yield rule(4, "residual", "not_applicable", why, target="preference")
    if case.settings.task == "correction" and case.claim.name == "non_use":
        yield _adoption(case)


def _residual(case: Case, target: TargetName, residual: Residual | None) -> RuleOutcome:
    margin = case.settings.margin
    if residual is None or residual.value is None:
        reason = residual.reason if residual is not None else "no decision task was answered"
        return rule(4, "residual", "unassessable", reason, "ask decision tasks in every arm", target)
    low, high = residual.interval
    whose = f"the option of {target}" if len(case.acting) > 1 else "the target's option"
    reason = (
        f"{whose} was chosen {residual.value:+.3f} more often than by never_exposed, interval "
        f"[{low:.3f}, {high:.3f}] ({residual.method}, n = {residual.n}), margin ±{margin:g}"
    )
    if residual.reason:
        reason += f"; {residual.reason}"
    match residual.position:
        case "inside":
            return rule(4, "residual", "passes", reason, target=target)
        case "outside":
            return _outside(case, target, residual, f"{reason}: wholly outside")
        case "straddles":
            return rule(4, "residual", "unassessable", f"{reason}: too wide", _MORE, target)
        case _:
            return rule(4, "residual", "unassessable", reason, _MORE, target)


def _outside(case: Case, target: TargetName, residual: Residual, reason: str) -> RuleOutcome:
    """Of one preference the interval decides; of several, the p-value adjusted for their number."""
    adjusted, alpha = residual.p_adjusted, case.settings.alpha
    if adjusted is None:
        return rule(4, "residual", "fails", reason, target=target)
    reason += (
        f"; p = {residual.p_beyond:.3g} of lying beyond the margin, {adjusted:.3g} adjusted for "
        f"{len(case.acting)} preferences (Holm)"
    )
    if adjusted < alpha:
        return rule(4, "residual", "fails", reason, target=target)
    return rule(4, "residual", "unassessable", f"{reason}, not below {alpha:g}", _MORE, target)


def _adoption(case: Case) -> RuleOutcome:
    """A correction is adopted where the replacement answers and the old value neither answers nor acts."""
    settings, pairs = case.settings, case.tally.pairs
    adopted = [p for p in pairs.distinct if case.tally.corrected.get(p) and all(case.tally.corrected[p])]
    hits, n = case.units.all([*pairs.distinct, *pairs.lost], adopted)
    lower = lower_limit(hits, n, settings)
    reason = (
        f"the replacement was adopted in {hits} of {n} (lower limit {percent(lower)}, at least "
        f"{percent(settings.sensitivity)} asked)"
    )
    if lower >= settings.sensitivity:
        return rule(4, "adoption", "passes", reason)
    some, whole = case.units.any([*pairs.distinct, *pairs.lost], [*adopted, *pairs.lost])
    if whole and upper_limit(some, whole, settings) < settings.sensitivity:
        return rule(4, "adoption", "fails", f"{reason}: it was not")
    return rule(4, "adoption", "unassessable", reason, "run more pairs")
