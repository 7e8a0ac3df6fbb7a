"""What the recording proxy adds to a request's latency: median proxied minus median direct, in one run.

The endpoint (answers at once) and the proxy each run in a process of their own; this process is the agent and calls
both in turn, one call at a time, over connections that stay open. Bodies are of two sizes: a memory probe, and an
extraction prompt of about 8,000 tokens. The bodies of one size differ, and with ``--folder`` they are written to disk.

Run: ``python benchmarks/proxy_overhead.py [--calls 1500] [--folder]``.
The target: at most 1 ms at the median.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Coroutine
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp
from aiohttp import web

from vestige.models.proxy import Bodies, RecordingProxy

REPLY = json.dumps(
    {
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * 40}}
        ],
        "usage": {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240},
    }
).encode()
SIZES = {"2 kB": 2_000, "32 kB": 32_000}


async def endpoint(pipe: Connection) -> None:
    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=REPLY, content_type="application/json")

    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pipe.send(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    await asyncio.to_thread(pipe.recv)
    await runner.cleanup()


async def proxy(pipe: Connection) -> None:
    upstream, folder = pipe.recv()
    async with RecordingProxy(upstream, "key", bodies=Bodies(folder)) as found:
        before = time.process_time()
        pipe.send(found.url("agent"))
        await asyncio.to_thread(pipe.recv)
        spent = time.process_time() - before
        pipe.send(((await found.traffic("agent")).model_dump(), spent))
        await asyncio.to_thread(pipe.recv)


def run(main: Any, pipe: Connection) -> None:
    coroutine: Coroutine[Any, Any, None] = main(pipe)
    asyncio.run(coroutine)


def body(size: int, number: int) -> bytes:
    """A request of about `size` bytes, another for each number."""
    content = f"{number} " + "The user said something about it. " * (size // 34)
    return json.dumps({"model": "null", "messages": [{"role": "user", "content": content}]}).encode()


async def measure(direct: str, proxied: str, calls: int) -> dict[str, tuple[list[float], list[float]]]:
    """Milliseconds of every call by size: direct, proxied."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    async with aiohttp.ClientSession() as session:
        for name, size in SIZES.items():
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(calls + 50):
                data = body(size, number)
                for at, url in enumerate((direct, proxied) if number % 2 else (proxied, direct)):
                    started = time.perf_counter()
                    async with session.post(f"{url}/chat/completions", data=data) as reply:
                        got = await reply.read()
                    spent = 1000 * (time.perf_counter() - started)
                    if reply.status != 200 or got != REPLY:
                        raise SystemExit("a reply did not come whole")
                    if number >= 50:  # the first open connections
                        times[at if number % 2 else 1 - at].append(spent)
            found[name] = times
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--folder", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    children = [
        context.Process(target=run, args=(work, pipe[1]), daemon=True)
        for work, pipe in zip((endpoint, proxy), pipes, strict=True)
    ]
    for child in children:
        child.start()
    with tempfile.TemporaryDirectory() as folder:
        direct = pipes[0][0].recv()
        pipes[1][0].send((direct, Path(folder) / "blobs" if options.folder else None))
        proxied = pipes[1][0].recv()
        found = asyncio.run(measure(direct, proxied, options.calls))
        pipes[1][0].send(None)
        seen, spent = pipes[1][0].recv()
        for mine, _ in pipes:
            mine.send(None)
        for child in children:
            child.join(10)
    if seen["requests"] != len(SIZES) * (options.calls + 50) or seen["outcomes"] != {
        "answered": seen["requests"]
    }:
        raise SystemExit("the proxy did not record every request")
    worst = 0.0
    for name, (straight, through) in found.items():
        added = median(through) - median(straight)
        worst = max(worst, added)
        tail = quantiles(through, n=20)[-1] - quantiles(straight, n=20)[-1]
        print(
            f"{name:6} direct {median(straight):.2f} ms, proxied {median(through):.2f} ms, "
            f"added {added:.2f} ms at the median, {tail:.2f} ms at the 95th percentile ({len(through)} calls each)"
        )
    print(f"CPU of the proxy {1000 * spent / seen['requests']:.2f} ms a call")
    if worst > 1.0:
        sys.exit(f"{worst:.2f} ms added: the limit is 1 ms")


if __name__ == "__main__":
    main()
