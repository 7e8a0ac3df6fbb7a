"""A test server that misbehaves on request: the model's name in the request says how."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web


def good(text: str = "fine", **more: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, **more}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


class Misbehaving:
    """Counts what it was asked, and answers as the model's name says."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.bodies: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self.url = ""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        payload = json.loads(await request.text())
        self.asked.append(payload)
        self.headers.append(dict(request.headers))
        self.times.append(time.monotonic())
        self.bodies[json.dumps(payload, sort_keys=True)] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self.answer(payload["model"], request)
        finally:
            self.in_flight -= 1

    async def answer(self, how: str, request: web.Request) -> web.StreamResponse:
        first = len(self.asked) == 1
        if how == "slow":
            await asyncio.sleep(0.03)
        elif how == "429-seconds" and first:
            return web.json_response({}, status=429, headers={"Retry-After": "0.3"})
        elif how == "429-date" and first:
            date = email.utils.formatdate(time.time() + 2, usegmt=True)
            return web.json_response({}, status=429, headers={"Retry-After": date})
        elif how == "429-long" and first:
            return web.json_response({}, status=429, headers={"Retry-After": "86400"})
        elif how == "500-once" and first:
            return web.Response(status=500, text="<html>broken</html>")
        elif how.startswith("always-"):
            return web.json_response(
                {"error": {"message": "SECRET PROMPT", "type": "some_error"}}, status=int(how[7:])
            )
        elif how == "stalled-head":
            await asyncio.sleep(30)
        elif how in ("stalled-body", "stalled-once") and (first or how == "stalled-body"):
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
            await asyncio.sleep(30)
        elif how in ("cut", "cut-once") and (first or how == "cut"):
            return web.Response(text=json.dumps(good())[:-20], content_type="application/json")
        elif how == "ends-early" and first:
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Content-Length": "1000"}
            )
            await response.prepare(request)
            await response.write(b'{"choices": [')
            assert request.transport is not None
            request.transport.close()
            return response
        elif how in ("reset", "reset-once") and (first or how == "reset"):
            assert request.transport is not None
            request.transport.abort()
        elif how == "huge":
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            for _ in range(64):
                await response.write(b" " * (1 << 20))
            return response
        elif how == "huge-declared":
            return web.Response(body=b" " * (9 << 20), content_type="application/json")
        elif how == "gzip-bomb":
            import gzip

            body = gzip.compress(b" " * (64 << 20))
            return web.Response(
                body=body, headers={"Content-Encoding": "gzip"}, content_type="application/json"
            )
        elif how == "html":
            return web.Response(text="<html>login</html>", content_type="text/html")
        elif how == "not-utf-8":
            return web.Response(body=b'{"choices": "\xff\xfe"}', content_type="application/json")
        elif how == "array":
            return web.json_response([])
        elif how == "half-surrogate":
            return web.Response(text=json.dumps(good("a\ud800b")), content_type="application/json")
        elif how.startswith("body:"):
            return web.Response(text=how[5:], content_type="application/json")
        elif how == "redirect":
            return web.Response(status=302, headers={"Location": "/v1/elsewhere?token=SECRET"})
        elif how == "too-long":
            error = {
                "type": "exceed_context_size_error",
                "message": "SECRET PROMPT",
                "n_prompt_tokens": 20,
                "n_ctx": 10,
            }
            return web.json_response({"error": error}, status=400)
        elif how == "context-full":
            return web.json_response(
                good() | {"choices": [{**good()["choices"][0], "finish_reason": "length"}]}
            )
        elif how == "logprobs":
            content = [
                {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]},
                {"token": "b", "logprob": -1.5, "top_logprobs": []},
            ]
            return web.json_response(good("ab", logprobs={"content": content}))
        return web.json_response(good())

    async def embeddings(self, request: web.Request) -> web.StreamResponse:
        payload = json.loads(await request.text())
        self.asked.append(payload)
        how = payload["model"]
        if how == "500-once" and len(self.asked) == 1:
            return web.Response(status=500)
        rows = [[float(len(text)), 1.0, 0.0] for text in payload["input"]]
        if how == "short":
            rows = rows[:-1]
        elif how == "ragged":
            rows[-1] = rows[-1][:2] if len(self.asked) > 1 else rows[-1]
        elif how == "zero":
            rows = [[0.0, 0.0, 0.0]]
        elif how == "words":
            return web.json_response({"data": [{"index": 0, "embedding": ["a"]}]})
        data = [{"index": index, "embedding": row} for index, row in enumerate(rows)]
        return web.json_response({"data": data[::-1]})


@asynccontextmanager
async def _misbehaving() -> AsyncIterator[Misbehaving]:
    """Serve on a loopback port."""
    server = Misbehaving()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_post("/v1/embeddings", server.embeddings)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
def misbehaving() -> Callable[[], AbstractAsyncContextManager[Misbehaving]]:
    """Makes servers, for a test that wants its own."""
    return _misbehaving


@pytest.fixture
async def server() -> AsyncIterator[Misbehaving]:
    """One server, running."""
    async with _misbehaving() as found:
        yield found
