"""Rows, old versions and dead bytes of databases that SQLite wrote; SQLite itself says what is live."""

from __future__ import annotations

import io
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.channels.storage.sqlite import Place, SqliteMap, is_sqlite, journal_place

SECRET = b"XQ7-VIOLET-3829"
NOTE = "a note with the token XQ7-VIOLET-3829 in it"


def occurrences(data: bytes, needle: bytes = SECRET) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)


def places(folder: Path, name: str = "memory.db", needle: bytes = SECRET) -> Counter[Place]:
    """Every occurrence in the database and its WAL, by what it is."""
    wal = folder / f"{name}-wal"
    with (folder / name).open("rb") as main, wal.open("rb") if wal.exists() else io.BytesIO() as log:
        seen = SqliteMap(main, log)
        assert seen.problems == []
        found = Counter(
            seen.place(at, at + len(needle)) for at in occurrences((folder / name).read_bytes(), needle)
        )
        if wal.exists():
            found += Counter(
                seen.wal_place(at, at + len(needle)) for at in occurrences(wal.read_bytes(), needle)
            )
        for payload in seen.payloads():
            data = b"".join(seen.pieces(payload))
            assert len(data) == payload.size
            for at in occurrences(data, needle):
                if any(at < edge < at + len(needle) for edge in payload.edges):
                    found[Place("live_row", "across pages")] += 1
    return found


def opened(folder: Path, *, wal: bool = False, pragmas: str = "") -> sqlite3.Connection:
    db = sqlite3.connect(folder / "memory.db", isolation_level=None)
    db.executescript(f"PRAGMA page_size=1024; {pragmas} PRAGMA secure_delete=OFF; PRAGMA synchronous=OFF;")
    db.execute("PRAGMA journal_mode=WAL" if wal else "PRAGMA journal_mode=DELETE")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
    return db


def fill(db: sqlite3.Connection, count: int = 200) -> None:
    rows = ((f"filler number {i} " + "x" * (i % 90),) for i in range(count))
    db.executemany("INSERT INTO notes (text) VALUES (?)", rows)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
@pytest.mark.parametrize("vacuum", [0, 1, 2])
def test_a_row_is_live_and_then_dead(tmp_path: Path, encoding: str, vacuum: int) -> None:
    needle = SECRET.decode().encode(encoding)
    with closing(
        opened(tmp_path, pragmas=f"PRAGMA encoding='{encoding}'; PRAGMA auto_vacuum={vacuum};")
    ) as db:
        fill(db)
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        assert places(tmp_path, needle=needle) == {Place("live_row", "row of notes"): 1}
        db.execute("DELETE FROM notes WHERE id = 1000")
        found = places(tmp_path, needle=needle)
        assert {p.grade for p in found} == {"dead_bytes"}
        assert Place("dead_bytes", "unallocated space on a live page of notes") in found
        db.execute("VACUUM")
        assert not places(tmp_path, needle=needle)


