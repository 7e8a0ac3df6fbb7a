"""The engine: runs a plan's episodes, and its groups of them, side by side. The only part of a run that acts."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vestige.errors import AgentError, ModelError, ModelUnavailable, StorageError, UserError
from vestige.runs.contact import Contact
from vestige.runs.episode import EpisodeRun
from vestige.runs.folder import RunFolder, write_atomic
from vestige.runs.plan import Plan
from vestige.runs.services import Event, Measure, Policy, RunSummary, Services
from vestige.runs.steps import Episode
from vestige.runs.store import RecordWriter, read_attempts

__all__ = [
    "GIVE_UP_AFTER",
    "PAIR_ATTEMPTS",
    "Event",
    "Measure",
    "Policy",
    "RunSummary",
    "Services",
    "execute",
]

GIVE_UP_AFTER = 5
"""Failed episodes or groups in a row after which a run stops, or twice the concurrency if that is more."""
PAIR_ATTEMPTS = 2
"""How often a call of `execute` tries a group; one that was cut off and the one that takes it up count as one."""


async def execute(
    plan: Plan,
    folder: RunFolder,
    services: Services,
    *,
    concurrency: int = 4,
    on_event: Callable[[Event], None] | None = None,
    give_up: bool = True,
    stop: Callable[[], str | None] | None = None,
) -> RunSummary:
    """Run every episode that is not yet done, `concurrency` at a time.

    The result does not depend on the order: each episode has an agent, a user and a storage of its own, and draws
    no random number that is not named by the plan. The episodes of a group run one after the other, as one piece of
    work that is done or not as a whole; one that fails has the whole group begun again, in new namespaces.

    Args:
        plan: What is done.
        folder: Where it is recorded.
        services: What it is done with.
        concurrency: Episodes, or groups, at a time.
        on_event: Told of what happens.
        give_up: Whether to stop when nothing works: an episode outside any group then raises its error, groups end
            the call with `RunSummary.gave_up`. False: go on through every failure.
        stop: Asked before each episode or group; a reason ends the call there, and nothing that was begun is cut.

    Raises:
        StorageError: The disk is full; what was recorded stays valid.
        UserError: The agent or a model cannot be used as asked, or the agent can read the run's folder.
        ModelUnavailable: No model server answers.
    """
    attempts = read_attempts(folder.path)
    units = [unit for unit in _units(plan) if any(e.id not in attempts.done for e in unit)]
    summary = RunSummary(skipped=len(plan.episodes) - sum(map(len, units)))
    if not units:
        return summary
    writer = RecordWriter(folder.path)
    workspace = _workspace(folder)
    run = _Run(
        plan,
        folder,
        services,
        begun=dict(attempts.begun),
        spent=attempts.spent,
        reasons=attempts.failed,
        writer=writer,
        workspace=workspace,
        summary=summary,
        tell=on_event or (lambda event: None),
        limit=max(GIVE_UP_AFTER, 2 * concurrency) if give_up else None,
        stop=stop or (lambda: None),
    )
    queue = iter(units)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(concurrency, len(units)))):
                group.create_task(run.work(queue))
        if any(unit[0].group is not None for unit in units):
            writer.write("call_end", "", 0, body={"gave_up": summary.gave_up})
    except BaseExceptionGroup as group_error:
        if run.abort:
            raise run.abort[0] from None
        raise group_error.exceptions[0] from None
    finally:
        with contextlib.suppress(StorageError):
            writer.sync()
        writer.close()
        shutil.rmtree(workspace, ignore_errors=True)
    return summary


def _units(plan: Plan) -> list[list[Episode]]:
    """The pieces of work: an episode alone, or all of a group in the plan's order, where its first one stands."""
    groups: dict[str, list[Episode]] = {}
    units: list[list[Episode]] = []
    for episode in plan.episodes:
        if episode.group is None:
            units.append([episode])
        elif episode.group in groups:
            groups[episode.group].append(episode)
        else:
            groups[episode.group] = [episode]
            units.append(groups[episode.group])
    return units


