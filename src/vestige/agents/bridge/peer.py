"""A process that speaks the bridge's protocol: started, asked one thing after the other, killed for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vestige.agents.bridge.protocol import MAX_BYTES, Problem, encoded, response
from vestige.errors import AgentError

__all__ = ["Failure", "Peer"]

MAX_NOISE = 10_000
"""Lines of one answer that are no message, after which it is taken for broken."""

_LOOK_SECONDS = 0.2
_END_SECONDS = 2.0
_EXIT_SECONDS = 0.5


class Failure(AgentError):
    """The agent in the process raised; `problem` says how. The process goes on."""

    def __init__(self, method: str, problem: Problem) -> None:
        place = f" at {problem.place}" if problem.place else ""
        if problem.kind == "unfit":
            super().__init__(f"{method}: what the agent gave back cannot be sent: {problem.words}")
        else:
            super().__init__(f"{method}: the agent raised {problem.type}{place}")
        self.problem = problem


class Peer:
    """One process in a session of its own.

    It is asked one thing at a time. Whatever goes wrong with the process itself (it ends, does not answer, breaks the
    protocol, or a call is cancelled, so that what it does is not known) ends it, and every later call fails.

    Args:
        command: What to run; the number of a descriptor is appended, which closes when this side has gone.
        cwd: Its working directory.
        environment: All of it.
        limit: Bytes of one message.
    """

    def __init__(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], limit: int = MAX_BYTES
    ) -> None:
        self._command, self._cwd, self._environment, self._limit = (
            list(command),
            cwd,
            dict(environment),
            limit,
        )
        self._process: asyncio.subprocess.Process | None = None
        self._lifeline: int | None = None
        self._turn = asyncio.Lock()
        self._number = 0
        self._ended = ""
        self.refused: list[str] = []
        """Addresses that it tried to reach and must not."""

    @property
    def pid(self) -> int | None:
        """Of the process, while it runs."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process.

        Raises:
            AgentError: It cannot be started.
        """
        reading, self._lifeline = os.pipe()
        try:
            posix = os.name == "posix"
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                *([str(reading)] if posix else []),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                cwd=self._cwd,
                env=self._environment,
                limit=self._limit,
                pass_fds=(reading,) if posix else (),
                start_new_session=posix,
            )
        except OSError as error:
            self._kill("it could not be started")
            if not self._cwd.is_dir():
                raise AgentError("the agent's folder is not there") from None
            raise AgentError(f"{self._command[0]} cannot be started: {error.strerror}") from None
        finally:
            os.close(reading)

    async def call(self, method: str, params: Mapping[str, Any], seconds: float) -> Any:
        """What the process answers.

        Args:
            method: Of the protocol.
            params: By name.
            seconds: Within which it must answer.

        Raises:
            Failure: The agent in it raised.
            AgentError: The process ended, does not answer or breaks the protocol; it is killed.
        """
        async with self._turn:
            process = self._process
            if process is None or process.stdin is None or process.stdout is None:
                raise AgentError(f"{method}: the agent's process is gone ({self._ended or 'never started'})")
            self._number += 1
            line = encoded(self._number, method, params, self._limit)
            try:
                async with asyncio.timeout(seconds):
                    with contextlib.suppress(ConnectionError):  # it ended: the next line tells
                        process.stdin.write(line)
                        await process.stdin.drain()
                    answer = response(await self._line(process, method), self._number, method)
            except TimeoutError:
                self._kill(f"it did not answer {method} within {seconds:g} s")
                await self._gone(process)
                raise AgentError(
                    f"{method}: the agent's process did not answer within {seconds:g} s and was ended"
                ) from None
            except AgentError as error:
                self._kill(str(error).removeprefix(f"{method}: "))
                await self._gone(process)
                raise
            except BaseException:
                self._kill("a call was given up")
                _let_go(process)
                raise
        self.refused += answer.refused
        if answer.error is not None:
            raise Failure(method, answer.error)
        return answer.result

    async def stop(self) -> None:
        """End the process: its input is closed, and what is left of it after two seconds is killed."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            self._kill("it was ended")
        await self._gone(process)

    async def _line(self, process: asyncio.subprocess.Process, method: str) -> bytes:
        """The next line that is a message; noise is passed over."""
        for _ in range(MAX_NOISE):
            line = (await self._raw(process, method)).strip()
            if line.startswith(b"{"):
                return line
        raise AgentError(f"{method}: the agent's process wrote {MAX_NOISE:,} lines that are no message")

    async def _raw(self, process: asyncio.subprocess.Process, method: str) -> bytes:
        assert process.stdout is not None
        reading = asyncio.ensure_future(process.stdout.readuntil(b"\n"))
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=_LOOK_SECONDS)
                if process.returncode is not None:
                    # Something that it started may hold its output open: what it wrote is here by now, or never.
                    await asyncio.wait({reading}, timeout=_LOOK_SECONDS)
                    break
            if reading.done():
                return reading.result()
        except asyncio.LimitOverrunError:
            raise AgentError(
                f"{method}: the agent's process answered more than {self._limit:,} bytes"
            ) from None
        except asyncio.IncompleteReadError:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await process.wait()
        finally:
            reading.cancel()
        raise AgentError(f"{method}: the agent's process ended ({_how(process.returncode)})")

    def _kill(self, reason: str) -> None:
        """Kill the process and all that it started; safe to call again."""
        process, self._process = self._process, None
        if process is not None:
            self._ended = reason
            if os.name == "posix":
                # Its watcher is in its group and alive, so that the number still means this group.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    async def _gone(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        _let_go(process)


def _let_go(process: asyncio.subprocess.Process) -> None:
    # asyncio has no public way to close the pipes of a process whose output nobody reads any more.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _how(code: int | None) -> str:
    if code is None:
        return "closed its output"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
