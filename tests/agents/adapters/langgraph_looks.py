"""What LangGraph keeps after a deletion, looked at directly: no adapter, no Vestige, the calls of its documentation.

Usage: an interpreter that has LangGraph (src/vestige/agents/adapters/langgraph.txt), this file, and optionally N.
Prints counts as JSON. Every connection but one to the loopback is refused; no model takes part.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REFUSED: list[str] = []


def refuse_the_network() -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        host = args[0] if event == "socket.getaddrinfo" else args[1] if event == "socket.connect" else None
        host = host[0] if isinstance(host, tuple) else host
        if host is not None and host not in ("127.0.0.1", "localhost", b"127.0.0.1"):
            REFUSED.append(str(host))
            raise PermissionError("no connection leaves this machine")

    sys.addaudithook(hook)


def driver() -> Any:
    """An sqlite3 that can load extensions, as the store's index needs."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    import pysqlite3

    return pysqlite3


def secret(i: int) -> str:
    return f"QX-{4000 + 37 * i}-ZED"


def fact(i: int) -> str:
    return f"My locker code is {secret(i)}."


def embed(texts: list[str]) -> list[list[float]]:
    """Letters counted at their place modulo 64: any deterministic embedding will do here."""
    vectors: list[list[float]] = []
    for text in texts:
        vector = [0.0] * 64
        for i, letter in enumerate(text):
            vector[(7 * ord(letter) + i) % 64] += 1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        vectors.append([x / length for x in vector])
    return vectors


@contextlib.contextmanager
def store(folder: Path, **changes: Any) -> Iterator[Any]:
    from langgraph.store.sqlite import SqliteStore

    folder.mkdir(parents=True, exist_ok=True)
    connection = driver().connect(str(folder / "store.sqlite"), check_same_thread=False, isolation_level=None)
    index = {"dims": 64, "embed": changes.get("embed", embed), "fields": ["text"]}
    system = SqliteStore(connection, index=index, ttl={"refresh_on_read": False})
    system.setup()
    try:
        yield system
    finally:
        connection.close()


@contextlib.contextmanager
def threads(folder: Path) -> Iterator[Any]:
    """A graph with one node that says "Noted.", over a SqliteSaver."""
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph

    folder.mkdir(parents=True, exist_ok=True)
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("agent", lambda state: {"messages": [AIMessage("Noted.")]})
        builder.add_edge(START, "agent")
        yield saver, builder.compile(checkpointer=saver)


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def text_of(messages: Any) -> str:
    return " ".join(str(m.content) for m in messages)


def holds(folder: Path, i: int) -> set[str]:
    return {p.name for p in folder.rglob("*") if p.is_file() and secret(i).encode() in p.read_bytes()}


def message_removed(folder: Path, n: int) -> dict[str, Any]:
    from langchain_core.messages import RemoveMessage

    with threads(folder) as (saver, graph):
        for i in range(n):
            graph.invoke({"messages": [("user", fact(i))]}, config(f"t{i}"))
            graph.invoke({"messages": [("user", "It rained today.")]}, config(f"t{i}"))
            held = graph.get_state(config(f"t{i}")).values["messages"]
            hit = next(m for m in held if secret(i) in m.content)
            graph.update_state(config(f"t{i}"), {"messages": [RemoveMessage(id=hit.id)]}, as_node="agent")
        kept = [list(saver.list(config(f"t{i}"))) for i in range(n)]
        with_it = [
            [k for k in kept[i] if secret(i) in text_of(k.checkpoint["channel_values"].get("messages", ()))]
            for i in range(n)
        ]
        written = [
            [w for k in kept[i] for w in k.pending_writes or () if secret(i) in str(w[2])] for i in range(n)
        ]
        gone_back = 0
        for i in range(n):
            old = graph.get_state(with_it[i][0].config).values["messages"]
            gone_back += secret(i) in text_of(old)
        saver.conn.execute("VACUUM")
        return {
            "threads": n,
            "in_current_state": sum(
                secret(i) in text_of(graph.get_state(config(f"t{i}")).values["messages"]) for i in range(n)
            ),
            "threads_with_it_in_earlier_checkpoints": sum(bool(found) for found in with_it),
            "earlier_checkpoints_with_it_per_thread": len(with_it[0]),
            "kept_writes_with_it_per_thread": len(written[0]),
            "get_state_of_an_earlier_checkpoint_returns_it": gone_back,
            "in_get_state_history_after_vacuum": sum(
                any(
                    secret(i) in text_of(s.values.get("messages", ()))
                    for s in graph.get_state_history(config(f"t{i}"))
                )
                for i in range(n)
            ),
        }


def earlier_checkpoints_dropped(folder: Path) -> dict[str, Any]:
    """What a SqliteSaver offers to drop earlier checkpoints and keep the thread."""
    out: dict[str, Any] = {}
    with threads(folder) as (saver, _):
        for name, arguments in (("prune", (["t"],)), ("delete_for_runs", (["r"],))):
            try:
                getattr(saver, name)(*arguments)
                out[name] = "there"
            except NotImplementedError:
                out[name] = "NotImplementedError"
    return out


