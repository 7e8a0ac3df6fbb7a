"""The engine: interprets the steps of a plan's episodes against an agent. The only part of a run that acts."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from vestige.agents.protocol import Agent
from vestige.errors import AgentError, ModelError, ModelUnavailable, StorageError, UserError, VestigeError
from vestige.memory.scan import scan_bytes
from vestige.models.base import Embedder
from vestige.records import Artifact, AskOptions, JsonScalar, Receipt, Reply, Session
from vestige.runs import steps as s
from vestige.runs.folder import RunFolder, write_atomic
from vestige.runs.inspection import Inspector
from vestige.runs.plan import Plan, Probe, seed_for
from vestige.runs.store import RecordWriter, read_attempts

__all__ = ["Event", "Measure", "RunSummary", "Services", "execute"]

GIVE_UP_AFTER = 5
"""Failed episodes in a row after which a run stops, or twice the concurrency if that is more: nothing works."""


class Measure(Protocol):
    """A measurement of a reply that needs a model and is therefore made while the run acts."""

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Measure one reply."""
        ...


@dataclass(frozen=True)
class Services:
    """What the engine is given to act with."""

    open_agent: Callable[[s.Episode, Path], Awaitable[Agent]]
    """Opens the agent for one episode, with a storage folder of its own."""
    embedder_of: Callable[[s.Episode], Embedder]
    """The embedder that the episode's agent stores its vectors with."""
    measures: Mapping[str, Measure]


@dataclass(frozen=True)
class Event:
    """Something a progress display wants to know."""

    kind: str
    """step, exchange, episode_done, episode_failed."""
    episode: str
    detail: str = ""


@dataclass
class RunSummary:
    """What one call of `execute` did."""

    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    skipped: int = 0
    """Episodes that an earlier call had completed."""
    exchanges: int = 0
    agent_seconds: float = 0.0
    """Time spent waiting for the agent, summed over episodes that may run side by side."""


async def execute(
    plan: Plan,
    folder: RunFolder,
    services: Services,
    *,
    concurrency: int = 4,
    on_event: Callable[[Event], None] | None = None,
) -> RunSummary:
    """Run every episode that is not yet done, `concurrency` at a time.

    The result does not depend on the order: each episode has an agent, a user and a storage of its own, and draws
    no random number that is not named by the plan.

    Raises:
        StorageError: The disk is full; what was recorded stays valid.
        UserError: The agent or a model cannot be used as asked.
        ModelUnavailable: No model server answers.
    """
    attempts = read_attempts(folder.path)
    todo = [e for e in plan.episodes if e.id not in attempts.done]
    summary = RunSummary(skipped=len(plan.episodes) - len(todo))
    if not todo:
        return summary
    writer = RecordWriter(folder.path)
    workspace = _workspace(folder)
    queue = iter(todo)
    abort: list[BaseException] = []
    in_a_row = 0

    def tell(event: Event) -> None:
        if on_event is not None:
            on_event(event)

    async def worker() -> None:
        nonlocal in_a_row
        for episode in queue:
            if abort:
                return
            attempt = attempts.begun.get(episode.id, 0) + 1
            if attempt > 1:
                writer.write("superseded", episode.id, attempt - 1)
            run = _EpisodeRun(plan, folder, services, episode, attempt, writer, workspace, summary, tell)
            writer.write("episode_begin", episode.id, attempt, body={"plan_sha256": folder.plan_sha256})
            try:
                await run.run()
            except (StorageError, UserError, ModelUnavailable) as error:
                abort.append(error)
                raise
            except (ModelError, AgentError) as error:
                reason = f"{type(error).__name__}: {error}"
                summary.failed[episode.id] = reason
                writer.write("episode_end", episode.id, attempt, body={"status": "failed", "reason": reason})
                tell(Event("episode_failed", episode.id, reason))
                in_a_row += 1
                if in_a_row >= max(GIVE_UP_AFTER, 2 * concurrency):
                    abort.append(error)
                    raise
            else:
                writer.write("episode_end", episode.id, attempt, body={"status": "done"})
                summary.done += 1
                in_a_row = 0
                tell(Event("episode_done", episode.id))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(concurrency, len(todo)))):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        if abort:
            raise abort[0] from None
        raise group_error.exceptions[0] from None
    finally:
        with contextlib.suppress(StorageError):
            writer.sync()
        writer.close()
        shutil.rmtree(workspace, ignore_errors=True)
    return summary


_PREFIX = "vestige-run-"


