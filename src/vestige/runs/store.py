"""The record store: append-only JSON lines, one writer a file, read back past a kill at any moment.

A line is `{"schema", "kind", "episode", "attempt", "step", "probe", "repeat", "labels", "body"}`. An attempt at an
episode counts once its `episode_end` line says `done`; every other attempt is left where it is and ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import from_json, to_json

from vestige.errors import IntegrityError, StorageError
from vestige.records import JsonScalar, Record

__all__ = ["MAX_LINE", "Attempts", "Line", "RecordWriter", "read_attempts", "read_counted", "read_lines"]

SCHEMA = 1
MAX_LINE = 256 * 1024 * 1024
"""Bytes; a longer line is not one of ours."""


class Line(Record):
    """One line of a records file."""

    schema_version: int
    kind: str
    episode: str
    attempt: int
    step: int = -1
    probe: str | None = None
    repeat: int = 0
    labels: dict[str, JsonScalar] = Field(default_factory=dict)
    body: Any = None


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


def read_lines(folder: Path) -> Iterator[Line]:
    """Every whole line of a run, file by file.

    Raises:
        IntegrityError: A line that is not the torn last one cannot be read.
    """
    for path in sorted(folder.glob("records-*.jsonl")):
        for number, data in _raw_lines(path):
            try:
                line = Line.model_validate(from_json(data))
            except (ValueError, ValidationError) as error:
                raise IntegrityError(
                    f"{path.name}:{number}: not a record: {str(error).splitlines()[0]}"
                ) from None
            if line.schema_version > SCHEMA:
                raise IntegrityError(
                    f"{path.name}:{number}: schema {line.schema_version} is newer than this version reads ({SCHEMA})"
                )
            yield line


class Attempts(Record):
    """What the record says of each episode."""

    done: dict[str, int]
    """The attempt that counts."""
    failed: dict[str, str]
    """Reason of the last failure, for episodes that never got done."""
    begun: dict[str, int]
    """The highest attempt begun."""
    plans: tuple[str, ...] = ()
    """SHA-256 of the plans that the records were made under."""


def read_attempts(folder: Path) -> Attempts:
    """Which attempt of each episode counts: the first that was completed."""
    done: dict[str, int] = {}
    failed: dict[str, str] = {}
    begun: dict[str, int] = {}
    plans: set[str] = set()
    for line in read_lines(folder):
        if line.kind == "episode_begin":
            begun[line.episode] = max(begun.get(line.episode, 0), line.attempt)
            if isinstance(line.body, dict):
                plans.add(str(line.body.get("plan_sha256")))
        elif line.kind == "episode_end" and isinstance(line.body, dict):
            if line.body.get("status") == "done":
                done.setdefault(line.episode, line.attempt)
            else:
                failed[line.episode] = str(line.body.get("reason", ""))
    return Attempts(
        done=done,
        failed={e: r for e, r in failed.items() if e not in done},
        begun=begun,
        plans=tuple(sorted(plans)),
    )


def read_counted(folder: Path, attempts: Attempts, kinds: frozenset[str]) -> Iterator[Line]:
    """The lines of the attempts that count, of the given kinds, each once.

    Raises:
        IntegrityError: A line stands there twice, or has no content.
    """
    seen: set[tuple[str, int, str, int]] = set()
    for line in read_lines(folder):
        if line.kind in kinds and attempts.done.get(line.episode) == line.attempt:
            key = (line.episode, line.step, line.kind, line.repeat)
            if key in seen or not isinstance(line.body, dict):
                what = "stands there twice" if key in seen else "has no content"
                raise IntegrityError(f"{folder}: the record of {line.episode}, step {line.step}, {what}")
            seen.add(key)
            yield line
