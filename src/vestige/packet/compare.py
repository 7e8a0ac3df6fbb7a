"""Whether what a packet says and what is computed anew say the same.

Numbers, states, verdicts, names and counts decide. Sentences are worded by the version that wrote them: where they
differ in words alone, that is told and is no difference. A sentence is more than words where it replaces a number or a
verdict by another.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

__all__ = ["Difference", "Prose", "differences", "row_differences", "short"]

_TOLERANCE = 1e-9
"""Relative: another machine's mathematics library may differ in the last digits."""
_CLOSE = 0.05
"""Relative: what rounding in a sentence may change. 0.04 is not 0.0."""
_ABSENT = "(nothing)"
_INDEX = re.compile(r"\[\d+\]")
_SAID = re.compile(
    r"(?P<verdict>\b(?:fails|limited[ _]evidence|unassessable)\b)"
    r"|(?P<number>(?<![\w.])(?:(?<![\w)\]])[-−])?\d+(?:\.\d+)?(?!\.?\w))",
    re.IGNORECASE,
)
_LONG = 20_000
"""Characters of a sentence that are read for what it says."""


@dataclass(frozen=True)
class Difference:
    """One place in which two values differ."""

    place: str
    there: Any
    here: Any
    wording: bool
    """They differ in words alone."""

    def __str__(self) -> str:
        if self.wording:
            return f"{self.place}: says {short(self.there)}, this version writes {short(self.here)}"
        return f"{self.place}: says {short(self.there)}, computed {short(self.here)}"


@dataclass(frozen=True)
class Prose:
    """Where in a file there are sentences.

    Args:
        names: Fields of these names, wherever they are.
        places: Fields at these places: names divided by dots, `*` for any name, without the indices of lists.
        data: Places that `names` would take and that are recorded, not written: they decide.
    """

    names: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()

    def at(self, place: str) -> bool:
        """Whether there is one at a place, as `differences` names it."""
        plain = _INDEX.sub("", place)
        head, _, last = plain.rpartition(".")
        if plain in self.data:
            return False
        return last in self.names or plain in self.places or f"{head}.*" in self.places


def differences(there: Any, here: Any, prose: Prose | None = None, place: str = "") -> Iterator[Difference]:
    """Where two JSON values differ; numbers may differ in the last digits, and `there` may lack what is empty here.

    Args:
        there: As the packet says.
        here: As computed.
        prose: Where there are sentences; None: nowhere.
        place: Of the values themselves.
    """
    if prose is not None and prose.at(place) and _is_prose(there) and _is_prose(here):
        yield from _told(there, here, place)
    elif isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            name = f"{place}.{key}" if place else str(key)
            yield from differences(there.get(key, _ABSENT), here.get(key, _ABSENT), prose, name)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for i, (x, y) in enumerate(zip(there, here, strict=True)):
            yield from differences(x, y, prose, f"{place}[{i}]")
    elif not _same(there, here):
        yield Difference(place, there, here, wording=False)


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))


def _told(there: Any, here: Any, place: str) -> Iterator[Difference]:
    if there != here:
        yield Difference(place, there, here, wording=not _contradicts(_text(there), _text(here)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def _contradicts(there: str, here: str) -> bool:
    """Whether each says a number or a verdict that the other does not: then one was put in the place of the other."""
    old, new = _said(there), _said(here)
    for said in tuple(old):
        same = next((other for other in new if _agree(said, other)), None)
        if same is not None:
            old.remove(said)
            new.remove(same)
    return bool(old) and bool(new)


def _said(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for match in _SAID.finditer(text[:_LONG]):
        kind = match.lastgroup or ""
        found.append((kind, match.group().lower().replace("_", " ").replace("−", "-")))
    return found


def _agree(a: tuple[str, str], b: tuple[str, str]) -> bool:
    """The same verdict, or the same number: to the digits that both have, as a share or in per cent."""
    if a == b:
        return True
    if a[0] != "number" or b[0] != "number":
        return False
    return _rounded(a[1], b[1]) or _rounded(b[1], a[1])


def _rounded(one: str, other: str) -> bool:
    """Whether `other` is `one`, or that in per cent, with fewer digits; a whole number is never rounded."""
    if "." not in one:
        return False
    step, b = 10.0 ** -len(other.partition(".")[2]), float(other)
    return any(
        abs(a - b) <= 0.5000001 * step and abs(a - b) <= _CLOSE * max(abs(a), abs(b))
        for a in (float(one), 100 * float(one))
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        if not (math.isfinite(a) and math.isfinite(b)):
            return a == b or (a != a and b != b)
        return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if a is _ABSENT:  # made by a version that knew no such field, in which this one has nothing to say
        return b in (None, "", [], {})
    return type(a) is type(b) and a == b


def short(value: Any) -> str:
    """A value for a message: at most 60 characters of ASCII."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---------------------------------------------------------------------------------------------------- rows


def row_differences(there: bytes, here: bytes, key: Iterable[str], prose: Prose) -> Iterator[Difference]:
    """Where two files of JSON lines differ, row by row, as `key` names them.

    Raises:
        ValueError: A line of `there` is no JSON object, or its last one is torn.
    """
    names = tuple(key)
    if there and not there.endswith(b"\n"):
        raise ValueError("a torn line")
    old, new = _rows(there, names), _rows(here, names)
    for place in old:
        for number, row in enumerate(old[place][len(new.get(place, ())) :]):
            yield Difference(f"row {place}", _summary(row, number), _ABSENT, wording=False)
    for place, rows in new.items():
        if len(old.get(place, ())) < len(rows):
            yield Difference(f"row {place}", _ABSENT, _summary(rows[-1], 0), wording=False)
        for one, other in zip(old.get(place, ()), rows, strict=False):
            for found in differences(one, other, prose):
                yield Difference(f"row {place}: {found.place}", found.there, found.here, found.wording)


def _summary(row: dict[str, Any], number: int) -> str:
    return f"a row of {len(row)} fields" + (f", {number + 1} times too many" if number else "")


def _rows(data: bytes, names: tuple[str, ...]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in data.split(b"\n")[:-1]:
        row = from_json(line)
        if not isinstance(row, dict):
            raise ValueError("not an object")
        place = "/".join(ascii(row[name])[1:-1][:80] for name in names if isinstance(row.get(name), str))
        found.setdefault(place, []).append(row)
    return found
