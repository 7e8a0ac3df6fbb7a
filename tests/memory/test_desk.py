"""Notes and orders of the agent's tools: where they stay, which modes reach them, and what a request names."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from vestige.errors import IntegrityError
from vestige.memory.desk import Draft, Kept
from vestige.memory.forget import MODES
from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.scan import scan_bytes
from vestige.records import RemovalRequest

from .helpers import CANARY, SESSIONS, MakeMemory

NOTE = Draft("note", f"The token is {CANARY.lower()}.")
ORDER = Draft("order", "Order: figs from Maple & Finch")
REACHES_DESK = {"full_purge", "tombstone"}


async def built(memory: MemoryPipeline, user: str = "u") -> list[Kept]:
    for session in SESSIONS:
        await memory.write(user, session)
    await memory.note(user, "late", "Please keep that.", drafts=(NOTE, ORDER))
    return memory.store.desk(user)


async def test_what_tools_keep_is_stored_with_the_turn_under_ids_of_its_own(make_memory: MakeMemory):
    memory = make_memory()
    kept = await built(memory)
    assert [(k.kind, k.session, k.text) for k in kept] == [
        ("note", "late", NOTE.text),
        ("order", "late", ORDER.text),
    ]
    units = memory.store.units("u")
    assert [k.id for k in kept] == [f"note-{len(units) + 1}", f"order-{len(units) + 2}"]
    assert memory.store.next_order("u") == len(units) + 3
    stored = await memory.note("u", "late", "One more.", drafts=(Draft("note", "x"),))
    assert stored == ("One more.", "x")
    orders = [u.order for u in memory.store.units("u")] + [k.order for k in memory.store.desk("u")]
    assert len(set(orders)) == len(orders)


async def test_the_desk_is_not_retrieved_from(make_memory: MakeMemory):
    memory = make_memory(k=50)
    await built(memory)
    found = await memory.retrieve("u", "figs from Maple & Finch")
    assert not any("Maple" in unit.text for unit, _ in found)


@pytest.mark.parametrize("mode", tuple(MODES))
async def test_a_mode_that_reaches_every_tier_reaches_the_desk_and_no_other_does(
    make_memory: MakeMemory, mode: str
):
    memory = make_memory(level=1, deletion=mode)
    before = await built(memory)
    await built(memory, "v")
    others = memory.store.desk("v")
    receipt = await memory.forget("u", RemovalRequest(value=CANARY))
    note, order = memory.store.desk("u")
    assert order == before[1] and memory.store.desk("v") == others
    assert ("xq7" in note.text) == (mode not in REACHES_DESK)
    assert receipt.affected.get("note", 0) == (1 if mode in REACHES_DESK else 0)
    if mode == "tombstone":
        assert note.text == "The token is [REDACTED]."
    await memory.forget("u", RemovalRequest(value=CANARY))
    assert memory.store.desk("u") == [note, order]


async def test_a_note_that_holds_nothing_else_goes(make_memory: MakeMemory):
    memory = make_memory()
    await memory.note("u", "s", "Note it.", drafts=(Draft("note", f"{CANARY}!"),))
    receipt = await memory.forget("u", RemovalRequest(value=CANARY))
    assert memory.store.desk("u") == [] and receipt.affected["note"] == 1
    assert receipt.message == MODES["full_purge"].doc


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (RemovalRequest(ids=("note-6",)), ["order"]),
        (RemovalRequest(scope="source", ids=("order-7",)), ["note"]),
        (RemovalRequest(scope="session", ids=("late",)), []),
        (RemovalRequest(scope="session", ids=("s1",)), ["note", "order"]),
        (RemovalRequest(scope="source", ids=("late",)), []),
        (RemovalRequest(scope="session", value="Maple & Finch"), []),
        (RemovalRequest(scope="user"), []),
        (RemovalRequest(scope="everything"), []),
    ],
)
async def test_notes_are_named_like_units(make_memory: MakeMemory, request_: RemovalRequest, left: list[str]):
    memory = make_memory()
    assert [k.id for k in await built(memory)] == ["note-6", "order-7"]
    await memory.forget("u", request_)
    assert [k.kind for k in memory.store.desk("u")] == left


async def test_reset_snapshot_and_restore_cover_the_desk(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory()
    kept = await built(memory)
    await built(memory, "v")
    await memory.snapshot("u", tmp_path / "snaps" / "u.sqlite")
    await memory.reset("u")
    assert memory.store.desk("u") == [] and len(memory.store.desk("v")) == 2
    await memory.note("u", "s", "Other.", drafts=(Draft("note", "other"),))
    await memory.restore("u", tmp_path / "snaps" / "u.sqlite")
    assert memory.store.desk("u") == kept


async def test_a_snapshot_of_before_there_was_a_desk_is_restored(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory()
    await built(memory)
    path = tmp_path / "snaps" / "u.sqlite"
    await memory.snapshot("u", path)
    units = memory.store.units("u")
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE desk")
    db.close()
    await memory.restore("u", path)
    assert memory.store.units("u") == units and memory.store.desk("u") == []


async def test_a_snapshot_with_a_strangers_note_is_refused(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory()
    kept = await built(memory)
    path = tmp_path / "snaps" / "u.sqlite"
    await memory.snapshot("u", path)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO desk VALUES ('v', 1, 'note', 's', 'planted')")
    db.close()
    with pytest.raises(IntegrityError, match="of another user"):
        await memory.restore("u", path)
    assert memory.store.desk("u") == kept and memory.store.desk("v") == []


async def test_a_purged_note_leaves_no_byte_behind_after_maintenance(make_memory: MakeMemory):
    memory = make_memory()
    await built(memory)
    needle = {"note": CANARY.lower().encode()}
    assert scan_bytes(memory.store.files(), needle)
    await memory.forget("u", RemovalRequest(value=CANARY))
    await memory.maintain()
    assert not scan_bytes(memory.store.files(), needle)


@pytest.mark.parametrize("mode", ["raw_only", "raw_plus_resummarize", "full_purge", "tombstone"])
async def test_a_source_may_be_a_session_and_takes_what_was_derived_from_it(
    make_memory: MakeMemory, mode: str
):
    memory = make_memory(level=1, deletion=mode, supersede="append")
    await built(memory)
    before = {(u.tier, u.id) for u in memory.store.units("u", session="s1")}
    assert {tier for tier, _ in before} == {"raw", "summary"}
    others = [u for u in memory.store.units("u") if u.session != "s1"]
    await memory.forget("u", RemovalRequest(scope="source", ids=("s1",)))
    left = memory.store.units("u", session="s1")
    told = [u for u in left if any(word in u.text for word in ("Oslo", "tea", CANARY))]
    assert {u.tier for u in told} == (set() if mode in REACHES_DESK else {"summary"})
    assert [u for u in memory.store.units("u") if u.session != "s1"] == others


async def test_a_session_called_like_a_unit_is_not_taken_for_it(make_memory: MakeMemory):
    memory = make_memory()
    await built(memory)
    await memory.note("u", "raw-1", "I collect stamps.")
    await memory.forget("u", RemovalRequest(scope="source", ids=("raw-1",)))
    texts = [u.text for u in memory.store.units("u")]
    assert "I collect stamps." in texts and "I moved to Oslo in March." not in texts
