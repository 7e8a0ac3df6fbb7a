"""What a conclusion needs besides the findings; without any target, so that it can stand in a packet's public part."""

from __future__ import annotations

from pydantic import Field

from vestige.agents.protocol import AgentDescription
from vestige.audits.results import Exclusion
from vestige.audits.verification.settings import Condition, TargetName, VerificationSettings
from vestige.records import JsonScalar, Record

__all__ = ["Brief", "PairBrief"]


class PairBrief(Record):
    """One pair, without what it tells."""

    cluster: str
    fingerprint: str
    arms: tuple[Condition, ...]
    targets: tuple[TargetName, ...]
    favoured_first: bool | None = None
    """Whether the first preference's favoured option was shown first; None without a preference."""
    complete: bool
    """Every arm was completed in one attempt."""
    earlier: bool = False
    """Of a packet made before, tested again: counted apart."""


class Brief(Record):
    """Everything that `conclude` reads besides findings."""

    plan_sha256: str
    vestige_version: str
    agent: str
    agent_configuration: dict[str, JsonScalar] = Field(default_factory=dict)
    model: str
    embedder: str
    judge: str | None = None
    data: str
    data_sha256: str
    analysis_seed: int
    """Of the bootstrap that is drawn beside; made from the plan's hash. The plan's own seed is withheld: whoever has it
    can draw the targets again."""
    settings: VerificationSettings
    description: AgentDescription | None = None
    """As the agent gave it when the first episode was opened; None: none ever was."""
    pairs: dict[str, PairBrief]
    exclusions: tuple[Exclusion, ...] = ()
    failed_attempts: int = 0
    stopped: str = ""
    """Why the run stopped before its end; empty: it did not."""
    notes: tuple[str, ...] = ()
