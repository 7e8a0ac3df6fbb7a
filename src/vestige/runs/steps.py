"""The steps an episode is made of. The engine interprets them and knows nothing of audits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vestige.records import JsonScalar, Record, RemovalRequest

__all__ = [
    "Ask",
    "AskAbout",
    "AskAdaptively",
    "Await",
    "Configure",
    "Converse",
    "EndSession",
    "Episode",
    "Forget",
    "Inspect",
    "Maintain",
    "Remember",
    "Reset",
    "Restart",
    "Restore",
    "Scan",
    "Settle",
    "Sham",
    "Snapshot",
    "Step",
    "Who",
]

Who = Literal["user", "sibling"]
"""The episode's own user, or another user of the same agent."""


class Converse(Record):
    """Let the agent take in a whole session."""

    do: Literal["converse"] = "converse"
    session: str
    """SHA-256 of the session's blob in the run folder."""
    who: Who = "user"


class EndSession(Record):
    """Tell the agent that the session is over: it may summarize."""

    do: Literal["end_session"] = "end_session"
    who: Who = "user"


class Settle(Record):
    """Let background work drain."""

    do: Literal["settle"] = "settle"


class Configure(Record):
    """Set knobs of the agent."""

    do: Literal["configure"] = "configure"
    knobs: dict[str, JsonScalar]


class Ask(Record):
    """Put one probe to the agent and record the exchange."""

    do: Literal["ask"] = "ask"
    probe: str
    """Id of the probe in the plan."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    """What the scorer must know of the state the probe met, such as k and the deletion mode."""
    who: Who = "user"
    repeat: int = 0
    """Which time this probe is put in the episode; it changes the seed."""


class Remember(Record):
    """Store statements directly; where the agent cannot, let it take them in as a conversation."""

    do: Literal["remember"] = "remember"
    units: str
    """SHA-256 of a blob, a JSON list of `MemoryUnit`."""
    otherwise: str | None = None
    """SHA-256 of the blob of a session that tells the same; None: an agent without `remember` is not asked."""
    who: Who = "user"


class AskAbout(Record):
    """Put to the agent whatever questions an interviewer makes up about one candidate statement, and have it judge the
    replies while its models are at hand.
    """

    do: Literal["ask_about"] = "ask_about"
    candidate: str
    """Id of the candidate in `units`."""
    units: str
    """SHA-256 of a blob, a JSON list of objects with at least `id` and `text`."""
    interviewer: str
    """Name of an interviewer of `Services.interviewers`."""
    probe: str
    """Id of the probe that says how the questions are put; it has no text of its own."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    """How often all questions are put, each time with seeds of their own."""
    expected: Annotated[int, Field(ge=0)] = 0
    """Exchanges if every question can be made, for progress and estimates."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)


class AskAdaptively(Record):
    """Put a probe, then let an auxiliary model, which sees the transcript so far, write the next question, a fixed
    number of times: at most `rounds` + 1 exchanges, labelled with their `round`, 0 for the probe itself.
    """

    do: Literal["ask_adaptively"] = "ask_adaptively"
    policy: str
    """Name of a policy of `Services.policies`."""
    rounds: Annotated[int, Field(ge=1, le=100)]
    probe: str
    """Id of the probe the exchanges are recorded under; its text is the first question."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)


class Forget(Record):
    """Ask the agent to forget, and record the receipt."""

    do: Literal["forget"] = "forget"
    request: RemovalRequest
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    who: Who = "user"


class Sham(Record):
    """Go through the same interface for a planted decoy, so that the procedure alone can be told from the removal."""

    do: Literal["sham"] = "sham"
    request: RemovalRequest
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    who: Who = "user"


class Await(Record):
    """Wait for the removals asked for so far: poll their receipts and look for the texts, until they are gone.

    Three times are recorded apart, in seconds after the last request was answered: completion as the agent signals it,
    visible absence, and physical clean-up, each None where it was not seen within the limit. Where every receipt came
    back completed and nothing can be polled, it costs one look.
    """

    do: Literal["await"] = "await"
    needles: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """Texts by label that must no longer be in what `inspect` shows (visible absence) or in the bytes of `storage`
    (physical clean-up); only labels are recorded."""
    limit: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    """Seconds; afterwards the script goes on, and the record says that the removal was still pending."""
    interval: Annotated[float, Field(gt=0, le=3_600)] = 0.2
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    who: Who = "user"


class Reset(Record):
    """Drop everything that is kept of the user."""

    do: Literal["reset"] = "reset"
    who: Who = "user"


class Restart(Record):
    """A fresh process over the same storage, or as near to it as the agent can come."""

    do: Literal["restart"] = "restart"


class Maintain(Record):
    """Vacuum, checkpoint, compact: a step of its own, so that residue can be read before and after it."""

    do: Literal["maintain"] = "maintain"


class Snapshot(Record):
    """Keep the agent's present state under a name, outside its storage."""

    do: Literal["snapshot"] = "snapshot"
    name: str


class Restore(Record):
    """Bring a kept state back."""

    do: Literal["restore"] = "restore"
    name: str


class Inspect(Record):
    """Record every stored artifact; against a baseline, only what changed since."""

    do: Literal["inspect"] = "inspect"
    name: str
    baseline: str | None = None
    """Name of an earlier Inspect of the same episode."""
    watch: tuple[str, ...] = ()
    """Artifacts that hold one of these texts (case folded) have their vectors recorded, now and in every later
    Inspect against this one, together with the embedding of their present text."""
    candidates: str | None = None
    """SHA-256 of a blob, a JSON list of sentences whose embeddings are recorded once."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    who: Who = "user"


class Scan(Record):
    """Look for texts in the bytes of the agent's storage, whatever its format: live rows, old pages, logs alike."""

    do: Literal["scan"] = "scan"
    needles: dict[str, str]
    """Texts by label; they are searched as UTF-8 bytes, and only the labels are recorded."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)


Step = Annotated[
    Converse
    | EndSession
    | Settle
    | Configure
    | Ask
    | AskAdaptively
    | Remember
    | AskAbout
    | Forget
    | Sham
    | Await
    | Reset
    | Restart
    | Maintain
    | Snapshot
    | Restore
    | Inspect
    | Scan,
    Field(discriminator="do"),
]


class Episode(Record):
    """One trajectory: an agent opened for it alone, one user namespace, a script."""

    id: str
    instance: str
    """Id of the fixture the episode is about: the unit of analysis that intervals resample."""
    knobs: dict[str, JsonScalar] = Field(default_factory=dict)
    """How the agent is configured when it is opened."""
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    group: str | None = None
    """Episodes of one group count together or not at all: the arms of a pair. They run one after the other, in the
    order of the plan, and a failed one has the whole group redone."""
    steps: tuple[Step, ...]
