"""A model file served by llama.cpp in a child process, reached like every other endpoint."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

from vestige.errors import ConfigError, MissingDependency, ModelError, ModelUnavailable
from vestige.models import catalog
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.chat import ChatClient
from vestige.models.transport import Limits

__all__ = ["LocalModel", "engine_name"]

READY_SECONDS = 300.0
"""A model that is not loaded after this long is given up."""


class LocalModel:
    """A catalogued model on this machine; the server starts at first use and ends with `close`, or with us.

    Args:
        name: A chat model of the catalog, with or without `local/`.
        deterministic: One slot and no prompt cache, so that a reply does not depend on the calls around it.
        parallel: Slots, each with its own context; default 4, or 1 where deterministic.
        context: Tokens of each slot's context. A longer prompt is an error, never cut.
        threads: CPU threads; default: the cores this process may use.
        concurrency: Requests in flight at once; the server queues those beyond its slots.
        models_dir: Where model files lie; default: `catalog.models_dir()`.
        limits: On time, size and retries.

    Raises:
        ConfigError: The name or a number is not usable, or the model file is not here.
        MissingDependency: Neither xllamacpp nor a llama-server is installed (when its identity is asked for, and at
            start).
    """

    def __init__(
        self,
        name: str,
        *,
        deterministic: bool = False,
        parallel: int | None = None,
        context: int | None = None,
        threads: int | None = None,
        concurrency: int = 8,
        models_dir: Path | str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._entry = catalog.entry(name)
        if self._entry.kind != "chat":
            raise ConfigError(f"model {name!r} is an embedder, expected a chat model")
        if deterministic and parallel not in (None, 1):
            raise ConfigError(f"parallel {parallel}: a deterministic server has one slot")
        self._deterministic = deterministic
        self._parallel = 1 if deterministic else (4 if parallel is None else parallel)
        self._context = 8192 if context is None else context
        self._threads = threads or _cores()
        if self._parallel < 1 or self._context < 64:
            raise ConfigError(
                f"parallel {self._parallel}, context {self._context}: expected at least 1 and 64"
            )
        self._concurrency, self._models_dir, self._limits = concurrency, models_dir, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: collections.deque[str] = collections.deque(maxlen=40)
        self._client: ChatClient | None = None
        self._starting: asyncio.Lock | None = None
        self._counted = [0, 0, 0, 0]

    @property
    def name(self) -> str:
        """`local/NAME`."""
        return f"local/{self._entry.name}"

    @property
    def identity(self) -> str:
        """Name, file hash, engine and what of the settings can change a reply.

        Raises:
            MissingDependency: There is no engine.
        """
        known = f"{self.name}@{self._entry.sha256};{engine_name()}"
        return known + (";deterministic" if self._deterministic else "")

    @property
    def base_url(self) -> str:
        """The running server's OpenAI-compatible URL, for whoever else is to use it.

        Raises:
            ModelError: It has not been started.
        """
        if self._client is None:
            raise ModelError(f"{self.name} is not running: await start() first")
        return self._client.transport.base_url

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """How the server runs; goes into host.json."""
        return {
            "parallel": self._parallel,
            "context": self._context,
            "threads": self._threads,
            "deterministic": self._deterministic,
            "engine": engine_name(),
        }

    @property
    def calls(self) -> int:
        """Requests sent, retries among them."""
        return self._counted[0] + (self._client.calls if self._client else 0)

    @property
    def retries(self) -> int:
        """Requests sent again."""
        return self._counted[1] + (self._client.retries if self._client else 0)

    @property
    def prompt_tokens(self) -> int:
        """Tokens read so far."""
        return self._counted[2] + (self._client.prompt_tokens if self._client else 0)

    @property
    def completion_tokens(self) -> int:
        """Tokens written so far."""
        return self._counted[3] + (self._client.completion_tokens if self._client else 0)

    async def start(self) -> None:
        """Start the server and wait until it answers; nothing happens where it runs already.

        Raises:
            ConfigError: The model file is not here.
            ModelUnavailable: The server did not start; the message holds its last words.
        """
        if self._client is not None:
            return
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._client is None:
                path = await asyncio.to_thread(self._file)
                self._client = await self._launch(path)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request, starting the server first where needed.

        Raises:
            ModelError: The server ended or refused, or prompt and reply do not fit its context.
        """
        await self.start()
        client = self._client
        if client is None:
            raise ModelError(f"{self.name} was closed")
        try:
            return await client.complete(request)
        except ModelError:
            if self._process is not None and self._process.poll() is not None:
                raise ModelError(f"{self.name}: its server ended ({self._last_words()})") from None
            raise

    async def close(self) -> None:
        """Stop the server."""
        client, self._client = self._client, None
        if client is not None:
            news = (client.calls, client.retries, client.prompt_tokens, client.completion_tokens)
            self._counted = [old + new for old, new in zip(self._counted, news, strict=True)]
            await client.close()
        self._starting = None
        await asyncio.to_thread(self._stop)

    def _file(self) -> Path:
        return catalog.locate(self._entry.name, folder=self._models_dir).resolve()

    async def _launch(self, path: Path) -> ChatClient:
        binary, _ = _engine()
        settings: dict[str, Any] = {
            "model": str(path),
            "alias": self._entry.name,
            "binary": binary,
            "parallel": self._parallel,
            "context": self._context,
            "threads": self._threads,
            "deterministic": self._deterministic,
        }
        # Not in a worker thread: the child is told to die with the thread that started it.
        process = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-m", "vestige.models.llama_child"],
            # Threads that wait asleep: spinning ones make a reply 10 times slower where cores are shared.
            env={"OMP_WAIT_POLICY": "passive", **os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._process = process
        assert process.stdin and process.stdout and process.stderr
        threading.Thread(target=self._drain, args=(process.stderr,), daemon=True).start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(settings).encode("utf-8") + b"\n")
            process.stdin.flush()
        try:
            line = await asyncio.wait_for(_line(process.stdout), READY_SECONDS)
            url = json.loads(line)["url"]
        except (TimeoutError, ValueError, KeyError):
            await asyncio.to_thread(self._stop)
            raise ModelUnavailable(f"{self.name}: its server did not start ({self._last_words()})") from None
        except BaseException:
            self._stop()
            raise
        return ChatClient(
            self._entry.name,
            f"{url}/v1",
            name=self.name,
            identity=self.identity,
            extra={"cache_prompt": False} if self._deterministic else None,
            whole_replies=True,
            concurrency=self._concurrency,
            limits=self._limits,
        )

    def _drain(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._stderr.append(line.decode("utf-8", "replace").strip())

    def _last_words(self) -> str:
        words = [line for line in self._stderr if line]
        return " | ".join(words[-3:])[:400] or "it said nothing"

    def _stop(self) -> None:
        """Close the child's stdin, which ends it; kill it where that does not help."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def _line(stream: IO[bytes]) -> bytes:
    """One line of a pipe, without blocking the loop; a daemon thread, since a wait may be given up."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()

    def done(line: bytes) -> None:
        if not result.done():
            result.set_result(line)

    def read() -> None:
        line = stream.readline(1 << 16)
        with contextlib.suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(done, line)

    threading.Thread(target=read, daemon=True).start()
    return await result


def engine_name() -> str:
    """What serves local models on this machine: `llama-server`, or `xllamacpp` with its version.

    Raises:
        MissingDependency: Neither is installed.
    """
    return _engine()[1]


def _engine() -> tuple[str | None, str]:
    """A llama-server found on the PATH (usually built for this CPU), else xllamacpp; with its name."""
    if binary := shutil.which("llama-server"):
        return binary, "llama-server"
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingDependency("xllamacpp", "a local model", "local")
    return None, f"xllamacpp {importlib.metadata.version('xllamacpp')}"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
