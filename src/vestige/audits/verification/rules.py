"""What the outcome of a rule is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from vestige.audits.verification.results import RuleOutcome
from vestige.audits.verification.settings import TargetName

__all__ = ["listed", "percent", "rule"]

Outcome = Literal["passes", "fails", "unassessable", "not_applicable"]
Number = Literal[1, 2, 3, 4]


def rule(
    number: Number, name: str, outcome: Outcome, reason: str, mend: str = "", target: TargetName | None = None
) -> RuleOutcome:
    """The outcome of one rule, about one target or about all."""
    return RuleOutcome(number=number, name=name, target=target, outcome=outcome, reason=reason, mend=mend)


def percent(share: float) -> str:
    """A share in percent, three significant digits."""
    return f"{100 * share:.3g} %"


def listed(names: Iterable[str]) -> str:
    """Names, one after the other."""
    return ", ".join(names)