@dataclass
class _Run:
    """What the workers of one call share."""

    plan: Plan
    folder: RunFolder
    services: Services
    begun: dict[str, int]
    """The highest attempt begun at each episode."""
    spent: dict[str, int]
    """Failures of each episode in calls that were cut off, since the last that came to its end."""
    reasons: dict[str, str]
    """Why each episode that is not done has failed before."""
    writer: RecordWriter
    workspace: Path
    summary: RunSummary
    tell: Callable[[Event], None]
    limit: int | None
    """Failures in a row after which the run stops."""
    stop: Callable[[], str | None]
    """Why no more work should be begun; None: go on."""
    abort: list[BaseException] = field(default_factory=list[BaseException])
    in_a_row: int = 0

    async def work(self, queue: Iterator[list[Episode]]) -> None:
        """Take pieces of work until none is left."""
        for unit in queue:
            if self.abort or self.summary.gave_up is not None:
                return
            self.summary.stopped = self.summary.stopped or self.stop()
            if self.summary.stopped is not None:
                return
            if unit[0].group is None:
                await self._alone(unit[0])
            else:
                await self._together(unit[0].group, unit)

    async def _alone(self, episode: Episode) -> None:
        error = await self._attempt(episode, self.begun.get(episode.id, 0) + 1)
        if error is None:
            self.summary.done += 1
            self.in_a_row = 0
            return
        self.summary.failed[episode.id] = _reason(error)
        self.in_a_row += 1
        if self._nothing_works():
            self.abort.append(type(error)(f"{error}; {self._given_up('episodes')}"))
            raise error

    async def _together(self, name: str, group: Sequence[Episode]) -> None:
        before = max(self.begun.get(e.id, 0) for e in group)
        # What a call that was cut off has spent is not given again: as many attempts fail as if nothing had happened.
        last = before + PAIR_ATTEMPTS - self.spent.get(group[0].id, 0)
        if last <= before:
            self.summary.failed |= {e.id: self.reasons.get(e.id, "failed before") for e in group}
        for attempt in range(before + 1, last + 1):
            reason, exchanges = await self._group_attempt(group, attempt)
            status = {"status": "done"} if reason is None else {"status": "failed", "reason": reason}
            body = {**status, "episodes": [e.id for e in group]}
            self.writer.write("group_end", name, attempt, body=body)
            if reason is None:
                self.summary.done += len(group)
                self.in_a_row = 0
                self.tell(Event("group_done", name))
                return
            if attempt < last:
                self.tell(Event("group_retry", name, reason, void=exchanges))
            else:
                self.summary.failed |= {e.id: reason for e in group}
                self.tell(Event("group_failed", name, reason))
                self.in_a_row += 1
                if self._nothing_works() and self.summary.gave_up is None:
                    self.summary.gave_up = f"{reason}; {self._given_up('groups')}"

    async def _group_attempt(self, group: Sequence[Episode], attempt: int) -> tuple[str | None, int]:
        """Why the attempt failed, if it did, and how many exchanges it made."""
        made = 0

        def tell(event: Event) -> None:
            nonlocal made
            made += event.kind == "exchange"
            self.tell(event)

        for episode in group:
            error = await self._attempt(episode, attempt, tell)
            if error is not None:
                return f"episode {episode.id}: {_reason(error)}", made
        return None, made

    async def _attempt(
        self, episode: Episode, attempt: int, tell: Callable[[Event], None] | None = None
    ) -> Exception | None:
        """One attempt at one episode; what it failed of, or None."""
        tell = tell or self.tell
        if earlier := self.begun.get(episode.id):
            self.writer.write("superseded", episode.id, earlier)
        self.begun[episode.id] = attempt
        contact = Contact(
            self.plan, self.folder, self.services, episode, attempt, self.writer, self.summary, tell
        )
        begin = {"plan_sha256": self.folder.plan_sha256}
        if episode.group is not None:
            begin["group"] = episode.group
        self.writer.write("episode_begin", episode.id, attempt, body=begin)
        run = EpisodeRun(contact, self.workspace)
        try:
            await run.run()
        except (StorageError, UserError, ModelUnavailable) as error:
            self.abort.append(error)
            raise
        except (ModelError, AgentError) as error:
            reason = _reason(error)
            contact.write("timeline", -1, body=run.timeline)
            self.writer.write("episode_end", episode.id, attempt, body={"status": "failed", "reason": reason})
            tell(Event("episode_failed", episode.id, reason))
            return error
        contact.write("timeline", -1, body=run.timeline)
        self.writer.write("episode_end", episode.id, attempt, body={"status": "done"})
        tell(Event("episode_done", episode.id))
        return None

    def _nothing_works(self) -> bool:
        return self.limit is not None and self.in_a_row >= self.limit

    def _given_up(self, what: str) -> str:
        return (
            f"the run stopped after {self.in_a_row} failed {what} in a row; --resume continues it, and "
            f"`vestige conclude {self.folder.path}` computes what was completed"
        )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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
