"""Statistics, verdict and observations of a packet, computed once more and compared with what it says."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import from_json

from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.errors import IntegrityError, VestigeError, complaint
from vestige.packet.contents import HOLDS, REPORTS, Evidence, public_files, read_software
from vestige.packet.keyed import Keyed, secrets_of
from vestige.packet.layout import FORMAT, PUBLIC, RESTRICTED, Level, Problem, shown
from vestige.runs.folder import RunFolder

__all__ = [
    "Concluded",
    "conclude_again",
    "differences",
    "observe_again",
    "read",
    "read_brief",
    "read_findings",
    "reports_of",
]

REPORT = "report.json"
"""The one report that is compared; the others are for people's eyes."""
_MAX_PUBLIC = 1024**3
"""Bytes of a public file that is read into memory."""
_MAX_LINE = 1024**2
"""Bytes of a finding."""
_TOLERANCE = 1e-9
"""Relative: another machine's mathematics library may differ in the last digits."""
_SHOWN = 20
"""Differences told of one file."""
T = TypeVar("T")


@dataclass(frozen=True)
class Concluded:
    """A conclusion made again."""

    brief: Brief
    findings: tuple[Finding, ...]
    result: VerificationResult
    """As computed, not as stored."""
    problems: tuple[Problem, ...]


# --------------------------------------------------------------------------------------------------- reading


def read(path: Path) -> bytes:
    """A public file.

    Raises:
        IntegrityError: It is not there, or too large.
    """
    name = f"{path.parent.name}/{path.name}" if path.parent.name == PUBLIC else path.name
    try:
        if path.stat().st_size > _MAX_PUBLIC:
            raise IntegrityError(f"{name}: larger than {_MAX_PUBLIC:,} bytes: not read")
        return path.read_bytes()
    except OSError:
        raise IntegrityError(f"{name}: is missing") from None


