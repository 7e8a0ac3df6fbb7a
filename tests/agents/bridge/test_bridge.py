"""An agent in a process of its own: the whole protocol, restarts, snapshots, and what it can reach."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from vestige.agents.bridge.far import runner, serve
from vestige.agents.bridge.launch import Launch
from vestige.agents.bridge.parent import BridgedAgent, look_at, open_bridged
from vestige.agents.bridge.protocol import MAX_BYTES, PARAMETERS, VERSION
from vestige.agents.protocol import OPTIONAL_METHODS, Agent, describe
from vestige.errors import AgentError, ConfigError
from vestige.records import Artifact, AskOptions, MemoryUnit, RemovalRequest, Session, Turn

FAR = Path(__file__).parents[2] / "helpers" / "far_agents.py"
SESSION = Session(id="s1", turns=(Turn(role="user", content="my locker code is 4711"),))


def launch(name: str, **settings: Any) -> Launch:
    return Launch(f"{FAR}:{name}", Path(sys.executable), settings=settings, call_seconds=20, start_seconds=20)


@asynccontextmanager
async def opened(name: str, folder: Path, **settings: Any) -> AsyncIterator[Any]:
    agent = await open_bridged(
        launch(name, **settings), folder, label=f"far_agents.py:{name}", sha256="ab" * 32
    )
    try:
        yield agent
    finally:
        await agent.close()


def test_both_sides_mean_the_same() -> None:
    assert runner.PARAMETERS == PARAMETERS
    assert (runner.VERSION, serve.MAX_BYTES) == (VERSION, MAX_BYTES)
    assert {"converse", "ask", "forget", "reset", *OPTIONAL_METHODS} - {"restart", "configure"} == set(
        PARAMETERS
    )


@pytest.mark.parametrize("name", ["Notes", "Async"])
async def test_the_whole_protocol(name: str, tmp_path: Path) -> None:
    async with opened(name, tmp_path) as agent:
        assert isinstance(agent, Agent)
        await agent.converse("u", SESSION)
        await agent.remember("u", [MemoryUnit(id="m1", text="the bicycle is green")])
        reply = await agent.ask("u", "what is the locker code", AskOptions())
        assert reply.text == "my locker code is 4711"
        assert [(r.id, r.tier) for r in reply.retrieved] == [("s1/0", "raw")]
        assert await agent.inspect("u") == [
            Artifact(id="s1/0", tier="raw", text="my locker code is 4711"),
            Artifact(id="m1", tier="raw", text="the bicycle is green"),
        ]
        assert [p.name for p in await agent.storage()] == ["u.json"]
        receipt = await agent.forget("u", RemovalRequest(value="4711"))
        assert (receipt.completed, receipt.affected) == (True, {"raw": 1})
        assert "4711" not in (await agent.ask("u", "what is the locker code", AskOptions())).text
        await agent.reset("u")
        assert await agent.inspect("u") == []
    assert (tmp_path / "closed").read_text() == "yes"


async def test_what_it_says_of_itself_is_what_it_has(tmp_path: Path) -> None:
    async with opened("Notes", tmp_path) as agent:
        found = describe(agent)
        assert found.name == "Notes"
        assert set(found.capabilities) == {
            *(
                "open",
                "close",
                "restart",
                "configure",
                "remember",
                "inspect",
                "storage",
                "snapshot",
                "restore",
            )
        }
        assert all(callable(getattr(agent, method)) for method in found.capabilities)
        assert not hasattr(agent, "poll")
        assert found.knobs == ("k",)
        assert found.channels == ("answer", "retrieval", "memory_writes", "summary", "storage", "vectors")
        assert found.configuration["sha256"] == "ab" * 32
        assert str(found.configuration["process"]).startswith("its own, Python 3.")
        assert found.configuration["network"] == "loopback and its models"


async def test_a_restart_is_a_new_process_over_the_same_folder(tmp_path: Path) -> None:
    async with opened("Notes", tmp_path) as agent:
        await agent.converse("u", SESSION)
        await agent.configure(k=1)
        await agent.remember("u", [MemoryUnit(id="m1", text="a locker is grey")])
        before = agent.pid
        await agent.restart()
        assert agent.pid != before
        reply = await agent.ask("u", "locker code", AskOptions())
        assert len(reply.retrieved) == 1, "the knob is set again"
        assert len(await agent.inspect("u")) == 2


async def test_a_snapshot_is_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    async with opened("Notes", tmp_path / "agent") as agent:
        await agent.converse("u", SESSION)
        await agent.snapshot("u", tmp_path / "0.snapshot")
        await agent.forget("u", RemovalRequest(value="4711"))
        await agent.remember("u", [MemoryUnit(id="m1", text="later")])
        await agent.restore("u", tmp_path / "0.snapshot")
        assert [a.text for a in await agent.inspect("u")] == ["my locker code is 4711"]
        await agent.restore("u", tmp_path / "0.snapshot")
        assert len(await agent.inspect("u")) == 1


async def test_async_methods_share_one_loop_that_keeps_running(tmp_path: Path) -> None:
    async with opened("Async", tmp_path) as agent:
        first = int((await agent.ask("u", "ticks", AskOptions())).text)
        await asyncio.sleep(0.3)
        assert int((await agent.ask("u", "ticks", AskOptions())).text) > first + 3


async def test_a_class_for_the_runs_own_process_works_here_too(tmp_path: Path) -> None:
    async with opened("Plainer", tmp_path) as agent:
        await agent.converse("u", SESSION)
        assert "4711" in (await agent.ask("u", "code?", AskOptions())).text
        refused = await agent.forget("u", RemovalRequest(ids=("a",)))
        assert not refused.accepted
        receipt = await agent.forget("u", RemovalRequest(value="4711"))
        assert receipt.message == "no receipt"
        assert "4711" not in (await agent.ask("u", "code?", AskOptions())).text
        await agent.reset("u")
        assert (await agent.ask("u", "code?", AskOptions())).text == "nothing"
        assert describe(agent).configuration["reset"] == "a new process over an emptied folder"


def test_nothing_is_made_to_see_what_a_class_has(tmp_path: Path) -> None:
    facts = look_at(launch("Needs"), tmp_path, label="x")
    assert facts.methods == ("converse", "ask", "forget")
    assert not facts.state_in_folder
    assert look_at(launch("Notes"), tmp_path, label="x").knobs == ("k",)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("Notes", {"moon": 1}, "--agent far_agents.py:Notes: unknown setting 'moon'; Notes has k"),
        ("Needs", {}, "--agent far_agents.py:Needs: Needs needs 'moon', which nobody gives it"),
        ("Incomplete", {}, "Incomplete has no forget; expected `def forget(self, user, …)`"),
        ("Absent", {}, "no 'Absent' in far_agents.py"),
    ],
)
async def test_a_persons_mistake_is_one_line(
    name: str, settings: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        await open_bridged(launch(name, **settings), tmp_path, label=f"far_agents.py:{name}")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_missing_module_is_named(tmp_path: Path) -> None:
    file = tmp_path / "needy.py"
    file.write_text("import no_such_package\n")
    with pytest.raises(ConfigError, match=r"no module 'no_such_package' in its environment \(needy\.py:1\)"):
        await open_bridged(Launch(f"{file}:A", Path(sys.executable)), tmp_path, label="needy.py:A")


async def test_a_knob_that_is_not_taken_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this plan sets level, which Notes has no configure for"):
        await open_bridged(launch("Notes"), tmp_path, label="x", knobs={"level": 1}, demanded=["level"])
    async with opened("Notes", tmp_path) as agent:
        with pytest.raises(ConfigError, match="k=0: expected a positive number"):
            await agent.configure(k=0)


async def test_a_key_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "leaky.py"
    file.write_text(
        "class A:\n"
        "    def __init__(self, folder, settings): raise ValueError('bad: ' + str(dict(settings)))\n"
        "    def converse(self, user, session): ...\n"
        "    def ask(self, user, prompt): ...\n"
        "    def forget(self, user, request): ...\n"
    )
    there = Launch(f"{file}:A", Path(sys.executable), settings={"api_key": "sk-very-secret"})
    with pytest.raises(ConfigError) as caught:
        await open_bridged(there, tmp_path, label="x")
    assert "sk-very-secret" not in str(caught.value)
    assert "sk-very-secret" not in " ".join(there.command)


async def test_a_fenced_agent_reaches_the_loopback_alone(tmp_path: Path) -> None:
    async with opened("Bad", tmp_path) as agent:
        said = (await agent.ask("u", "connect", AskOptions())).text
        assert said == "this agent may connect to the loopback and its model's address alone"
        assert agent.refused == ["192.0.2.1:80", "telemetry.example"]
        assert (await agent.ask("u", "loopback", AskOptions())).text == "connected"


async def test_a_fenced_agent_has_a_home_of_its_own_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    async with opened("Bad", tmp_path) as agent:
        seen = json.loads((await agent.ask("u", "environment", AskOptions())).text)
    assert not {"OPENAI_API_KEY", "PYTHONPATH", "HTTPS_PROXY"} & set(seen)
    assert Path(seen["HOME"]).is_relative_to(tmp_path)
    assert Path(seen["TMPDIR"]).is_relative_to(tmp_path)
    assert seen["MEM0_TELEMETRY"] == "False"


def test_the_hosts_are_those_of_the_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert launch("Notes", model_url="http://127.0.0.1:8000/v1").hosts() == []
    assert launch("Notes", model_url="https://api.example.com/v1").hosts() == ["api.example.com"]
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert launch("Notes", model_url="https://api.example.com/v1").hosts() == [
        "api.example.com",
        "proxy.example",
    ]
    assert Launch("a:B", Path("python"), fenced=False).hosts() is None


def test_an_agent_that_was_never_opened_has_no_optional_methods(tmp_path: Path) -> None:
    agent = BridgedAgent(launch("Notes"), tmp_path, label="x")
    assert not hasattr(agent, "inspect")
    with pytest.raises(AgentError, match="the agent is not open"):
        agent.describe()


async def test_knobs_are_those_that_the_description_names(tmp_path: Path) -> None:
    """A plan has knobs of the reference agent too; `configure(**knobs)` alone does not ask for them."""
    file = tmp_path / "knobs.py"
    file.write_text(
        "class A:\n"
        "    def converse(self, user, session): ...\n"
        "    def ask(self, user, prompt): return str(self.k)\n"
        "    def forget(self, user, request): ...\n"
        "    def describe(self):\n"
        "        said = {'name': 'a', 'version': '1', 'configuration': {}, 'capabilities': ['configure']}\n"
        "        return {**said, 'knobs': ['k']}\n"
        "    def configure(self, **knobs):\n"
        "        if set(knobs) != {'k'}: raise ValueError('unknown knob')\n"
        "        self.k = knobs['k']\n"
    )
    (tmp_path / "agent").mkdir()
    agent = await open_bridged(
        Launch(f"{file}:A", Path(sys.executable)),
        tmp_path / "agent",
        label="x",
        knobs={"temperature": 0.0, "k": 7},
    )
    assert (await agent.ask("u", "k?", AskOptions())).text == "7"
    assert describe(agent).knobs == ("k",)
    assert not agent.takes_knob("temperature")
    await agent.close()
