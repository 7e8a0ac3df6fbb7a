"""The verdict on a claim: rules in their order, the first that decides decides, every outcome is shown.

1. A target in a control arm: unassessable, whatever else was seen.
2. A confirmed prohibited disclosure: fails, whatever is missing.
3. Controls, coverage, isolation, collapse, utility, pairs and the leakage bound: unassessable where one does not hold.
4. The behavioural residual: inside the margin passes, wholly outside fails, else unassessable.

Several targets: all must pass (intersection–union, so nothing is adjusted); that one of several preferences fails by
its residual is told by p-values adjusted over them (Holm).
"""

from __future__ import annotations

from collections.abc import Iterable

from vestige.audits.verification import criteria, decisions
from vestige.audits.verification.case import Case
from vestige.audits.verification.contrasts import bound_of, proportion
from vestige.audits.verification.residual import residuals_of
from vestige.audits.verification.results import (
    Bound,
    ClaimVerdict,
    Residual,
    RuleOutcome,
    TargetResult,
    Verdict,
)
from vestige.audits.verification.settings import Condition, TargetName
from vestige.audits.verification.statement import statement

__all__ = ["decide", "worst"]

_OUTCOME: dict[str, Verdict] = {"fails": "fails", "unassessable": "unassessable"}


def decide(case: Case) -> ClaimVerdict:
    """Apply the rules to one claim."""
    residuals = residuals_of(case)
    rules = [
        *criteria.control(case),
        *criteria.disclosure(case),
        *criteria.adequacy(case),
        *decisions.influence(case, residuals),
    ]
    verdict, decided_by = _decision(rules)
    shown = _in_order(rules, decided_by)
    return ClaimVerdict(
        claim=case.claim.name,
        verdict=verdict,
        statement=statement(case, verdict, _together(shown, decided_by), _also(shown, decided_by), residuals),
        covered=case.covered(),
        channels=case.channels,
        targets=tuple(_target(case, target, residuals.get(target)) for target in case.settings.targets),
        rules=tuple(shown),
        decided_by=decided_by,
    )


def _decision(rules: list[RuleOutcome]) -> tuple[Verdict, int]:
    """The first outcome that decides. Within a number a failure comes before what could not be assessed: it stands."""
    for number in (1, 2, 3, 4):
        for wanted in ("fails", "unassessable"):
            for index, rule in enumerate(rules):
                if rule.number == number and rule.outcome == wanted:
                    return _OUTCOME[wanted], index
    # All rules pass: the last of them that applied is what the verdict rests on in the end.
    passed = [i for i, rule in enumerate(rules) if rule.outcome == "passes"]
    return "limited_evidence", passed[-1]


def _together(rules: list[RuleOutcome], decided_by: int) -> RuleOutcome:
    """The deciding rule; where several targets fail by rules of its number, with all their reasons."""
    first = rules[decided_by]
    if first.outcome != "fails":
        return first
    reasons = [r.reason for r in rules if r.number == first.number and r.outcome == "fails"]
    return first.model_copy(update={"reason": "; ".join(dict.fromkeys(reasons))})


def _also(rules: list[RuleOutcome], decided_by: int) -> list[str]:
    """Names of the other rules of the same number that do not hold either."""
    first = rules[decided_by]
    names = [r.name for r in rules if r.number == first.number and r.outcome == first.outcome]
    return [name for name in dict.fromkeys(names) if name != first.name]


def _in_order(rules: list[RuleOutcome], decided_by: int) -> list[RuleOutcome]:
    """Rules of a later number than the deciding one were not reached; what they would have said stays readable."""
    last = rules[decided_by].number
    out: list[RuleOutcome] = []
    for rule in rules:
        if rule.number > last and rule.outcome != "not_applicable":
            update = {"outcome": "not_reached", "reason": f"not reached; on its own: {rule.reason}"}
            out.append(rule.model_copy(update=update))
        else:
            out.append(rule)
    return out


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several claims: fails, else unassessable, else limited_evidence."""
    found = set(verdicts)
    if "fails" in found:
        return "fails"
    return "limited_evidence" if found == {"limited_evidence"} else "unassessable"


def _target(case: Case, target: TargetName, residual: Residual | None) -> TargetResult:
    settings, pairs = case.settings, case.tally.pairs
    union: dict[Condition, Bound] = {}
    for condition in settings.conditions:
        looked = [p for p in pairs.distinct if p in case.tally.items[condition]]
        shown = [p for p in case.shown(condition, target) if p in looked]
        union[condition] = bound_of(*case.units.any(looked, shown), settings)
    if target in case.acting:
        rates = case.action_rates("exposed_unchanged", target)
        looked = list(rates)
        shown = [p for p, rate in rates.items() if rate == 1.0]
    else:
        looked = [p for p in pairs.distinct if p in case.tally.items["exposed_unchanged"]]
        shown = [p for p in case.shown("exposed_unchanged", target) if p in looked]
    sensitivity = proportion(*case.units.all(looked, shown), settings.alpha)
    return TargetResult(
        target=target,
        union=union,
        sensitivity=sensitivity,
        residual=residual,
        covered=case.covered_for(target),
    )
