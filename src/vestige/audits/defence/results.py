"""The typed result of a comparison of defences: what `result.json` holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.attacks.terms import Setting
from vestige.audits.membership.results import AtFpr, Estimate
from vestige.audits.membership.settings import Attack
from vestige.audits.results import Derived, Rate, ResultBase
from vestige.records import Record

__all__ = ["ArmAttack", "DefenceArm", "DefenceResult"]


class ArmAttack(Record):
    """One membership attack in one access setting, behind one defence."""

    attack: Attack
    """Which."""
    setting: Setting
    """What the attacker sees."""
    auc: Estimate
    """ROC-AUC, pooled over users."""
    change: Estimate | None = None
    """AUC behind the defence minus that without one, on candidates scored in both; None: it is the arm without one,
    or one of the two has no score."""
    at_fpr: tuple[AtFpr, ...] = ()
    """True positive rates at the plan's false positive rates."""
    unavailable: str = ""
    """Why there is no score; empty: there is one."""


class DefenceArm(Record):
    """One defence at one strength, or none."""

    label: str
    """`none`, or `NAME:STRENGTH`."""
    defence: str | None = None
    """Its name; None: the agent alone."""
    strength: float | None = None
    """What it means stands in `means`."""
    means: str = ""
    """What the defence does, and what its strength is."""
    candidates: int
    """Candidates of the membership audit that were completed."""
    attacks: tuple[ArmAttack, ...]
    """Attack × setting."""
    refusals: Estimate | None = None
    """ROC-AUC, in black-box, of counting the replies in whose place the filter put its sentence; None: it put none."""
    PR_strict: Rate | None = None
    """Retained questions answered: every content word of the expected answer that the question did not hold; None: see
    `not_asked`."""
    AER_any: Rate | None = None
    """Canaries told under at least one probe kind."""
    AER_max: Derived | None = None
    """Largest of the extraction rates by probe kind."""
    not_asked: str = ""
    """Why utility and extraction were not measured; empty: they were."""
    membership_plan: str
    """SHA-256 of the membership audit's plan."""
    frontier_plan: str | None = None
    """SHA-256 of the frontier audit's plan."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Versions of what the defence is made of."""


class DefenceResult(ResultBase):
    """What defences buy and what they cost."""

    audit: Literal["defence"] = "defence"
    """Which audit this is."""
    statement: str
    """The main finding in one sentence, with what it covers."""
    arms: tuple[DefenceArm, ...]
    """The agent alone first, then by defence and strength, the weakest first."""
    questions_data: str | None = None
    """Name of the data that the retained questions and canaries stand in; None: they were not asked."""
    questions_data_sha256: str | None = None
    """Of its bytes."""
    k: int
    """Retrieved units put before the model."""
    level: int
    """Summarization S."""
