"""The SQLite store: search against brute force, whole or not at all, snapshots, errors in plain words."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore, SessionNote
from vestige.memory.units import Changes, Tier, Unit, unit_id

from .helpers import SESSIONS, MakeMemory


def vector(seed: int, d: int = 8) -> bytes:
    v = np.random.default_rng(seed).normal(size=d)
    return (v / np.linalg.norm(v)).astype("<f4").tobytes()


def unit(order: int, tier: Tier = "raw", seed: int | None = None) -> Unit:
    return Unit(
        id=unit_id(tier, order),
        order=order,
        tier=tier,
        level=0,
        session="s",
        position=order,
        date=None,
        text=f"text {order}",
        vector=vector(order if seed is None else seed),
        sources=("raw-1", "ü") if tier == "summary" else (),
    )


@pytest.fixture
def store(tmp_path: Path):
    folder = tmp_path / "agent"
    folder.mkdir()
    opened = MemoryStore(folder / "memory.sqlite")
    yield opened
    opened.close()


def test_units_come_back_as_they_were_stored(store: MemoryStore):
    units = [unit(1), unit(2, "summary"), unit(3)]
    store.apply("u", Changes(inserts=tuple(units)), [SessionNote("s", "2023", True, "why")])
    assert store.units("u") == units
    assert store.units("u", tiers=["summary"]) == units[1:2]
    assert store.units("v") == []
    assert store.sessions("u") == [SessionNote("s", "2023", True, "why")]
    assert store.next_order("u") == 4
    store.close()
    again = MemoryStore(store.path)
    assert again.units("u") == units
    again.close()


operations = st.lists(
    st.tuples(
        st.sampled_from(["insert", "drop", "update", "search"]),
        st.integers(0, 30),
        st.sampled_from(["raw", "summary"]),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=40)
@given(operations=operations, tiers=st.sampled_from([("raw",), ("summary",), ("raw", "summary")]))
def test_after_any_writes_search_is_a_sort_of_what_is_stored(tmp_path_factory, operations, tiers):
    store = MemoryStore(tmp_path_factory.mktemp("s") / "memory.sqlite")
    held: dict[str, Unit] = {}
    query = np.frombuffer(vector(999), "<f4")
    for what, seed, tier in [*operations, ("search", 0, "raw")]:
        if what == "insert":
            new = unit(store.next_order("u"), tier, seed)
            held[new.id] = new
            store.apply("u", Changes(inserts=(new,)))
        elif what == "drop" and held:
            gone = sorted(held)[seed % len(held)]
            del held[gone]
            store.apply("u", Changes(drops=(gone,)))
        elif what == "update" and held:
            name = sorted(held)[seed % len(held)]
            held[name] = Unit(
                **{f: getattr(held[name], f) for f in Unit.__slots__} | {"vector": vector(seed)}
            )
            store.apply("u", Changes(updates=(held[name],)))
        else:
            pool = sorted((u for u in held.values() if u.tier in tiers), key=lambda u: u.order)
            score = {u.id: float((np.frombuffer(u.vector, "<f4").astype(float) * query).sum()) for u in pool}
            best = sorted(pool, key=lambda u: -score[u.id])[:4]
            found = store.search("u", query, k=4, tiers=tiers)
            assert [u for u, _ in found] == best
            assert [s for _, s in found] == [score[u.id] for u in best]
    store.close()


def test_an_order_is_never_given_twice(store: MemoryStore):
    store.apply("u", Changes(inserts=(unit(1), unit(2))))
    store.apply("u", Changes(drops=("raw-2",)))
    assert store.next_order("u") == 3


def test_changes_are_applied_whole_or_not_at_all(store: MemoryStore):
    store.apply("u", Changes(inserts=(unit(1),)))
    with pytest.raises(IntegrityError, match="refused a row"):
        store.apply("u", Changes(drops=("raw-1",), inserts=(unit(2), unit(2))))
    assert store.units("u") == [unit(1)]
    assert [u for u, _ in store.search("u", np.frombuffer(vector(0), "<f4"), k=5, tiers=["raw"])] == [unit(1)]


def test_reset_drops_one_user_alone(store: MemoryStore):
    for user in ("u", "v"):
        store.apply(user, Changes(inserts=(unit(1),)), [SessionNote("s")])
    store.reset("u")
    assert (store.units("u"), store.sessions("u"), store.next_order("u")) == ([], [], 1)
    assert store.units("v") == [unit(1)]


# -- errors --------------------------------------------------------------------------------------------------


def test_a_full_disk_is_a_storage_error_and_loses_nothing(store: MemoryStore):
    store.apply("u", Changes(inserts=(unit(1),)))
    # SQLite's own limit: the error is the one a full disk gives
    store._db.execute("PRAGMA max_page_count = 12")
    with pytest.raises(StorageError, match="database or disk is full"):
        for n in range(2, 500):
            store.apply("u", Changes(inserts=(unit(n),)))
    kept = store.units("u")
    assert kept == [unit(n) for n in range(1, len(kept) + 1)]


def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path):
    with pytest.raises(StorageError, match="unable to open"):
        MemoryStore(tmp_path / "gone" / "memory.sqlite")


def test_a_file_that_is_no_database_is_named_as_such(tmp_path: Path):
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(IntegrityError, match="not a usable SQLite file"):
        MemoryStore(path)


# -- snapshots -----------------------------------------------------------------------------------------------


async def test_restore_brings_back_ids_order_vectors_sessions_and_other_users_stay(
    make_memory: MakeMemory, tmp_path: Path
):
    memory = make_memory(level=1)
    for session in SESSIONS:
        await memory.write("u", session)
    await memory.note("u", "open", "I like figs.")
    state = (memory.store.units("u"), memory.store.sessions("u"), memory.store.next_order("u"))
    found = await memory.retrieve("u", "where do I live?")
    await memory.snapshot("u", tmp_path / "snaps" / "u.sqlite")
    await memory.write("v", SESSIONS[1])
    for wreck in ("reset", "write"):
        if wreck == "reset":
            await memory.reset("u")
        else:
            await memory.write("u", SESSIONS[1])
        await memory.restore("u", tmp_path / "snaps" / "u.sqlite")
        assert (memory.store.units("u"), memory.store.sessions("u"), memory.store.next_order("u")) == state
        assert await memory.retrieve("u", "where do I live?") == found
    assert len(memory.store.units("v")) == 4


async def test_a_snapshot_holds_one_user_and_leaves_no_other_file(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory()
    await memory.write("u", SESSIONS[0])
    await memory.write("v", SESSIONS[1])
    folder = tmp_path / "snaps"
    await memory.snapshot("u", folder / "u.sqlite")
    await memory.snapshot("u", folder / "u.sqlite")
    assert [p.name for p in folder.iterdir()] == ["u.sqlite"]
    with sqlite3.connect(folder / "u.sqlite") as db:
        assert db.execute("SELECT DISTINCT user FROM units").fetchall() == [("u",)]
    with pytest.raises(IntegrityError, match="of another user"):
        await memory.restore("v", folder / "u.sqlite")
    assert len(memory.store.units("v")) == 2


@pytest.mark.parametrize("where", ["agent/u.sqlite", "agent/deeper/u.sqlite", "other/../agent/u.sqlite"])
async def test_a_snapshot_inside_the_agents_folder_is_refused(
    make_memory: MakeMemory, tmp_path: Path, where: str
):
    memory = make_memory()
    await memory.write("u", SESSIONS[0])
    with pytest.raises(ConfigError, match="inside the agent's folder"):
        await memory.snapshot("u", tmp_path / where)


async def test_a_snapshot_that_is_missing_or_broken_changes_nothing(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory()
    await memory.write("u", SESSIONS[0])
    before = memory.store.units("u")
    with pytest.raises(StorageError, match="there is no snapshot 'gone'"):
        await memory.restore("u", tmp_path / "gone")
    (tmp_path / "torn").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises((IntegrityError, StorageError)):
        await memory.restore("u", tmp_path / "torn")
    assert memory.store.units("u") == before
    await memory.write("u", SESSIONS[1])


async def test_a_snapshot_of_another_level_is_refused(make_memory: MakeMemory, tmp_path: Path):
    memory = make_memory("one", level=1)
    await memory.write("u", SESSIONS[0])
    await memory.snapshot("u", tmp_path / "u.sqlite")
    other = make_memory("two", level=0)
    with pytest.raises(ConfigError, match=r"level='0': the memory was written with level='1'"):
        await other.restore("u", tmp_path / "u.sqlite")


async def test_restoring_is_fast_enough_to_be_done_before_every_probe(
    make_memory: MakeMemory, tmp_path: Path
):
    memory = make_memory(level=1)
    for n in range(40):
        await memory.write("u", SESSIONS[n % 2].model_copy(update={"id": f"s{n}"}))
    await memory.snapshot("u", tmp_path / "u.sqlite")
    started = time.perf_counter()
    for _ in range(50):
        await memory.restore("u", tmp_path / "u.sqlite")
    assert (time.perf_counter() - started) / 50 < 0.05


# -- what is fixed at the first write --------------------------------------------------------------------------


async def test_a_store_is_held_to_what_it_was_first_written_with(make_memory: MakeMemory):
    memory = make_memory(level=0)
    await memory.write("u", SESSIONS[0])
    memory.settings = MemorySettings(level=1)
    with pytest.raises(ConfigError, match="fixed at the first write"):
        await memory.write("u", SESSIONS[1])
    await memory.reset("u")
    await memory.write("u", SESSIONS[1])
    assert {u.level for u in memory.store.units("u")} == {0, 1}
