"""PerLTQA's dialogues as membership units: statements are extracted, and an event's are never divided.

Du et al. 2024, github.com/Elvin-Yiming-Du/PerLTQA, `perltmem_en_v2.json`: one object that maps a character to its
memory (the older `perltmem_en.json` is a list of such memories). Profile, relationships and events are not read: the
split of MRMMIA (arXiv 2605.27825, appendix A) is of dialogues alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vestige.datasets.reading import Node
from vestige.datasets.units.dialogue import Dialogue, Line, line_text
from vestige.datasets.units.extractor import Extracted, Extractor, run
from vestige.datasets.units.formats import Names, ParsedUnits, Reading, UnitFormat, keys_of
from vestige.datasets.units.notes import extraction_notes
from vestige.datasets.units.split import Splitter
from vestige.datasets.units.unit import Unit

__all__ = ["PERLTQA_UNITS"]

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class _Talk:
    """A dialogue and the event it belongs to."""

    dialogue: Dialogue
    event: str


def _characters(records: Iterable[Node]) -> Iterator[tuple[str, Node]]:
    """Name and memory of every character, in either layout."""
    for index, record in enumerate(records):
        if record.has("dialogues"):
            profile = record.get("profile")
            name = profile.get("Protagonist").optional_text() if profile.value is not None else None
            yield name or f"character-{index}", record
        else:
            for name in keys_of(record):
                yield name, record.get(name)


def _event(talk: Node, key: str) -> str:
    """The event of a dialogue: as it says (several are one group of their own), else the part of its key before #."""
    named = talk.get("events")
    if isinstance(named.value, list):
        found = "+".join(text for item in named.items() if (text := item.text().strip()))
    else:
        found = named.optional_text() or ""
    return found or key.partition("#")[0] or key


def _lines(talk: Node) -> Iterator[Line]:
    contents = talk.get("contents")
    if contents.value is None:
        return
    for time in keys_of(contents):
        for item in contents.get(time).items():
            speaker, colon, text = line_text(item).partition(":")
            if not colon or len(speaker) > _LONGEST_NAME:  # a colon in what is said names nobody
                speaker, text = "", line_text(item)
            if text.strip():
                yield Line(speaker.strip(), text.strip())


def _talks(memory: Node) -> list[_Talk]:
    dialogues = memory.get("dialogues")
    if dialogues.value is None:
        return []
    found: list[_Talk] = []
    for key in keys_of(dialogues):
        talk = dialogues.get(key)
        event = _event(talk, key)
        if lines := tuple(_lines(talk)):
            found.append(_Talk(Dialogue(key, lines), event))
    return found


async def _all(extractor: Extractor, talks: list[_Talk]) -> list[Extracted]:
    try:
        return await asyncio.gather(*(extractor.statements(talk.dialogue) for talk in talks))
    finally:
        await extractor.close()


def _read(records: Iterable[Node], how: Reading) -> ParsedUnits:
    opened = how.extractor("perltqa")
    users: dict[str, list[_Talk]] = {}
    names = Names()
    silent = 0
    for name, memory in _characters(records):
        talks = _talks(memory.named(name))
        silent += not talks
        if talks and (how.n is None or len(users) < how.n):
            users[names.once(name)] = talks
    extractor = opened()
    made = iter(run(_all(extractor, [talk for talks in users.values() for talk in talks])))
    splitter = Splitter(how.seed)
    units: dict[str, tuple[Unit, ...]] = {}
    seen: list[Extracted] = []
    for user, talks in users.items():
        extracted = [next(made) for _ in talks]
        seen += extracted
        members = splitter.members(t.event for t, e in zip(talks, extracted, strict=True) if e.statements)
        units[user] = tuple(
            Unit(
                id=f"{user}:{talk.dialogue.id}:{i}",
                user=user,
                text=text,
                member=talk.event in members,
                session=talk.dialogue.id,
                group=talk.event,
                sources=(talk.dialogue.id,),
                subject=user,
            )
            for talk, found in zip(talks, extracted, strict=True)
            for i, text in enumerate(found.statements)
        )
    notes = extraction_notes(extractor.name, seen)
    if silent:
        notes.append(f"{silent} characters without a dialogue are left out")
    return ParsedUnits(units, tuple(notes))


def _looks(first: Node) -> bool:
    if not isinstance(first.value, dict):
        return False
    keys = first.keys()
    inner = first if "dialogues" in keys else first.get(keys[0]) if keys else first
    return isinstance(inner.value, dict) and {"dialogues", "profile"} <= set(inner.keys())


PERLTQA_UNITS = UnitFormat(
    name="perltqa",
    looks=_looks,
    read=_read,
    expected="an object that maps a name to profile, dialogues (key → contents, events), …",
    license="CC BY-NC 4.0",
    per_user=20,
)
"""The loader of PerLTQA's memory file."""
