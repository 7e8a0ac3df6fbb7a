"""A scan as lines for a terminal: what was read and how, what was found in it, and what may be said."""

from __future__ import annotations

from collections.abc import Iterator

from vestige.channels.storage import FileRead, ScanHit, ScanResult

__all__ = ["scan_lines"]

_GRADES = {
    "served": "served",
    "sent_to_model": "sent to a model",
    "live_row": "live",
    "old_version": "old version",
    "dead_bytes": "dead bytes",
    "vector_only": "vector only",
    None: "grade cannot be told",
}
_FORMS = (
    "looked for in UTF-8 and UTF-16 in any case, with other separators, under JSON, HTML and URL escapes, in base64 "
    "and in hex"
)


def scan_lines(result: ScanResult) -> list[str]:
    """The lines; every file is among them, since what was found says nothing without what was read."""
    lines = [line for file in result.files for line in _file(file)]
    found = [s for s in result.sightings if s.whole]
    parts = [s for s in result.sightings if s.parts and not s.whole]
    for sight in found:
        nearest = _GRADES[sight.nearest] if sight.nearest else _GRADES[None]
        more = "" if sight.graded else ", and where the grade cannot be told"
        lines.append(
            f"found: {sight.label}: {_count(sight.whole, 'time')} in {_count(sight.files, 'file')}, nearest: {nearest}"
            + (more if sight.nearest else "")
        )
    lines += [f"found in part: {sight.label}: {_count(sight.parts, 'time')}" for sight in parts]
    total = len(result.labels)
    missing = total - len(found) - len(parts)
    if result.control is not None:
        lines.append(f"control: saw {len(result.control.seen)} of {_count(total, 'value')} before")
    word = "not assessable" if result.outcome == "unassessable" else "besides"
    lines += [f"{word}: {reason}" for reason in result.reasons]
    if result.outcome == "nothing_found":
        lines.append(
            f"none of {_count(total, 'value')} found in what was read: {_count(len(result.files), 'file')}, "
            f"{sum(f.bytes for f in result.files):,} bytes, as listed above; {_FORMS}"
        )
    elif missing:
        kept = " (see above: that says nothing)" if result.reasons else " in what was read"
        lines.append(f"not found: {missing} of {_count(total, 'value')}{kept}")
    return lines


def _file(file: FileRead) -> Iterator[str]:
    told = "; ".join(f"{name}: {value}" for name, value in file.settings.items())
    yield f"{file.file}: {file.format}, {file.bytes:,} bytes, read as {', '.join(file.how) or 'nothing'}"
    if told:
        yield f"    {told}"
    yield from (f"    not computable: {words}" for words in file.not_computable)
    yield from (f"    {_hit(hit)}" for hit in file.hits)


def _hit(hit: ScanHit) -> str:
    inside = f", inside {' in '.join(reversed(hit.inside))}" if hit.inside else ""
    what = f"{hit.label}: {hit.count:,} × {hit.form}, {_GRADES[hit.grade]}"
    return f"{what} ({hit.place}{inside}), first at {hit.first:,}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
