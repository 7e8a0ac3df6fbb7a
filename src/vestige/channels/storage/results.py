"""What a scan found, and what it read: the one is never said without the other."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.channels.observation import Grade
from vestige.channels.storage.forms import FormName
from vestige.records import Record

__all__ = ["Control", "FileRead", "ScanHit", "ScanResult", "Sighting"]


class ScanHit(Record):
    """Occurrences of one value in one file that are of one kind."""

    label: str
    """The value's; the value itself is in no result."""
    form: FormName
    grade: Grade | None
    """None: the format has no reader here, and how near the bytes are cannot be told."""
    place: str
    """What the bytes are: "row of notes", "free page", "older WAL frame", "bytes" …"""
    inside: tuple[str, ...] = ()
    """The streams it was unpacked from, outermost first: ("gzip",)."""
    count: int
    first: int
    """Offset of the first, in bytes from the start of the file or of the innermost stream."""


class FileRead(Record):
    """One file, how it was read, and what could not be."""

    file: str
    """Relative to what was given; a name that holds a value is not shown."""
    bytes: int
    format: str
    how: tuple[str, ...]
    """Every way in which it was read."""
    settings: dict[str, str] = Field(default_factory=dict)
    """What the file says of the library that wrote it. A setting that decides whether deleted bytes are overwritten
    (SQLite's `secure_delete`) stands in no file."""
    hits: tuple[ScanHit, ...] = ()
    not_computable: tuple[str, ...] = ()
    """What could not be read, by name; empty: all of it was read."""


class Sighting(Record):
    """Where one value was seen."""

    label: str
    whole: int
    """Occurrences of the whole value, in any form."""
    parts: int
    """Occurrences of two neighbouring parts, in files where the whole is gone."""
    files: int
    nearest: Grade | None
    """The nearest grade of a whole occurrence; None: there is none, or one whose grade cannot be told."""
    graded: bool
    """Whether the grade of every whole occurrence could be told."""


class Control(Record):
    """An earlier scan of the same storage, while the values were in it."""

    seen: tuple[str, ...]
    """Labels that it saw whole: only of these does it mean something to find nothing."""
    unseen: tuple[str, ...]


class ScanResult(Record):
    """A scan: everything that was read, and what of the values was found in it."""

    schema_name: Literal["vestige.scan/1"] = "vestige.scan/1"
    check: str
    """A slow keyed hash of labels and values together: another scan is of the same values where it is the same."""
    labels: tuple[str, ...]
    files: tuple[FileRead, ...]
    sightings: tuple[Sighting, ...]
    """Of every value, in the order of `labels`."""
    control: Control | None
    """None: there was none."""
    outcome: Literal["found", "parts_found", "nothing_found", "unassessable"]
    """`nothing_found` needs a control that saw every value, and every file read as a whole."""
    reasons: tuple[str, ...]
    """Why it is `unassessable`; beside `found`, what else was not seen."""
