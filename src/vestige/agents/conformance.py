"""Whether an agent keeps to the protocol: every method on small data, and what must hold between them.

It asks whether an agent can be audited, not whether it forgets: a deletion that leaves something behind passes here.
For those who write an adapter::

    from vestige.agents.conformance import check

    def test_my_agent_keeps_to_the_protocol():
        report = check("my_agent.py:MyAgent")
        assert report.passed, str(report)
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from vestige.agents.conformance_checks import CHECKS, Broken, Missing, Trial
from vestige.agents.opening import Opener
from vestige.agents.protocol import Agent, AgentDescription, describe
from vestige.errors import ConfigError, MissingDependency, VestigeError
from vestige.records import Record

__all__ = ["Check", "Report", "check", "check_agent_named", "conformance"]

Open = Callable[[Path], Awaitable[Agent]]
"""Opens an agent over a folder of its own."""

CHECK_SECONDS = 600.0


class Check(Record):
    """One thing that was tried."""

    claim: str
    """What should hold."""
    method: str
    """The methods that it is about."""
    result: Literal["ok", "missing", "failed"]
    """`missing`: the agent has no such method, which is a declared limit of every audit."""
    why: str = ""
    """What was seen, where there is more to say; one line."""


class Report(Record):
    """What came of all checks."""

    agent: str
    description: AgentDescription
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Nothing failed. What is missing is no failure."""
        return self.counts["failed"] == 0

    @property
    def counts(self) -> dict[str, int]:
        """How many checks had each result."""
        results = [c.result for c in self.checks]
        return {name: results.count(name) for name in ("ok", "missing", "failed")}

    def __str__(self) -> str:
        """A line a check."""
        lines = [f"{c.result:8}{c.method}: {c.claim}" + (f" ({c.why})" if c.why else "") for c in self.checks]
        return "\n".join([f"{self.agent}: {self.description.name} {self.description.version}", *lines])


async def conformance(open_agent: Open, *, name: str = "agent", seconds: float = CHECK_SECONDS) -> Report:
    """Carry out every check, each with an agent of its own in a folder of its own.

    Args:
        open_agent: Opens the agent; called once a check.
        name: What the report calls it.
        seconds: For each check; one that takes longer has failed.

    Raises:
        UserError: The agent cannot be opened as it is.
    """
    with tempfile.TemporaryDirectory(prefix="vestige-check-") as home:
        folder = Path(home) / "describe"
        folder.mkdir()
        agent = await open_agent(folder)
        try:
            description = describe(agent)
        finally:
            await _close(agent)
        checks: list[Check] = []
        for number, (claim, method, function) in enumerate(CHECKS):
            folder = Path(home) / str(number)
            folder.mkdir()
            result, why = await _one(open_agent, folder, function, seconds)
            checks.append(Check(claim=claim, method=method, result=result, why=why))
    return Report(agent=name, description=description, checks=tuple(checks))


async def check_agent_named(
    name: str, *, model: str = "extractive", seconds: float = CHECK_SECONDS
) -> Report:
    """Carry out every check on an agent that `--agent` could name.

    Args:
        name: As for `--agent`.
        model: What it answers with.
        seconds: For each check.

    Raises:
        UserError: There is no such agent, or it cannot be opened as it is.
    """
    from vestige.models.hashing import HashingEmbedder
    from vestige.models.resolve import open_model

    chat = open_model(model)
    try:
        opener = Opener(
            name, model=chat, embedders={"hashing": HashingEmbedder()}, knobs={"embedder": "hashing"}
        )
        start = getattr(chat, "start", None)
        if start is not None:
            await start()

        async def open_agent(folder: Path) -> Agent:
            return await opener.open({}, folder)

        return await conformance(open_agent, name=name, seconds=seconds)
    finally:
        await chat.close()


def check(agent: Any, *, model: str = "extractive", seconds: float = CHECK_SECONDS) -> Report:
    """`check_agent_named`, for code that is not asynchronous.

    Args:
        agent: A name as for `--agent`, or a class, or a function that makes an agent.
        model: What it answers with.
        seconds: For each check.

    Raises:
        UserError: There is no such agent, or it cannot be opened as it is.
    """
    from vestige.agents.source import name_of

    name = agent if isinstance(agent, str) else name_of(agent)
    return asyncio.run(check_agent_named(name, model=model, seconds=seconds))


async def _one(
    open_agent: Open, folder: Path, function: Callable[[Trial], Awaitable[str]], seconds: float
) -> tuple[Literal["ok", "missing", "failed"], str]:
    """Result of one check, and why."""
    agent: Agent | None = None
    try:
        async with asyncio.timeout(seconds):
            agent = await open_agent(folder)
            said = await function(Trial(agent, folder))
            open_, agent = agent, None
            await _close(open_)
            return "ok", said
    except Missing as reason:
        return "missing", str(reason)
    except Broken as reason:
        return "failed", str(reason)
    except TimeoutError:
        return "failed", f"it took longer than {seconds:g} s"
    except MissingDependency:
        raise
    except ConfigError as error:
        return "failed", str(error)
    except VestigeError as error:
        return "failed", " ".join(str(error).split())
    except Exception as error:  # an agent may raise anything; its words may be anything too
        return "failed", f"the agent raised {type(error).__name__}"
    finally:
        if agent is not None:
            with contextlib.suppress(Exception):  # what came first is what is told
                await _close(agent)


async def _close(agent: Agent) -> None:
    close = getattr(agent, "close", None)
    if close is not None:
        await close()
