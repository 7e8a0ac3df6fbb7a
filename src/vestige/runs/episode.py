"""The interpreter of one episode: opens the agent, carries out the script step by step, closes the agent."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vestige.agents.protocol import Agent, AgentDescription, describe
from vestige.errors import AgentError, VestigeError, complaint
from vestige.records import JsonScalar, Receipt, RemovalRequest, Session
from vestige.runs import steps as s
from vestige.runs.asking import ask, ask_adaptively
from vestige.runs.contact import Contact
from vestige.runs.inspection import Inspector
from vestige.runs.interview import ask_about, remember
from vestige.runs.sending import sent
from vestige.runs.services import Event
from vestige.runs.stored import find_texts, refuse_shared, stored_paths
from vestige.runs.timeline import Clock, Timeline
from vestige.runs.waiting import Removal, wait

__all__ = ["EpisodeRun"]

STATE_STEPS = ("snapshot", "restore", "configure")
"""Steps that a script cannot do without: what follows would be about a state that it does not name."""


class EpisodeRun:
    """One attempt at one episode.

    Args:
        contact: What its steps act through.
        workspace: Where the agent's storage and snapshots get a folder of their own.
    """

    def __init__(self, contact: Contact, workspace: Path) -> None:
        self._contact = contact
        self._home = Path(tempfile.mkdtemp(dir=workspace))
        self._snapshots: dict[str, Path] = {}
        self._inspector = Inspector(contact.services.embedder_of(contact.episode))
        self._removals: list[Removal] = []
        self._clock = Clock()

    @property
    def timeline(self) -> Timeline:
        """When its steps were over, as far as it came."""
        return self._clock.timeline()

    async def run(self) -> None:
        """Carry out the script.

        Raises:
            AgentError: The agent raised or broke its protocol.
            ModelError: A model failed.
            UserError: The plan cannot be carried out as it is.
            StorageError: The disk is full.
        """
        contact = self._contact
        storage = self._home / "agent"
        storage.mkdir()
        (self._home / "snapshots").mkdir()
        try:
            agent = await contact.call("open", contact.services.open_agent(contact.episode, storage))
            try:
                await self._introduce(agent)
                self._clock.open()
                for index, step in enumerate(contact.episode.steps):
                    try:
                        await self._step(agent, index, step)
                    except VestigeError:
                        with contextlib.suppress(VestigeError):  # what came first is what is told
                            await sent(contact, agent, index, step)
                        raise
                    await sent(contact, agent, index, step)
                    self._clock.step()
                    contact.tell(Event("step", contact.episode.id))
            except BaseException:
                with contextlib.suppress(AgentError):  # what came first is what is told
                    await self._close(agent)
                raise
            await self._close(agent)
            if steps := contact.episode.steps:
                await sent(contact, agent, len(steps) - 1, steps[-1])
        finally:
            shutil.rmtree(self._home, ignore_errors=True)

    async def _close(self, agent: Agent) -> None:
        close = self._contact.method(agent, "close")
        if close is not None:
            await self._contact.call("close", close())

    async def _introduce(self, agent: Agent) -> None:
        """Refuse an agent that can read the run's folder, and record what the agent is."""
        contact = self._contact
        storage = contact.method(agent, "storage")
        if storage is not None:
            refuse_shared(stored_paths(await contact.call("storage", storage())), contact.folder.path)
        contact.write("description", -1, body=_description(agent))

    async def _step(self, agent: Agent, index: int, step: s.Step) -> None:
        contact = self._contact
        match step:
            case s.Converse():
                session = Session.model_validate_json(contact.folder.get_blob(step.session))
                await contact.call("converse", agent.converse(contact.user(step.who), session))
            case s.Ask():
                await ask(contact, agent, index, step)
            case s.AskAdaptively():
                await ask_adaptively(contact, agent, index, step)
            case s.AskAbout():
                await ask_about(contact, agent, index, step)
            case s.Remember():
                await remember(contact, agent, index, step)
            case s.Forget() | s.Sham():
                await self._remove(agent, index, contact.user(step.who), step.request, self._labels(step))
            case s.Await():
                self._removals = await wait(contact, agent, index, step, self._removals)
            case s.Reset():
                user = contact.user(step.who)
                await contact.call("reset", agent.reset(user))
                self._removals.append(Removal.of(user, None))
            case s.Restart():
                await self._restart(agent, index)
            case s.Inspect():
                await self._inspect(agent, index, step)
            case s.Scan():
                await self._scan(agent, index, step)
            case s.Snapshot():
                path = self._home / "snapshots" / f"{len(self._snapshots)}.snapshot"
                await self._optional(agent, index, step.do, contact.user("user"), path)
                self._snapshots[step.name] = path
            case s.Restore():
                await self._optional(agent, index, step.do, contact.user("user"), self._snapshots[step.name])
            case s.Configure():
                await self._optional(agent, index, step.do, **step.knobs)
            case s.EndSession():
                await self._optional(agent, index, step.do, contact.user(step.who))
            case s.Settle() | s.Maintain():
                await self._optional(agent, index, step.do)

    async def _optional(self, agent: Agent, index: int, name: str, *args: Any, **kwargs: Any) -> None:
        method = self._contact.method(agent, name)
        if method is not None:
            await self._contact.call(name, method(*args, **kwargs))
        elif name in STATE_STEPS:
            raise AgentError(f"the agent has no {name}, which this plan needs")
        else:
            self._contact.unavailable(index, name, f"the agent has no {name}")

    @staticmethod
    def _labels(step: s.Forget | s.Sham) -> dict[str, JsonScalar]:
        return {**step.labels, "sham": isinstance(step, s.Sham)}

    async def _remove(
        self, agent: Agent, index: int, user: str, request: RemovalRequest, labels: dict[str, JsonScalar]
    ) -> None:
        """Ask for a removal and record what the interface said, a refusal as much as a receipt."""
        contact = self._contact
        try:
            answer = await contact.call("forget", agent.forget(user, request))
            receipt = Receipt.model_validate(answer)
        except ValidationError as error:
            reason = f"forget: not a receipt: {complaint(error)}"
            contact.write("removal_failed", index, labels=labels, body={"reason": reason})
            raise AgentError(reason) from None
        except VestigeError as error:
            reason = f"{type(error).__name__}: {error}"
            contact.write("removal_failed", index, labels=labels, body={"reason": reason})
            raise
        self._removals.append(Removal.of(user, receipt))
        contact.write("receipt", index, labels=labels, body=receipt)

    async def _restart(self, agent: Agent, index: int) -> None:
        """Restart the agent, or close and open it, which is as near to it as most can come; the record says which."""
        contact = self._contact
        restart, close, reopen = (contact.method(agent, name) for name in ("restart", "close", "open"))
        if restart is not None:
            await contact.call("restart", restart())
        elif close is not None and reopen is not None:
            await contact.call("close", close())
            await contact.call("open", reopen())
        else:
            contact.unavailable(index, "restart", "the agent has no restart, nor both close and open")
            return
        contact.write("restarted", index, body={"by": "restart" if restart is not None else "close and open"})

    async def _scan(self, agent: Agent, index: int, step: s.Scan) -> None:
        contact = self._contact
        method = contact.method(agent, "storage")
        if method is None:
            contact.unavailable(index, "scan", "the agent has no storage")
            return
        paths = stored_paths(await contact.call("storage", method()))
        files, hits = await asyncio.to_thread(find_texts, paths, step.needles)
        found = [{"file": h.path.name, "needle": h.needle, "count": h.count} for h in hits]
        body = {"files": [p.name for p in files], "hits": found}
        contact.write("scan", index, labels=step.labels, body=body)

    async def _inspect(self, agent: Agent, index: int, step: s.Inspect) -> None:
        contact = self._contact
        method = contact.method(agent, "inspect")
        if method is None:
            contact.unavailable(index, "inspect", "the agent has no inspect")
            return
        artifacts = await contact.artifacts(method(contact.user(step.who)))
        candidates = contact.folder.get_blob(step.candidates) if step.candidates else None
        body = await self._inspector.look(step, artifacts, candidates)
        contact.write("artifacts", index, labels=step.labels, body=body)


def _description(agent: Agent) -> AgentDescription:
    try:
        return describe(agent)
    except VestigeError:
        raise
    except Exception as error:  # an agent under test may raise anything
        raise AgentError(f"describe: the agent raised {type(error).__name__}") from error
