"""Multi-Session Chat as membership units: what session 1 told is a member, what session 2 adds is not.

Xu et al. 2022, ParlAI's `msc_dialogue/session_2/{train,valid,test}.txt`, one object a line. Each line is one pair of
speakers and one user (MRMMIA, arXiv 2605.27825, appendix A). In the files of later sessions the first two are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from vestige.datasets.reading import Node
from vestige.datasets.units.dialogue import Dialogue, Line, line_text
from vestige.datasets.units.extractor import Extracted, Extractor, run
from vestige.datasets.units.formats import Names, ParsedUnits, Reading, UnitFormat
from vestige.datasets.units.notes import extraction_notes
from vestige.datasets.units.unit import Unit

__all__ = ["MSC_UNITS"]

_SPEAKERS = ("Speaker 1", "Speaker 2")
_NAMED = {
    name: speaker
    for speaker, names in zip(
        _SPEAKERS,
        (("speaker 1", "speaker_1", "bot_0", "0"), ("speaker 2", "speaker_2", "bot_1", "1")),
        strict=True,
    )
    for name in names
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two sessions of the same two people."""

    user: str
    first: Dialogue
    second: Dialogue


def _dialogue(turns: Node, name: str) -> Dialogue:
    lines: list[Line] = []
    for i, turn in enumerate(turns.items()):
        given = turn.get("id")
        said = given.text_or_digits().strip().lower() if given.value not in (None, "") else ""
        # Where the id says nothing, as in most previous dialogues, speakers alternate.
        if text := line_text(turn.get("text")):
            lines.append(Line(_NAMED.get(said, _SPEAKERS[i % 2]), text))
    return Dialogue(name, tuple(lines))


def _user(record: Node, index: int) -> str:
    metadata = record.get("metadata")
    given = metadata.get("initial_data_id") if metadata.value is not None else record.get("initial_data_id")
    return given.text_or_digits() if given.value not in (None, "") else f"pair-{index}"


def _pair(record: Node, user: str) -> _Pair | None:
    """The first two sessions; None where one of them is empty."""
    previous = record.get("previous_dialogs").items()
    if not previous:
        return None
    second = previous[1].get("dialog") if len(previous) > 1 else record.get("dialog")
    pair = _Pair(user, _dialogue(previous[0].get("dialog"), "session_1"), _dialogue(second, "session_2"))
    return pair if pair.first.lines and pair.second.lines else None


async def _told(extractor: Extractor, pair: _Pair) -> tuple[Extracted, Extracted]:
    first = await extractor.statements(pair.first)
    return first, await extractor.statements(pair.second, known=first.statements)


async def _all(extractor: Extractor, pairs: list[_Pair]) -> list[tuple[Extracted, Extracted]]:
    try:
        return await asyncio.gather(*(_told(extractor, pair) for pair in pairs))
    finally:
        await extractor.close()


def _units(pair: _Pair, told: tuple[Extracted, Extracted]) -> tuple[Unit, ...]:
    return tuple(
        Unit(
            id=f"{pair.user}:{dialogue.id}:{i}",
            user=pair.user,
            text=text,
            member=dialogue is pair.first,
            session=dialogue.id,
            group=dialogue.id,
            sources=(dialogue.id,),
            subject=next((name for name in _SPEAKERS if text.startswith(name)), None),
        )
        for dialogue, found in zip((pair.first, pair.second), told, strict=True)
        for i, text in enumerate(found.statements)
    )


def _read(records: Iterable[Node], how: Reading) -> ParsedUnits:
    opened = how.extractor("msc")
    names = Names()
    pairs: list[_Pair] = []
    empty = one_sided = 0
    for index, record in enumerate(records):
        user = _user(record, index)
        pair = _pair(record.named(user), names.once(user))
        empty += pair is None
        if pair is not None and (how.n is None or len(pairs) < how.n):
            pairs.append(pair)
    extractor = opened()
    made = run(_all(extractor, pairs))
    units: dict[str, tuple[Unit, ...]] = {}
    for pair, told in zip(pairs, made, strict=True):
        if all(found.statements for found in told):
            units[pair.user] = _units(pair, told)
        else:
            one_sided += 1
    notes = extraction_notes(extractor.name, (found for told in made for found in told))
    if empty:
        notes.append(f"{empty} records without two sessions are left out")
    if one_sided:
        notes.append(f"{one_sided} pairs with statements of one session alone are left out")
    return ParsedUnits(units, tuple(notes))


def _looks(first: Node) -> bool:
    return isinstance(first.value, dict) and {"previous_dialogs", "dialog"} <= set(first.keys())


MSC_UNITS = UnitFormat(
    name="msc",
    looks=_looks,
    read=_read,
    expected="records with previous_dialogs ([{dialog: [{text}]}]) and dialog ([{id, text}])",
    license="as ParlAI's release of Multi-Session Chat says",
)
"""The loader of Multi-Session Chat."""
