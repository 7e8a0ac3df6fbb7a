"""What an agent sends to its model is passed on as it is, and written down."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.errors import ConfigError, IntegrityError, ModelError
from vestige.models.proxy import Bodies, RecordingProxy

KEY = "sk-never-to-be-seen"
Serving = Callable[[], AbstractAsyncContextManager[Any]]
Chat = Callable[..., dict[str, Any]]


@pytest.fixture
async def proxy(endpoint: Any) -> AsyncIterator[RecordingProxy]:
    async with RecordingProxy(endpoint.url, KEY) as found:
        yield found


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as found:
        yield found


async def post(client: aiohttp.ClientSession, url: str, value: Any, **more: Any) -> tuple[int, bytes]:
    async with client.post(url, json=value, **more) as reply:
        return reply.status, await reply.read()


# --- one request ---


async def test_a_request_is_passed_and_recorded(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    url = proxy.url("pair-1/exposed")
    sent = json.dumps(request_of("gpt")).encode()
    headers = {
        "Authorization": "Bearer agents-own",
        "api-key": "other",
        "X-Mine": "kept",
        "Content-Type": "application/json",
    }
    async with client.post(
        f"{url}/chat/completions?api-version=2&key=in-query", data=sent, headers=headers
    ) as reply:
        assert reply.status == 200
        assert (await reply.json())["path"] == "/v1/chat/completions"
    ((method, path, body, seen),) = endpoint.asked
    assert (method, path, body) == ("POST", "/v1/chat/completions?api-version=2&key=in-query", sent)
    assert seen["Authorization"] == f"Bearer {KEY}"
    assert seen["X-Mine"] == "kept"
    assert "api-key" not in seen
    (one,) = await proxy.requests("pair-1/exposed")
    assert (one.kind, one.model, one.method, one.path) == ("chat", "gpt", "POST", "/v1/chat/completions")
    assert (one.outcome, one.status, one.streamed, one.unread) == ("answered", 200, False, None)
    assert one.usage is not None
    assert (one.usage.prompt_tokens, one.usage.completion_tokens) == (11, 3)
    assert one.body == hashlib.sha256(sent).hexdigest()
    assert proxy.bodies.get(one.body) == sent
    assert one.body_bytes == len(sent)
    assert one.seconds is not None
    assert 0 < one.seconds < 60
    everything = one.model_dump_json() + proxy.text(one)
    for secret in (KEY, "agents-own", "other", "in-query"):
        assert secret not in everything


async def test_without_a_key_the_agents_own_passes(endpoint: Any, client: Any, request_of: Chat) -> None:
    async with RecordingProxy(endpoint.url) as proxy:
        await post(
            client,
            f"{proxy.url('a')}/chat/completions",
            request_of(),
            headers={"Authorization": "Bearer own"},
        )
    assert endpoint.asked[0][3]["Authorization"] == "Bearer own"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/chat/completions", "chat"),
        ("/completions", "completion"),
        ("/embeddings", "embeddings"),
        ("/responses", "other"),
        ("/audio/a%2Fb", "other"),
    ],
)
async def test_kinds(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat, path: str, kind: str
) -> None:
    assert (await post(client, f"{proxy.url('a')}{path}", request_of()))[0] == 200
    (one,) = await proxy.requests("a")
    assert one.kind == kind
    assert endpoint.asked[0][1] == f"/v1{path}"
    assert (await proxy.traffic("a")).kinds == {kind: 1}


async def test_models_are_listed_without_a_body(proxy: RecordingProxy, client: Any) -> None:
    async with client.get(f"{proxy.url('a')}/models") as reply:
        assert reply.status == 200
    (one,) = await proxy.requests("a")
    assert (one.kind, one.body, one.body_bytes, one.unread) == ("models", None, 0, None)


async def test_a_path_beside_v1_goes_to_the_endpoints_root(
    endpoint: Any, proxy: RecordingProxy, client: Any
) -> None:
    await post(client, f"{proxy.url('a').removesuffix('/v1')}/api/chat", {"model": "x"})
    assert endpoint.asked[0][1] == "/api/chat"
    assert (await proxy.requests("a"))[0].path == "/api/chat"


async def test_the_query_of_the_endpoints_url_stays(endpoint: Any, client: Any, request_of: Chat) -> None:
    async with RecordingProxy(endpoint.url + "?api-version=7") as proxy:
        await post(client, f"{proxy.url('a')}/chat/completions?x=1", request_of())
    assert endpoint.asked[0][1] == "/v1/chat/completions?api-version=7&x=1"


# --- streams and bytes ---


async def test_a_stream_comes_piece_by_piece(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    """The endpoint waits after its first piece until the agent has it: a proxy that buffers would hang here."""
    async with client.post(f"{proxy.url('a')}/chat/completions", json=request_of("stream")) as reply:
        first = await asyncio.wait_for(reply.content.readany(), 10)
        assert first == endpoint.pieces[0]
        endpoint.gate.set()
        rest = await reply.read()
    assert first + rest == b"".join(endpoint.pieces)
    (one,) = await proxy.requests("a")
    assert one.streamed
    assert one.usage is not None
    assert (one.usage.prompt_tokens, one.usage.completion_tokens) == (11, 3)
    assert one.reply_bytes == sum(map(len, endpoint.pieces))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.binary(min_size=1, max_size=3000), max_size=12))
def test_any_stream_passes_byte_for_byte(serving: Serving, request_of: Chat, pieces: list[bytes]) -> None:
    async def run() -> bytes:
        async with (
            serving() as endpoint,
            RecordingProxy(endpoint.url) as proxy,
            aiohttp.ClientSession() as client,
        ):
            endpoint.pieces = tuple(pieces)
            endpoint.gate.set()
            return (await post(client, f"{proxy.url('a')}/completions", request_of("stream")))[1]

    assert asyncio.run(run()) == b"".join(pieces)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, 20 << 20])
async def test_bodies_of_any_bytes_pass(endpoint: Any, proxy: RecordingProxy, client: Any, size: int) -> None:
    data = json.dumps({"model": "echo", "input": "x" * size}).encode() if size else b""
    async with client.post(f"{proxy.url('a')}/embeddings", data=data) as reply:
        got = await reply.read()
    assert endpoint.asked[0][2] == data
    assert got == data or not size
    (one,) = await proxy.requests("a")
    assert (one.body is None) == (size == 0)
    assert one.body is None or proxy.bodies.get(one.body) == data


async def test_a_compressed_reply_passes_as_it_is(
    proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    status, raw = await post(client, f"{proxy.url('a')}/chat/completions", request_of("gzip"))
    assert status == 200
    assert raw[:2] == b"\x1f\x8b"
    (one,) = await proxy.requests("a")
    assert one.usage is not None
    assert one.usage.prompt_tokens == 11


async def test_a_compressed_request_is_recorded_as_what_it_says(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    import gzip

    sent = json.dumps(request_of()).encode()
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with client.post(
        f"{proxy.url('a')}/chat/completions", data=gzip.compress(sent), headers=headers
    ) as reply:
        assert reply.status == 200
    assert endpoint.asked[0][2] == sent
    assert "Content-Encoding" not in endpoint.asked[0][3]
    (one,) = await proxy.requests("a")
    assert proxy.bodies.get(one.body or "") == sent
    async with client.post(f"{proxy.url('a')}/chat/completions", data=b"no gzip", headers=headers) as reply:
        assert reply.status == 400
    assert len(endpoint.asked) == 1
    assert (await proxy.requests("a"))[1].outcome == "refused"


# --- bodies ---


@pytest.mark.parametrize("where", ["memory", "folder"])
async def test_the_same_body_is_kept_once(
    endpoint: Any, client: Any, request_of: Chat, where: str, tmp_path: Path
) -> None:
    bodies = Bodies(tmp_path / "blobs" if where == "folder" else None)
    async with RecordingProxy(endpoint.url, bodies=bodies) as proxy:
        urls = [proxy.url("a"), proxy.url("b")]
        for url in urls * 3:
            await post(client, f"{url}/chat/completions", request_of())
        await post(client, f"{urls[0]}/chat/completions", request_of("other"))
        digests = [r.body for label in "ab" for r in await proxy.requests(label)]
    assert len(digests) == 7
    assert len(bodies) == len(set(digests)) == 2
    assert {bodies.get(d or "") for d in digests} == {body for _, _, body, _ in endpoint.asked}
    if where == "folder":
        names = sorted(p.name for p in (tmp_path / "blobs").iterdir())
        assert names == sorted(f"{d}.json" for d in set(digests))


async def test_a_changed_body_is_noticed(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    digest = await bodies.put(b"as it was")
    assert bodies.get(digest) == b"as it was"
    bodies.flush()
    assert bodies.get(digest) == b"as it was"
    (tmp_path / f"{digest}.json").write_bytes(b"as it is not")
    with pytest.raises(IntegrityError, match="changed"):
        bodies.get(digest)
    with pytest.raises(KeyError):
        bodies.get("../../etc/passwd")


async def test_a_text_shows_what_an_escape_hides(proxy: RecordingProxy, client: Any) -> None:
    raw = b'{"model":"m","messages":[{"role":"user","content":"Z\\u00fcrich \\u0058Q7"}]}'
    async with client.post(f"{proxy.url('a')}/chat/completions", data=raw) as reply:
        await reply.read()
    (one,) = await proxy.requests("a")
    assert "Zürich XQ7" in proxy.text(one)


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("/embeddings", b'{"input": [[1, 2, 3]]}', "token ids"),
        ("/embeddings", b'{"input": [1, 2, 3]}', "token ids"),
        ("/completions", b'{"prompt": [5, 6]}', "token ids"),
        ("/completions", b'{"prompt": "words"}', None),
        ("/embeddings", b'{"input": ["words"]}', None),
        (
            "/chat/completions",
            b'{"messages": [{"content": [{"type": "image_url"}]}]}',
            "images, sound or files",
        ),
        ("/chat/completions", b'{"messages": [{"content": [{"type": "text", "text": "x"}]}]}', None),
        ("/chat/completions", b"\x80\x81", "no UTF-8 text"),
        ("/chat/completions", b"[1]", "not a JSON object"),
        ("/files", b"plain words", None),
    ],
)
async def test_what_cannot_be_read_is_said(
    proxy: RecordingProxy, client: Any, path: str, body: bytes, why: str | None
) -> None:
    async with client.post(proxy.url("a") + path, data=body) as reply:
        await reply.read()
    (one,) = await proxy.requests("a")
    assert one.unread == why
    assert (await proxy.traffic("a")).unread == (why is not None)


# --- labels ---


async def test_take_gives_each_request_once(proxy: RecordingProxy, client: Any, request_of: Chat) -> None:
    url = proxy.url("a") + "/chat/completions"
    await post(client, url, request_of("one"))
    await post(client, url, request_of("two"))
    assert [r.model for r in await proxy.take("a")] == ["one", "two"]
    assert await proxy.take("a") == ()
    await post(client, url, request_of("three"))
    assert [r.model for r in await proxy.take("a")] == ["three"]
    assert [r.number for r in await proxy.requests("a")] == [1, 2, 3]
    assert await proxy.requests("nobody") == await proxy.take("nobody") == ()


async def test_a_request_under_way_is_taken_and_its_end_still_shows(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    waiting = asyncio.create_task(post(client, proxy.url("a") + "/chat/completions", request_of("slow")))
    await asyncio.wait_for(endpoint.reached.wait(), 10)
    (early,) = await proxy.take("a", patience=0.05)
    assert (early.outcome, early.status, early.seconds, early.usage) == ("under_way", None, None, None)
    assert early.model == "slow"
    endpoint.gate.set()
    await waiting
    assert await proxy.take("a") == ()
    (late,) = await proxy.requests("a")
    assert (late.outcome, late.status) == ("answered", 200)
    assert (await proxy.traffic("a")).usage.prompt_tokens == 11


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6, unique=True),
    order=st.lists(st.integers(0, 5), min_size=1, max_size=25),
)
def test_labels_never_mix(serving: Serving, labels: list[str], order: list[int]) -> None:
    """Any labels at the same time: each has its own requests, all of them, and no other's."""

    async def run() -> None:
        async with (
            serving() as endpoint,
            RecordingProxy(endpoint.url) as proxy,
            aiohttp.ClientSession() as client,
        ):
            urls = [proxy.url(label) for label in labels]
            assert len(set(urls)) == len(urls)
            sent: dict[str, list[str]] = {label: [] for label in labels}
            calls: list[Any] = []
            for number, at in enumerate(order):
                label = labels[at % len(labels)]
                sent[label].append(f"{label}|{number}")
                body = {"model": "m", "prompt": f"{label}|{number}"}
                calls.append(post(client, f"{urls[at % len(labels)]}/completions", body))
            assert {status for status, _ in await asyncio.gather(*calls)} == {200}
            for label in labels:
                seen = await proxy.requests(label)
                prompts = sorted(json.loads(proxy.bodies.get(r.body or ""))["prompt"] for r in seen)
                assert prompts == sorted(sent[label])
                assert {r.label for r in seen} <= {label}
                assert [r.number for r in seen] == list(range(1, len(seen) + 1))

    asyncio.run(run())


