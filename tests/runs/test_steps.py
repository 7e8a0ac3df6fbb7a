"""Questions with everything a probe says, adaptive rounds, restarts, descriptions, and where a run may not stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.agents import Parrot, conversing, folder_of, plan_of, services

from vestige.agents.protocol import AgentDescription
from vestige.errors import ConfigError, ModelError, ModelUnavailable
from vestige.records import Artifact, AskOptions, Receipt, RemovalRequest, Reply, Session, Tool, Turn
from vestige.runs.asking import MAX_QUESTION
from vestige.runs.engine import execute
from vestige.runs.plan import Probe, seed_for
from vestige.runs.steps import Ask, AskAdaptively, Forget, Inspect, Restart, Scan
from vestige.runs.store import read_attempts, read_counted, read_lines

SECRET = "XQ7-VIOLET-3829"
TELL, BLOBS = conversing(Session(id="s", turns=(Turn(role="user", content="I keep bees."),)))
ASK = Ask(probe="p0")


def lines(path: Path, kind: str) -> list[Any]:
    return [line for line in read_lines(path) if line.kind == kind]


class Listens(Parrot):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, AskOptions]] = []

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        self.asked.append((prompt, options))
        return Reply(text=f"reply {len(self.asked)}")


async def test_a_probe_s_options_reach_the_agent(tmp_path: Path) -> None:
    tool = Tool(name="order", parameters={"type": "object"})
    probe = Probe(
        id="p0",
        kind="influence",
        text="Acme or Bolt?",
        tools=(tool,),
        choices=("Acme", "Bolt"),
        session="s1",
        write_back=True,
        max_tokens=40,
        now="2024/01/02",
    )
    plan = plan_of((ASK, Ask(probe="p0", repeat=2))).model_copy(update={"probes": {"p0": probe}})
    agent = Listens()
    await execute(plan, folder_of(tmp_path, plan), services(lambda e: agent))
    first, again = (options for _, options in agent.asked)
    assert first == AskOptions(
        session="s1",
        seed=seed_for(3, "ask", "p0"),
        write_back=True,
        max_tokens=40,
        now="2024/01/02",
        tools=(tool,),
        choices=("Acme", "Bolt"),
    )
    assert again == first.model_copy(update={"seed": seed_for(3, "ask", "p0", "2")}) and again != first
    assert [line.repeat for line in lines(tmp_path, "exchange")] == [0, 2]


async def adaptive(path: Path, policy: Any, *, rounds: int = 3, guard: Any = None) -> Listens:
    plan = plan_of((AskAdaptively(policy="aux", rounds=rounds, probe="p0", labels={"phase": "after"}), ASK))
    agent = Listens()
    given = replace(services(lambda e: agent), policies={"aux": policy}, guard=guard)
    summary = await execute(plan, folder_of(path, plan), given)
    assert summary.done == 1, summary.failed
    return agent


async def test_a_policy_sees_the_transcript_and_writes_the_next_question(tmp_path: Path) -> None:
    seen: list[tuple[tuple[tuple[str, str], ...], int]] = []

    async def policy(probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        seen.append((tuple(transcript), round))
        return f" {probe.id}? {round} "

    agent = await adaptive(tmp_path, policy, rounds=2)
    assert [prompt for prompt, _ in agent.asked] == [
        "What do you know?",
        "p0? 1",
        "p0? 2",
        "What do you know?",
    ]
    one = (("What do you know?", "reply 1"),)
    assert seen == [(one, 1), ((*one, ("p0? 1", "reply 2")), 2)]
    *rounds, plain = lines(tmp_path, "exchange")
    assert [(x.step, x.repeat, x.labels["round"], x.body["prompt"]) for x in rounds] == [
        (0, 0, 0, "What do you know?"),
        (0, 1, 1, "p0? 1"),
        (0, 2, 2, "p0? 2"),
    ]
    assert all(x.labels["phase"] == "after" and x.probe == "p0" for x in rounds)
    assert "prompt" not in plain.body
    seeds = [options.seed for _, options in agent.asked]
    assert seeds[0] == seeds[3] == seed_for(3, "ask", "p0") and len(set(seeds)) == 3
    counted = read_counted(tmp_path, read_attempts(tmp_path), frozenset({"exchange"}))
    assert len(list(counted)) == 4  # the rounds of one step are not taken for one line written twice


async def test_a_question_with_the_target_is_never_put(tmp_path: Path) -> None:
    questions = {1: f"Is it {SECRET}?", 2: "", 3: "x" * (MAX_QUESTION + 1), 4: "What is it? \ud800"}

    async def policy(probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        return questions[round]

    agent = await adaptive(
        tmp_path, policy, rounds=4, guard=lambda e, q: f"{e.id}: it holds the target" if SECRET in q else None
    )
    assert [prompt for prompt, _ in agent.asked] == [
        "What do you know?",
        "What is it? ?",
        "What do you know?",
    ]
    refused = lines(tmp_path, "refused_question")
    assert [(x.labels["round"], x.body["reason"]) for x in refused] == [
        (1, "e0: it holds the target"),
        (2, "the policy wrote no question"),
        (3, f"the question is longer than {MAX_QUESTION} characters"),
    ]


async def test_a_policy_whose_model_fails_ends_the_rounds(tmp_path: Path) -> None:
    async def policy(probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        if round == 2:
            raise ModelError("tired")
        return "And?"

    agent = await adaptive(tmp_path, policy)
    assert len(agent.asked) == 3  # the probe, one round, and the step that follows
    (line,) = lines(tmp_path, "unavailable")
    assert line.body == {"step": "ask_adaptively", "reason": "round 2: ModelError: tired"}


async def test_a_policy_that_is_not_there_stops_the_run(tmp_path: Path) -> None:
    async def policy(probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        raise ModelUnavailable("no server")

    plan = plan_of((AskAdaptively(policy="aux", rounds=1, probe="p0"),))
    folder = folder_of(tmp_path, plan)
    with pytest.raises(ConfigError, match=r"asks for the policy 'aux'; known here: none"):
        await execute(plan, folder, services(lambda e: Parrot()))
    with pytest.raises(ModelUnavailable):
        await execute(plan, folder, replace(services(lambda e: Parrot()), policies={"aux": policy}))
    assert not read_attempts(tmp_path).failed


class Opens(Parrot):
    """Loses what is in its process when it is closed, and counts its openings."""

    opened = 0

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.heard.clear()


async def test_restart_is_as_near_as_the_agent_can_come(tmp_path: Path) -> None:
    class Restarts(Opens):
        restarted = 0

        async def restart(self) -> None:
            self.restarted += 1

    plan = plan_of(*[(TELL, Restart(), ASK)] * 3)
    agents = {"e0": Restarts(), "e1": Opens(), "e2": Parrot()}
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), services(lambda e: agents[e.id]))
    assert summary.done == 3 and (agents["e0"].restarted, agents["e1"].opened) == (1, 1)
    assert {x.episode: x.body["by"] for x in lines(tmp_path, "restarted")} == {
        "e0": "restart",
        "e1": "close and open",
    }
    (line,) = lines(tmp_path, "unavailable")
    assert (line.episode, line.body["reason"]) == ("e2", "the agent has no restart, nor both close and open")
    replies = {x.episode: x.body["reply"]["text"] for x in lines(tmp_path, "exchange")}
    assert replies == {"e0": "I keep bees.", "e1": "", "e2": "I keep bees."}


async def test_each_attempt_begins_with_what_the_agent_is(tmp_path: Path) -> None:
    class Describes(Parrot):
        def describe(self) -> AgentDescription:
            return AgentDescription(
                name="mine",
                version="2",
                configuration={"k": 3},
                capabilities=("close",),
                channels=("answer", "logs"),
                absent={"vectors": "keeps none"},
            )

    class Lies(Parrot):
        def describe(self) -> Any:
            return {"name": SECRET}

    plan = plan_of((ASK,), (ASK,), (ASK,))
    agents = {"e0": Describes(), "e1": Parrot(), "e2": Lies()}
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: agents[e.id]))
    first, second = lines(tmp_path, "description")
    assert AgentDescription.model_validate(first.body) == agents["e0"].describe()
    assert (first.episode, first.step, second.body["name"]) == ("e0", -1, "Parrot")
    assert second.body["capabilities"] == ["close"]
    assert summary.failed == {"e2": "AgentError: describe: the agent raised TypeError"}


@pytest.mark.parametrize("stored", [".", "run", "run/deep/store.bin", "link"])
async def test_a_run_does_not_start_where_the_agent_can_read_it(tmp_path: Path, stored: str) -> None:
    class Stores(Parrot):
        async def storage(self) -> list[Path]:
            return [tmp_path / "elsewhere.bin", tmp_path / stored]

    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    plan = plan_of((TELL, ASK), (TELL, ASK))
    folder = folder_of(tmp_path / "run", plan, BLOBS)
    agent = Stores()
    with pytest.raises(ConfigError, match=r"^--out .*run: .* the agent.*; choose a folder") as caught:
        await execute(plan, folder, services(lambda e: agent))
    assert "\n" not in str(caught.value)
    assert agent.closed and not agent.heard
    assert not lines(tmp_path / "run", "exchange")


async def test_a_neighbour_of_the_run_s_folder_is_no_harm(tmp_path: Path) -> None:
    class Stores(Parrot):
        async def storage(self) -> list[Path]:
            return [tmp_path / "ru", tmp_path / "run2", tmp_path / "store.bin"]

    plan = plan_of((ASK,))
    summary = await execute(plan, folder_of(tmp_path / "run", plan), services(lambda e: Stores()))
    assert summary.done == 1


async def test_a_scan_reads_every_file_of_a_stored_folder(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "deep").mkdir(parents=True)
    (store / "deep" / "wal").write_bytes(SECRET.encode())
    (store / "db").write_bytes(b"nothing")
    (tmp_path / "outside").write_bytes(SECRET.encode())
    (store / "link").symlink_to(tmp_path / "outside")

    class Stores(Parrot):
        async def storage(self) -> Any:
            return str(store)

    plan = plan_of((Scan(needles={"target": SECRET}),))
    await execute(plan, folder_of(tmp_path / "run", plan), services(lambda e: Stores()))
    (line,) = lines(tmp_path / "run", "scan")
    assert line.body == {
        "files": ["db", "wal"],
        "hits": [{"file": "wal", "needle": "target", "count": 1}],
    }


async def test_half_a_surrogate_pair_anywhere_is_stored(tmp_path: Path) -> None:
    class Half(Parrot):
        async def forget(self, user: str, request: RemovalRequest) -> Receipt:
            return Receipt(accepted=True, completed=True, message="\ud83d gone")

        async def inspect(self, user: str) -> list[Artifact]:
            return [Artifact(id="1", tier="raw", text="\ud83d")]

        async def ask(self, user: str, prompt: str, options: AskOptions) -> Any:
            return "\ud83d"

    plan = plan_of((Forget(request=RemovalRequest(value="x")), Inspect(name="after"), ASK))
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: Half()))
    assert summary.done == 1
    assert lines(tmp_path, "receipt")[0].body["message"] == "? gone"
    assert lines(tmp_path, "artifacts")[0].body["artifacts"][0]["text"] == "?"
    assert lines(tmp_path, "exchange")[0].body["reply"]["text"] == "?"


async def test_inspect_that_gives_no_list_is_the_agent_s_failure(tmp_path: Path) -> None:
    class Odd(Parrot):
        async def inspect(self, user: str) -> Any:
            return None

    plan = plan_of((Inspect(name="before"),))
    summary = await execute(plan, folder_of(tmp_path, plan), services(lambda e: Odd()))
    assert summary.failed == {"e0": "AgentError: inspect: not artifacts: not a list"}