def test_secure_delete_leaves_nothing(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as db:
        db.execute("PRAGMA secure_delete=ON")
        fill(db)
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        db.execute("DELETE FROM notes WHERE id = 1000")
    assert not places(tmp_path)


def test_an_index_holds_it_too(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as db:
        db.execute("CREATE INDEX by_text ON notes (text)")
        db.execute("CREATE TABLE tags (tag TEXT PRIMARY KEY) WITHOUT ROWID")
        fill(db)
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        db.execute("INSERT INTO tags VALUES (?)", (NOTE,))
    assert places(tmp_path) == {
        Place("live_row", "row of notes"): 1,
        Place("live_row", "index entry of by_text"): 1,
        Place("live_row", "index entry of tags"): 1,
    }


def test_a_dropped_table_is_free_pages(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as db:
        fill(db)
        db.execute("CREATE TABLE gone (text TEXT)")
        db.executemany("INSERT INTO gone VALUES (?)", [(f"{NOTE} {i} " + "y" * 200,) for i in range(400)])
        db.execute("DROP TABLE gone")
        (free,) = db.execute("PRAGMA freelist_count").fetchone()
    found = places(tmp_path)
    assert {p.grade for p in found} == {"dead_bytes"}
    assert found[Place("dead_bytes", "free page")] > 300
    with (tmp_path / "memory.db").open("rb") as main:
        assert SqliteMap(main).free_pages == free > 50


@pytest.mark.parametrize("size", [900, 1020, 5000, 60_000])
def test_long_rows_are_read_whole(tmp_path: Path, size: int) -> None:
    """A value that stands across two pages is found once, in its row."""
    with closing(opened(tmp_path)) as db:
        for shift in range(0, 1100, 7):
            db.execute(
                "INSERT INTO notes (text) VALUES (?)", ("z" * shift + NOTE + "z" * (size + shift * 13 % 977),)
            )
        rows = db.execute("SELECT count(*) FROM notes").fetchone()[0]
        found = places(tmp_path)
        # Rows that moved to another page left copies in its unallocated space.
        assert sum(n for p, n in found.items() if p.grade == "live_row") == rows
        assert found[Place("live_row", "across pages")] > 0
        assert found[Place("live_row", "row on an overflow page of notes")] > 0
        db.execute("DELETE FROM notes")
    assert {p.grade for p in places(tmp_path)} == {"dead_bytes"}


def test_the_unused_end_of_an_overflow_page(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as db:
        db.execute("INSERT INTO notes VALUES (1, ?)", ("z" * 2500 + NOTE,))
        db.execute("UPDATE notes SET text = ? WHERE id = 1", ("w" * 2100,))
    found = places(tmp_path)
    assert {p.grade for p in found} == {"dead_bytes"}


def test_old_frames_of_a_wal(tmp_path: Path) -> None:
    with closing(opened(tmp_path, wal=True)) as db:
        fill(db)
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        assert places(tmp_path) == {Place("live_row", "row of notes (WAL)"): 1}
        db.execute("UPDATE notes SET text = 'nothing to see' WHERE id = 1000")
        found = places(tmp_path)
        assert found[Place("old_version", "older WAL frame")] == 1
        assert "live_row" not in {p.grade for p in found}
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert {p.grade for p in places(tmp_path)} <= {"dead_bytes"}


def test_a_page_that_the_wal_replaces(tmp_path: Path) -> None:
    with closing(opened(tmp_path, wal=True)) as db:
        fill(db)
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert places(tmp_path) == {Place("live_row", "row of notes"): 1}
        db.execute("PRAGMA secure_delete=ON")
        db.execute("DELETE FROM notes WHERE id = 1000")
        assert places(tmp_path) == {Place("old_version", "page that the WAL replaces"): 1}


def test_frames_of_an_earlier_wal(tmp_path: Path) -> None:
    with closing(opened(tmp_path, wal=True)) as db:
        fill(db)
        db.execute("PRAGMA secure_delete=ON")
        db.execute("INSERT INTO notes VALUES (1000, ?)", (NOTE,))
        db.execute("DELETE FROM notes WHERE id = 1000")
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        db.execute("INSERT INTO notes (text) VALUES ('one more')")
        assert places(tmp_path) == {Place("dead_bytes", "frame of an earlier WAL, or not committed"): 1}


def test_a_rollback_that_was_not_committed(tmp_path: Path) -> None:
    """A copy in the middle of a transaction: the WAL has frames without a commit."""
    with closing(opened(tmp_path, wal=True)) as db:
        fill(db)
        db.execute("PRAGMA cache_size=1")
        db.execute("BEGIN")
        db.executemany("INSERT INTO notes (text) VALUES (?)", [(NOTE + "y" * 300,) for _ in range(200)])
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(tmp_path / name, copy / name)
        db.execute("ROLLBACK")
    found = places(copy)
    assert found
    assert {p.grade for p in found} == {"dead_bytes"}


def test_journals() -> None:
    assert journal_place(bytes.fromhex("d9d505f920a163d7") + bytes(20)).grade == "old_version"
    assert journal_place(bytes(28)).grade == "dead_bytes"
    assert journal_place(b"").grade == "dead_bytes"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), wal=st.booleans(), page=st.sampled_from([512, 1024, 4096]))
def test_live_is_what_sqlite_says(
    tmp_path_factory: pytest.TempPathFactory, seed: int, wal: bool, page: int
) -> None:
    """After any inserts, updates and deletes, the live occurrences are those that a query returns."""
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("db")
    with closing(sqlite3.connect(folder / "memory.db", isolation_level=None)) as db:
        db.executescript(f"PRAGMA page_size={page}; PRAGMA auto_vacuum={rng.choice([0, 1, 2])};")
        db.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        db.executescript("PRAGMA secure_delete=OFF; PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=5;")
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        for _ in range(rng.randrange(5, 120)):
            text = (
                "a" * rng.randrange(0, 3 * page) * rng.randrange(2)
                + rng.choice([NOTE, "plain"])
                + "b" * rng.randrange(200)
            )
            match rng.randrange(4):
                case 0 | 1:
                    db.execute("INSERT INTO notes (text) VALUES (?)", (text,))
                case 2:
                    db.execute("UPDATE notes SET text = ? WHERE id % 7 = ?", (text, rng.randrange(7)))
                case _:
                    db.execute("DELETE FROM notes WHERE id % 5 = ?", (rng.randrange(5),))
        live = db.execute("SELECT count(*) FROM notes WHERE text LIKE '%XQ7-VIOLET-3829%'").fetchone()[0]
        found = places(folder)
        on_main_and_wal = sum(n for p, n in found.items() if p.grade == "live_row")
        # A page that was checkpointed and stands in the WAL as well is the same row twice.
        assert live <= on_main_and_wal <= (2 * live if wal else live)


def broken(change: Callable[[bytearray], None]) -> SqliteMap:
    db = sqlite3.connect(":memory:")
    db.execute("PRAGMA page_size=512")
    db.execute("CREATE TABLE notes (text TEXT)")
    db.executemany("INSERT INTO notes VALUES (?)", [(NOTE * (i % 40),) for i in range(60)])
    db.execute("DELETE FROM notes WHERE rowid % 3 = 0")
    data = bytearray(db.serialize())
    db.close()
    change(data)
    return SqliteMap(io.BytesIO(bytes(data)))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damage_never_raises_and_is_never_hidden(data: st.DataObject) -> None:
    def change(db: bytearray) -> None:
        for _ in range(data.draw(st.integers(1, 12))):
            at = data.draw(st.integers(16, len(db) - 1))
            db[at] = data.draw(st.integers(0, 255))
        if data.draw(st.booleans()):
            del db[data.draw(st.integers(100, len(db))) :]

    def sound(db: bytearray) -> None:
        change(db)
        if not is_sqlite(bytes(db[:100])):  # a page size that is none: the file is not taken for a database
            db[16:18] = b"\x02\x00"

    seen = broken(sound)
    for start in range(0, seen.page_size * (seen.pages + 2), 97):
        assert seen.place(start, start + 15).grade in ("live_row", "old_version", "dead_bytes")
    for payload in seen.payloads():
        assert len(payload.pages) == len(payload.edges) + 1
        list(seen.pieces(payload))


@settings(max_examples=100, deadline=None)
@given(wal=st.binary(max_size=3000), magic=st.booleans())
def test_any_wal(wal: bytes, magic: bool) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE notes (text TEXT)")
    head = bytes.fromhex("377f0682002de218") + (4096).to_bytes(4, "big") if magic else b""
    seen = SqliteMap(io.BytesIO(db.serialize()), io.BytesIO(head + wal))
    for start in range(0, 3000, 101):
        seen.wal_place(start, start + 15)


def test_a_list_of_free_pages_that_goes_round() -> None:
    def round_and_round(db: bytearray) -> None:
        db[32:36] = (3).to_bytes(4, "big")
        db[1024:1028] = (3).to_bytes(4, "big")

    assert "its list of free pages is damaged" in broken(round_and_round).problems


@pytest.mark.parametrize(
    "head", [b"", b"SQLite format 3\x00", b"SQLite format 3\x00" + b"\x03\x03" + bytes(90), bytes(100)]
)
def test_what_is_no_database(head: bytes) -> None:
    assert not is_sqlite(head)
