"""Every agent has a way of its own to its model, which others neither see nor are taken down with."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from tests.helpers.echo import Echo

from vestige.errors import ConfigError
from vestige.models.proxy import RecordingProxy, Sent, Taps

Chat = Callable[..., dict[str, Any]]


@pytest.fixture
async def taps() -> AsyncIterator[Taps]:
    found = Taps()
    yield found
    await found.close()


async def post(url: str, value: Any, path: str = "/chat/completions") -> int:
    async with aiohttp.ClientSession() as client, client.post(url + path, json=value) as reply:
        await reply.read()
        return reply.status


def blocking(url: str, value: Any) -> int:
    with urllib.request.urlopen(f"{url}/chat/completions", json.dumps(value).encode(), timeout=10) as reply:
        return reply.status


async def test_what_two_agents_send_is_told_apart(taps: Taps, endpoint: Any, request_of: Chat) -> None:
    one, two = await taps.open(endpoint.url), await taps.open(endpoint.url)
    assert one.url != two.url
    await post(one.url, request_of("a"))
    await post(two.url, request_of("b"))
    await post(one.url, {"model": "c", "input": "ü"}, "/embeddings")
    assert [json.loads(text) for text in (await one.take()).texts] == [
        request_of("a"),
        {"model": "c", "input": "ü"},
    ]
    assert not await one.take()
    assert [json.loads(text)["model"] for text in (await two.take()).texts] == ["b"]
    assert len(endpoint.asked) == 3


async def test_one_agents_outage_is_not_the_others(taps: Taps, endpoint: Any, request_of: Chat) -> None:
    one, two = await taps.open(endpoint.url), await taps.open(endpoint.url)
    await one.outage(True)
    assert [await post(t.url, request_of("m")) for t in (one, two)] == [503, 200]
    assert len((await one.take()).texts) == 1  # it was sent all the same
    await one.outage(False)
    assert await post(one.url, request_of("m")) == 200
    assert len(endpoint.asked) == 2


async def test_a_model_answers_an_agent_that_blocks_the_event_loop(taps: Taps, request_of: Chat) -> None:
    with Echo() as echo:  # in a thread of its own
        tap = await taps.open(echo.url)
        assert blocking(tap.url, request_of("m")) == 200
        assert len(echo.asked) == len((await tap.take()).texts) == 1


async def test_a_closed_way_leads_nowhere_until_it_is_opened_again(
    taps: Taps, endpoint: Any, request_of: Chat
) -> None:
    tap = await taps.open(endpoint.url)
    await tap.outage(True)
    await post(tap.url, request_of("m"))
    assert len((await tap.close()).texts) == 1
    assert await post(tap.url, request_of("m")) == 404
    assert not await tap.take()
    await tap.open()
    assert await post(tap.url, request_of("m")) == 200
    assert len((await tap.take()).texts) == 1
    await tap.close()
    assert taps.facts() == {"completion_tokens": 3, "prompt_tokens": 11, "requests": 2, "without_usage": 1}


async def test_what_is_still_being_answered_has_been_sent(
    taps: Taps, endpoint: Any, request_of: Chat
) -> None:
    tap = await taps.open(endpoint.url)
    asking = asyncio.create_task(post(tap.url, request_of("slow")))
    await endpoint.reached.wait()
    assert [json.loads(text)["model"] for text in (await tap.take()).texts] == ["slow"]
    endpoint.gate.set()
    assert await asking == 200
    assert not await tap.take()


async def test_what_nobody_can_read_is_counted(taps: Taps, endpoint: Any) -> None:
    tap = await taps.open(endpoint.url)
    await post(tap.url, {"model": "m", "input": [[1, 2]]}, "/embeddings")
    async with aiohttp.ClientSession() as client, client.get(tap.url + "/models") as reply:
        await reply.read()
    sent = await tap.take()
    assert (len(sent.texts), sent.unread) == (1, {"token ids": 1})
    assert sent + sent == Sent(sent.texts * 2, {"token ids": 2})
    assert not Sent() and Sent(unread={"token ids": 1})


async def test_a_dropped_label_frees_what_no_other_sent(endpoint: Any, request_of: Chat) -> None:
    async with RecordingProxy(endpoint.url) as proxy:
        await post(proxy.url("a"), request_of("both"))
        await post(proxy.url("b"), request_of("both"))
        await post(proxy.url("a"), request_of("a-alone"))
        assert len(proxy.bodies) == 2
        proxy.drop("a")
        assert len(proxy.bodies) == 1
        assert await proxy.requests("a") == ()
        (kept,) = await proxy.requests("b")
        assert json.loads(proxy.text(kept)) == request_of("both")


async def test_an_address_that_is_none_is_refused(taps: Taps) -> None:
    with pytest.raises(ConfigError):
        await taps.open("ftp://model.example/v1")


async def test_taps_can_be_closed_twice_and_used_again(endpoint: Any, request_of: Chat) -> None:
    taps = Taps()
    await taps.close()
    for _ in range(2):
        tap = await taps.open(endpoint.url)
        assert await post(tap.url, request_of("m")) == 200
        await taps.close()
    await taps.close()
