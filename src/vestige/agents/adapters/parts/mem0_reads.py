"""What mem0 keeps beside its memories, read past its public interface: kept messages, entities, vectors."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["databases", "entities", "forget_kept", "messages", "sqlite_facts", "vectors"]


def scopes(memory: Any, user: str) -> list[str]:
    """Under which names mem0 keeps messages of a user: one for each combination with a run or an agent."""
    mine = "user_id=" + user.replace("%", "%25").replace("&", "%26").replace("=", "%3D")
    with memory.db._lock:
        rows = memory.db.connection.execute("SELECT DISTINCT session_scope FROM messages").fetchall()
    return [scope for (scope,) in rows if mine in scope.split("&")]


def messages(memory: Any, user: str) -> list[dict[str, Any]]:
    """The messages that the next extraction of a scope is given, as artifacts of the tier ``log``."""
    found: list[dict[str, Any]] = []
    for scope in scopes(memory, user):
        with memory.db._lock:
            rows = memory.db.connection.execute(
                "SELECT id, content FROM messages WHERE session_scope = ? ORDER BY created_at", (scope,)
            ).fetchall()
        found += [{"id": f"messages/{i}", "tier": "log", "text": text} for i, text in rows if text]
    return found


def forget_kept(memory: Any, user: str, ids: Sequence[str]) -> None:
    """Delete by SQL what no call of mem0 deletes for one user: the history of these ids, and the kept messages."""
    named = [(scope,) for scope in scopes(memory, user)]
    with memory.db._lock, memory.db.connection as connection:
        connection.executemany("DELETE FROM history WHERE memory_id = ?", [(i,) for i in ids])
        connection.executemany("DELETE FROM messages WHERE session_scope = ?", named)


def entities(memory: Any, user: str) -> list[dict[str, Any]]:
    """The entities by which search is boosted, as artifacts of the tier ``graph``.

    Not through `Memory.entity_store`: that property makes the store, and deletions clean up only where it is made.
    """
    store = memory.vector_store
    name = f"{store.collection_name}_entities"
    if name not in {c.name for c in store.client.get_collections().collections}:
        return []
    found: list[dict[str, Any]] = []
    offset: Any = None
    while True:
        points, offset = store.client.scroll(name, limit=1000, offset=offset, with_payload=True)
        for point in points:
            if point.payload.get("user_id") == user:
                linked = [str(i) for i in point.payload.get("linked_memory_ids", ())]
                text = str(point.payload.get("data", ""))
                found.append({"id": f"entity/{point.id}", "tier": "graph", "text": text, "sources": linked})
        if offset is None:
            return found


def vectors(memory: Any, ids: Sequence[str], packed: Callable[[Sequence[float]], str]) -> dict[str, str]:
    """The embedding of each memory."""
    store = memory.vector_store
    points = store.client.retrieve(store.collection_name, ids=list(ids), with_vectors=True) if ids else []
    found: dict[str, str] = {}
    for point in points:
        vector = point.vector.get("") if isinstance(point.vector, dict) else point.vector
        if vector:
            found[str(point.id)] = packed(vector)
    return found


def databases(folder: Path) -> Iterator[Path]:
    """Every SQLite file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(16) == b"SQLite format 3\0":
                    yield path


def sqlite_facts() -> dict[str, Any]:
    """Which SQLite mem0 and Qdrant write with, and whether it zeroes what is deleted (1), or not (0)."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        secure = connection.execute("PRAGMA secure_delete").fetchone()[0]
    return {"sqlite": sqlite3.sqlite_version, "secure_delete": int(secure)}
