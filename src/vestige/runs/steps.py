"""The steps an episode is made of. The engine interprets them and knows nothing of audits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vestige.records import JsonScalar, Record, RemovalRequest

__all__ = [
    "Ask",
    "Configure",
    "Converse",
    "EndSession",
    "Episode",
    "Forget",
    "Inspect",
    "Maintain",
    "Restore",
    "Scan",
    "Settle",
    "Snapshot",
    "Step",
]


class Converse(Record):
    """Let the agent take in a whole session."""

    do: Literal["converse"] = "converse"
    session: str
    """SHA-256 of the session's blob in the run folder."""


class EndSession(Record):
    """Tell the agent that the session is over: it may summarize."""

    do: Literal["end_session"] = "end_session"


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


class Forget(Record):
    """Ask the agent to forget, and record the receipt."""

    do: Literal["forget"] = "forget"
    request: RemovalRequest
    labels: dict[str, JsonScalar] = Field(default_factory=dict)


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
    | Forget
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
    steps: tuple[Step, ...]
