"""The engine interprets scripts; what an agent cannot do, or does wrong, is recorded and never hidden."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.agents import Parrot, Raises, conversing, folder_of, plan_of, services

from vestige.errors import AgentError, ConfigError, ModelError, StorageError
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, Session, Turn
from vestige.runs.engine import GIVE_UP_AFTER, Event, execute
from vestige.runs.plan import seed_for
from vestige.runs.steps import (
    Ask,
    Configure,
    EndSession,
    Forget,
    Inspect,
    Maintain,
    Restore,
    Scan,
    Settle,
    Snapshot,
)
from vestige.runs.store import read_attempts, read_lines

ASK = (Ask(probe="p0"),)
TALK = Session(
    id="s", turns=(Turn(role="user", content="I keep bees."), Turn(role="assistant", content="Oh."))
)


def lines(path: Path, kind: str) -> list[Any]:
    return [line for line in read_lines(path) if line.kind == kind]


async def test_a_script_is_carried_out_in_order(tmp_path: Path) -> None:
    converse, blobs = conversing(TALK)
    forget = Forget(request=RemovalRequest(value="bees"), labels={"mode": "x"})
    plan = plan_of((converse, *ASK, forget, Ask(probe="p0", labels={"k": 3})))
    agent = Parrot()
    seen: list[Event] = []
    folder = folder_of(tmp_path, plan, blobs)
    summary = await execute(plan, folder, services(lambda e: agent), on_event=seen.append)
    first, second = lines(tmp_path, "exchange")
    assert (first.step, first.probe, first.body["reply"]["text"]) == (1, "p0", "I keep bees.")
    assert (second.step, second.labels, second.body["reply"]["text"]) == (3, {"k": 3}, "")
    (receipt,) = lines(tmp_path, "receipt")
    assert receipt.labels == {"mode": "x", "sham": False} and Receipt.model_validate(receipt.body).completed
    assert (summary.done, summary.failed, summary.skipped, summary.exchanges) == (1, {}, 0, 2)
    assert [e.kind for e in seen].count("exchange") == 2 and seen[-1].kind == "episode_done"
    assert agent.closed
    folder.close()


async def test_a_probe_gets_the_plan_s_seed_and_leaves_no_trace(tmp_path: Path) -> None:
    asked: list[AskOptions] = []

    class Listens(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Any:
            asked.append(options)
            return "a plain string"

    plan = plan_of((*ASK, *ASK), ASK)
    await execute(plan, folder_of(tmp_path, plan), services(lambda e: Listens()))
    assert {o.seed for o in asked} == {seed_for(3, "ask", "p0")}
    assert not any(o.write_back for o in asked)
    assert {line.body["reply"]["text"] for line in lines(tmp_path, "exchange")} == {"a plain string"}


async def test_each_episode_has_a_user_of_its_own(tmp_path: Path) -> None:
    """One agent for all episodes: what the first was told must not be told to the second."""
    converse, blobs = conversing(TALK)
    plan = plan_of((converse, *ASK), ASK)
    shared = Parrot()
    await execute(plan, folder_of(tmp_path, plan, blobs), services(lambda e: shared), concurrency=1)
    assert [line.body["reply"]["text"] for line in lines(tmp_path, "exchange")] == ["I keep bees.", ""]


async def test_an_agent_that_raises_fails_its_episode_alone(tmp_path: Path) -> None:
    plan = plan_of(ASK, ASK, ASK)
    broken = Raises(KeyError("XQ7-VIOLET-3829"))
    agents = {"e0": Parrot(), "e1": broken, "e2": Parrot()}
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: agents[e.id]))
    assert summary.done == 2
    assert summary.failed == {"e1": "AgentError: ask: the agent raised KeyError"}
    attempts = read_attempts(tmp_path)
    assert set(attempts.done) == {"e0", "e2"} and set(attempts.failed) == {"e1"}
    assert "XQ7" not in str(attempts.failed)  # what an agent raises may quote what it was told
    assert broken.closed


@pytest.mark.parametrize("error", [ModelError("the endpoint is tired"), AgentError("broke its protocol")])
async def test_our_own_errors_keep_their_words(tmp_path: Path, error: Exception) -> None:
    plan = plan_of(ASK, ASK)
    agents = {"e0": Raises(error), "e1": Parrot()}
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: agents[e.id]))
    assert summary.failed == {"e0": f"{type(error).__name__}: {error}"} and summary.done == 1


async def test_nothing_works_so_the_run_stops(tmp_path: Path) -> None:
    plan = plan_of(*[ASK] * (GIVE_UP_AFTER + 4))
    with pytest.raises(AgentError, match="the agent raised RuntimeError"):
        await execute(
            plan, folder_of(tmp_path, plan), services(lambda e: Raises(RuntimeError())), concurrency=1
        )
    assert len(lines(tmp_path, "episode_begin")) == GIVE_UP_AFTER == 5


async def test_failures_between_successes_do_not_stop_it(tmp_path: Path) -> None:
    plan = plan_of(*[ASK] * 14)
    odd = services(lambda e: Raises(RuntimeError()) if int(e.id[1:]) % 2 else Parrot())
    summary = await execute(plan, folder_of(tmp_path, plan), odd, concurrency=1)
    assert summary.done == 7 and len(summary.failed) == 7


@pytest.mark.parametrize("error", [ConfigError("no such model"), StorageError("full")])
async def test_a_user_s_mistake_or_a_full_disk_stops_everything(tmp_path: Path, error: Exception) -> None:
    plan = plan_of(*[ASK] * 6)
    with pytest.raises(type(error), match=str(error)):
        await execute(plan, folder_of(tmp_path, plan), services(lambda e: Raises(error)), concurrency=1)
    assert len(lines(tmp_path, "episode_begin")) == 1


async def test_a_failed_episode_is_tried_again_under_another_user(tmp_path: Path) -> None:
    plan = plan_of(ASK, ASK)
    users: list[str] = []

    class Once(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            users.append(user)
            if len(users) == 1:
                raise RuntimeError
            return await super().ask(user, prompt, options)

    folder = folder_of(tmp_path, plan)
    first = await execute(plan, folder, services(lambda e: Once()), concurrency=1)
    again = await execute(plan, folder, services(lambda e: Once()), concurrency=1)
    assert (first.done, again.done, again.skipped) == (1, 1, 1)
    assert len(set(users)) == 3
    assert read_attempts(tmp_path).done == {"e0": 2, "e1": 1} and not read_attempts(tmp_path).failed
    (superseded,) = lines(tmp_path, "superseded")
    assert (superseded.episode, superseded.attempt) == ("e0", 1)


async def test_what_an_agent_cannot_do_is_recorded_with_its_reason(tmp_path: Path) -> None:
    steps = (EndSession(), Settle(), Maintain(), Inspect(name="before"), Scan(needles={"a": "b"}), *ASK)
    plan = plan_of(steps)
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: Parrot()))
    assert summary.done == 1
    assert [
        (line.step, line.body["step"], line.body["reason"]) for line in lines(tmp_path, "unavailable")
    ] == [
        (0, "end_session", "the agent has no end_session"),
        (1, "settle", "the agent has no settle"),
        (2, "maintain", "the agent has no maintain"),
        (3, "inspect", "the agent has no inspect"),
        (4, "scan", "the agent has no storage"),
    ]


@pytest.mark.parametrize("step", [Snapshot(name="built"), Restore(name="built"), Configure(knobs={"k": 1})])
async def test_a_plan_that_needs_snapshots_fails_without_them(tmp_path: Path, step: Any) -> None:
    """Without them what follows would be about a state that the script does not name: never silently."""
    steps = (step, *ASK) if isinstance(step, Configure) else (Snapshot(name="built"), step, *ASK)
    plan = plan_of(steps)
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: Parrot()))
    needed = steps[0].do
    assert summary.failed == {"e0": f"AgentError: the agent has no {needed}, which this plan needs"}
    assert not lines(tmp_path, "exchange")


async def test_inspect_that_shows_no_artifacts_is_the_agent_s_failure(tmp_path: Path) -> None:
    class Odd(Parrot):
        async def inspect(self, user: str) -> list[Any]:
            return [{"id": 1, "where": "XQ7-VIOLET-3829"}]

    plan = plan_of((Inspect(name="before"),))
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: Odd()))
    assert summary.failed["e0"].startswith("AgentError: inspect: not artifacts")
    assert "XQ7" not in summary.failed["e0"]


async def test_an_agent_that_cannot_be_opened_fails_its_episode(tmp_path: Path) -> None:
    plan = plan_of(ASK, ASK)
    summary = await execute(
        plan, folder_of(tmp_path, plan), services(lambda e: None if e.id == "e0" else Parrot())
    )
    assert set(summary.failed) == {"e0"} and summary.done == 1


async def test_a_run_that_is_cancelled_closes_its_agents_and_can_go_on(tmp_path: Path) -> None:
    waiting = asyncio.Event()

    class Slow(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            waiting.set()
            await asyncio.sleep(60)
            raise AssertionError("not reached")

    plan = plan_of(ASK, ASK)
    slow = Slow()
    folder = folder_of(tmp_path, plan)
    task = asyncio.create_task(execute(plan, folder, services(lambda e: slow), concurrency=1))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.closed and not read_attempts(tmp_path).done
    summary = await execute(plan, folder, services(lambda e: Parrot()))
    assert summary.done == 2


async def test_agents_run_at_once_up_to_the_limit(tmp_path: Path) -> None:
    now = most = 0

    class Counts(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1
            return Reply(text="")

    plan = plan_of(*[ASK] * 12)
    await execute(plan, folder_of(tmp_path, plan), services(lambda e: Counts()), concurrency=3)
    assert most == 3
