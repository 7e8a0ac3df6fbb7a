"""The store behind the reference agent: memory units in one real SQLite file.

The file uses a write-ahead log and `secure_delete`: a removed value is overwritten in the database's pages
when it is removed, yet old copies stand in the log until `maintain` has rewritten the file and emptied the
log.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.memory.desk import Kept, read_desk, write_desk
from vestige.memory.schema import TABLES, create, tables_of, translated
from vestige.memory.search import VectorIndex
from vestige.memory.units import Changes, Tier, Unit

__all__ = ["MemoryStore", "SessionNote"]

_COLUMNS = "id, ord, tier, level, session, position, date, text, vector, sources"
_INDEXES_HELD = 8


@dataclass(frozen=True, slots=True)
class SessionNote:
    """What the store keeps of a session besides its units."""

    session: str
    date: str | None = None
    open: bool = False
    """It has raw units that no summary was made of yet."""
    note: str = ""
    """Why there are no summaries of it, where the writer found nothing to keep."""


class MemoryStore:
    """Units of any number of users, in one SQLite file.

    Calls are short and blocking; a lock lets several threads share the store.

    Args:
        path: The database file; its folder must exist.
        secure_delete: Overwrite what is removed. False is a planted failure for tests of forensic reads.

    Raises:
        StorageError: The file cannot be created or written.
        IntegrityError: The file is not a memory store.
    """

    def __init__(self, path: Path, *, secure_delete: bool = True) -> None:
        self.path = path
        self._secure = secure_delete
        self._lock = RLock()
        self._indexes: OrderedDict[tuple[str, tuple[Tier, ...]], VectorIndex] = OrderedDict()
        with translated():
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            try:
                self._db.execute(f"PRAGMA secure_delete = {'ON' if secure_delete else 'OFF'}")
                self._db.execute("PRAGMA temp_store = MEMORY")  # no copies in temporary files elsewhere
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                with self._transaction():
                    create(self._db)
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; what was committed stays."""
        with self._lock:
            self._indexes.clear()
            self._db.close()

    def files(self) -> list[Path]:
        """Every file of the database that exists: itself, its log, its shared memory, its journal."""
        names = ("", "-wal", "-shm", "-journal")
        return [p for p in (self.path.with_name(self.path.name + n) for n in names) if p.exists()]

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with self._lock, translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._indexes.clear()
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    self._db.execute("ROLLBACK")
                raise

    def units(
        self, user: str, *, tiers: Sequence[Tier] = ("raw", "summary"), session: str | None = None
    ) -> list[Unit]:
        """A user's units in order of creation."""
        marks = ",".join("?" * len(tiers))
        sql = f"SELECT {_COLUMNS} FROM units WHERE user = ? AND tier IN ({marks})"
        values: list[object] = [user, *tiers]
        if session is not None:
            sql += " AND session = ?"
            values.append(session)
        with self._lock, translated():
            rows = self._db.execute(sql + " ORDER BY ord", values).fetchall()
        return [_unit(row) for row in rows]

    def desk(self, user: str) -> list[Kept]:
        """What the agent's tools keep for the user, in order of creation."""
        with self._lock, translated():
            return read_desk(self._db, user)

    def sessions(self, user: str) -> list[SessionNote]:
        """What is known of the user's sessions, in order of their first write."""
        with self._lock, translated():
            rows = self._db.execute(
                "SELECT session, date, open, note FROM sessions WHERE user = ? ORDER BY rowid", (user,)
            ).fetchall()
        return [SessionNote(session=s, date=d, open=bool(o), note=n) for s, d, o, n in rows]

    def next_order(self, user: str) -> int:
        """The order that the user's next unit gets; never one that was given before."""
        with self._lock, translated():
            row = self._db.execute("SELECT next FROM counters WHERE user = ?", (user,)).fetchone()
        return 1 if row is None else int(row[0])

    def empty(self) -> bool:
        """Whether no unit of any user is stored."""
        with self._lock, translated():
            return self._db.execute("SELECT 1 FROM units LIMIT 1").fetchone() is None

    def search(
        self,
        user: str,
        query: NDArray[np.float32],
        *,
        k: int,
        tiers: Sequence[Tier],
        tau: float | None = None,
    ) -> list[tuple[Unit, float]]:
        """The user's `k` units nearest to `query` by cosine, best first, ties by order of creation.

        Args:
            user: Whose units.
            query: Shape (d,), unit length.
            k: How many at most.
            tiers: Which tiers are searched.
            tau: Leave out units whose cosine is below it.

        Raises:
            IntegrityError: The query's dimension is not that of the stored vectors.
        """
        with self._lock, translated():
            hits = self._index(user, tuple(sorted(set(tiers)))).top(query, k, tau)
            marks = ",".join("?" * len(hits))
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM units WHERE user = ? AND ord IN ({marks})",
                (user, *(o for o, _ in hits)),
            ).fetchall()
        found = {unit.order: unit for unit in map(_unit, rows)}
        return [(found[order], score) for order, score in hits]

    def _index(self, user: str, tiers: tuple[Tier, ...]) -> VectorIndex:
        key = (user, tiers)
        index = self._indexes.get(key)
        if index is None:
            marks = ",".join("?" * len(tiers))
            rows = self._db.execute(
                f"SELECT ord, vector FROM units WHERE user = ? AND tier IN ({marks}) ORDER BY ord",
                (user, *tiers),
            ).fetchall()
            index = self._indexes[key] = VectorIndex([r[0] for r in rows], [r[1] for r in rows])
            while len(self._indexes) > _INDEXES_HELD:
                self._indexes.popitem(last=False)
        self._indexes.move_to_end(key)
        return index

    def apply(
        self,
        user: str,
        changes: Changes,
        notes: Iterable[SessionNote] = (),
        *,
        keep: Sequence[Kept] = (),
        discard: Sequence[Kept] = (),
    ) -> None:
        """Apply a set of changes, session notes and changes of the desk of one user, all or nothing.

        Raises:
            StorageError: The disk is full or cannot be written; nothing was changed.
        """
        with self._transaction():
            for unit in changes.updates:
                self._db.execute(
                    "UPDATE units SET text = ?, vector = ? WHERE user = ? AND id = ?",
                    (unit.text, unit.vector, user, unit.id),
                )
            self._db.executemany(
                "DELETE FROM units WHERE user = ? AND id = ?", [(user, gone) for gone in changes.drops]
            )
            self._insert(user, changes.inserts)
            write_desk(self._db, user, keep, discard)
            self._count(user, [u.order for u in changes.inserts] + [row.order for row in keep])
            for note in notes:
                self._db.execute(
                    "INSERT INTO sessions VALUES (?, ?, ?, ?, ?) ON CONFLICT (user, session) DO UPDATE SET "
                    "date = coalesce(excluded.date, date), open = excluded.open, note = excluded.note",
                    (user, note.session, note.date, int(note.open), note.note),
                )
            if changes.drops:  # a session of which nothing is left leaves no trace either
                self._db.execute(
                    "DELETE FROM sessions WHERE user = ?1 "
                    "AND session NOT IN (SELECT session FROM units WHERE user = ?1)",
                    (user,),
                )
        if changes.updates or changes.drops:
            self._forget_indexes(user)
        elif changes.inserts:
            self._grow_indexes(user, changes.inserts)

    def _insert(self, user: str, units: Sequence[Unit]) -> None:
        self._db.executemany(
            f"INSERT INTO units (user, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((user, *_values(u)) for u in units),
        )

    def _count(self, user: str, orders: Sequence[int]) -> None:
        if orders:
            self._db.execute(
                "INSERT INTO counters VALUES (?, ?) "
                "ON CONFLICT (user) DO UPDATE SET next = max(next, excluded.next)",
                (user, max(orders) + 1),
            )

    def _forget_indexes(self, user: str) -> None:
        with self._lock:
            for key in [k for k in self._indexes if k[0] == user]:
                del self._indexes[key]

    def _grow_indexes(self, user: str, units: Sequence[Unit]) -> None:
        with self._lock:
            for (owner, tiers), index in self._indexes.items():
                if owner == user:
                    new = [u for u in units if u.tier in tiers]
                    index.append([u.order for u in new], [u.vector for u in new])

    def reset(self, user: str) -> None:
        """Drop everything that is kept of the user."""
        with self._transaction():
            for table in TABLES:
                self._db.execute(f"DELETE FROM {table} WHERE user = ?", (user,))
        self._forget_indexes(user)

    def pin(self, values: dict[str, str]) -> None:
        """Hold the store to what it was first written with: level, granularity, embedder.

        Raises:
            ConfigError: The store holds units written with another value.
        """
        with self._transaction():
            known = dict(self._db.execute("SELECT key, value FROM main.meta").fetchall())
            if known != values:
                if not self.empty():
                    _refuse_other(known, values)
                self._db.executemany("INSERT OR REPLACE INTO main.meta VALUES (?, ?)", values.items())

    def snapshot(self, user: str, path: Path) -> None:
        """Write the user's rows, vectors included, to a SQLite file of their own at `path`.

        Raises:
            ConfigError: `path` lies in the store's own folder, where it would count as the agent's storage.
            StorageError: The file cannot be written.
        """
        if path.resolve().is_relative_to(self.path.parent.resolve()):
            raise ConfigError(
                f"snapshot path {path.name!r} lies inside the agent's folder; choose one outside it"
            )
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with self._attached(part):
                self._db.execute("PRAGMA snap.synchronous = OFF")
                with self._transaction():
                    create(self._db, "snap.")
                    for table in TABLES:
                        self._db.execute(
                            f"INSERT INTO snap.{table} SELECT * FROM main.{table} WHERE user = ? ORDER BY rowid",
                            (user,),
                        )
                    self._db.execute("INSERT INTO snap.meta SELECT * FROM main.meta")
            part.replace(path)
        except OSError as error:
            raise StorageError(f"the snapshot {path.name!r} cannot be written: {error.strerror}") from error

    def restore(self, user: str, path: Path, pinned: dict[str, str] | None = None) -> None:
        """Bring the user's rows back exactly as `snapshot` saw them: ids, order, vectors.

        Args:
            user: Whose rows; the snapshot must be of this user.
            path: What `snapshot` wrote.
            pinned: What the units must have been written with, as for `pin`; None: not checked.

        Raises:
            ConfigError: The snapshot was written with other values than `pinned`.
            IntegrityError: `path` is not a snapshot of this user.
            StorageError: A file cannot be read or written.
        """
        if not path.is_file():
            raise StorageError(f"there is no snapshot {path.name!r}")
        with self._attached(path), self._transaction():
            held = tables_of(self._db, "snap")
            for table in held:
                strangers = f"SELECT 1 FROM snap.{table} WHERE user <> ? LIMIT 1"
                if self._db.execute(strangers, (user,)).fetchone() is not None:
                    raise IntegrityError(f"the snapshot {path.name!r} is of another user")
            if pinned is not None:
                _refuse_other(dict(self._db.execute("SELECT key, value FROM snap.meta").fetchall()), pinned)
                self._db.executemany("INSERT OR REPLACE INTO main.meta VALUES (?, ?)", pinned.items())
            for table in TABLES:
                self._db.execute(f"DELETE FROM main.{table} WHERE user = ?", (user,))
                if table in held:
                    self._db.execute(f"INSERT INTO main.{table} SELECT * FROM snap.{table} ORDER BY rowid")
        self._forget_indexes(user)

    @contextmanager
    def _attached(self, path: Path) -> Generator[None]:
        with self._lock, translated():
            self._db.execute("ATTACH DATABASE ? AS snap", (str(path),))
            try:
                yield
            finally:
                self._db.execute("DETACH DATABASE snap")

    def maintain(self) -> None:
        """Rewrite the file without its free space and empty the log: no removed byte is left in either.

        Raises:
            StorageError: The disk is full, or another process is reading the store.
        """
        with self._lock, translated():
            self._checkpoint()
            self._db.execute("VACUUM")
            self._checkpoint()

    def _checkpoint(self) -> None:
        busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise StorageError(
                "the memory store is being read by another process; its log could not be emptied"
            )


def _refuse_other(known: dict[str, str], values: dict[str, str]) -> None:
    for key, value in values.items():
        if known.get(key, value) != value:
            raise ConfigError(
                f"{key}={value!r}: the memory was written with {key}={known[key]!r}, which is fixed at the "
                "first write; use a fresh folder or reset every user first"
            )


Row = tuple[str, int, Tier, int, str, int, str | None, str, bytes, str]


def _values(u: Unit) -> Row:
    sources = json.dumps(u.sources, ensure_ascii=False)
    return (u.id, u.order, u.tier, u.level, u.session, u.position, u.date, u.text, u.vector, sources)


def _unit(row: Row) -> Unit:
    uid, order, tier, level, session, position, date, text, vector, sources = row
    return Unit(uid, order, tier, level, session, position, date, text, vector, tuple(json.loads(sources)))
