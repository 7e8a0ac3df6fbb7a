"""A process that has imported everything and forks a command per request, so that a kill costs no start-up.

Run as a script it is the parent of the forks; imported, `Nursery` talks to it. POSIX alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CALM = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}


class Nursery:
    """Starts `vestige` commands that can be killed at any moment."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **CALM},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _say(self, **what: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, *argv: str, log: Path) -> int:
        """Start `vestige ARGV`, its output into `log`; the process's id.

        `vestige plain-frontier` and `plain-residue` end with result.json and write no report.
        """
        return int(self._say(argv=argv, log=str(log)))

    def wait(self, pid: int) -> int:
        """The exit code; minus the signal's number where one ended it."""
        return int(self._say(wait=pid))

    def run(self, *argv: str, log: Path) -> int:
        return self.wait(self.start(*argv, log=log))

    def killed_when(self, ready: Callable[[], bool], *argv: str, log: Path) -> int:
        """Start a command and send it SIGKILL once `ready`; its exit code, which is -9 if it was still there."""
        pid = self.start(*argv, log=log)
        while not ready():
            code = self._say(poll=pid)
            if code is not None:
                return int(code)
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)  # its parent has not waited for it, so the id is still its own
        return self.wait(pid)


def _plain(audit: str, argv: list[str]) -> None:
    """Plan, run and conclude; flags as `--name value`, or `--resume`."""
    from vestige import studying, workflow
    from vestige.options import options_from

    flags = iter(argv)
    given = {f[2:]: True if f in ("--resume", "--deterministic") else next(flags) for f in flags}
    options = options_from({"quiet": True, **given})
    folder, _ = workflow.run(studying.make_plan(audit, options), options)
    workflow.conclude(folder)


def _child(argv: list[str], log: str) -> None:
    code = 70
    try:
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        if argv[0].startswith("plain-"):
            _plain(argv[0].removeprefix("plain-"), argv[1:])
        else:
            from vestige.cli.main import app

            app(argv)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else (0 if end.code is None else 1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    # Imported here for the children that are forked from this process: they need not import it again.
    import vestige.cli.stored
    import vestige.models.chat
    import vestige.models.extractive
    import vestige.models.hashing
    import vestige.report.gather
    import vestige.report.html
    import vestige.report.writing
    import vestige.workflow  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        if "wait" in job or "poll" in job:
            pid, status = os.waitpid(job.get("wait") or job["poll"], 0 if "wait" in job else os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if not answer:
                _child(job["argv"], job["log"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
