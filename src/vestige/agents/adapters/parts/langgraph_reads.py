"""What LangGraph keeps: texts inside checkpoints, embeddings of the store's table, and the SQLite that both use."""

from __future__ import annotations

import contextlib
import importlib
import json
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

__all__ = ["checkpoints", "driver", "opened_store", "sqlite_facts", "vectors"]


def checkpoints(saver: Any, thread: str) -> list[dict[str, Any]]:
    """What `SqliteSaver.list` returns of a thread, one artifact a text.

    Messages of the newest checkpoint have the tier ``thread``; those of earlier ones, and all that is kept beside any,
    ``checkpoint``.
    """
    found: list[dict[str, Any]] = []
    for age, kept in enumerate(saver.list({"configurable": {"thread_id": thread}})):
        places: list[tuple[str, Any, bool]] = []
        for channel, value in kept.checkpoint["channel_values"].items():
            places.append((channel, value, age == 0 and channel == "messages"))
        for number, (_, channel, value) in enumerate(list[Any](kept.pending_writes or [])):
            places.append((f"write-{number}/{channel}", value, False))
        for place, value, current in places:
            for n, text in enumerate(texts(value)):
                name = f"{thread}/{kept.checkpoint['id']}/{place}/{n}"
                found.append({"id": name, "tier": "thread" if current else "checkpoint", "text": text})
    return found


def texts(value: Any) -> Iterator[str]:
    """Every text inside a value that a checkpoint keeps."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for part in cast(Mapping[Any, Any], value).values():
            yield from texts(part)
    elif isinstance(value, (list, tuple)):
        for part in cast(Sequence[Any], value):
            yield from texts(part)
    elif hasattr(value, "content"):
        yield from texts(value.content)
        for call in getattr(value, "tool_calls", None) or ():
            yield json.dumps(call.get("args"), ensure_ascii=False)


def vectors(store: Any, prefix: str, packed: Callable[[Sequence[float]], str]) -> dict[str, str]:
    """Embeddings under a namespace, by key, whether or not there is still an item."""
    rows = store.conn.execute("SELECT key, embedding FROM store_vectors WHERE prefix = ?", (prefix,))
    return {str(key): packed(struct.unpack(f"<{len(blob) // 4}f", blob)) for key, blob in rows}


def opened_store(folder: Path, settings: Mapping[str, Any], plain: Any) -> Any:
    """The store with an index over the field `text`.

    `SqliteStore` reads ``text_fields``, `InMemoryStore` the documented ``fields``: with ``fields`` alone the first
    embeds whole items, the id of their session too.
    """

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return plain.embedded(texts, settings)

    index = {
        "dims": plain.dims(settings),
        "embed": embed,
        "fields": ["text"],
        "text_fields": ["text"],
    }
    if settings["store"] == "memory":
        return importlib.import_module("langgraph.store.memory").InMemoryStore(index=index)
    path = str(folder / "store.sqlite")
    connection = driver().connect(path, check_same_thread=False, isolation_level=None)
    opened = importlib.import_module("langgraph.store.sqlite").SqliteStore
    store = opened(connection, index=index, ttl={"refresh_on_read": False})
    store.setup()
    return store


def driver() -> Any:
    """An SQLite that can load sqlite-vec: the standard library's, or the one of pysqlite3-binary.

    Raises:
        ValueError: Neither can.
    """
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        raise ValueError(
            "this Python's sqlite3 cannot load extensions and pysqlite3-binary is missing: "
            "install it, use another Python, or set store=memory"
        ) from None


def sqlite_facts(store: str) -> dict[str, Any]:
    """Which SQLite writes threads and store, and whether it zeroes what is deleted (1), or not (0)."""
    facts: dict[str, Any] = {}
    drivers: dict[str, Any] = {"checkpoints": sqlite3} | ({"store": driver()} if store == "sqlite" else {})
    for name, one in drivers.items():
        with contextlib.closing(one.connect(":memory:")) as connection:
            facts[f"{name}_sqlite"] = one.sqlite_version
            facts[f"{name}_secure_delete"] = int(connection.execute("PRAGMA secure_delete").fetchone()[0])
    return facts
