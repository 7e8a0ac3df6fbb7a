"""Carrying out a removal request in one of the deletion modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vestige.memory.derive import Deriver
from vestige.memory.desk import Kept
from vestige.memory.forget import BOTH, Mode
from vestige.memory.scrub import MARKER, Scrub, Scrubber
from vestige.memory.store import SessionNote
from vestige.memory.units import Changes, Unit
from vestige.records import Receipt, RemovalRequest

__all__ = ["Removal", "plan_removal"]


@dataclass(frozen=True, slots=True)
class Removal:
    """What a request comes to: changes to apply, session notes, and the receipt to hand out once they are."""

    changes: Changes
    notes: tuple[SessionNote, ...]
    receipt: Receipt
    rewritten: tuple[Kept, ...] = ()
    """Notes and orders with their new text."""
    discarded: tuple[Kept, ...] = ()
    """Notes and orders that go."""


async def plan_removal(
    request: RemovalRequest,
    mode: Mode,
    units: Sequence[Unit],
    deriver: Deriver,
    *,
    scrub: Scrub,
    next_order: int,
    desk: Sequence[Kept] = (),
) -> Removal:
    """Work out a removal without storing anything.

    By value at scope ``unit`` the value is scrubbed out of the texts. Every other request names whole units:
    by their ids, the sessions' ids (scope ``session``; scope ``source`` takes both, and an id of both is the
    unit's), a value they contain (scope ``source``, ``session``), or all of the user (``user``,
    ``everything``); these, and what was derived from them, are dropped (redacted, in a mode with a marker) as
    far as the mode reaches. Notes and orders are treated like units, in the modes that reach every tier; the
    others leave them.

    Args:
        request: What is to be forgotten.
        mode: How.
        units: All units of the user, in order of creation.
        deriver: Embeds and summarises.
        scrub: How the scrubber matches.
        next_order: The order of creation of the next unit.
        desk: All notes and orders of the user.

    Raises:
        ConfigError: The value has nothing to look for.
        ModelError: Re-embedding or summarising failed; nothing was changed.
    """
    if request.value is None and not request.ids and request.scope in ("unit", "source", "session"):
        return _refused(
            f"scope {request.scope!r} needs a value or ids; a description alone is not understood"
        )
    if request.value is not None and not request.ids and request.scope == "unit":
        scrubber = Scrubber(request.value, scrub, mode.replacement)
        changed = {u.id: text for u in (*units, *desk) if (text := scrubber(u.text)) != u.text}
        dropped: set[str] = set()
    else:
        named = _named(request, (*units, *desk), scrub)
        changed = dict.fromkeys(named, MARKER) if mode.replacement else {}
        dropped = set() if mode.replacement else named
    by_id = {u.id: u for u in units}
    reached = {u.id: u.text for u in units if u.tier in mode.reaches}
    if mode.reaches >= BOTH:
        reached |= {row.id: row.text for row in desk}
    changed = {i: text for i, text in changed.items() if i in reached and reached[i] != text}
    dropped &= reached.keys()
    if mode.drop_empty:
        empty = {i for i, text in changed.items() if not any(c.isalnum() for c in text)}
        dropped |= empty
        changed = {i: text for i, text in changed.items() if i not in empty}
    rewritten = tuple(replace(row, text=changed.pop(row.id)) for row in desk if row.id in changed)
    discarded = tuple(row for row in desk if row.id in dropped)
    dropped &= by_id.keys()
    updates = await _updates(changed, by_id, deriver if mode.reembed else None)
    drops = [u.id for u in units if u.id in dropped]
    inserts: tuple[Unit, ...] = ()
    notes: list[SessionNote] = []
    if mode.resummarise:
        after = [updates.get(u.id, u) for u in units if u.id not in dropped]
        touched = {by_id[i].session: by_id[i].date for i in (*changed, *dropped) if by_id[i].tier == "raw"}
        for session in dict.fromkeys(u.session for u in units if u.session in touched):
            mine = [u for u in after if u.session == session]
            derived, note = await deriver.summaries(
                session,
                touched[session],
                [u for u in mine if u.tier == "raw"],
                [u for u in mine if u.tier == "summary"],
                next_order + len(inserts),
            )
            drops += derived.drops
            inserts += derived.inserts
            notes.append(SessionNote(session, touched[session], note=note))
    counts = {"raw": 0, "summary": 0}
    for touched_id in (*updates, *drops):
        counts[by_id[touched_id].tier] += 1
    counts["summary"] += len(inserts)
    if rewritten or discarded:
        counts["note"] = len(rewritten) + len(discarded)
    return Removal(
        Changes(tuple(updates.values()), tuple(drops), inserts),
        tuple(notes),
        Receipt(
            accepted=True,
            completed=True,
            message=mode.doc
            if any(counts.values()) or not mode.reaches
            else "nothing stored matched the request",
            affected=counts,
        ),
        rewritten,
        discarded,
    )


async def _updates(texts: dict[str, str], by_id: dict[str, Unit], deriver: Deriver | None) -> dict[str, Unit]:
    if deriver is None:
        return {i: replace(by_id[i], text=text) for i, text in texts.items()}
    blobs = await deriver.embed(list(texts.values()))
    return {
        i: replace(by_id[i], text=text, vector=blob)
        for (i, text), blob in zip(texts.items(), blobs, strict=True)
    }


def _named(request: RemovalRequest, units: Sequence[Unit | Kept], scrub: Scrub) -> set[str]:
    ids = set(request.ids)
    if request.value is not None:
        scrubber = Scrubber(request.value, scrub)
        holders = [u for u in units if scrubber(u.text) != u.text]
        ids |= {u.session if request.scope == "session" else u.id for u in holders}
    if request.scope in ("user", "everything"):
        return {u.id for u in units}
    if request.scope == "session":
        return {u.id for u in units if u.session in ids}
    if request.scope == "source":
        sessions = ids - {u.id for u in units}
        ids |= {u.id for u in units if u.session in sessions}
    return {u.id for u in units if u.id in ids or ids.intersection(u.sources)}


def _refused(why: str) -> Removal:
    return Removal(Changes(), (), Receipt(accepted=False, completed=False, message=why))