def thread_deleted(folder: Path, n: int) -> dict[str, Any]:
    out: dict[str, Any] = {"threads": n, "sqlite": sqlite3.sqlite_version}
    for case in ("as_built", "off"):
        place = folder / case
        with threads(place) as (saver, graph):
            saver.setup()
            if case == "off":
                saver.conn.execute("PRAGMA secure_delete=OFF")
            out[f"{case}_secure_delete"] = saver.conn.execute("PRAGMA secure_delete").fetchone()[0]
            for i in range(n):
                graph.invoke({"messages": [("user", fact(i))]}, config(f"t{i}"))
            for i in range(n):
                saver.delete_thread(f"t{i}")
            found = [holds(place, i) for i in range(n)]
            out[f"{case}_rows_left"] = sum(bool(list(saver.list(config(f"t{i}")))) for i in range(n))
            out[f"{case}_in_the_write_ahead_log"] = sum("checkpoints.sqlite-wal" in f for f in found)
            out[f"{case}_in_the_main_file"] = sum("checkpoints.sqlite" in f for f in found)
            saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            out[f"{case}_in_any_file_after_the_log_is_emptied"] = sum(bool(holds(place, i)) for i in range(n))
            saver.conn.execute("VACUUM")
            saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            out[f"{case}_in_any_file_after_vacuum"] = sum(bool(holds(place, i)) for i in range(n))
    return out


def one_session_id(folder: Path, n: int) -> dict[str, Any]:
    """Two users whose sessions have the same id, and an application that uses it as the thread's id."""
    with threads(folder) as (_, graph):
        for i in range(n):
            graph.invoke({"messages": [("user", fact(i))]}, config(f"session-{i}"))
            graph.invoke({"messages": [("user", "Hello, I am somebody else.")]}, config(f"session-{i}"))
        states = [text_of(graph.get_state(config(f"session-{i}")).values["messages"]) for i in range(n)]
        return {
            "threads": n,
            "first_users_message_in_the_second_users_run": sum(secret(i) in s for i, s in enumerate(states)),
        }


def configurable(folder: Path, n: int) -> dict[str, Any]:
    """What an application passes as `configurable` (a user's id, a key for a tool) stays in every checkpoint."""
    with threads(folder) as (saver, graph):
        for i in range(n):
            passed = {"configurable": {"thread_id": f"t{i}", "code_of_the_day": secret(i)}}
            graph.invoke({"messages": [("user", "Hello.")]}, passed)
        return {
            "threads": n,
            "value_in_the_metadata": sum(
                all(secret(i) in json.dumps(k.metadata) for k in saver.list(config(f"t{i}")))
                for i in range(n)
            ),
        }


def item_deleted(folder: Path, n: int) -> dict[str, Any]:
    with store(folder) as system:
        for i in range(n):
            system.put(("memories", f"u{i}"), "code", {"text": fact(i)})
        for i in range(n):
            system.delete(("memories", f"u{i}"), "code")
        out = {
            "deleted": n,
            "in_get_or_search": sum(
                system.get(("memories", f"u{i}"), "code") is not None
                or bool(system.search(("memories", f"u{i}"), query=fact(i)))
                for i in range(n)
            ),
            "foreign_keys": system.conn.execute("PRAGMA foreign_keys").fetchone()[0],
        }
        system.conn.execute("VACUUM")
        rows = dict(system.conn.execute("SELECT prefix, embedding FROM store_vectors").fetchall())
        out["vectors_left_after_vacuum"] = len(rows)
        guesses = embed([json.dumps({"text": fact(j)}) for j in range(n)])
        named = 0
        for i in range(n):
            blob = rows[f"memories.u{i}"]
            vector = struct.unpack(f"<{len(blob) // 4}f", blob)
            near = [sum(a * b for a, b in zip(vector, guess, strict=True)) for guess in guesses]
            named += near.index(max(near)) == i
        out["secret_picked_out_of_n_guesses_by_its_vector"] = named
        for i in range(n):  # the id is used again, for something that is not to be found by its text
            system.put(("memories", f"u{i}"), "code", {"text": "Nothing of note."}, index=False)
        again = [system.search(("memories", f"u{i}"), query=json.dumps({"text": fact(i)})) for i in range(n)]
        out["id_used_again_scored_by_the_deleted_text"] = sum(
            bool(r) and (r[0].score or 0) > 0.999 for r in again
        )
        return out