def _workspace(folder: RunFolder) -> Path:
    """A new private folder for agents' storage and snapshots, outside the run's folder, where no agent may read.

    A killed run could not remove its own, which holds conversations: its name stands in the run's folder, and it is
    removed before the next one is made.
    """
    note = folder.path / ".workspace"
    with contextlib.suppress(OSError, ValueError):
        old = Path(note.read_text(encoding="utf-8"))
        if (
            old.name.startswith(_PREFIX)
            and old.parent == Path(tempfile.gettempdir())
            and not old.is_symlink()
        ):
            shutil.rmtree(old, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    write_atomic(note, str(path).encode("utf-8"))
    return path


def _clean(text: str) -> str:
    """Text that UTF-8 can hold: an agent may hand over half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_cleaned(k): _cleaned(v) for k, v in value.items()}
    return [_cleaned(v) for v in value] if isinstance(value, list | tuple) else value


def _storable(reply: Reply) -> Reply:
    try:
        reply.model_dump_json()
    except ValueError:
        return Reply.model_validate(_cleaned(reply.model_dump()))
    return reply


class _EpisodeRun:
    """One attempt at one episode."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        services: Services,
        episode: s.Episode,
        attempt: int,
        writer: RecordWriter,
        workspace: Path,
        summary: RunSummary,
        tell: Callable[[Event], None],
    ) -> None:
        self.plan, self.folder, self.services, self.episode = plan, folder, services, episode
        self.attempt, self.writer, self.summary, self.tell = attempt, writer, summary, tell
        self.user = f"{episode.instance}-{attempt}"
        self.home = Path(tempfile.mkdtemp(dir=workspace))
        self.snapshots: dict[str, Path] = {}
        self.inspector = Inspector(services.embedder_of(episode))

    async def run(self) -> None:
        storage = self.home / "agent"
        storage.mkdir()
        (self.home / "snapshots").mkdir()
        agent = await self._call("open", self.services.open_agent(self.episode, storage))
        try:
            for index, step in enumerate(self.episode.steps):
                await self._step(agent, index, step)
                self.tell(Event("step", self.episode.id))
        finally:
            close = self._method(agent, "close")
            try:
                if close is not None:
                    await self._call("close", close())
            finally:
                shutil.rmtree(self.home, ignore_errors=True)

    async def _call(self, what: str, awaitable: Awaitable[Any]) -> Any:
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

    def _method(self, agent: Agent, name: str) -> Callable[..., Awaitable[Any]] | None:
        method: Callable[..., Awaitable[Any]] | None = getattr(agent, name, None)
        return method

    async def _step(self, agent: Agent, index: int, step: s.Step) -> None:
        match step:
            case s.Converse():
                session = Session.model_validate_json(self.folder.get_blob(step.session))
                await self._call("converse", agent.converse(self.user, session))
            case s.Ask():
                await self._ask(agent, index, step)
            case s.Forget():
                receipt: Receipt = await self._call("forget", agent.forget(self.user, step.request))
                self._write("receipt", index, labels=step.labels, body=receipt)
            case s.Inspect():
                await self._inspect(agent, index, step)
            case s.Scan():
                await self._scan(agent, index, step)
            case s.Snapshot():
                path = self.home / "snapshots" / f"{len(self.snapshots)}.snapshot"
                await self._optional(agent, index, step.do, self.user, path)
                self.snapshots[step.name] = path
            case s.Restore():
                await self._optional(agent, index, step.do, self.user, self.snapshots[step.name])
            case s.Configure():
                await self._optional(agent, index, step.do, **step.knobs)
            case s.EndSession():
                await self._optional(agent, index, step.do, self.user)
            case s.Settle() | s.Maintain():
                await self._optional(agent, index, step.do)

    async def _optional(self, agent: Agent, index: int, name: str, *args: Any, **kwargs: Any) -> None:
        method = self._method(agent, name)
        if method is not None:
            await self._call(name, method(*args, **kwargs))
        elif name in ("snapshot", "restore", "configure"):
            # Without these the rest of the script would be about a state that it does not name.
            raise AgentError(f"the agent has no {name}, which this plan needs")
        else:
            self._write("unavailable", index, body={"step": name, "reason": f"the agent has no {name}"})

    async def _ask(self, agent: Agent, index: int, step: s.Ask) -> None:
        probe = self.plan.probes[step.probe]
        options = AskOptions(seed=seed_for(self.plan.seed, "ask", probe.id), now=probe.now)
        began = time.perf_counter()
        answer = await self._call("ask", agent.ask(self.user, probe.text, options))
        seconds = time.perf_counter() - began
        reply = _storable(answer if isinstance(answer, Reply) else Reply(text=str(answer)))
        measures = {name: await self.services.measures[name](probe, reply) for name in probe.measures}
        self.summary.exchanges += 1
        self._write(
            "exchange",
            index,
            probe=probe.id,
            labels=step.labels,
            body={"reply": reply, "measures": measures, "seconds": round(seconds, 4)},
        )
        self.tell(Event("exchange", self.episode.id))

    async def _scan(self, agent: Agent, index: int, step: s.Scan) -> None:
        method = self._method(agent, "storage")
        if method is None:
            self._write("unavailable", index, body={"step": "scan", "reason": "the agent has no storage"})
            return
        paths: list[Path] = await self._call("storage", method())
        needles = {label: text.encode("utf-8") for label, text in step.needles.items()}
        hits = await asyncio.to_thread(scan_bytes, paths, needles)
        found = [{"file": h.path.name, "needle": h.needle, "count": h.count} for h in hits]
        body = {"files": [p.name for p in paths], "hits": found}
        self._write("scan", index, labels=step.labels, body=body)

    async def _inspect(self, agent: Agent, index: int, step: s.Inspect) -> None:
        method = self._method(agent, "inspect")
        if method is None:
            self._write("unavailable", index, body={"step": "inspect", "reason": "the agent has no inspect"})
            return
        try:
            artifacts = [Artifact.model_validate(a) for a in await self._call("inspect", method(self.user))]
        except ValidationError as error:
            raise AgentError(f"inspect: not artifacts: {error.errors()[0]['msg']}") from None
        candidates = self.folder.get_blob(step.candidates) if step.candidates else None
        body = await self.inspector.look(step, artifacts, candidates)
        self._write("artifacts", index, labels=step.labels, body=body)

    def _write(self, kind: str, index: int, **fields: Any) -> None:
        self.writer.write(kind, self.episode.id, self.attempt, step=index, **fields)
