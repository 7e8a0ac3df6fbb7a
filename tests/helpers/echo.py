"""An OpenAI-compatible server whose replies are a function of the request alone, and which keeps what it was asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from vestige.memory.prompts import prompt

CallKey = tuple[str, str, str, str]


def _summary(messages: list[dict[str, str]]) -> tuple[str, list[str]] | None:
    """The task of a summary call and the lines the user said, found by the packaged prompts themselves."""
    for task in ("facts", "sentence"):
        system, user = prompt(task).fill(["@@"])
        before, after = (part.rstrip("- ") for part in user.content.split("@@"))
        asked = messages[-1]["content"]
        framed = asked.startswith(before) and asked.endswith(after)
        if messages[0]["content"] == system.content and framed:
            said = asked[len(before) : len(asked) - len(after)]
            return task, [line.lstrip("- ") for line in said.splitlines() if line.strip("- ")]
    return None


def reply_to(payload: dict[str, Any]) -> str:
    """Summaries repeat what the user said; answers repeat the memories that stand in the prompt."""
    summary = _summary(payload["messages"])
    if summary is not None:
        task, said = summary
        return (
            "\n".join(f"The user said: {line}" for line in said)
            if task == "facts"
            else f"The user spoke of {said[-1]}"
        )
    memories = re.findall(r"(?m)^- (.*)$", payload["messages"][0]["content"])
    return " ".join(memories) if memories else "I don't know."


class Echo:
    """Serves in a thread of its own; `delay` seconds a call, at most, and another for each request."""

    def __init__(self, *, delay: float = 0.0, stall_after: int | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.url = ""
        self.reached = threading.Event()
        """Set at the first call."""
        self._delay, self._stall_after = delay, stall_after
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def summaries(self) -> int:
        """Calls that asked for a summary."""
        return sum(_summary(p["messages"]) is not None for p in self.asked)

    @property
    def model(self) -> str:
        """What `--model` takes."""
        return f"{self.url}#echo"

    def calls(self) -> list[CallKey]:
        """(model, messages, parameters, seed) of each call."""
        return [
            (
                p["model"],
                json.dumps(p["messages"], sort_keys=True),
                json.dumps(
                    {n: v for n, v in p.items() if n not in ("model", "messages", "seed")}, sort_keys=True
                ),
                json.dumps(p.get("seed")),
            )
            for p in self.asked
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        runner = web.AppRunner(app, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.Response:
        payload = json.loads(await request.text())
        self.asked.append(payload)
        self.reached.set()
        if self._stall_after is not None and len(self.asked) > self._stall_after:
            await asyncio.sleep(600)
        if self._delay:
            digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).digest()
            await asyncio.sleep(self._delay * digest[0] / 255)
        text = reply_to(payload)
        return web.json_response(
            {
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }
        )