def _parsed(name: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except ValidationError as error:
        raise IntegrityError(f"{PUBLIC}/{name}: cannot be read: {complaint(error)}") from None
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{PUBLIC}/{name}: cannot be read: {type(error).__name__}") from None


def read_brief(folder: Path) -> Brief:
    """A packet's brief."""
    data = read(folder / PUBLIC / "brief.json")
    return _parsed("brief.json", lambda: Brief.model_validate_json(data))


def read_findings(folder: Path) -> tuple[Finding, ...]:
    """A packet's findings."""
    return tuple(_finding_lines(folder))


def _finding_lines(folder: Path) -> Iterator[Finding]:
    data = read(folder / PUBLIC / "findings.jsonl")
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        if len(line) > _MAX_LINE:
            raise IntegrityError(f"{PUBLIC}/findings.jsonl: line {number} is longer than {_MAX_LINE:,} bytes")
        try:
            yield Finding.model_validate_json(line)
        except ValidationError as error:
            raise IntegrityError(f"{PUBLIC}/findings.jsonl: line {number}: {complaint(error)}") from None
    if data and not data.endswith(b"\n"):
        raise IntegrityError(f"{PUBLIC}/findings.jsonl: its last line is torn")


# ------------------------------------------------------------------------------------------------ statistics


def conclude_again(folder: Path) -> Concluded:
    """Compute a packet's result from its brief and findings, and compare.

    Raises:
        IntegrityError: A public file cannot be read, is of a later format, or nothing can be concluded from it.
    """
    head = read(folder / PUBLIC / "packet.json")
    packet = _parsed("packet.json", lambda: from_json(head))
    version = packet.get("format") if isinstance(packet, dict) else None
    if version != FORMAT:
        what = f"format {version}" if isinstance(version, int) else "no format"
        raise IntegrityError(f"{PUBLIC}/packet.json: {what}: this version reads format {FORMAT}")
    brief, findings = read_brief(folder), read_findings(folder)
    data = read(folder / PUBLIC / "result.json")
    stored = _parsed("result.json", lambda: VerificationResult.model_validate_json(data))
    again = _guarded(PUBLIC, "the findings", lambda: _conclude(brief, findings))
    problems = [
        Problem(file=f"{PUBLIC}/result.json", what=what, level=level)
        for what, level in islice(_result_differences(stored, again), 5 * _SHOWN)
    ]
    problems += [
        Problem(file=f"{PUBLIC}/packet.json", what=f"{name} is another than the result's", level="verdict")
        for name in ("verdict", "statement")
        if packet.get(name) != getattr(again, name)
    ]
    problems += _report_differences(folder, again)
    problems += [
        Problem(file=f"{PUBLIC}/{shown(name)}", what="is no file of this format", level="statistics")
        for name in sorted(p.name for p in (folder / PUBLIC).iterdir())
        if name not in HOLDS and not name.startswith(REPORTS)
    ]
    return Concluded(brief, findings, again, tuple(problems))


def reports_of(folder: Path) -> tuple[str, ...]:
    """Names of the report files of a packet's public part."""
    return tuple(sorted(p.name for p in (folder / PUBLIC).iterdir() if p.name.startswith(REPORTS)))


def _report_differences(folder: Path, again: VerificationResult) -> Iterator[Problem]:
    """Where the machine-readable report says another verdict than the one that follows from the findings."""
    if REPORT not in reports_of(folder):
        return
    file = f"{PUBLIC}/{REPORT}"
    data = read(folder / PUBLIC / REPORT)
    report = _parsed(REPORT, lambda: from_json(data))
    said = cast("dict[str, Any]", report) if isinstance(report, dict) else {}
    for name in ("verdict", "statement"):
        if said.get(name) != getattr(again, name):
            yield Problem(file=file, what=f"its {name} is another than the result's", level="verdict")
    rows: Any = said.get("claims")
    claims = [
        (row.get("verdict"), row.get("statement"))
        for row in (cast("list[Any]", rows) if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
    if claims != [(c.verdict, c.statement) for c in again.claims]:
        yield Problem(file=file, what="its claims say another verdict than the result's", level="verdict")


def _conclude(brief: Brief, findings: tuple[Finding, ...]) -> VerificationResult:
    from vestige.audits.verification.conclusion import conclude

    return conclude(brief, findings)


def _guarded(where: str, what: str, act: Callable[[], T]) -> T:
    """Run our own code on a stranger's data, whatever that does to it."""
    try:
        return act()
    except VestigeError as error:
        raise IntegrityError(f"{where}: nothing can be computed from {what}: {error}") from None
    except Exception as error:  # hostile values may break any assumption; that is a finding, not a crash
        raise IntegrityError(
            f"{where}: nothing can be computed from {what}: {type(error).__name__}"
        ) from None


def _result_differences(stored: VerificationResult, again: VerificationResult) -> Iterator[tuple[str, Level]]:
    for place, old, new in differences(stored.model_dump(mode="json"), again.model_dump(mode="json")):
        decides = place.rsplit(".", 1)[-1] in ("verdict", "statement", "outcome", "decided_by")
        yield f"{place}: says {_short(old)}, computed {_short(new)}", "verdict" if decides else "statistics"


def differences(a: Any, b: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two JSON values differ, as (place, there, here); numbers may differ in the last digits."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from differences(
                a.get(key, _ABSENT), b.get(key, _ABSENT), f"{place}.{key}" if place else key
            )
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from differences(x, y, f"{place}[{i}]")
    elif not _same(a, b):
        yield place, a, b


_ABSENT = "(nothing)"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        if not (math.isfinite(a) and math.isfinite(b)):
            return a == b or (a != a and b != b)
        return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return type(a) is type(b) and a == b


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---------------------------------------------------------------------------------------------- observations


def observe_again(folder: Path, restricted: Path) -> list[Problem]:
    """Score the restricted part, make every public file anew, and say where one differs.

    Args:
        folder: The packet.
        restricted: Its restricted part in plain.

    Raises:
        IntegrityError: The restricted part cannot be read or scored.
    """
    made = _guarded(RESTRICTED, "its records", lambda: _made_again(folder, restricted))
    problems: list[Problem] = []
    for name in HOLDS:
        problems += _file_differences(name, read(folder / PUBLIC / name), made[name])
    return problems


def _made_again(folder: Path, restricted: Path) -> dict[str, bytes]:
    from vestige.audits.verification.conclusion import brief_of
    from vestige.audits.verification.ledger import ledger
    from vestige.audits.verification.scoring import score

    run = RunFolder.open(restricted)
    keyed = Keyed(_key(restricted), secrets_of(run.plan))
    brief = brief_of(run.plan, run)
    findings = list(score(run.plan, run))
    result = _conclude(brief, tuple(findings))
    rows: tuple[LedgerRow, ...] = tuple(ledger(run.plan, run, result))
    evidence = Evidence(run, findings, result, brief, rows, read_software(restricted))
    reports = [p.name for p in (folder / PUBLIC).iterdir() if p.name.startswith(REPORTS)]
    return public_files(evidence, keyed, reports)


def _key(restricted: Path) -> bytes:
    try:
        return bytes.fromhex((restricted / "key").read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise IntegrityError(f"{RESTRICTED}/key: is missing, or is no key") from None


def _file_differences(name: str, stored: bytes, again: bytes) -> list[Problem]:
    if stored == again:
        return []
    found = _line_differences(stored, again) if name.endswith(".jsonl") else _json_differences(stored, again)
    what = [text for text, _ in zip(found, range(_SHOWN + 1), strict=False)]
    if len(what) > _SHOWN:
        what[_SHOWN] = "and more"
    return [Problem(file=f"{PUBLIC}/{name}", what=text, level="observations") for text in what]


def _json_differences(stored: bytes, again: bytes) -> Iterator[str]:
    try:
        there = from_json(stored)
    except ValueError:
        yield "is no JSON"
        return
    for place, old, new in differences(there, from_json(again)):
        yield f"{place}: says {_short(old)}, computed {_short(new)}"


def _line_differences(stored: bytes, again: bytes) -> Iterator[str]:
    """Lines that only one side has, whatever their order."""
    there, here = stored.split(b"\n"), again.split(b"\n")
    left = Counter(here)
    for number, line in enumerate(there, start=1):
        if left[line] > 0:
            left[line] -= 1
        else:
            yield f"line {number}: the records do not give it"
    for line in (+left).elements():
        yield f"a line is missing: {_place(line)}"


def _place(line: bytes) -> str:
    try:
        row = from_json(line)
        return _short(
            {name: row.get(name) for name in ("episode", "step", "kind") if row.get(name) is not None}
        )
    except (ValueError, AttributeError):
        return "an empty one"
