"""After a purge and `maintain` no byte of the value, nor of its vector, is left in any file of the store."""

from __future__ import annotations

import sqlite3

import pytest

from vestige.errors import StorageError
from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.scan import scan_bytes
from vestige.records import RemovalRequest

from .helpers import CANARY, SESSIONS, MakeMemory, talk

BY_VALUE = RemovalRequest(value=CANARY)


async def purged(memory: MemoryPipeline, request: RemovalRequest = BY_VALUE) -> dict[str, bytes]:
    """Build a state of some pages, forget the value, and hand out what must be gone."""
    memory.store._db.execute("PRAGMA wal_autocheckpoint = 20")  # several rounds of pages written back
    for n in range(30):
        await memory.write(
            "u", talk(f"s{n}", f"I bought {n} apples in shop {n}.", "I like pears. " * (n % 7 * 30))
        )
        if n % 5 == 2:
            await memory.write("u", SESSIONS[0].model_copy(update={"id": f"t{n}"}))
    held = [u for u in memory.store.units("u") if CANARY in u.text]
    assert held
    needles = {"value": CANARY.encode(), "utf-16": CANARY.encode("utf-16-le")}
    needles |= {f"vector of {u.id}": u.vector for u in held}
    assert {hit.needle for hit in scan_bytes(memory.store.files(), needles)} >= {
        "value",
        f"vector of {held[0].id}",
    }
    await memory.forget("u", request)
    return needles


@pytest.mark.parametrize("mode", ["full_purge", "tombstone"])
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_maintain_leaves_no_byte_of_a_purged_value_or_vector(
    make_memory: MakeMemory, number: int, mode: str
):
    memory = make_memory(level=number, deletion=mode)
    needles = await purged(memory)
    await memory.maintain()
    assert scan_bytes(memory.store.files(), needles) == []
    wal = memory.store.path.with_name("memory.sqlite-wal")
    assert not wal.exists() or wal.stat().st_size == 0
    assert len(memory.store.units("u")) >= 30


async def test_units_that_were_dropped_whole_leave_no_byte_either(make_memory: MakeMemory):
    memory = make_memory(level=1)
    needles = await purged(memory)
    kept = {u.vector for u in memory.store.units("u") if u.session == "s3"}
    gone = {u.id: u.vector for u in memory.store.units("u", session="s4") if u.vector not in kept}
    await memory.forget("u", RemovalRequest(scope="session", ids=("s4",)))
    await memory.maintain()
    assert scan_bytes(memory.store.files(), needles | {"text": b"I bought 4 apples"} | gone) == []
    await memory.reset("u")
    await memory.maintain()
    assert scan_bytes(memory.store.files(), [b"apples", b"pears", b"s3"]) == []


async def test_before_maintain_the_log_still_keeps_the_value(make_memory: MakeMemory):
    memory = make_memory()
    await memory.write("u", SESSIONS[0])
    await memory.forget("u", RemovalRequest(value=CANARY))
    hits = scan_bytes(memory.store.files(), {"value": CANARY.encode()})
    assert [hit.path.name for hit in hits] == ["memory.sqlite-wal"]
    await memory.maintain()
    assert scan_bytes(memory.store.files(), {"value": CANARY.encode()}) == []


async def test_a_store_without_secure_delete_keeps_the_value_in_its_pages(make_memory: MakeMemory):
    """The planted failure: the same purge, yet a forensic read finds the value and its vector."""
    memory = make_memory(secure_delete=False)
    needles = await purged(memory, RemovalRequest(scope="session", value=CANARY))
    memory.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    found = {hit.needle for hit in scan_bytes(memory.store.files(), needles)}
    assert "value" in found
    assert any(needle.startswith("vector") for needle in found)


async def test_a_reader_in_the_way_is_a_storage_error_not_a_silent_pass(make_memory: MakeMemory):
    memory = make_memory()
    await memory.write("u", SESSIONS[0])
    memory.store._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(memory.store.path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM units").fetchone()
    await memory.write("u", SESSIONS[1])
    with pytest.raises(StorageError):
        await memory.maintain()
    other.close()
    await memory.maintain()
