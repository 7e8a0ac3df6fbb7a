"""The records that every floor shares: what goes into an agent, what comes out, what is stored of it.

All are frozen pydantic models: they validate what an agent or a file hands over, and write themselves as
canonical JSON. Words are those of the glossary (docs/explanation/words.md).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Artifact",
    "AskOptions",
    "JsonScalar",
    "MemoryUnit",
    "Receipt",
    "Record",
    "RemovalRequest",
    "Reply",
    "RetrievedUnit",
    "Session",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "TurnRef",
    "Usage",
]

JsonScalar = str | int | float | bool | None

TurnRef = tuple[int, int]
"""(index of the session, index of the turn in it)."""


class Record(BaseModel):
    """A frozen record; unknown fields are refused, bytes travel as base64."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Turn(Record):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    """Who speaks. In two-person data the first speaker is the user."""
    content: str
    speaker: str | None = None
    """The speaker's name, where the data has one."""


class Session(Record):
    """One conversation between a user and the agent, in order."""

    id: str
    turns: tuple[Turn, ...]
    date: str | None = None
    """When it took place, as the data writes it."""


class Usage(Record):
    """Tokens of one model call, as the server counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class TokenLogprob(Record):
    """One generated token, its natural-log probability, and the alternatives the server gave."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Tool(Record):
    """A function that the model may call instead of answering."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The JSON schema of its arguments."""


class ToolCall(Record):
    """A call that the model wants made. Nothing here runs it; every field is untrusted."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it; it may not be JSON at all."""


class ToolResult(Record):
    """What a tool gave back for one call."""

    call_id: str
    """Of the `ToolCall` it answers."""
    name: str
    content: str
    """As it was handed to the model."""
    error: bool = False
    """The tool refused the call: unknown name, unusable arguments."""


class MemoryUnit(Record):
    """A statement to be stored as it stands, without a conversation and without a model."""

    id: str
    """What the evaluator calls it; an agent may give it a name of its own."""
    text: str
    session: str | None = None
    """The conversation it stands for, where there is one."""


class RetrievedUnit(Record):
    """A memory unit that was put before the model, with its similarity to the query."""

    id: str
    tier: str
    text: str
    score: float


class AskOptions(Record):
    """How a probe is put to the agent."""

    session: str | None = None
    """An old session to continue; None is a new one."""
    seed: int | None = None
    write_back: bool = False
    """False: the probe must leave no trace in memory."""
    max_tokens: Annotated[int, Field(gt=0)] = 300
    now: str | None = None
    """The date of the question, as the data writes it."""
    tools: tuple[Tool, ...] = ()
    """What the model may call."""
    choices: tuple[str, ...] = ()
    """The options of a decision task, in the order shown; the prompt names them too."""
    trace: bool = False
    """True: the reply should hold what the agent sent to its model (`Reply.model_requests`), where it can."""


class Reply(Record):
    """What the agent answered, and what could be observed with it."""

    text: str
    retrieved: tuple[RetrievedUnit, ...] | None = None
    """The retrieval channel, best first; None: the agent does not show it."""
    logprobs: tuple[TokenLogprob, ...] | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model wanted called, in order: the tool_arguments channel."""
    tool_results: tuple[ToolResult, ...] = ()
    """What the called tools gave back, in order: the tool_results channel."""
    reasoning: str | None = None
    """Reasoning text, where the system exposes it; None: it does not."""
    model_requests: tuple[str, ...] | None = None
    """What the agent sent to its own model for this reply, one text a request; None: the agent does not show it."""
    memory_writes: tuple[str, ...] | None = None
    """What was written to memory because of this exchange; None: the agent does not show it."""


class RemovalRequest(Record):
    """What is to be forgotten."""

    scope: Literal["unit", "source", "session", "user", "everything"] = "unit"
    value: str | None = None
    """The value to forget, where it is named by value."""
    ids: tuple[str, ...] = ()
    """The units, sources or sessions, where they are named by id."""
    description: str | None = None
    """Free text, where the interface takes only that."""


class Receipt(Record):
    """What the agent's deletion interface said."""

    accepted: bool
    completed: bool
    message: str = ""
    affected: dict[str, int] = Field(default_factory=dict)
    """Units changed or dropped, by tier."""
    handle: str | None = None
    """By which `poll` finds an asynchronous deletion again; None: there is nothing to poll."""


class Artifact(Record):
    """One stored item, as `inspect` shows it."""

    id: str
    tier: str
    text: str
    session: str | None = None
    sources: tuple[str, ...] = ()
    """Ids of the artifacts this one was derived from."""
    vector: bytes | None = None
    """Its embedding: little-endian float32, unit length; None where it has none or hides it."""


def plain(record: BaseModel) -> dict[str, Any]:
    """The JSON form of a record as Python values."""
    return record.model_dump(mode="json")
