"""What one exchange costs beside the model: Vestige's client against a server that answers at once.

The server runs in another process and always gives the same reply. Measured in turn, at the same concurrency:

* ``openai``: the package's AsyncOpenAI doing the bare calls;
* ``vestige``: a whole exchange: request, parse, response cache, one appended record;
* ``aiohttp``: bare posts without parsing, the limit.

Run: ``python benchmarks/harness_overhead.py [--calls 4000] [--concurrency 64] [--rounds 3]``, with the
package openai installed.
The targets: at least 2 × the calls per second of openai, at most 0.4 ms CPU a call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp

from vestige.models.base import ChatRequest, Message
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.chat import ChatClient
from vestige.runs.store import RecordWriter

REPLY = json.dumps(
    {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "null",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * 40}}
        ],
        "usage": {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)
MEMORY = "\n".join(f"- The user said sentence number {i} about something that they did." for i in range(10))

Call = Callable[[int], Awaitable[None]]


class NullServer(asyncio.Protocol):
    """Answers every POST with REPLY; knows just enough HTTP for that."""

    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length :]
            self.transport.write(HEAD + REPLY)


def serve(pipe: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(NullServer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def request(number: int) -> ChatRequest:
    return ChatRequest(
        messages=(
            Message(role="system", content=f"You are an assistant with a memory.\n{MEMORY}"),
            Message(role="user", content=f"Question {number}: what did I do?"),
        )
    )


async def timed(call: Call, calls: int, concurrency: int) -> tuple[float, float]:
    """Calls per second and CPU milliseconds per call."""
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await call(number)

    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return calls / (time.perf_counter() - start), (time.process_time() - cpu) / calls * 1000.0


async def measure_openai(url: str, calls: int, concurrency: int) -> tuple[float, float]:
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def call(number: int) -> None:
            asked = request(number)
            messages = [{"role": item.role, "content": item.content} for item in asked.messages]
            answer = await client.chat.completions.create(
                model="null",
                messages=messages,  # type: ignore[arg-type]  # its type names every role apart
                temperature=0.0,
                max_tokens=300,
            )
            assert answer.choices[0].message.content

        await timed(call, concurrency, concurrency)
        return await timed(call, calls, concurrency)


async def measure_vestige(url: str, calls: int, concurrency: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / "cache.sqlite")
        writer = RecordWriter(Path(folder))
        model = CachedModel(ChatClient("null", url, concurrency=concurrency), cache)

        async def call(number: int) -> None:
            asked = request(number)
            reply = await model.complete(asked)
            writer.write(
                "exchange",
                f"episode-{number}",
                0,
                step=3,
                probe="direct",
                labels={"k": 6, "level": 0},
                body={
                    "prompt": asked.messages[-1].content,
                    "reply": reply.text,
                    "finish_reason": reply.finish_reason,
                },
            )

        await timed(lambda number: call(-1 - number), concurrency, concurrency)
        result = await timed(call, calls, concurrency)
        assert cache.counted.misses == calls + concurrency
        await model.close()
        writer.close()
        cache.close()
        return result


async def measure_aiohttp(url: str, calls: int, concurrency: int) -> tuple[float, float]:
    body = json.dumps({"model": "null", "messages": [{"role": "user", "content": MEMORY}]}).encode()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(_: int) -> None:
            async with session.post(f"{url}/chat/completions", data=body) as response:
                await response.read()

        await timed(call, concurrency, concurrency)
        return await timed(call, calls, concurrency)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    kinds = {"openai": measure_openai, "vestige": measure_vestige, "aiohttp": measure_aiohttp}
    rounds: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    try:
        for _ in range(options.rounds):
            for kind, measure in kinds.items():
                rounds[kind].append(asyncio.run(measure(url, options.calls, options.concurrency)))
    finally:
        server.terminate()
    rate = {kind: statistics.median(value for value, _ in found) for kind, found in rounds.items()}
    cpu = {kind: statistics.median(value for _, value in found) for kind, found in rounds.items()}
    print(f"{options.calls} calls, concurrency {options.concurrency}, median of {options.rounds} rounds")
    for kind in kinds:
        print(
            f"{kind:8}  {rate[kind]:8.0f} calls/s  {cpu[kind]:6.3f} ms CPU/call  "
            f"{rate[kind] / rate['openai']:5.2f} x openai"
        )
    good = rate["vestige"] >= 2 * rate["openai"] and cpu["vestige"] <= 0.4
    print("targets (2 x openai, 0.4 ms CPU a call):", "reached" if good else "MISSED")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
