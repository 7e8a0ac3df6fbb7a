"""Statistics, verdict and observations of a packet, computed once more and compared with what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import from_json

from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.errors import IntegrityError, VestigeError, complaint
from vestige.packet.compare import Difference, Prose, differences, row_differences, short
from vestige.packet.contents import HOLDS, PROSE, REPORTS, Evidence, public_files, read_software
from vestige.packet.keyed import Keyed, secrets_of
from vestige.packet.layout import FORMAT, PUBLIC, RESTRICTED, Level, Problem, shown
from vestige.packet.ledger import KEY_OF_A_ROW
from vestige.runs.folder import RunFolder
from vestige.runs.store import torn_lines

__all__ = [
    "Concluded",
    "conclude_again",
    "made_with",
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
    wording: tuple[Problem, ...]
    """Sentences that say the same in other words."""


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
    problems, wording = _told(
        chain(
            _result_differences(stored, again),
            _head_differences(packet, again),
            _report_differences(folder, again),
        )
    )
    problems += [
        Problem(file=f"{PUBLIC}/{shown(name)}", what="is no file of this format", level="statistics")
        for name in sorted(p.name for p in (folder / PUBLIC).iterdir())
        if name not in HOLDS and not name.startswith(REPORTS)
    ]
    return Concluded(brief, findings, again, tuple(problems), tuple(wording))


def made_with(folder: Path) -> str:
    """The version that scored and sealed a packet, as it says; empty: it does not say.

    Raises:
        IntegrityError: It cannot be read.
    """
    data = read(folder / PUBLIC / "manifests.json")
    said: Any = _parsed("manifests.json", lambda: from_json(data))
    for name in ("software", "scored", "packages", "vestige"):
        said = said.get(name) if isinstance(said, dict) else None
    return said if isinstance(said, str) else ""


def reports_of(folder: Path) -> tuple[str, ...]:
    """Names of the report files of a packet's public part."""
    return tuple(sorted(p.name for p in (folder / PUBLIC).iterdir() if p.name.startswith(REPORTS)))


Found = tuple[Problem, bool]
"""A problem, and whether it is one of wording alone."""
_HEAD = Prose(names=frozenset({"statement"}))


def _said(value: dict[str, Any]) -> dict[str, Any]:
    """The verdict and its sentence."""
    return {name: value.get(name) for name in ("verdict", "statement")}


def _found(file: str, difference: Difference, level: Level) -> Found:
    return Problem(file=file, what=str(difference), level=level), difference.wording


def _told(found: Iterable[Found]) -> tuple[list[Problem], list[Problem]]:
    """Problems, and those of wording alone: of each file and level the first ones, and how many more there are."""
    by: dict[tuple[bool, str, Level], list[Problem]] = {}
    more: Counter[tuple[bool, str, Level]] = Counter()
    for problem, wording in found:
        key = (wording, problem.file, problem.level)
        some = by.setdefault(key, [])
        if len(some) < _SHOWN:
            some.append(problem)
        else:
            more[key] += 1
    for key, rest in more.items():
        by[key].append(by[key][-1].model_copy(update={"what": f"and {rest:,} more"}))
    return [p for key, of in by.items() if not key[0] for p in of], [
        p for key, of in by.items() if key[0] for p in of
    ]


def _head_differences(packet: dict[str, Any], again: VerificationResult) -> Iterator[Found]:
    for found in differences(_said(packet), _said(again.model_dump(mode="json")), _HEAD):
        yield _found(f"{PUBLIC}/packet.json", found, "verdict")


def _report_differences(folder: Path, again: VerificationResult) -> Iterator[Found]:
    """Where the machine-readable report says another verdict than the one that follows from the findings."""
    if REPORT not in reports_of(folder):
        return
    data = read(folder / PUBLIC / REPORT)
    report = _parsed(REPORT, lambda: from_json(data))
    said = cast("dict[str, Any]", report) if isinstance(report, dict) else {}
    rows: Any = said.get("claims")
    claims = [_said(row) for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict)]
    there = {**_said(said), "claims": claims}
    computed = again.model_dump(mode="json")
    here = {**_said(computed), "claims": [_said(claim) for claim in computed["claims"]]}
    for found in differences(there, here, _HEAD):
        yield _found(f"{PUBLIC}/{REPORT}", found, "verdict")


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


def _result_differences(stored: VerificationResult, again: VerificationResult) -> Iterator[Found]:
    file, prose = f"{PUBLIC}/result.json", PROSE["result.json"]
    for found in differences(stored.model_dump(mode="json"), again.model_dump(mode="json"), prose):
        decides = found.place.rsplit(".", 1)[-1] in ("verdict", "statement", "outcome", "decided_by")
        yield _found(file, found, "verdict" if decides else "statistics")


# ---------------------------------------------------------------------------------------------- observations


def observe_again(folder: Path, restricted: Path) -> tuple[list[Problem], list[Problem]]:
    """Score the restricted part, make every public file anew, and say where one differs, and where in words alone.

    Args:
        folder: The packet.
        restricted: Its restricted part in plain.

    Raises:
        IntegrityError: The restricted part cannot be read or scored.
    """
    made = _guarded(RESTRICTED, "its records", lambda: _made_again(folder, restricted))
    problems: list[Problem] = []
    wording = [
        Problem(
            file=f"{RESTRICTED}/{name}",
            what=f"its last line is torn: {size} bytes are not read",
            level="observations",
        )
        for name, size in torn_lines(restricted)
    ]
    for name in HOLDS:
        found = _told(_file_differences(name, read(folder / PUBLIC / name), made[name]))
        problems += found[0]
        wording += found[1]
    return problems, wording


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


def _file_differences(name: str, stored: bytes, again: bytes) -> Iterator[Found]:
    if stored == again:
        return
    file, prose = f"{PUBLIC}/{name}", PROSE.get(name)
    if name.endswith(".jsonl") and prose is None:
        for what in _line_differences(stored, again):
            yield Problem(file=file, what=what, level="observations"), False
        return
    try:
        found = (
            row_differences(stored, again, KEY_OF_A_ROW, cast("Prose", prose))
            if name.endswith(".jsonl")
            else differences(from_json(stored), from_json(again), prose)
        )
        for one in found:
            yield _found(file, one, "observations")
    except ValueError:
        what = "is no JSON, or its last line is torn"
        yield Problem(file=file, what=what, level="observations"), False


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
        return short(
            {name: row.get(name) for name in ("episode", "step", "kind") if row.get(name) is not None}
        )
    except (ValueError, AttributeError):
        return "an empty one"