def expired(folder: Path, n: int) -> dict[str, Any]:
    with store(folder) as system:
        for i in range(n):
            system.put(("memories", f"u{i}"), "code", {"text": fact(i)}, ttl=-1.0)  # it ran out a minute ago
        out = {
            "expired": n,
            "get_returns_it_before_the_sweep": sum(
                system.get(("memories", f"u{i}"), "code") is not None for i in range(n)
            ),
            "search_returns_it_before_the_sweep": sum(
                bool(system.search(("memories", f"u{i}"), query=fact(i))) for i in range(n)
            ),
            "swept": system.sweep_ttl(),
        }
        out["get_returns_it_after_the_sweep"] = sum(
            system.get(("memories", f"u{i}"), "code") is not None for i in range(n)
        )
        out["vectors_left_after_the_sweep"] = system.conn.execute(
            "SELECT count(*) FROM store_vectors"
        ).fetchone()[0]
        return out


def scopes(folder: Path, n: int) -> dict[str, Any]:
    from langgraph.store.memory import InMemoryStore

    out: dict[str, Any] = {"items": n}
    with store(folder) as system:
        for name, one in (
            ("sqlite", system),
            ("in_memory", InMemoryStore(index={"dims": 64, "embed": embed, "fields": ["text"]})),
        ):
            for i in range(n):
                one.put(("memories", "user1"), str(i), {"text": fact(i)})
                one.put(("memories", "user10"), str(i), {"text": f"I like tea number {i}."})
            reads = {
                "user10_read_as_user1": [one.search(("memories", "user1"), limit=9 * n), "tea"],
                "user1_read_as_user10": [one.search(("memories", "user10"), limit=9 * n), "locker"],
                "user1_read_as_USER1": [one.search(("memories", "USER1"), limit=9 * n), "locker"],
                "user1_read_at_the_parent": [one.search(("memories",), limit=9 * n), "locker"],
            }
            for what, (found, word) in reads.items():
                out[f"{name}_{what}"] = sum(word in item.value["text"] for item in found)
    return out


def indexed_fields(folder: Path) -> dict[str, Any]:
    """What is embedded when the index is told, by the documented key, to embed the field `text` alone."""
    seen: list[str] = []

    def watch(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return embed(texts)

    from langgraph.store.memory import InMemoryStore

    value = {"text": "I like tea.", "note": secret(0)}
    with store(folder, embed=watch) as system:
        system.put(("memories", "u"), "k", value)
    sqlite_saw, seen[:] = list(seen), []
    InMemoryStore(index={"dims": 64, "embed": watch, "fields": ["text"]}).put(("memories", "u"), "k", value)
    return {"sqlite_embeds": sqlite_saw, "in_memory_embeds": list(seen)}


def node_cache(folder: Path, n: int) -> dict[str, Any]:
    """An application that caches its answering node: the same question after `store.delete`, in the same process."""
    from langgraph.cache.memory import InMemoryCache
    from langgraph.graph import START, StateGraph
    from langgraph.types import CachePolicy
    from typing_extensions import TypedDict

    class State(TypedDict, total=False):
        user: str
        question: str
        answer: str

    with store(folder) as system:

        def answer(state: Any) -> dict[str, str]:
            found = system.search(("memories", state["user"]), query=state["question"])
            return {"answer": found[0].value["text"] if found else "I do not know."}

        builder = StateGraph(State)
        builder.add_node("answer", answer, cache_policy=CachePolicy())
        builder.add_edge(START, "answer")
        graph = builder.compile(cache=InMemoryCache())
        asked = [{"user": f"u{i}", "question": "What is my locker code?"} for i in range(n)]
        for i in range(n):
            system.put(("memories", f"u{i}"), "code", {"text": fact(i)})
            graph.invoke(asked[i])
            system.delete(("memories", f"u{i}"), "code")
        return {
            "deleted": n,
            "answered_from_the_cache": sum(secret(i) in graph.invoke(asked[i])["answer"] for i in range(n)),
        }


def bytes_on_disk(folder: Path, n: int) -> dict[str, Any]:
    with store(folder) as system:
        for i in range(n):
            system.put(("memories", f"u{i}"), "code", {"text": fact(i)})
        for i in range(n):
            system.delete(("memories", f"u{i}"), "code")
        out = {
            "deleted": n,
            "sqlite": driver().sqlite_version,
            "secure_delete": system.conn.execute("PRAGMA secure_delete").fetchone()[0],
            "in_the_file": sum(bool(holds(folder, i)) for i in range(n)),
        }
        system.conn.execute("VACUUM")
        out["in_the_file_after_vacuum"] = sum(bool(holds(folder, i)) for i in range(n))
        return out


def main(n: int) -> dict[str, Any]:
    from importlib.metadata import version

    out: dict[str, Any] = {
        p: version(p) for p in ("langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec")
    } | {"n": n}
    with tempfile.TemporaryDirectory() as base:
        for look in (
            message_removed,
            thread_deleted,
            one_session_id,
            configurable,
            item_deleted,
            expired,
            scopes,
            node_cache,
            bytes_on_disk,
        ):
            out[look.__name__] = look(Path(base) / look.__name__, n)
        for look in (earlier_checkpoints_dropped, indexed_fields):
            out[look.__name__] = look(Path(base) / look.__name__)
    out["refused"] = REFUSED
    return out


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    refuse_the_network()
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20), indent=1))
