"""An endpoint that keeps what it was sent byte for byte, and answers as the request's path and model say."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


EVENTS = (
    event({"choices": [{"delta": {"content": "he"}}], "usage": None}),
    event({"choices": [{"delta": {"content": 'says "usage": {"prompt_tokens": 99}'}}]}),
    event({"choices": [], "usage": USAGE}),
    b"data: [DONE]\n\n",
)


class Endpoint:
    """Records requests; `url` ends in /v1."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.pieces: tuple[bytes, ...] = EVENTS
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()
        self.left = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.rel_url.raw_path_qs, body, dict(request.headers)))
        self.reached.set()
        try:
            return await self.answer(request, body)
        except (asyncio.CancelledError, ConnectionError):
            self.left.set()
            raise

    async def answer(self, request: web.Request, body: bytes) -> web.StreamResponse:
        try:
            model = json.loads(body)["model"]
        except (ValueError, KeyError, TypeError):
            model = ""
        if model == "stream":
            return await self.stream(request)
        if model == "slow":
            await self.gate.wait()
        if model == "redirect":
            return web.Response(status=307, headers={"Location": "http://192.0.2.1/v1/chat/completions"})
        if model == "error":
            return web.Response(
                status=429, body=b'{"error": {"message": "slow down"}}', headers={"Retry-After": "7"}
            )
        if model == "ends-early":
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
            assert request.transport is not None
            request.transport.close()
            return response
        if model == "gone":
            assert request.transport is not None
            request.transport.abort()
        if model == "gzip":
            packed = gzip.compress(json.dumps({"usage": USAGE}).encode())
            return web.Response(body=packed, headers={"Content-Encoding": "gzip"})
        if model == "echo":
            return web.Response(body=body, content_type="application/octet-stream")
        return web.json_response({"object": "x", "path": request.path, "usage": USAGE})

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, piece in enumerate(self.pieces):
            await response.write(piece)
            if number == 0:
                await self.gate.wait()
        await response.write_eof()
        return response


@asynccontextmanager
async def _serving() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    app = web.Application(client_max_size=256 << 20)
    app.router.add_route("*", "/{path:.*}", endpoint.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield endpoint
    finally:
        endpoint.gate.set()
        await runner.cleanup()


@pytest.fixture
def serving() -> Callable[[], AbstractAsyncContextManager[Endpoint]]:
    """Makes endpoints, for a test that wants its own event loop."""
    return _serving


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """One endpoint, running."""
    async with _serving() as found:
        yield found


def chat(model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}


@pytest.fixture
def request_of() -> Callable[..., dict[str, Any]]:
    """A chat request to a model of that name."""
    return chat
