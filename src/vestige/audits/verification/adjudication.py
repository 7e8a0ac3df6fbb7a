"""What a person decided about findings that the rules left open: who, what, and why.

Decisions stand in `adjudications.jsonl`, appended and never rewritten; the last one about a finding counts. The file
is read as untrusted: it may have come with a packet.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from vestige.audits.findings import Finding
from vestige.errors import IntegrityError, StorageError, complaint
from vestige.records import Record
from vestige.runs.plan import canonical_json

__all__ = [
    "ADJUDICATIONS",
    "Adjudication",
    "Decision",
    "append_adjudication",
    "apply_adjudications",
    "finding_id",
    "last_decisions",
    "read_adjudications",
]

ADJUDICATIONS = "adjudications.jsonl"
MAX_BYTES = 64 * 1024 * 1024
"""Of the whole file; a longer one is not a person's."""

Decision = Literal["confirmed", "dismissed", "uncertain"]


class Adjudication(Record):
    """One decision about one finding."""

    schema_version: Literal[1] = 1
    finding: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Its `finding_id`."""
    reviewer: Annotated[str, Field(min_length=1, max_length=200)]
    decision: Decision
    """`uncertain` takes an earlier decision back."""
    reason: Annotated[str, Field(min_length=1, max_length=4000)]


def finding_id(finding: Finding) -> str:
    """The name a finding keeps however often a run is scored: 16 hexadecimal digits of the SHA-256 of its place."""
    labels = finding.labels
    place = [*finding.key, finding.probe, labels.get("repeat", 0), labels.get("attempt")]
    return hashlib.sha256(canonical_json(place)).hexdigest()[:16]


def append_adjudication(folder: Path, adjudication: Adjudication) -> None:
    """Add a decision to the run's file.

    Raises:
        StorageError: The file cannot be written.
    """
    path = folder / ADJUDICATIONS
    line = canonical_json(adjudication.model_dump(mode="json")) + b"\n"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, line)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def read_adjudications(folder: Path) -> tuple[Adjudication, ...]:
    """Every decision in the order made; none where there is no file.

    Raises:
        IntegrityError: The file, or a line of it, is not a list of decisions.
    """
    path = folder / ADJUDICATIONS
    if not path.is_file():
        return ()
    if path.stat().st_size > MAX_BYTES:
        raise IntegrityError(f"{path.name}: longer than {MAX_BYTES} bytes: not a list of decisions")
    found: list[Adjudication] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append(Adjudication.model_validate_json(line))
        except ValidationError as error:
            raise IntegrityError(f"{path.name}:{number}: not a decision: {complaint(error)}") from None
    return tuple(found)


def last_decisions(adjudications: Iterable[Adjudication]) -> dict[str, Adjudication]:
    """The decision that counts, by finding."""
    return {a.finding: a for a in adjudications}


def apply_adjudications(findings: Iterable[Finding], decisions: Mapping[str, Adjudication]) -> list[Finding]:
    """The findings with every *uncertain* sighting that somebody decided in its new state.

    What the rules confirmed stays confirmed: a literal match is no matter of opinion.
    """
    out: list[Finding] = []
    for finding in findings:
        decided = decisions.get(finding_id(finding)) if decisions else None
        if decided is not None and finding.values.get("state") == "uncertain":
            values = {**finding.values, "state": decided.decision, "reviewer": decided.reviewer}
            finding = finding.model_copy(update={"values": values})
        out.append(finding)
    return out
