"""The response cache: as many calls as distinct keys, nothing of the prompt on disk, a kill loses little."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vestige.errors import ModelError, StorageError
from vestige.models.base import ChatReply, ChatRequest, Message
from vestige.models.cache import CachedModel, ResponseCache, key_of
from vestige.models.chat import ChatClient
from vestige.records import TokenLogprob, Tool, ToolCall, Usage


def request(prompt: str = "hello", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=prompt),), **more)


class Echo:
    """Answers with the prompt, slowly, and counts."""

    name = "echo"

    def __init__(self) -> None:
        self.calls = 0
        self.fails = False

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        await asyncio.sleep(0.02)
        if self.fails:
            raise ModelError("no")
        return ChatReply(text=request.messages[0].content[::-1])

    async def close(self) -> None: ...


def test_the_key_holds_what_is_sent_and_nothing_else() -> None:
    base = request(task="facts", passages=("a",), query="q", choices=("a", "b"))
    key = key_of("m", base)
    assert key == key_of("m", request()) and key is not None and len(key) == 64
    others = [
        key_of("n", base),
        key_of("m", request("hello ")),
        key_of("m", request(temperature=0.1, seed=1)),
        key_of("m", request(seed=1)),
        key_of("m", request(max_tokens=301)),
        key_of("m", request(top_logprobs=1)),
        key_of("m", request(json_schema={})),
        key_of("m", ChatRequest(messages=(Message(role="system", content="hello"),))),
    ]
    assert len({key, *others}) == 9
    first, second = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
    assert key_of("m", request(json_schema=first)) == key_of("m", request(json_schema=second))


def test_keys_without_tools_are_those_of_before_there_were_tools() -> None:
    known = "da9f00e9e9bfa3ae365abeac3e4288b67c308d8bc4f61c55d3d51e13674484e8"
    assert key_of("m", request()) == key_of("m", request(tools=(), choices=("a", "b"))) == known
    sampled = request(temperature=0.5, seed=3, max_tokens=9, top_logprobs=2, json_schema={"type": "object"})
    assert key_of("m", sampled) == "3317eb6dbc1c30ad7e1ca64a8d62e383ddbc9ed6bd763484463ccb9e50a6aaa4"


def test_every_part_of_a_tool_counts_and_so_does_their_order() -> None:
    one, two = Tool(name="a", parameters={"x": 1, "y": 2}), Tool(name="b")
    offers: list[tuple[Tool, ...]] = [
        (),
        (one,),
        (two,),
        (one, two),
        (two, one),
        (one.model_copy(update={"name": "c"}),),
        (one.model_copy(update={"description": "c"}),),
        (one.model_copy(update={"parameters": {"x": 1}}),),
    ]
    assert len({key_of("m", request(tools=tools)) for tools in offers}) == len(offers)
    again = Tool(name="a", parameters={"y": 2, "x": 1})
    assert key_of("m", request(tools=(again,))) == key_of("m", request(tools=(one,)))


def test_the_calls_and_results_of_a_conversation_count() -> None:
    def turn(*messages: Message) -> ChatRequest:
        return ChatRequest(messages=messages)

    one, two = (ToolCall(id="a", name="book", arguments=text) for text in ("{}", "[]"))
    asked = [
        turn(Message(role="assistant", content="")),
        turn(Message(role="assistant", content="", tool_calls=(one,))),
        turn(Message(role="assistant", content="", tool_calls=(two,))),
        turn(Message(role="assistant", content="", tool_calls=(one, two))),
        turn(Message(role="tool", content="", tool_call_id="a")),
        turn(Message(role="tool", content="", tool_call_id="b")),
        turn(Message(role="tool", content="")),
    ]
    assert len({key_of("m", request) for request in asked}) == len(asked)


async def test_a_sampled_call_is_cached_only_under_its_seed(tmp_path: Path) -> None:
    cache, model = ResponseCache(tmp_path / "c.sqlite"), Echo()
    cached = CachedModel(model, cache)
    for _ in range(2):
        await cached.complete(request(temperature=1.0))
    assert model.calls == 2 and key_of("echo", request(temperature=1.0)) is None
    for seed in (1, 2, 1, 2):
        await cached.complete(request(temperature=1.0, seed=seed))
    assert model.calls == 4
    cache.close()


async def test_calls_made_are_the_distinct_keys_under_concurrency(tmp_path: Path, server: Any) -> None:
    """Counted by the server: 300 requests, 10 × 3 distinct ones, all at once and then once more."""
    cache = ResponseCache(tmp_path / "c.sqlite")
    model = CachedModel(ChatClient("slow", server.url, concurrency=64), cache)
    requests = [request(f"prompt {n % 10}", max_tokens=100 + n % 3) for n in range(300)]
    replies = await asyncio.gather(*map(model.complete, requests))
    assert len(server.asked) == len(server.bodies) == 30
    assert sum(not reply.cached for reply in replies) == 30
    await asyncio.gather(*map(model.complete, requests))
    assert len(server.asked) == 30
    assert (cache.counted.misses, cache.counted.hits) == (30, 570)
    await model.close()
    cache.close()


async def test_a_reply_comes_back_whole_from_the_file(tmp_path: Path) -> None:
    reply = ChatReply(
        text="café 🎈",
        finish_reason="stop",
        usage=Usage(prompt_tokens=3, completion_tokens=2),
        logprobs=(TokenLogprob(token="a", logprob=-0.123456789012345, top=(("b", -2.5),)),),
        tool_calls=(ToolCall(id="1", name="book", arguments='{"seat": "é'),),
    )
    cache = ResponseCache(tmp_path / "deep" / "c.sqlite")
    key = key_of("m", request())
    assert key is not None
    cache.put(key, reply)
    cache.close()
    again = ResponseCache(tmp_path / "deep" / "c.sqlite")
    assert again.get(key) == reply.model_copy(update={"cached": True})
    assert again.get("00" * 32) is None
    again.close()


def test_a_reply_stored_before_there_were_tools_is_still_read(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    body = b'{"text":"x","finish_reason":"stop","usage":null,"logprobs":null,"cached":false}'
    with sqlite3.connect(cache.path) as db:
        db.execute("INSERT INTO reply (key, body) VALUES (?, ?)", (bytes(32), body))
    db.close()
    assert cache.get("00" * 32) == ChatReply(text="x", finish_reason="stop", cached=True)
    cache.close()


async def test_no_prompt_is_stored(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    await CachedModel(Echo(), cache).complete(request("XQ7-VIOLET-3829"))
    cache.close()
    stored = cache.path.read_bytes()
    assert b"9283-TELOIV-7QX" in stored and b"XQ7-VIOLET-3829" not in stored


async def test_those_who_wait_share_an_error_and_it_is_not_stored(tmp_path: Path) -> None:
    cache, model = ResponseCache(tmp_path / "c.sqlite"), Echo()
    cached = CachedModel(model, cache)
    model.fails = True
    results = await asyncio.gather(*(cached.complete(request()) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, ModelError) for result in results) and model.calls == 1
    model.fails = False
    assert (await cached.complete(request())).text == "olleh"
    cache.close()


async def test_when_the_caller_is_cancelled_another_takes_over(tmp_path: Path) -> None:
    cache, model = ResponseCache(tmp_path / "c.sqlite"), Echo()
    cached = CachedModel(model, cache)
    leader = asyncio.create_task(cached.complete(request()))
    await asyncio.sleep(0.005)
    followers = [asyncio.create_task(cached.complete(request())) for _ in range(3)]
    await asyncio.sleep(0.005)
    leader.cancel()
    replies = await asyncio.gather(*followers)
    assert [reply.text for reply in replies] == ["olleh"] * 3 and model.calls == 2
    with pytest.raises(asyncio.CancelledError):
        await leader
    cache.close()


async def test_a_cancelled_waiter_disturbs_nobody(tmp_path: Path) -> None:
    cache, model = ResponseCache(tmp_path / "c.sqlite"), Echo()
    cached = CachedModel(model, cache)
    leader = asyncio.create_task(cached.complete(request()))
    await asyncio.sleep(0.005)
    waiter = asyncio.create_task(cached.complete(request()))
    await asyncio.sleep(0.005)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert (await leader).text == "olleh" and model.calls == 1
    cache.close()


async def test_what_is_pending_reaches_the_file_by_itself(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    cache.put("ab" * 32, ChatReply(text="x"))
    await asyncio.sleep(0.7)
    with contextlib.closing(sqlite3.connect(tmp_path / "c.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM reply").fetchone() == (1,)
    cache.close()


KILLED = """
import os, sys
from vestige.models.base import ChatReply
from vestige.models.cache import ResponseCache
cache = ResponseCache(sys.argv[1])
for number in range(10_000_000):
    cache.put(f"{number:064x}", ChatReply(text=str(number)))
    if number == 1000:
        print("go", flush=True)
