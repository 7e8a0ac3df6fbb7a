"""The protocol of an agent under test: four methods, and optional capabilities.

What an agent cannot do becomes a declared limit in the record, never a silent pass.
"""

from __future__ import annotations

from typing import Literal, Protocol, get_args, runtime_checkable

from pydantic import Field

from vestige.records import (
    AskOptions,
    JsonScalar,
    Receipt,
    Record,
    RemovalRequest,
    Reply,
    Session,
)

__all__ = ["CHANNELS", "OPTIONAL_METHODS", "Agent", "AgentDescription", "Channel", "describe"]

Channel = Literal[
    "answer",
    "retrieval",
    "tool_arguments",
    "tool_results",
    "memory_writes",
    "summary",
    "reasoning",
    "model_requests",
    "logs",
    "storage",
    "vectors",
]
"""Where an observer can look."""

CHANNELS: tuple[Channel, ...] = get_args(Channel)

OPTIONAL_METHODS: tuple[str, ...] = (
    "open",
    "close",
    "configure",
    "end_session",
    "remember",
    "inspect",
    "storage",
    "snapshot",
    "restore",
    "restart",
    "settle",
    "maintain",
    "poll",
)
"""Capabilities beyond the four methods, by the name of the method that provides them."""


@runtime_checkable
class Agent(Protocol):
    """The system under test: it takes in conversations, answers, forgets.

    Optional methods, used where they exist: ``open()``, ``close()``, ``configure(**knobs)``,
    ``end_session(user)``, ``remember(user, units)`` (store statements directly, without a model),
    ``inspect(user) -> list[Artifact]``, ``storage() -> list[Path]``, ``snapshot(user, path)``,
    ``restore(user, path)``, ``restart()`` (a fresh process over the same storage), ``settle()``, ``maintain()``,
    ``poll(user, receipt) -> Receipt`` (how an asynchronous deletion stands); all asynchronous.
    """

    async def converse(self, user: str, session: Session) -> None:
        """Take in a whole session: the write path."""
        ...

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        """Answer one prompt: the read path."""
        ...

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Forget what the request names."""
        ...

    async def reset(self, user: str) -> None:
        """Drop everything that is kept of the user."""
        ...


class AgentDescription(Record):
    """What an agent is and what it can do."""

    name: str
    version: str
    configuration: dict[str, JsonScalar]
    capabilities: tuple[str, ...]
    """Names out of `OPTIONAL_METHODS`."""
    tiers: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ("answer",)
    """Channels in which an observer can look."""
    absent: dict[str, str] = Field(default_factory=dict)
    """Channels that the agent declares not to have at all, with the reason: `{"logs": "keeps no log"}`. Any other
    channel that is not in `channels` exists or may exist and cannot be observed."""
    tools: tuple[str, ...] = ()
    """Names of the tools it runs itself."""
    external_effects: tuple[str, ...] = ()
    """What it may do outside its own storage, in the agent's own words: "sends mail". Neither a removal nor a reset
    undoes it."""
    knobs: tuple[str, ...] = ()


def describe(agent: Agent) -> AgentDescription:
    """The agent's own description, or one derived from the methods it has."""
    own = getattr(agent, "describe", None)
    if callable(own):
        description = own()
        if not isinstance(description, AgentDescription):
            raise TypeError(f"describe() of {type(agent).__name__} returned {type(description).__name__}")
        return description
    return AgentDescription(
        name=type(agent).__name__,
        version="unknown",
        configuration={},
        capabilities=tuple(m for m in OPTIONAL_METHODS if callable(getattr(agent, m, None))),
    )
