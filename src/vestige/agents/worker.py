"""Where a user's own code runs: a thread of its own per agent, with what it prints kept off standard output."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import queue
import sys
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TextIO, cast

__all__ = ["Worker", "hold_stdout", "prints_to_stderr", "release_stdout"]

_Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[tuple[Any, BaseException | None]]", Callable[[], Any]]


class Worker:
    """One thread that runs one call after the other.

    All calls of an agent share it: a plain class may keep what belongs to a thread, as an SQLite connection does, and
    need not lock. The thread is a daemon, so that code that never returns does not keep an interrupted run alive.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What `call` returned, and what it raised: one of the two is None."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="vestige-agent", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        self._jobs.put((loop, future, partial(contextvars.copy_context().run, call)))
        return await future

    def stop(self) -> None:
        """End the thread after the calls that wait."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread = None

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, future, call = job
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = (call(), None)
            except BaseException as error:  # whatever it is, it belongs to whoever waits
                outcome = (None, error)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, future, outcome)


def _settle(
    future: asyncio.Future[tuple[Any, BaseException | None]], outcome: tuple[Any, BaseException | None]
) -> None:
    if not future.done():
        future.set_result(outcome)


class _Shared(io.TextIOBase):
    """Standard error as the agent's standard output: it can write to it and not close it."""

    def __init__(self, under: TextIO) -> None:
        self._under = under

    def write(self, text: str, /) -> int:
        return self._under.write(text)

    def flush(self) -> None:
        if not self._under.closed:
            self._under.flush()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """It stays open: others print to it too."""


_lock = threading.Lock()
_holders = 0
_ours: TextIO | None = None
_before: TextIO | None = None


def hold_stdout() -> None:
    """Send what is printed to standard error, until as many calls of `release_stdout`.

    Counted, not nested: episodes overlap, and the last to end gives standard output back.
    """
    global _holders, _ours, _before
    with _lock:
        _holders += 1
        if _ours is None or sys.stdout is not _ours:
            _before, _ours = sys.stdout, cast(TextIO, _Shared(sys.stderr))
            sys.stdout = _ours


def release_stdout() -> None:
    """Undo one `hold_stdout`."""
    global _holders, _ours, _before
    with _lock:
        _holders -= 1
        if _holders == 0:
            if sys.stdout is _ours and _before is not None:
                sys.stdout = _before
            _ours = _before = None


@contextlib.contextmanager
def prints_to_stderr() -> Generator[None]:
    """`hold_stdout` for a block."""
    hold_stdout()
    try:
        yield
    finally:
        release_stdout()
