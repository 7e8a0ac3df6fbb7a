"""What the engine is given to act with, and what it tells while it acts and after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, model_validator

from vestige.agents.protocol import Agent
from vestige.models.base import Embedder
from vestige.records import JsonScalar, Record, Reply
from vestige.runs.plan import Probe
from vestige.runs.steps import Episode, Who

__all__ = [
    "Event",
    "Interview",
    "InterviewQuestion",
    "Interviewer",
    "Measure",
    "Policy",
    "RunSummary",
    "Services",
]


class Measure(Protocol):
    """A measurement of a reply that needs a model and is therefore made while the run acts."""

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Measure one reply."""
        ...


class Policy(Protocol):
    """An auxiliary model that questions the agent."""

    async def __call__(self, probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        """Write the next question.

        Args:
            probe: What the exchanges are recorded under; its text was the first question.
            transcript: Questions put so far in this step, each with the reply's text.
            round: 1, 2, …

        Raises:
            ModelError: There will be no further question.
        """
        ...


class InterviewQuestion(Record):
    """One question about a candidate."""

    id: str
    """Its set and number: `recall-0`."""
    prompt: str
    who: Who = "user"
    """`sibling`: put to the same agent as a user of whom nothing is stored."""
    about: dict[str, Any] = Field(default_factory=dict)
    """What it was made from; what the interviewer needs to judge the reply."""


class Interview(Record):
    """All questions about one candidate."""

    questions: tuple[InterviewQuestion, ...]
    record: dict[str, Any] = Field(default_factory=dict)
    """What is recorded of how they were made: counts, refusals, who made them."""

    @model_validator(mode="after")
    def _named_apart(self) -> Interview:
        if len({question.id for question in self.questions}) < len(self.questions):
            raise ValueError(
                "two questions of an interview have one id, and their replies could not be told apart"
            )
        return self


class Interviewer(Protocol):
    """Makes up questions about a candidate statement, and judges the replies."""

    async def questions(self, candidate: Mapping[str, Any], seed: int) -> Interview:
        """The questions, the same ones for the same seed.

        Raises:
            ModelError: A model failed.
        """
        ...

    async def measure(
        self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
    ) -> dict[str, Any]:
        """What is recorded with the exchange.

        Raises:
            ModelError: A model failed.
        """
        ...


@dataclass(frozen=True)
class Services:
    """What the engine is given to act with."""

    open_agent: Callable[[Episode, Path], Awaitable[Agent]]
    """Opens the agent for one episode, with a storage folder of its own."""
    embedder_of: Callable[[Episode], Embedder]
    """The embedder that the episode's agent stores its vectors with."""
    measures: Mapping[str, Measure]
    policies: Mapping[str, Policy] = field(default_factory=dict[str, Policy])
    """By the name that `AskAdaptively` gives."""
    interviewers: Mapping[str, Interviewer] = field(default_factory=dict[str, Interviewer])
    """By the name that `AskAbout` gives."""
    guard: Callable[[Episode, str], str | None] | None = None
    """Why a policy's question must not be put in the episode, such as that it holds the target; None: it may be."""


@dataclass(frozen=True)
class Event:
    """Something a progress display wants to know."""

    kind: str
    """step, exchange, episode_done, episode_failed; group_done, group_retry, group_failed."""
    episode: str
    """Or the group."""
    detail: str = ""
    void: int = 0
    """Exchanges told of before that will be made again."""


@dataclass
class RunSummary:
    """What one call of `execute` did."""

    done: int = 0
    """Episodes completed; those of a group once the group is."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons by episode; a failed group's are all there."""
    skipped: int = 0
    """Episodes that an earlier call had completed."""
    exchanges: int = 0
    agent_seconds: float = 0.0
    """Time spent waiting for the agent, summed over episodes that may run side by side."""
    stopped: str | None = None
    """Why work that had not been begun was left, though nothing had failed; None: none was."""
    gave_up: str | None = None
    """Why groups were left that had not been begun; None: none were."""
