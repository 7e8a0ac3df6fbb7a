"""Turns what a command raises into one clear line and an exit code."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from vestige.errors import StorageError, VestigeError

__all__ = ["Interrupted", "guarded", "resumable", "say"]

INTERNAL, STORAGE, INTERRUPTED = 4, 5, 130


def say(text: str = "") -> None:
    """Print a line for a person: to standard error, so that standard output stays for results."""
    typer.echo(text, err=True)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what the person should know: what is kept, and how to go on."""


@contextmanager
def resumable(folders: Iterable[Path], advice: str) -> Generator[None]:
    """Tell of an interruption whether something was measured before it.

    Args:
        folders: Of the runs; looked at when it happens.
        advice: How to go on.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = any(file.stat().st_size for folder in folders for file in folder.glob("records-*.jsonl"))
        words = f"what was measured is kept: {advice}" if kept else "nothing new was measured"
        raise Interrupted(words) from None


def _stop(code: int, text: str) -> NoReturn:
    if os.environ.get("VESTIGE_DEBUG"):
        traceback.print_exc()
    say(text)
    raise typer.Exit(code)


def _full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    return type(error).__module__ == "sqlite3" and "full" in str(error)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command: our errors become their message and exit code, anything else an internal error.

    Exit codes: 0 done; 2 the caller's mistake; 3 unassessable; 4 internal; 5 storage; 130 interrupted.
    """

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except VestigeError as error:
            _stop(error.exit_code, f"vestige: {error}")
        except KeyboardInterrupt as error:
            _stop(INTERRUPTED, f"vestige: interrupted; {error}" if str(error) else "vestige: interrupted")
        except BrokenPipeError:
            # Whoever read our output has gone, as in `vestige … | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except typer.Exit:
            raise
        except Exception as error:
            if _full(error):
                _stop(
                    StorageError.exit_code,
                    f"vestige: the disk is full or cannot be written: {type(error).__name__}",
                )
            # The message may quote what an agent said, so only its kind and place are shown.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _stop(
                INTERNAL,
                f"vestige: internal error: {type(error).__name__} at {Path(place.filename).name}:{place.lineno} "
                "(a defect of ours; VESTIGE_DEBUG=1 shows more)",
            )

    return wrapper
