"""The arms of a pair count together or not at all, whatever fails and whenever the run is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.agents import Parrot, Raises, conversing, folder_of, plan_of, services

from vestige.errors import AgentError, ConfigError, ModelUnavailable
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, Session, Turn
from vestige.runs.contact import blind_user
from vestige.runs.engine import GIVE_UP_AFTER, PAIR_ATTEMPTS, Event, execute
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.progress import progress
from vestige.runs.steps import Ask, Episode, Forget, Reset, Step
from vestige.runs.store import FailedLine, RecordWriter, read_attempts, read_counted, read_lines

TALK = Session(id="s", turns=(Turn(role="user", content="I keep bees."),))
TELL, BLOBS = conversing(TALK)
ASK = Ask(probe="p0")
ARMS: dict[str, tuple[Step, ...]] = {
    "unchanged": (TELL, ASK, ASK),
    "removed": (TELL, ASK, Forget(request=RemovalRequest(value="bees")), ASK),
    "never": (ASK, ASK),
}
EXCHANGES = frozenset({"exchange"})


def paired(pairs: int) -> Plan:
    """Pairs of three arms each, listed arm by arm, so that a pair does not stand together in the plan."""
    episodes = tuple(
        Episode(id=f"pair{i}/{arm}", instance=f"pair{i}", group=f"pair{i}", steps=steps)
        for arm, steps in ARMS.items()
        for i in range(pairs)
    )
    return plan_of().model_copy(update={"episodes": episodes})


def fails_in(*arms: str, tries: int = 99) -> Callable[[Episode], Any]:
    """Agents that answer once and then raise, in the named arms, for so many agents opened for an arm."""
    opened: dict[str, int] = {}

    class OnceThenRaises(Parrot):
        asked = 0

        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            self.asked += 1
            if self.asked == 2:
                raise RuntimeError("a bad day")
            return await super().ask(user, prompt, options)

    def agent(episode: Episode) -> Any:
        opened[episode.id] = opened.get(episode.id, 0) + 1
        return OnceThenRaises() if episode.id in arms and opened[episode.id] <= tries else Parrot()

    return agent


def seen(path: Path) -> list[str]:
    """What a scorer reads: each exchange without its time, failed attempts numbered in their order, sorted."""
    attempts = read_attempts(path)
    return sorted(
        json.dumps(
            [
                line.episode,
                None if line.counted else attempts.failed_attempts[line.episode].index(line.attempt),
                line.step,
                line.body["reply"]["text"],
            ]
        )
        for line in read_counted(path, attempts, EXCHANGES, failed=True)
    )


async def test_a_pair_runs_arm_after_arm_and_pairs_side_by_side(tmp_path: Path) -> None:
    plan, events = paired(3), list[Event]()
    folder = folder_of(tmp_path, plan, BLOBS)
    summary = await execute(plan, folder, services(lambda e: Parrot()), concurrency=3, on_event=events.append)
    assert (summary.done, summary.failed, summary.gave_up) == (9, {}, None)
    for pair in ("pair0", "pair1", "pair2"):
        kinds = [(x.kind, x.episode) for x in read_lines(tmp_path) if x.episode.startswith(pair)]
        assert [k for k in kinds if k[0] in ("episode_begin", "episode_end", "group_end")] == [
            *((kind, f"{pair}/{arm}") for arm in ARMS for kind in ("episode_begin", "episode_end")),
            ("group_end", pair),
        ]
    assert [e.kind for e in events].count("group_done") == 3
    assert set(read_attempts(tmp_path).done.values()) == {1} and not read_attempts(tmp_path).failed_attempts
    again = await execute(plan, folder, services(lambda e: None))
    assert (again.done, again.skipped) == (0, 9)


async def test_one_failed_arm_has_the_whole_pair_redone_in_new_namespaces(tmp_path: Path) -> None:
    plan, users = paired(2), set[str]()
    broken = fails_in("pair1/removed", tries=1)

    def agent(episode: Episode) -> Any:
        made = broken(episode)
        real = made.ask

        async def ask(user: str, prompt: str, options: AskOptions) -> Reply:
            users.add(user)
            return await real(user, prompt, options)

        made.ask = ask
        return made

    events: list[Event] = []
    folder = folder_of(tmp_path, plan, BLOBS)
    summary = await execute(plan, folder, services(agent), concurrency=1, on_event=events.append)
    assert (summary.done, summary.failed) == (6, {})
    attempts = read_attempts(tmp_path)
    assert attempts.done == {
        f"pair{i}/{arm}": i + 1 for i in (0, 1) for arm in ARMS
    }  # its third arm was not begun before
    assert attempts.failed == {} and attempts.failed_attempts == {
        "pair1/removed": (1,),
        "pair1/unchanged": (1,),
    }
    (retry,) = [e for e in events if e.kind == "group_retry"]
    assert (retry.episode, retry.void) == ("pair1", 3)  # two in the first arm, one in the second
    assert retry.detail == "episode pair1/removed: AgentError: ask: the agent raised RuntimeError"
    assert len(users) == 3 + 2 + 3
    superseded = [(x.episode, x.attempt) for x in read_lines(tmp_path) if x.kind == "superseded"]
    assert superseded == [("pair1/unchanged", 1), ("pair1/removed", 1)]


async def test_what_was_seen_in_a_failed_attempt_can_be_read_and_is_flagged(tmp_path: Path) -> None:
    plan = paired(1)
    await execute(
        plan, folder_of(tmp_path, plan, BLOBS), services(fails_in("pair0/removed", tries=1)), concurrency=1
    )
    attempts = read_attempts(tmp_path)
    assert all(line.counted for line in read_counted(tmp_path, attempts, EXCHANGES))
    flagged = [line for line in read_counted(tmp_path, attempts, EXCHANGES, failed=True) if not line.counted]
    assert all(isinstance(line, FailedLine) and line.attempt == 1 for line in flagged)
    assert [(x.episode, x.step, x.body["reply"]["text"]) for x in flagged] == [
        ("pair0/unchanged", 1, "I keep bees."),
        ("pair0/unchanged", 2, "I keep bees."),
        ("pair0/removed", 1, "I keep bees."),
    ]


async def test_a_pair_that_fails_every_time_is_named_whole_and_left(tmp_path: Path) -> None:
    plan, folder = paired(2), folder_of(tmp_path, paired(2), BLOBS)
    summary = await execute(plan, folder, services(fails_in("pair0/never")), concurrency=1)
    reason = "episode pair0/never: AgentError: ask: the agent raised RuntimeError"
    assert summary.done == 3 and summary.failed == {f"pair0/{arm}": reason for arm in ARMS}
    attempts = read_attempts(tmp_path)
    assert attempts.failed == summary.failed and set(attempts.done) == {f"pair1/{arm}" for arm in ARMS}
    assert attempts.failed_attempts == {f"pair0/{arm}": (1, 2) for arm in ARMS} and PAIR_ATTEMPTS == 2
    again = await execute(plan, folder, services(lambda e: Parrot()))
    assert (again.done, again.skipped) == (3, 3)
    assert read_attempts(tmp_path).done == {f"pair{i}/{arm}": 3 - 2 * i for i in (0, 1) for arm in ARMS}
    assert read_attempts(tmp_path).failed_attempts["pair0/removed"] == (1, 2)  # a leak in them stays seen


async def test_groups_that_all_fail_end_the_call_without_an_error(tmp_path: Path) -> None:
    plan = paired(GIVE_UP_AFTER + 3)
    summary = await execute(
        plan,
        folder_of(tmp_path, plan, BLOBS),
        services(lambda e: Raises(RuntimeError())),
        concurrency=1,
    )
    assert summary.gave_up is not None and f"{GIVE_UP_AFTER} failed groups in a row" in summary.gave_up
    assert "the agent raised RuntimeError" in summary.gave_up
    assert len(summary.failed) == 3 * GIVE_UP_AFTER


async def test_a_run_may_go_on_through_every_failure(tmp_path: Path) -> None:
    plan = paired(GIVE_UP_AFTER + 3)
    summary = await execute(
        plan,
        folder_of(tmp_path / "pairs", plan, BLOBS),
        services(lambda e: Raises(RuntimeError())),
        concurrency=1,
        give_up=False,
    )
    assert summary.gave_up is None and len(summary.failed) == len(plan.episodes)
    alone = plan_of(*[(ASK,)] * (GIVE_UP_AFTER + 3))
    summary = await execute(
        alone,
        folder_of(tmp_path / "alone", alone),
        services(lambda e: Raises(RuntimeError())),
        concurrency=1,
        give_up=False,
    )
    assert len(summary.failed) == GIVE_UP_AFTER + 3


@pytest.mark.parametrize("error", [ConfigError("no such model"), ModelUnavailable("no server")])
async def test_what_stops_a_run_is_no_failure_of_the_pair(tmp_path: Path, error: Exception) -> None:
    plan, folder = paired(1), folder_of(tmp_path, paired(1), BLOBS)
    with pytest.raises(type(error), match=str(error)):
        await execute(
            plan, folder, services(lambda e: Raises(error) if e.id.endswith("removed") else Parrot())
        )
    attempts = read_attempts(tmp_path)
    assert (attempts.done, attempts.failed, attempts.failed_attempts) == ({}, {}, {})
    assert (await execute(plan, folder, services(lambda e: Parrot()))).done == 3


@pytest.mark.parametrize("moment", range(1, 21))
def test_killed_at_any_question_and_resumed_it_reads_the_same(tmp_path: Path, moment: int) -> None:
    """Pair 1 fails each time, so that the kill meets failed attempts too: as many are seen, and they show the same."""
    plan = paired(3)

    def go(path: Path, kill_at: int) -> None:
        asked, make = 0, fails_in("pair1/removed")

        def agent(episode: Episode) -> Any:
            made = make(episode)
            real = made.ask

            async def ask(user: str, prompt: str, options: AskOptions) -> Reply:
                nonlocal asked
                asked += 1
                if asked == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return await real(user, prompt, options)

            made.ask = ask
            return made

        folder = RunFolder.create(path, plan, BLOBS, resume=True)
        try:
            asyncio.run(execute(plan, folder, services(agent), concurrency=2))
        finally:
            folder.close()

    child = os.fork()
    if not child:
        try:
            go(tmp_path / "killed", moment)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    go(tmp_path / "killed", 0)
    go(tmp_path / "calm", 0)
    assert seen(tmp_path / "killed") == seen(tmp_path / "calm")
    assert read_attempts(tmp_path / "killed").failed == read_attempts(tmp_path / "calm").failed


def cut_last_line(path: Path, kind: str) -> None:
    *whole, last = path.read_bytes().splitlines(keepends=True)
    assert json.loads(last)["kind"] == kind
    path.write_bytes(b"".join(whole))


async def test_a_call_that_came_to_its_end_is_followed_by_new_tries(tmp_path: Path) -> None:
    """Whoever resumes a finished run wants its failures tried again; whoever resumes a killed one wants its end."""
    plan, folder = paired(1), folder_of(tmp_path, paired(1), BLOBS)
    broken = services(fails_in("pair0/never"))
    await execute(plan, folder, broken)
    await execute(plan, folder, broken)
    assert read_attempts(tmp_path).failed_attempts["pair0/never"] == (1, 2, 3, 4)
    cut_last_line(tmp_path / "records-0001.jsonl", "call_end")  # as a kill would have left it
    summary = await execute(plan, folder, broken)
    assert set(summary.failed) == {f"pair0/{arm}" for arm in ARMS} and summary.done == 0
    assert read_attempts(tmp_path).failed_attempts["pair0/never"] == (1, 2, 3, 4)
    await execute(plan, folder, services(lambda e: Parrot()))
    assert read_attempts(tmp_path).done["pair0/never"] == 5


def test_arms_that_ended_count_for_nothing_before_their_pair_has(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path)
    for attempt, end in ((1, None), (2, "failed"), (3, "done"), (4, "done")):
        for arm in ("a", "b"):
            writer.write("episode_begin", arm, attempt, body={"plan_sha256": "0", "group": "g"})
            writer.write("episode_end", arm, attempt, body={"status": "done"})
        if end is not None:
            body = {
                "status": end,
                "reason": "why",
                "episodes": ["a", "b", "c"] if attempt == 3 else ["a", "b"],
            }
            writer.write("group_end", "g", attempt, body=body)
    writer.close()
    attempts = read_attempts(tmp_path)
    assert attempts.done == {"a": 4, "b": 4}  # at 3 the record lacks an arm that the pair's end speaks of
    assert attempts.failed == {} and attempts.failed_attempts == {"a": (2,), "b": (2,)}


async def test_user_names_tell_nothing(tmp_path: Path) -> None:
    users: dict[str, set[str]] = {}

    class Listens(Parrot):
        def __init__(self, episode: str) -> None:
            super().__init__()
            self.episode = episode

        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            users.setdefault(self.episode, set()).add(user)
            return Reply(text="")

    steps = (ASK, Ask(probe="p0", who="sibling"))
    arms = tuple(
        Episode(id=f"pair0/{arm}", instance="pair0", group="pair0", steps=steps)
        for arm in ("never", "removed")
    )
    plan = plan_of().model_copy(update={"episodes": arms})
    await execute(plan, folder_of(tmp_path, plan), services(lambda e: Listens(e.id)))
    names = [name for found in users.values() for name in found]
    assert len(names) == len(set(names)) == 4
    assert all(name[0] == "u" and len(name) == 15 and name.endswith("-1") for name in names)
    assert all(set(name[1:13]) <= set("0123456789abcdef") for name in names)
    assert users["pair0/never"] == {
        blind_user(3, "pair0/never", 1),
        blind_user(3, "pair0/never", 1, "sibling"),
    }
    assert blind_user(4, "pair0/never", 1) not in names


async def test_a_sibling_keeps_what_the_user_has_removed(tmp_path: Path) -> None:
    steps = (
        TELL,
        TELL.model_copy(update={"who": "sibling"}),
        Forget(request=RemovalRequest(value="bees")),
        ASK,
        Ask(probe="p0", who="sibling"),
        Reset(who="sibling"),
        Ask(probe="p0", who="sibling", repeat=1),
    )
    plan = plan_of(steps)
    await execute(plan, folder_of(tmp_path, plan, BLOBS), services(lambda e: Parrot()))
    replies = [x.body["reply"]["text"] for x in read_lines(tmp_path) if x.kind == "exchange"]
    assert replies == ["", "I keep bees.", ""]


async def test_a_failed_removal_is_an_observation_and_a_failed_episode(tmp_path: Path) -> None:
    class Refuses(Parrot):
        async def forget(self, user: str, request: RemovalRequest) -> Receipt:
            return Receipt(accepted=False, completed=False, message="not on Sundays")

    class Breaks(Parrot):
        async def forget(self, user: str, request: RemovalRequest) -> Receipt:
            raise KeyError(request.value)

    class Odd(Parrot):
        async def forget(self, user: str, request: RemovalRequest) -> Any:
            return {"status": "deleted"}

    step = Forget(request=RemovalRequest(value="XQ7-VIOLET-3829"), labels={"target": "t0"})
    plan = plan_of(*[(step, ASK)] * 3)
    agents = {"e0": Refuses(), "e1": Breaks(), "e2": Odd()}
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: agents[e.id]))
    assert summary.done == 1 and set(summary.failed) == {"e1", "e2"}
    (receipt,) = [x for x in read_lines(tmp_path) if x.kind == "receipt"]
    assert receipt.body["accepted"] is False and receipt.labels == {"target": "t0", "sham": False}
    lost = {x.episode: x.body["reason"] for x in read_lines(tmp_path) if x.kind == "removal_failed"}
    assert lost["e1"] == "AgentError: forget: the agent raised KeyError"
    assert lost["e2"].startswith("forget: not a receipt: ") and "XQ7" not in str(lost)


def test_progress_takes_back_what_is_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("verify x", 4) as tell:
        for _ in range(3):
            tell(Event("exchange", "pair0/never"))
        tell(Event("group_retry", "pair0", "AgentError: ask", void=3))
        for _ in range(4):
            tell(Event("exchange", "pair0/never"))
        tell(Event("group_failed", "pair1", "AgentError: open"))
    lines = capsys.readouterr().err.splitlines()
    assert "verify x: pair pair0 begins again: AgentError: ask" in lines
    assert "verify x: pair pair1 failed: AgentError: open" in lines
    assert lines[-1].startswith("verify x: 4 of 4 exchanges in ")


async def test_an_error_on_closing_does_not_hide_the_one_before(tmp_path: Path) -> None:
    class Slams(Raises):
        async def close(self) -> None:
            raise OSError

    plan = plan_of((ASK,), (ASK,))
    agents = {"e0": Slams(AgentError("ask: out of words")), "e1": Slams(ConfigError("no such model"))}
    with pytest.raises(ConfigError, match="no such model"):
        await execute(plan, folder_of(tmp_path, plan), services(lambda e: agents[e.id]), concurrency=1)
    assert read_attempts(tmp_path).failed == {"e0": "AgentError: ask: out of words"}
