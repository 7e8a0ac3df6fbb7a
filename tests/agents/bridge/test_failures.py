"""Whatever goes wrong in an agent's process is one clear error, and nothing of it is left behind."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.agents import folder_of, plan_of

from vestige.agents.bridge.far import serve
from vestige.agents.bridge.launch import Launch
from vestige.agents.bridge.parent import open_bridged
from vestige.agents.bridge.peer import Peer
from vestige.agents.bridge.protocol import encoded, facts, response
from vestige.agents.protocol import Agent
from vestige.errors import AgentError
from vestige.models.hashing import HashingEmbedder
from vestige.records import AskOptions
from vestige.runs.engine import execute
from vestige.runs.services import Services
from vestige.runs.steps import Ask, Episode
from vestige.runs.store import read_lines

HELPERS = Path(__file__).parents[2] / "helpers"
CANARY = "XQ7-VIOLET-3829"


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


async def bad(folder: Path, seconds: float = 20.0) -> Any:
    launch = Launch(f"{HELPERS / 'far_agents.py'}:Bad", Path(sys.executable), call_seconds=seconds)
    return await open_bridged(launch, folder, label="far_agents.py:Bad")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("raise", r"^ask: the agent raised RuntimeError at far_agents\.py:\d+$"),
        ("value error", r"^ask: the agent raised ValueError at far_agents\.py:\d+$"),
        ("exit", r"^ask: the agent raised SystemExit at far_agents\.py:\d+$"),
        ("nan", r"^ask: what the agent gave back cannot be sent: it is not JSON"),
        ("object", r"^ask: what the agent gave back cannot be sent: a value of type object came$"),
    ],
)
async def test_an_agent_that_raises_goes_on(prompt: str, expected: str, tmp_path: Path) -> None:
    agent = await bad(tmp_path)
    with pytest.raises(AgentError, match=expected) as caught:
        await agent.ask("u", prompt, AskOptions())
    assert CANARY not in str(caught.value)
    assert (await agent.ask("u", "hello", AskOptions())).text == "I don't know."
    await agent.close()


async def test_what_it_prints_is_no_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    agent = await bad(tmp_path)
    assert (await agent.ask("u", "noise", AskOptions())).text == "after the noise"
    assert (await agent.ask("u", "surrogate", AskOptions())).text == "half ? of a pair"
    assert (await agent.ask("u", "stdin", AskOptions())).text == "''"
    await agent.close()
    out, err = capfd.readouterr()
    assert not out
    assert "forged" in err


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("crash", r"^ask: the agent's process ended \(exit code 7\)$"),
        ("segfault", r"^ask: the agent's process ended \(killed by SIGSEGV\)$"),
        ("hang", r"^ask: the agent's process did not answer within 1\.5 s and was ended$"),
        ("spin", r"^ask: the agent's process did not answer within 1\.5 s and was ended$"),
    ],
)
async def test_a_process_that_fails_is_ended_and_can_be_replaced(
    prompt: str, expected: str, tmp_path: Path
) -> None:
    agent = await bad(tmp_path, seconds=1.5 if "did not answer" in expected else 30)
    first = agent.pid
    with pytest.raises(AgentError, match=expected):
        await agent.ask("u", prompt, AskOptions())
    assert gone(first)
    with pytest.raises(AgentError, match=r"^ask: the agent's process is gone"):
        await agent.ask("u", "hello", AskOptions())
    await agent.restart()
    assert (await agent.ask("u", "hello", AskOptions())).text == "I don't know."
    await agent.close()


async def test_a_cancelled_call_ends_the_process(tmp_path: Path) -> None:
    agent = await bad(tmp_path)
    pid = agent.pid
    call = asyncio.create_task(agent.ask("u", "hang", AskOptions()))
    await asyncio.sleep(0.2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert gone(pid)
    await agent.close()


async def test_what_an_agent_started_ends_with_it(tmp_path: Path) -> None:
    agent = await bad(tmp_path)
    pids = [agent.pid, int((await agent.ask("u", "grandchild", AskOptions())).text)]
    assert all(map(alive, pids))
    await agent.close()
    assert all(map(gone, pids))


ORPHANS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
import asyncio, sys
from pathlib import Path
from vestige.agents.bridge.far import serve
from vestige.agents.bridge.launch import Launch
from vestige.agents.bridge.parent import open_bridged

async def main():
    agent = await open_bridged(Launch(sys.argv[1], Path(sys.executable)), Path(sys.argv[2]), label="x")
    child = (await agent.ask("u", "grandchild")).text
    print(agent.pid, child, flush=True)
    await agent.ask("u", "spin")

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_an_agent_when_the_run_dies(number: signal.Signals, tmp_path: Path) -> None:
    source = f"{HELPERS / 'far_agents.py'}:Bad"
    run = subprocess.Popen(
        [sys.executable, "-c", ORPHANS, source, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert run.stdout is not None
    pids = [int(word) for word in run.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(alive, pids))
    try:
        run.send_signal(number)
        run.wait(20)
    finally:
        run.kill()
        run.stdout.close()
    assert all(map(gone, pids))


# --- processes that break the protocol ----------------------------------------------------------------------


@dataclass(frozen=True)
class Broken(Launch):
    """A process that is no `child`, and breaks the protocol in one way."""

    how: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        return (str(self.python), str(HELPERS / "far_peers.py"), self.how)


async def broken(how: str, folder: Path) -> Any:
    launch = Broken("x:Peer", Path(sys.executable), how=how, call_seconds=3, fenced=False)
    return await open_bridged(launch, folder, label="far_peers.py")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("json", "ask: the agent's process broke the protocol: it is not JSON"),
        ("shape", "ask: the agent's process broke the protocol: it has a field that is not known"),
        ("id", "ask: the agent's process broke the protocol: it answered request 9, not 2"),
        ("endless", "ask: the agent's process wrote 10,000 lines that are no message"),
        ("silence", "ask: the agent's process ended (closed its output)"),
        ("held", "ask: the agent's process ended (exit code 9)"),
        ("half", "ask: the agent's process ended (exit code 0)"),
        ("unended", "ask: the agent's process did not answer within 3 s and was ended"),
    ],
)
async def test_a_broken_protocol_is_one_line(how: str, expected: str, tmp_path: Path) -> None:
    agent = await broken(how, tmp_path)
    pid = agent.pid
    with pytest.raises(AgentError) as caught:
        await agent.ask("u", "hello", AskOptions())
    assert str(caught.value) == expected
    assert gone(pid)
    await agent.close()


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("version", "hello: the agent's process speaks version 2 of the protocol, expected 1"),
        ("facts", "hello: the agent's process broke the protocol: field name: field required"),
    ],
)
async def test_a_process_that_cannot_be_spoken_to_is_refused(how: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        await broken(how, tmp_path)
    assert str(caught.value) == expected


async def test_noise_between_messages_is_passed_over(tmp_path: Path) -> None:
    agent = await broken("noise", tmp_path)
    assert (await agent.ask("u", "hello", AskOptions())).text == "heard"
    await agent.close()


async def test_a_line_beyond_the_limit_ends_the_process(tmp_path: Path) -> None:
    command = [sys.executable, str(HELPERS / "far_peers.py"), "huge"]
    peer = Peer(command, tmp_path, dict(os.environ), limit=1 << 20)
    await peer.start()
    await peer.call("hello", {}, 20)
    pid = peer.pid
    with pytest.raises(AgentError, match=r"^ask: the agent's process answered more than 1,048,576 bytes$"):
        await peer.call("ask", {}, 20)
    assert pid is not None
    assert gone(pid)
    with pytest.raises(AgentError, match=r"a request of 2,000,0.. bytes; at most 1,048,576"):
        encoded(1, "ask", {"prompt": "x" * 2_000_000}, 1 << 20)


async def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="no-such-python cannot be started: No such file or directory"):
        await open_bridged(Launch("a:B", Path("no-such-python")), tmp_path, label="x")


def test_an_answer_beyond_the_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = io.BytesIO()
    line = object.__new__(serve.Line)
    line._out = sent
    monkeypatch.setattr(serve, "MAX_BYTES", 200)
    line.write({"id": 3, "result": "x" * 300})
    found = response(sent.getvalue(), 3, "ask")
    assert found.error is not None
    assert found.error.kind == "unfit"
    assert found.error.words.endswith("bytes came; at most 200 are taken")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_response_or_an_agents_error(line: bytes) -> None:
    try:
        assert response(line, 1, "ask").id == 1
    except AgentError as error:
        assert "\n" not in str(error)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5), lambda v: st.dictionaries(st.text(max_size=9), v)
    )
)
def test_any_value_is_facts_or_an_agents_error(value: Any) -> None:
    with pytest.raises(AgentError):
        facts(value)


# --- in a run -----------------------------------------------------------------------------------------------


async def test_a_crash_is_a_failed_episode_and_the_run_goes_on(tmp_path: Path) -> None:
    prompts = ("hello", "crash", "spin", "nan", "noise")
    plan = plan_of(*((Ask(probe=f"p{i}"),) for i in range(len(prompts))), probes=prompts)
    launch = Launch(f"{HELPERS / 'far_agents.py'}:Bad", Path(sys.executable), call_seconds=4)

    async def open_agent(episode: Episode, storage: Path) -> Agent:
        return await open_bridged(launch, storage, label="far_agents.py:Bad")

    embedder = HashingEmbedder()
    given = Services(open_agent=open_agent, embedder_of=lambda e: embedder, measures={})
    summary = await execute(plan, folder_of(tmp_path / "run", plan), given)
    assert summary.done == 2
    assert set(summary.failed) == {"e1", "e2", "e3"}
    assert "AgentError: ask: the agent's process ended (exit code 7)" in str(summary.failed["e1"])
    assert "did not answer" in str(summary.failed["e2"])
    assert "cannot be sent" in str(summary.failed["e3"])
    replies = [x.body["reply"]["text"] for x in read_lines(tmp_path / "run") if x.kind == "exchange"]
    assert sorted(replies) == ["I don't know.", "after the noise"]
