"""Progress of a run: a bar with an ETA on a terminal, plain lines elsewhere, nothing when asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from vestige.runs.services import Event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["progress"]

REFRESH_PER_SECOND = 4
"""Drawing must cost nothing beside the work."""
PLAIN_EVERY = 10.0
"""Seconds between plain lines."""
TOLD = 6
"""Failures that are told one by one."""
_FAILURES = {
    "episode_failed": "episode {} failed: {}",
    "group_retry": "pair {} begins again: {}",
    "group_failed": "pair {} failed: {}",
}


@contextmanager
def progress(
    title: str, total: int, *, done: int = 0, quiet: bool = False, stream: TextIO | None = None
) -> Generator[Callable[[Event], None]]:
    """Show `total` exchanges going by on `stream`, standard error by default; gives the engine's `on_event`."""
    shown = stream or sys.stderr
    if quiet or total <= 0:
        yield lambda event: None
    elif shown.isatty():
        yield from _bar(title, total, done, shown)
    else:
        yield from _lines(title, total, done, shown)


def _bar(title: str, total: int, done: int, stream: TextIO) -> Generator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=stream)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("exchanges"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=False) as bar:
        task = bar.add_task(title, total=total, completed=done, note="")
        failed = 0

        def on_event(event: Event) -> None:
            nonlocal failed
            if event.kind == "exchange":
                bar.advance(task)
            elif event.kind == "group_retry":
                bar.advance(task, -event.void)
            elif event.kind == "episode_failed":
                failed += 1
                bar.update(task, note=f"{failed} episodes failed")

        yield on_event


def _lines(title: str, total: int, done: int, stream: TextIO) -> Generator[Callable[[Event], None]]:
    began = last = time.monotonic()
    made, seen, failures = 0, done, 0

    def say(text: str) -> None:
        print(f"{title}: {text}", file=stream, flush=True)

    def on_event(event: Event) -> None:
        nonlocal last, made, seen, failures
        if event.kind == "group_retry":
            seen -= event.void
        if what := _FAILURES.get(event.kind):
            failures += 1
            if failures <= TOLD:
                say(what.format(event.episode, event.detail))
            elif failures == TOLD + 1:
                say("further failures are counted, and stand in the record")
        if event.kind != "exchange":
            return
        made += 1
        seen += 1
        now = time.monotonic()
        if now - last >= PLAIN_EVERY and seen < total:
            last = now
            left = (now - began) / made * (total - seen)
            say(f"{seen} of {total} exchanges, about {_duration(left)} left")

    say(f"{total - done} exchanges to go" + (f", {done} done before" if done else ""))
    yield on_event
    if failures > TOLD:
        say(f"{failures} failures in all")
    say(f"{seen} of {total} exchanges in {_duration(time.monotonic() - began)}")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02d} s"