async def test_a_url_that_was_not_handed_out_is_refused(
    endpoint: Any, proxy: RecordingProxy, client: Any, request_of: Chat
) -> None:
    mine, other = proxy.url("mine"), proxy.url("other")
    token = other.split("/")[4]
    for url in (
        mine.replace(mine.split("/")[4], token),  # another label's token
        mine.replace(mine.split("/")[4], "0" * 32),
        mine.replace("/mine/", "/unknown/"),
        mine.replace("/mine/", "/~6dine/"),  # another spelling of the label
        mine.split("/t/")[0] + "/v1",
    ):
        status, body = await post(client, f"{url}/chat/completions", request_of())
        assert status == 404
        assert json.loads(body)["error"]["code"] == "not_found"
    assert proxy.strays == 5
    assert endpoint.asked == []
    assert await proxy.requests("mine") == ()


async def test_it_listens_on_loopback_alone(proxy: RecordingProxy) -> None:
    port = int(proxy.url("a").split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    outside = socket.gethostbyname(socket.gethostname())
    if not outside.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((outside, port), 2)


async def test_misuse_is_one_clear_line(endpoint: Any) -> None:
    proxy = RecordingProxy(endpoint.url)
    with pytest.raises(ModelError, match="start it first"):
        proxy.url("a")
    async with proxy:
        with pytest.raises(ModelError, match="listens already"):
            await proxy.start()
        for label in ("", "é" * 101):
            with pytest.raises(ConfigError, match="expected 1 to 200"):
                proxy.url(label)
    with pytest.raises(ConfigError, match="base URL"):
        RecordingProxy("ftp://host")
