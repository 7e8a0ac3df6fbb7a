"""What an agent under test prints goes into a file of the run: it may hold what the agent was told."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from vestige.errors import StorageError

__all__ = ["captured"]


@contextmanager
def captured(path: Path) -> Generator[TextIO]:
    """Send standard output and error of this process, and of those it starts, to `path`; gives the real error stream.

    Descriptors are redirected, so that what a C library or a child process writes goes there too. A file that stays
    empty is removed.

    Args:
        path: Appended to; readable by the owner alone.

    Raises:
        StorageError: The file cannot be made.
    """
    try:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    streams = sys.stdout, sys.stderr
    terminal = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace", buffering=1)
    into = os.fdopen(os.dup(log), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout = sys.stderr = into
        yield terminal
    finally:
        with suppress(OSError, ValueError):
            into.flush()
        sys.stdout, sys.stderr = streams
        for number, descriptor in enumerate(kept, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        with suppress(OSError, ValueError):
            into.close()
        terminal.close()
        os.close(log)
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
