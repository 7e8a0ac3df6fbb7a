"""Findings: one scored fact about one exchange or one inspection, rebuilt from the record at any time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from vestige.audits.study import Fixture
from vestige.errors import IntegrityError, complaint
from vestige.records import JsonScalar, Record
from vestige.runs.folder import RunFolder, write_atomic
from vestige.runs.plan import Plan, canonical_json

__all__ = ["Finding", "fixtures_of", "write_findings"]


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


def write_findings(folder: RunFolder, findings: Iterable[Finding]) -> Path:
    """Write `findings.jsonl`, sorted by key."""
    path = folder.path / "findings.jsonl"
    lines = [canonical_json(f.model_dump(mode="json")) for f in sorted(findings, key=lambda f: f.key)]
    write_atomic(path, b"".join(line + b"\n" for line in lines))
    return path
