"""What stands behind a verdict, as the run's records hold it: unmasked, uncut. Reports mask it before they cut it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.agents.protocol import Channel
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.scored import SightingState
from vestige.audits.verification.settings import Condition, Grade, Phase, TargetName
from vestige.records import Record

__all__ = ["Arm", "PairExchanges", "Row", "Said", "Seen", "WaitedRow", "Why"]

Why = Literal["contaminated", "confirmed", "uncertain", "decides", "sample"]
"""Why a pair is shown: a target where none may be; a confirmed sighting after the removal; an uncertain one; a decision
that only the removed arm takes; nothing at all, as one of a few by lot."""


class Said(Record):
    """One text that was observed."""

    channel: Channel
    label: str = ""
    """Which one of several: the tier and similarity of a unit, the name of a tool."""
    text: str


class Seen(Record):
    """One sighting of a target, or what a person made of it."""

    channel: Channel
    target: TargetName
    grade: Grade
    form: str
    state: SightingState
    foreign: str = ""
    """Id of the episode whose nonce it is; empty: the arm's own."""
    who: Literal["user", "sibling"] = "user"
    reviewer: str = ""
    """Who decided, where a person did."""
    counts: bool = True
    """A claim of the run reads this channel in this phase."""
    finding: str = ""
    """Its `finding_id`, by which `vestige adjudicate` takes a decision."""


class Arm(Record):
    """What one arm of a pair said, or held, at one step."""

    condition: Condition
    asked: str = ""
    """The question, where it was written for this arm alone."""
    said: tuple[Said, ...] = ()
    seen: tuple[Seen, ...] = ()
    outcome: str = ""
    """Of a decision task or a question with a right answer, in plain words; empty where there is none."""
    missing: str = ""
    """Why there is nothing to show; empty: there is."""


class Row(Record):
    """One probe, or one look at what is stored or was sent to the agent's model, over the arms of a pair."""

    what: str
    """Id of the probe, or of the look: `stored`, `sent`."""
    kind: str
    """recall, semantic, …; `stored` for a look at what is stored, `sent` for one at what was sent to the agent's
    model and stands in no reply."""
    phase: Phase
    target: TargetName | None = None
    turn: int = 0
    """Of an adaptive exchange: its round."""
    prompt: str = ""
    arms: tuple[Arm, ...]


class PairExchanges(Record):
    """One pair side by side."""

    pair: str
    why: Why
    attempt: int | None = None
    """Of an attempt that failed; None: the one that counts."""
    fixture: Pair
    """What was told to whom: what is to be masked."""
    rows: tuple[Row, ...]


class WaitedRow(Record):
    """How one removal came to its end: acceptance, completion, visible absence and physical clean-up."""

    pair: str
    condition: Condition
    accepted: int
    """Requests that the agent took on, of `asked`."""
    asked: int
    completed: float | None = None
    """Seconds after the last request was answered, as are the two below; None: not seen."""
    visible_absence: float | None = None
    physical_cleanup: float | None = None
    pending: bool = False
    """Not done when the boundary was drawn."""
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why a time cannot be observed at all."""
