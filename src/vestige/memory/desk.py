"""The desk: what the agent's own tools keep for a user, notes and orders, in the file of the memory store.

It is no tier that retrieval searches: a tool reads it, `inspect` shows it, and it is one more place where data stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Draft", "Kept", "Kind", "read_desk", "write_desk"]

Kind = Literal["note", "order"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a tool wants kept; it is stored when the exchange it came from is."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Kept:
    """One note or order of one user."""

    order: int
    """Order of creation within the user, counted together with the units; never given twice."""
    kind: Kind
    session: str
    """The session in which it was made."""
    text: str

    @property
    def id(self) -> str:
        """Unique within the user, among units too: ``note-7``, ``order-8``."""
        return f"{self.kind}-{self.order}"

    @property
    def sources(self) -> tuple[str, ...]:
        """Nothing is known of where its text came from."""
        return ()


def read_desk(db: sqlite3.Connection, user: str) -> list[Kept]:
    """The user's notes and orders, in order of creation."""
    rows = db.execute("SELECT ord, kind, session, text FROM desk WHERE user = ? ORDER BY ord", (user,))
    return [Kept(*row) for row in rows.fetchall()]


def write_desk(db: sqlite3.Connection, user: str, kept: Sequence[Kept], dropped: Sequence[Kept]) -> None:
    """Store rows, those that exist with their new text, and drop others; inside the caller's transaction."""
    db.executemany(
        "INSERT INTO desk VALUES (?, ?, ?, ?, ?) ON CONFLICT (user, ord) DO UPDATE SET text = excluded.text",
        [(user, row.order, row.kind, row.session, row.text) for row in kept],
    )
    db.executemany("DELETE FROM desk WHERE user = ? AND ord = ?", [(user, row.order) for row in dropped])
