"""An OpenAI-compatible server that gives the replies it was handed, in order, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Scripted:
    """`asked` holds the payloads, `url` is the base URL."""

    def __init__(self, messages: Sequence[dict[str, Any]]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.url = ""
        self._messages = list(messages)

    async def chat(self, request: web.Request) -> web.Response:
        self.asked.append(json.loads(await request.text()))
        message = self._messages[len(self.asked) - 1]
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return web.json_response(
            {"choices": [{"index": 0, "finish_reason": finish, "message": message}], "usage": usage}
        )


@asynccontextmanager
async def scripted(*messages: dict[str, Any]) -> AsyncIterator[Scripted]:
    """Serve on a loopback port; a request beyond the script is an error of the server."""
    server = Scripted(messages)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()
