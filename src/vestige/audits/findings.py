"""Findings: one scored fact about one exchange or one inspection, rebuilt from the record at any time."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from vestige.audits.study import Fixture
from vestige.errors import IntegrityError, StorageError, complaint
from vestige.records import JsonScalar, Record
from vestige.runs.folder import RunFolder, write_parts
from vestige.runs.plan import Plan, canonical_json

__all__ = ["Finding", "StoredFindings", "fixtures_of", "write_findings"]


class Finding(Record):
    """One scored fact."""

    schema_version: int = 1
    episode: str
    instance: str
    step: int
    probe: str | None = None
    kind: str
    """extraction, recall, residue."""
    labels: dict[str, JsonScalar]
    """Of the episode and of the step."""
    values: dict[str, JsonScalar]

    @property
    def key(self) -> tuple[str, int, str]:
        """Stable order, whatever the order of execution was."""
        return (self.episode, self.step, self.kind)


def fixtures_of(plan: Plan) -> dict[str, Fixture]:
    """The plan's fixtures, typed."""
    try:
        return {name: Fixture.model_validate(data) for name, data in plan.fixtures.items()}
    except ValidationError as error:
        raise IntegrityError(f"plan.json: fixtures cannot be read: {complaint(error)}") from None


class StoredFindings(Collection[Finding]):
    """Findings in their file, read anew whenever they are gone through: there may be more than memory should hold."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Finding]:
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield Finding.model_validate_json(line)
                except ValidationError as error:
                    raise IntegrityError(
                        f"{self.path.name}:{number}: not a finding: {complaint(error)}"
                    ) from None

    def __contains__(self, item: object) -> bool:
        return any(found == item for found in self)


def write_findings(folder: RunFolder, findings: Iterable[Finding]) -> StoredFindings:
    """Write `findings.jsonl`, sorted by key.

    Lines lie in a nameless file until their order is known, so that no more than their keys are held.

    Raises:
        StorageError: The disk is full or cannot be written.
    """
    path = folder.path / "findings.jsonl"
    places: list[tuple[tuple[str, int, str], int, int]] = []
    end = 0
    with ExitStack() as stack:
        with _storing(path):
            spool = stack.enter_context(tempfile.TemporaryFile(dir=folder.path))
        for finding in findings:
            line = canonical_json(finding.model_dump(mode="json")) + b"\n"
            places.append((finding.key, end, len(line)))
            end += len(line)
            with _storing(path):
                spool.write(line)
        places.sort(key=lambda place: place[0])
        write_parts(path, (_part(spool, start, length) for _, start, length in places))
    return StoredFindings(path, len(places))


@contextmanager
def _storing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _part(file: IO[bytes], start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)
