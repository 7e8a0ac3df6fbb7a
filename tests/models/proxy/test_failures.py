"""When the endpoint, the agent or the request fails, both sides and the record say so."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from vestige.errors import StorageError
from vestige.models.proxy import Bodies, RecordingProxy

Chat = Callable[..., dict[str, Any]]


@pytest.fixture
async def proxy(endpoint: Any) -> AsyncIterator[RecordingProxy]:
    async with RecordingProxy(endpoint.url) as found:
        yield found


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as found:
        yield found


async def refused(client: aiohttp.ClientSession, url: str, value: Any) -> tuple[int, dict[str, str]]:
    async with client.post(f"{url}/chat/completions", json=value) as reply:
        text = await reply.text()
        assert "\n" not in text
        return reply.status, json.loads(text)["error"]


async def test_the_endpoints_errors_pass_as_they_are(
    proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    async with client.post(proxy.url("a") + "/chat/completions", json=request_of("error")) as reply:
        assert (reply.status, reply.headers["Retry-After"]) == (429, "7")
        assert await reply.read() == b'{"error": {"message": "slow down"}}'
    (one,) = await proxy.requests("a")
    assert (one.outcome, one.status) == ("answered", 429)
    assert (await proxy.traffic("a")).without_usage == 0  # no tokens were missed


async def test_an_endpoint_that_is_not_there(client: Any, request_of: Chat) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with RecordingProxy(f"http://user:secret@127.0.0.1:{port}/v1?key=hidden") as proxy:
        status, error = await refused(client, proxy.url("a"), request_of())
        assert (status, error["code"]) == (502, "upstream_unreachable")
        assert error["message"].startswith(f"http://127.0.0.1:{port}/v1: cannot connect (")
        (one,) = await proxy.requests("a")
    assert (one.outcome, one.status) == ("unreachable", 502)
    assert one.body is not None  # the agent sent it all the same


async def test_an_endpoint_that_hangs_up(proxy: RecordingProxy, client: Any, request_of: Chat) -> None:
    status, error = await refused(client, proxy.url("a"), request_of("gone"))
    assert (status, error["code"]) == (502, "upstream_unreachable")


async def test_an_endpoint_that_says_nothing(endpoint: Any, client: Any, request_of: Chat) -> None:
    async with RecordingProxy(endpoint.url, idle=0.2) as proxy:
        status, error = await refused(client, proxy.url("a"), request_of("slow"))
    assert (status, error["message"].split(": ")[1]) == (502, "timed out")


async def test_an_endpoint_that_ends_within_its_reply(
    proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    """Of a known length or not, the agent must not take the piece for the whole."""
    with pytest.raises(aiohttp.ClientError):
        async with client.post(proxy.url("a") + "/chat/completions", json=request_of("ends-early")) as reply:
            await reply.read()
    (one,) = await proxy.requests("a")
    assert (one.outcome, one.status) == ("broken_off", 200)


async def test_a_stream_that_ends_early_is_no_whole_stream(
    endpoint: Any, client: Any, request_of: Chat
) -> None:
    async with RecordingProxy(endpoint.url, idle=0.2) as proxy:
        with pytest.raises(aiohttp.ClientError):
            async with client.post(proxy.url("a") + "/chat/completions", json=request_of("stream")) as reply:
                await reply.read()
        (one,) = await proxy.requests("a")
    assert one.outcome == "broken_off"
    assert one.reply_bytes == len(endpoint.pieces[0])


async def test_a_redirect_does_not_lead_around_the_proxy(
    proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    status, error = await refused(client, proxy.url("a"), request_of("redirect"))
    assert (status, error["code"]) == (502, "upstream_redirects")
    assert "192.0.2.1" not in error["message"]
    assert (await proxy.requests("a"))[0].outcome == "refused"


async def test_a_switch_takes_the_model_down(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    proxy.down = True
    status, error = await refused(client, proxy.url("a"), request_of())
    assert (status, error["code"]) == (503, "model_down")
    assert endpoint.asked == []
    proxy.down = False
    async with client.post(proxy.url("a") + "/chat/completions", json=request_of()) as reply:
        assert reply.status == 200
    assert [r.outcome for r in await proxy.requests("a")] == ["down", "answered"]
    assert all(r.body for r in await proxy.requests("a"))


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_request_that_is_too_large(endpoint: Any, client: Any, chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"x" * 400

    async with RecordingProxy(endpoint.url, largest=1000) as proxy:
        data = pieces() if chunked else b"x" * 1600
        async with client.post(proxy.url("a") + "/chat/completions", data=data) as reply:
            assert reply.status == 413
            assert "more than 1000 bytes" in (await reply.json())["error"]["message"]
        (one,) = await proxy.requests("a")
        assert (one.outcome, one.status, one.body) == ("refused", 413, None)
        assert one.unread is not None
        async with client.post(proxy.url("a") + "/chat/completions", data=b"x" * 1000) as reply:
            assert reply.status == 200
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("model", ["slow", "stream"])
async def test_an_agent_that_leaves_frees_the_model(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat, model: str
) -> None:
    asking = asyncio.create_task(refused(client, proxy.url("a"), request_of(model)))
    await asyncio.wait_for(endpoint.reached.wait(), 10)
    await asyncio.sleep(0.05)
    asking.cancel()
    if model == "slow":
        await asyncio.wait_for(endpoint.left.wait(), 10)
    (one,) = await proxy.requests("a")
    assert one.outcome == "client_left"
    assert one.body is not None
    async with client.post(proxy.url("a") + "/chat/completions", json=request_of()) as reply:
        assert reply.status == 200


async def test_an_agent_that_leaves_within_its_request(proxy: RecordingProxy) -> None:
    url = proxy.url("a")
    host, port = url.split("/")[2].split(":")
    path = "/" + url.split("/", 3)[3]
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"POST {path}/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf".encode()
    )
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.close()
    (one,) = await proxy.requests("a")
    assert (one.outcome, one.status, one.body) == ("client_left", None, None)
    assert one.unread == "the body is not known"


async def test_closing_ends_what_is_under_way(endpoint: Any, client: Any, request_of: Chat) -> None:
    proxy = await RecordingProxy(endpoint.url).start()
    asking = asyncio.create_task(refused(client, proxy.url("a"), request_of("slow")))
    await asyncio.wait_for(endpoint.reached.wait(), 10)
    await asyncio.wait_for(proxy.close(), 10)
    with pytest.raises(aiohttp.ClientError):
        await asking
    (one,) = await proxy.requests("a")
    assert one.outcome == "client_left"
    await proxy.close()


async def test_a_disk_that_refuses_loses_nothing(
    client: Any, endpoint: Any, request_of: Chat, tmp_path: Path
) -> None:
    """No look at the requests passes as whole while their bodies are not written."""
    blobs = tmp_path / "blobs"
    bodies = Bodies(blobs)
    blobs.rmdir()
    proxy = RecordingProxy(endpoint.url, bodies=bodies)
    await proxy.start()
    async with client.post(proxy.url("a") + "/chat/completions", json=request_of()) as reply:
        assert reply.status == 200
    for look in (proxy.requests, proxy.take, proxy.traffic):
        with pytest.raises(StorageError, match="cannot be written"):
            await look("a")
    with pytest.raises(StorageError, match="cannot be written"):
        await proxy.close()
    blobs.mkdir()
    (one,) = await proxy.take("a")
    assert Bodies(blobs).get(one.body or "") == endpoint.asked[0][2]
    await proxy.close()


async def test_what_cannot_be_kept_is_not_passed_on(
    endpoint: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vestige.models.proxy.bodies._MOST_WAITING", 1000)
    async with RecordingProxy(endpoint.url, bodies=Bodies(tmp_path)) as proxy:
        status, error = await refused(client, proxy.url("a"), {"model": "x" * 2000})
        assert (status, error["code"]) == (500, "not_recorded")
        assert endpoint.asked == []
        (one,) = await proxy.requests("a")
    assert (one.outcome, one.body, one.unread) == ("refused", None, "the body is not known")


async def test_many_bodies_are_written_as_they_come(
    endpoint: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vestige.models.proxy.bodies._WAITING", 1000)
    bodies = Bodies(tmp_path)
    async with RecordingProxy(endpoint.url, bodies=bodies) as proxy:
        for number in range(20):
            async with client.post(
                proxy.url("a") + "/completions", json={"prompt": f"{number}" * 600}
            ) as reply:
                await reply.read()
        assert list(tmp_path.glob("*.json"))  # noqa: ASYNC240 - before anybody looked
        digests = {r.body or "" for r in await proxy.requests("a")}
    assert len(digests) == len(bodies) == 20
    assert {p.stem for p in tmp_path.iterdir()} == digests  # noqa: ASYNC240