"""


def test_a_kill_loses_at_most_the_last_batch(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"go\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    cache = ResponseCache(path)
    for number in range(1000 - 64):
        found = cache.get(f"{number:064x}")
        assert found is not None and found.text == str(number)
    assert not list(tmp_path.glob("*.damaged-*"))
    cache.put("ff" * 32, ChatReply(text="goes on"))
    cache.close()


@pytest.mark.parametrize("damage", ["not a database", "torn"])
def test_a_damaged_file_is_moved_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    path = tmp_path / "c.sqlite"
    if damage == "torn":
        cache = ResponseCache(path)
        for number in range(2000):
            cache.put(f"{number:064x}", ChatReply(text="x" * 200))
        cache.close()
        data = bytearray(path.read_bytes())
        data[100:] = os.urandom(len(data) - 100)
        path.write_bytes(data)
    else:
        path.write_bytes(b"this is not a database, whatever its name says" * 100)
    cache = ResponseCache(path)
    assert cache.get(f"{7:064x}") is None
    cache.put(f"{7:064x}", ChatReply(text="new"))
    cache.close()
    again = ResponseCache(path)
    found = again.get(f"{7:064x}")
    assert found is not None and found.text == "new"
    again.close()
    assert (tmp_path / "c.sqlite.damaged-1").exists() and "damaged" in caplog.text


def test_an_unreadable_entry_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    cache._write([(bytes(32), b'{"txt": 1}'), (b"\x01" * 32, b"\xff")])
    assert cache.get("00" * 32) is None and cache.get("01" * 32) is None
    cache.close()


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    one, two = ResponseCache(tmp_path / "c.sqlite"), ResponseCache(tmp_path / "c.sqlite")
    one.put("00" * 32, ChatReply(text="one"))
    two.put("01" * 32, ChatReply(text="two"))
    one.flush(), two.flush()
    assert [cache.get(key * 32).text for cache in (one, two) for key in ("00", "01")] == ["one", "two"] * 2
    one.close(), two.close()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot create"):
        ResponseCache(tmp_path / "file" / "c.sqlite")
    with pytest.raises(StorageError, match="cannot open"):
        ResponseCache(tmp_path)
