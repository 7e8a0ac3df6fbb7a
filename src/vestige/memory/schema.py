"""What the store's file looks like: its tables, and SQLite's errors in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from vestige.errors import IntegrityError, StorageError

__all__ = ["TABLES", "create", "tables_of", "translated"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS {db}units (
    user TEXT NOT NULL, ord INTEGER NOT NULL, id TEXT NOT NULL, tier TEXT NOT NULL, level INTEGER NOT NULL,
    session TEXT NOT NULL, position INTEGER NOT NULL, date TEXT, text TEXT NOT NULL, vector BLOB NOT NULL,
    sources TEXT NOT NULL, PRIMARY KEY (user, ord), UNIQUE (user, id)
);
CREATE TABLE IF NOT EXISTS {db}sessions (
    user TEXT NOT NULL, session TEXT NOT NULL, date TEXT, open INTEGER NOT NULL, note TEXT NOT NULL,
    PRIMARY KEY (user, session)
);
CREATE TABLE IF NOT EXISTS {db}counters (user TEXT PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS {db}desk (
    user TEXT NOT NULL, ord INTEGER NOT NULL, kind TEXT NOT NULL, session TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (user, ord)
);
CREATE TABLE IF NOT EXISTS {db}meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

TABLES = ("units", "sessions", "counters", "desk")
"""Tables whose rows belong to a user."""


@contextmanager
def translated() -> Generator[None]:
    """Turn SQLite's errors into ours; messages never hold stored text."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise IntegrityError(f"the memory store refused a row: {error}") from error
    except sqlite3.OperationalError as error:
        raise StorageError(f"the memory store cannot be written or read: {error}") from error
    except sqlite3.DatabaseError as error:
        raise IntegrityError(f"the memory store is not a usable SQLite file: {error}") from error


def create(db: sqlite3.Connection, prefix: str = "") -> None:
    """Make the tables that are not there; `prefix` is an attached database with its dot."""
    for statement in _SCHEMA.format(db=prefix).split(";\n"):
        db.execute(statement)


def tables_of(db: sqlite3.Connection, name: str) -> tuple[str, ...]:
    """Those of `TABLES` that an attached database has: an older snapshot has no desk."""
    there = {str(row[0]) for row in db.execute(f"SELECT name FROM {name}.sqlite_master WHERE type = 'table'")}
    return tuple(table for table in TABLES if table in there or table != "desk")
