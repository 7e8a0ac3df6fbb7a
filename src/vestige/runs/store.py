"""The record store: append-only JSON lines, one writer a file, read back past a kill at any moment.

A line is `{"schema", "kind", "episode", "attempt", "step", "probe", "repeat", "labels", "body"}`. An attempt at an
episode counts once its `episode_end` line says `done`, and where the episode belongs to a group, once the group's
`group_end` line says so of the same attempt. Every other attempt is left where it is: one that ended with a failure can
be read for what was seen before it failed, one that was cut off counts for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, ValidationError
from pydantic_core import from_json, to_json

from vestige.errors import IntegrityError, StorageError, complaint
from vestige.records import JsonScalar, Record, Reply

__all__ = [
    "MAX_LINE",
    "Attempts",
    "FailedLine",
    "Line",
    "RecordWriter",
    "read_attempts",
    "read_counted",
    "read_lines",
    "torn_lines",
]

SCHEMA = 1
_BLOCK = 1 << 16
MAX_LINE = 256 * 1024 * 1024
"""Bytes; a longer line is not one of ours."""


class Line(Record):
    """One line of a records file."""

    counted: ClassVar[bool] = True
    schema_version: int
    kind: str
    episode: str
    attempt: int
    step: int = -1
    probe: str | None = None
    repeat: int = 0
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    body: Any = None


class FailedLine(Line):
    """A line of an attempt that ended with a failure: what was seen in it was seen, its silence means nothing."""

    counted: ClassVar[bool] = False


class _Exchange(Record):
    """What every exchange must hold to be scored."""

    reply: Reply
    measures: dict[str, JsonScalar] = Field(default_factory=dict)


class RecordWriter:
    """The one writer of a new records file; lines reach the operating system as they are written.

    Raises:
        StorageError: The disk is full or cannot be written. Lines written before stay whole; the torn one is
            ignored by every reader.
    """

    def __init__(self, folder: Path) -> None:
        number = 0
        while True:
            self.path = folder / f"records-{number:04d}.jsonl"
            try:
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
                break
            except FileExistsError:
                number += 1
            except OSError as error:
                raise StorageError(f"cannot write {self.path}: {error.strerror}") from error
        self._broken = False

    def write(
        self,
        kind: str,
        episode: str,
        attempt: int,
        *,
        step: int = -1,
        probe: str | None = None,
        repeat: int = 0,
        labels: dict[str, JsonScalar] | None = None,
        body: Any = None,
    ) -> None:
        """Append one line."""
        if self._broken:
            raise StorageError(f"{self.path.name} could not be written before; the run has stopped")
        line = {
            "schema_version": SCHEMA,
            "kind": kind,
            "episode": episode,
            "attempt": attempt,
            "step": step,
            "probe": probe,
            "repeat": repeat,
            "labels": labels or {},
            "body": body,
        }
        data = to_json(line, bytes_mode="base64", inf_nan_mode="null") + b"\n"
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self._broken = True
            raise StorageError(
                f"cannot write {self.path}: {error.strerror}; free some space and continue with --resume"
            ) from error

    def sync(self) -> None:
        """Ask the operating system to put the lines on disk."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._broken = True
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        number = 0
        while True:
            data = file.readline(MAX_LINE + 1)
            if not data:
                return
            number += 1
            if not data.endswith(b"\n"):
                if len(data) > MAX_LINE:
                    raise IntegrityError(f"{path.name}:{number}: line longer than {MAX_LINE} bytes")
                return  # the torn last line of a killed writer
            yield number, data


def torn_lines(folder: Path) -> list[tuple[str, int]]:
    """Records files whose last line is torn, which no reader reads, with its length in bytes."""
    found: list[tuple[str, int]] = []
    for path in sorted(folder.glob("records-*.jsonl")):
        size = left = path.stat().st_size
        with path.open("rb") as file:
            while left:
                start = max(0, left - _BLOCK)
                file.seek(start)
                at = file.read(left - start).rfind(b"\n")
                if at >= 0:
                    left = start + at + 1
                    break
                left = start
        if size > left:
            found.append((path.name, size - left))
    return found


def read_lines(folder: Path) -> Iterator[Line]:
    """Every whole line of a run, file by file.

    Raises:
        IntegrityError: A line that is not the torn last one cannot be read.
    """
    return (line for _, line in _placed_lines(folder))


def _placed_lines(folder: Path) -> Iterator[tuple[str, Line]]:
    """Every whole line with its file and number."""
    for path in sorted(folder.glob("records-*.jsonl")):
        for number, data in _raw_lines(path):
            try:
                line = Line.model_validate(from_json(data))
            except ValidationError as error:
                raise IntegrityError(f"{path.name}:{number}: not a record: {complaint(error)}") from None
            except ValueError as error:
                raise IntegrityError(
                    f"{path.name}:{number}: not a record: not JSON: {_reason(error)}"
                ) from None
            if line.schema_version > SCHEMA:
                raise IntegrityError(
                    f"{path.name}:{number}: schema {line.schema_version} is newer than this version reads ({SCHEMA})"
                )
            yield f"{path.name}:{number}", line


