"""LoCoMo's observations as membership units: no model is needed, the release itself holds the statements.

A sample is a user, a session's observations are never divided. With seed 42 the public file gives the published 1,268
members and 1,273 non-members of 10 users (MRMMIA, arXiv 2605.27825, appendix A).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vestige.datasets.formats import unique_id
from vestige.datasets.reading import Node
from vestige.datasets.units.formats import ParsedUnits, Reading, UnitFormat, keys_of, statement
from vestige.datasets.units.split import Splitter
from vestige.datasets.units.unit import Unit

__all__ = ["LOCOMO_UNITS"]

_SESSION = re.compile(r"session_(\d{1,6})_observation")


def _sessions(observation: Node) -> list[tuple[int, Node]]:
    """The sessions' observations by number."""
    # A Node is no mapping: `keys()` is its own method, and it cannot be iterated.
    found = [(int(m[1]), key) for key in observation.keys() if (m := _SESSION.fullmatch(key))]  # noqa: SIM118
    if len({number for number, _ in found}) != len(found):
        observation.fail("one entry for each session number", got="a number twice")
    return [(number, observation.get(key)) for number, key in sorted(found)]


def _sources(evidence: Node) -> tuple[str, ...]:
    """Turn ids as the data writes them: a string, or a list of strings."""
    if isinstance(evidence.value, list):
        return tuple(text for item in evidence.items() if (text := item.text().strip()))
    text = evidence.optional_text()
    return () if text is None else (text,)


def _observed(speaker: Node, name: str, user: str, session: str) -> tuple[list[Unit], int]:
    """A speaker's observations, and how many were blank. All are non-members until the split is known."""
    units: list[Unit] = []
    blank = 0
    for i, item in enumerate(speaker.items()):
        parts = item.items()
        if not parts:
            item.fail("[statement, evidence]", got="an empty list")
        if not parts[0].text().strip():
            blank += 1
            continue
        units.append(
            Unit(
                id=f"{user}:{session}:{name}:{i}",
                user=user,
                text=statement(parts[0]),
                member=False,
                session=session,
                group=session,
                sources=_sources(parts[1]) if len(parts) > 1 else (),
                subject=name,
            )
        )
    return units, blank


def _read(records: Iterable[Node], how: Reading) -> ParsedUnits:
    splitter = Splitter(how.seed)
    seen: set[str] = set()
    blank = 0
    units: dict[str, tuple[Unit, ...]] = {}
    for sample in records:
        user = sample.get("sample_id").text_or_digits()
        sample = sample.named(user)
        unique_id(sample.get("sample_id"), user, seen)
        if how.n is not None and len(units) == how.n:
            continue
        found: list[Unit] = []
        for number, session in _sessions(sample.get("observation")):
            for name in keys_of(session):
                listed, skipped = _observed(session.get(name), name, user, f"session_{number}")
                found += listed
                blank += skipped
        members = splitter.members(u.session for u in found if u.session is not None)
        units[user] = tuple(u.model_copy(update={"member": u.session in members}) for u in found)
    notes = (f"{blank} observations without text are left out",) if blank else ()
    return ParsedUnits(units, notes)


def _looks(first: Node) -> bool:
    return isinstance(first.value, dict) and {"sample_id", "observation"} <= set(first.keys())


LOCOMO_UNITS = UnitFormat(
    name="locomo",
    looks=_looks,
    read=_read,
    expected="records with sample_id and observation (session_1_observation, …: speaker → [[statement, evidence], …])",
    license="CC BY-NC 4.0",
)
"""The loader of LoCoMo's observations."""
