"""One attempt at one episode, as its steps share it: the agent, whose failures are its own, and the record."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from vestige.agents.protocol import Agent
from vestige.errors import AgentError, VestigeError, complaint
from vestige.records import Artifact
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.services import Event, RunSummary, Services
from vestige.runs.steps import Episode, Who
from vestige.runs.store import RecordWriter

__all__ = ["Contact", "blind_user", "cleaned"]


def blind_user(seed: int, episode: str, attempt: int, who: Who = "user") -> str:
    """The name an agent knows a user by, such as `u3fa2c91b70d4-1`: it tells neither condition, pair nor sibling.

    Args:
        seed: The plan's.
        episode: Id of the episode.
        attempt: Which attempt at it; each has a namespace of its own.
        who: The episode's own user or the sibling.
    """
    digest = hashlib.sha256("\x1f".join((str(seed), episode, who)).encode()).hexdigest()
    return f"u{digest[:12]}-{attempt}"


def cleaned(value: Any) -> Any:
    """The value, with text alone that UTF-8 can hold: an agent may hand over half a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, BaseModel):
        return cleaned(value.model_dump())
    if isinstance(value, dict):
        return {cleaned(k): cleaned(v) for k, v in value.items()}
    return [cleaned(v) for v in value] if isinstance(value, list | tuple) else value


@dataclass
class Contact:
    """What every step of an attempt acts through."""

    plan: Plan
    folder: RunFolder
    services: Services
    episode: Episode
    attempt: int
    writer: RecordWriter
    summary: RunSummary
    tell: Callable[[Event], None]

    def user(self, who: Who) -> str:
        """The name the agent knows the user by; an arm of a pair must not be told apart by it."""
        if who == "user" and self.episode.group is None:
            return f"{self.episode.instance}-{self.attempt}"
        return blind_user(self.plan.seed, self.episode.id, self.attempt, who)

    async def call(self, what: str, awaitable: Awaitable[Any]) -> Any:
        """Await the agent; what it raises, other than our own errors, is the agent's failure."""
        began = time.perf_counter()
        try:
            return await awaitable
        except (VestigeError, asyncio.CancelledError):
            raise
        except Exception as error:  # an agent under test may raise anything
            raise AgentError(f"{what}: the agent raised {type(error).__name__}") from error
        finally:
            self.summary.agent_seconds += time.perf_counter() - began

    def method(self, agent: Agent, name: str) -> Callable[..., Awaitable[Any]] | None:
        """An optional method of the agent, if it has it."""
        method: Callable[..., Awaitable[Any]] | None = getattr(agent, name, None)
        return method

    async def artifacts(self, look: Awaitable[Any]) -> list[Artifact]:
        """What `inspect` shows.

        Raises:
            AgentError: It raised, or what it shows are no artifacts.
        """
        try:
            return [Artifact.model_validate(a) for a in await self.call("inspect", look)]
        except ValidationError as error:
            raise AgentError(f"inspect: not artifacts: {complaint(error)}") from None
        except TypeError:
            raise AgentError("inspect: not artifacts: not a list") from None

    def write(self, kind: str, step: int, **fields: Any) -> None:
        """Append one line to the record."""
        try:
            self.writer.write(kind, self.episode.id, self.attempt, step=step, **fields)
        except PydanticSerializationError:
            fields["body"] = cleaned(fields.get("body"))
            self.writer.write(kind, self.episode.id, self.attempt, step=step, **fields)

    def unavailable(self, step: int, name: str, reason: str, **fields: Any) -> None:
        """Record that a step could not be carried out, and why."""
        self.write("unavailable", step, body={"step": name, "reason": reason}, **fields)