def _reason(error: ValueError) -> str:
    """The parser's reason without its place, which counts from the start of the line and not of the file."""
    return str(error).partition(" at line ")[0]


class Attempts(Record):
    """What the record says of each episode."""

    done: dict[str, int]
    """The attempt that counts."""
    failed: dict[str, str]
    """Reason of the last failure, for episodes that never got done: their own, or their group's."""
    begun: dict[str, int]
    """The highest attempt begun."""
    plans: tuple[str, ...] = ()
    """SHA-256 of the plans that the records were made under."""
    failed_attempts: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Attempts that ended with a failure of the episode, or of another one of its group, in ascending order. An attempt
    that was cut off by a kill is not one of them."""
    spent: dict[str, int] = Field(default_factory=dict)
    """How many of them there were since the last call of the engine that came to its end."""


def read_attempts(folder: Path) -> Attempts:
    """Which attempt of each episode counts: the first that was completed, with its group where it has one."""
    reader = _AttemptsReader()
    for line in read_lines(folder):
        reader.read(line)
    return reader.attempts()


class _AttemptsReader:
    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.begun: dict[str, int] = {}
        self.plans: set[str] = set()
        self.lost: dict[str, set[int]] = {}
        self.spent: dict[str, int] = {}
        self.grouped: set[str] = set()
        self.ended: set[tuple[str, int]] = set()
        self.whole: set[tuple[str, int]] = set()

    def read(self, line: Line) -> None:
        body: dict[str, Any] = line.body if isinstance(line.body, dict) else {}
        ok = body.get("status") == "done"
        reason = str(body.get("reason", ""))
        if line.kind == "episode_begin":
            self.begun[line.episode] = max(self.begun.get(line.episode, 0), line.attempt)
            if isinstance(line.body, dict):
                self.plans.add(str(body.get("plan_sha256")))
            if body.get("group") is not None:
                self.grouped.add(line.episode)
        elif line.kind == "episode_end" and isinstance(line.body, dict):
            self.ended.add((line.episode, line.attempt))
            if ok:
                self.whole.add((line.episode, line.attempt))
            if line.episode not in self.grouped:
                self.settle(line.episode, line.attempt, ok, reason)
        elif line.kind == "call_end":
            self.spent.clear()
        elif line.kind == "group_end" and body:
            named = body.get("episodes")
            members = [str(e) for e in named] if isinstance(named, list) else []
            if ok and not all((e, line.attempt) in self.whole for e in members):
                return  # it says more than the record holds
            for episode in members:
                self.settle(episode, line.attempt, ok, reason)

    def settle(self, episode: str, attempt: int, ok: bool, reason: str) -> None:
        """Take down how an attempt ended."""
        if ok:
            self.done.setdefault(episode, attempt)
            return
        self.failed[episode] = reason
        if (episode, attempt) in self.ended:
            self.lost.setdefault(episode, set()).add(attempt)
            self.spent[episode] = self.spent.get(episode, 0) + 1

    def attempts(self) -> Attempts:
        return Attempts(
            done=self.done,
            failed={e: r for e, r in self.failed.items() if e not in self.done},
            begun=self.begun,
            plans=tuple(sorted(self.plans)),
            failed_attempts={e: tuple(sorted(n)) for e, n in sorted(self.lost.items())},
            spent=self.spent,
        )


def read_counted(
    folder: Path, attempts: Attempts, kinds: frozenset[str], *, failed: bool = False
) -> Iterator[Line]:
    """The lines of the attempts that count, of the given kinds, each once.

    Args:
        folder: The run's folder.
        attempts: What `read_attempts` found in it.
        kinds: Kinds of line.
        failed: Yield the lines of `Attempts.failed_attempts` too, as `FailedLine`, whose `counted` is False.

    Raises:
        IntegrityError: A line stands there twice, has no content, or holds no reply where it should.
    """
    # Of attempts that have not ended alone: the keys of all would grow with the run.
    seen: dict[tuple[str, int], set[tuple[int, str, int]]] = {}
    over: set[tuple[str, int]] = set()
    for place, line in _placed_lines(folder):
        attempt, key = (line.episode, line.attempt), (line.step, line.kind, line.repeat)
        again = attempt in over or key in seen.get(attempt, ())
        if line.kind == "episode_end":
            over.add(attempt)
            seen.pop(attempt, None)
        if line.kind not in kinds:
            continue
        counts = attempts.done.get(line.episode) == line.attempt
        if not counts and not (failed and line.attempt in attempts.failed_attempts.get(line.episode, ())):
            continue
        if again or not isinstance(line.body, dict):
            what = "stands there twice, or after its end" if again else "has no content"
            raise IntegrityError(f"{place}: the record of {line.episode}, step {line.step}, {what}")
        if attempt not in over:
            seen.setdefault(attempt, set()).add(key)
        if line.kind == "exchange":
            _check_exchange(place, line.body)
        yield line if counts else FailedLine(**dict(line))


def _check_exchange(place: str, body: dict[str, Any]) -> None:
    try:
        _Exchange.model_validate({name: body[name] for name in ("reply", "measures") if name in body})
    except ValidationError as error:
        raise IntegrityError(f"{place}: not the record of an exchange: {complaint(error)}") from None
