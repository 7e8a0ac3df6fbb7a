"""Reads requests, writes responses, and says of an error no more than may be told."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from .fence import Fence
from .plain import Plain, Unfit, Unusable, plain
from .runner import VERSION, Runner

__all__ = ["main"]

MAX_BYTES = 128 << 20


def main(arguments: list[str]) -> None:
    """Serve the agent that the first argument names, until there are no more requests."""
    if len(arguments) > 1:
        watch(int(arguments[1]))
    serve(arguments[0])
    os._exit(0)  # whatever threads the agent left


class Line:
    """The two descriptors that messages go over, taken from standard input and output before anything is loaded."""

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb", 0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)  # what the agent prints must not be taken for a message
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")

    def read(self) -> dict[str, Any] | None:
        """The next request; None: there is no more."""
        line = self._in.readline(MAX_BYTES + 1)
        return json.loads(line) if line else None

    def write(self, message: dict[str, Any]) -> None:
        """Send a response; one that cannot be sent becomes an error."""
        try:
            data = json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
            if len(data) > MAX_BYTES:
                raise Unfit(f"{len(data)} bytes came; at most {MAX_BYTES} are taken")
        except (Unfit, ValueError, TypeError, RecursionError) as error:
            words = (
                str(error) if isinstance(error, Unfit) else "it is not JSON (a number that is not finite?)"
            )
            problem = {"type": type(error).__name__, "kind": "unfit", "words": words}
            data = json.dumps({"id": message["id"], "error": problem}).encode("ascii")
        data = b"\n" + data + b"\n"
        while data:
            data = data[self._out.write(data) :]


def problem(error: BaseException, file: Path | None, setting: bool, secret: str = "") -> dict[str, str]:
    """An error as it may be told: its words only where they cannot hold what the agent was told."""
    found = {"type": type(error).__name__[:100], "place": _place(error, file)}
    if not found["type"].isidentifier():
        found["type"] = "Exception"
    words = ""
    if isinstance(error, Unusable):
        found |= {"kind": error.kind, "type": error.name}
        words = str(error)
    elif isinstance(error, Unfit):
        found["kind"], words = "unfit", str(error)
    elif isinstance(error, ModuleNotFoundError):
        found["kind"], words = "missing", f"no module {error.name!r}"
    elif type(error) is ValueError and setting:
        found["kind"], words = "setting", " ".join(str(error).split())
    if secret:
        words = words.replace(secret, "…")
    return {**found, "words": words[:1000]}


def _place(error: BaseException, file: Path | None) -> str:
    if file is None:
        return ""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == file]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename) == file:
        lines.append(error.lineno or 0)
    return f"{file.name}:{lines[-1]}"[-200:] if lines else ""


def watch(descriptor: int) -> None:
    """Leave a process behind that kills this one's group when the run has gone, whatever the agent is doing."""
    if not hasattr(os, "fork"):
        return
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.close(number)
        with contextlib.suppress(OSError):
            while os.read(descriptor, 1):
                pass
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.close(descriptor)


def serve(source: str) -> None:
    """Answer requests until there are no more."""
    line = Line()
    runner: Runner | None = None
    fence: Fence | None = None
    secret, fresh = "", True
    while (request := line.read()) is not None:
        number, method, params = request["id"], request["method"], request["params"]
        answer: dict[str, Any] = {"id": number}
        file = runner.file if runner else None
        try:
            if method == "hello":
                if params["protocol"] != VERSION:
                    raise Unusable(
                        f"the run speaks version {params['protocol']} of the protocol, not {VERSION}"
                    )
                if params["hosts"] is not None:
                    fence = Fence(params["hosts"])
                    sys.addaudithook(fence)
                file, fresh = Path(source.rpartition(":")[0]), params["fresh"]
                runner = Runner(source)
                file = runner.file
                if params["folder"] is not None:
                    key = params["settings"].get("api_key")
                    secret = key if isinstance(key, str) and len(key) > 4 else ""
                    runner.make(params["folder"], Plain.of(params["settings"]))
                answer["result"] = plain(runner.facts())
            elif runner is None:
                raise Unfit("hello comes first")
            elif method == "describe":
                answer["result"] = plain(runner.facts())
            else:
                answer["result"] = plain(runner.call(method, params))
        except BaseException as error:
            answer["error"] = problem(error, file, fresh and method in ("hello", "configure"), secret)
        if fence is not None and (refused := fence.take()):
            answer["refused"] = refused
            print(f"vestige: refused connections to {', '.join(refused)}", file=sys.stderr)
        line.write(answer)
