"""LangGraph as an agent under test: a small graph over `SqliteStore` (long-term memory) and `SqliteSaver` (threads).

Stand-alone: it runs in a process whose environment has LangGraph (pinned in ``langgraph.txt``) and not Vestige, takes
and returns plain dicts shaped as the records of Vestige, and opens no connection but to the model's and the embedder's
address. LangGraph is a library of parts: what is the adapter's own choice (which namespace, which thread, what is
written to the store) is said where it is made.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["LangGraphAgent"]


def _part(name: str) -> Any:
    """A module of the folder `parts`, by its path: nothing else is known of where this file was loaded from."""
    path = Path(__file__).resolve().parent / "parts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"_vestige_adapter_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not there")
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain, reads, graphs = _part("plain"), _part("langgraph_reads"), _part("langgraph_graph")

DEFAULTS: dict[str, Any] = {
    "model": "extractive",
    "model_url": None,
    "api_key": "none",
    "embedder": "hash",
    "embedder_url": None,
    "dims": None,
    "store": "sqlite",
    "agent": "context",
    "extractor": "scripted",
    "threads": "user",
    "deletion": "messages",
    "k": 5,
    "ttl": None,
}
"""Every setting. `store`: ``sqlite``, or ``memory`` (`InMemoryStore`: gone with the process). `agent`: ``context`` (the
nearest items are put before the model) or ``react`` (the model searches and saves by tools). `extractor`: what a
conversation leaves in the store, ``scripted`` (every message of the user word for word), ``model`` (facts that the
model lists) or ``none``. `threads`: a thread's id, ``user`` (user and session) or ``session`` (the session's id as it
is). `deletion`: how far a removal of a unit by value goes, ``store`` (`store.delete`), ``messages`` (and
`RemoveMessage` in the threads) or ``threads`` (and `delete_thread` of each that holds it). `ttl`: minutes, of what is
stored from now on."""
KNOBS = ("k", "deletion", "ttl")
CHOICES = {
    "store": ("sqlite", "memory"),
    "agent": ("context", "react"),
    "extractor": ("scripted", "model", "none"),
    "threads": ("user", "session"),
    "deletion": ("store", "messages", "threads"),
}
EVERYTHING = 1_000_000
FACTS = "List what the user says of themselves in this conversation, one fact a line, and nothing else."


class LangGraphAgent:
    """A graph of an agent node and a tool node; memories in a store, conversations in checkpointed threads.

    Args:
        folder: Where everything is kept; a second instance over the same folder goes on where the first was closed.
        settings: Over `DEFAULTS`.

    Raises:
        ValueError: A setting is unknown or not usable.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = plain.merged("langgraph", DEFAULTS, CHOICES, settings)
        if self._settings["agent"] == "react" and self._settings["model"] == "extractive":
            raise ValueError("agent='react' needs a model that calls tools: set model and model_url")
        self._system = Path(folder) / "langgraph"
        self._store: Any = None
        self._saver: Any = None
        self._graph: Any = None
        self._chat: Any = None

    @property
    def state_in_folder(self) -> bool:
        """False with `store` ``memory``: a copy of the folder is not the whole state."""
        return self._settings["store"] == "sqlite"

    def open(self) -> None:
        """Open store and saver over the folder; safe to call again.

        Raises:
            ValueError: No SQLite here can load the vector extension.
        """
        if self._graph is not None:
            return
        self._system.mkdir(parents=True, exist_ok=True)
        graphs.silence()
        self._store = reads.opened_store(self._system, self._settings, plain)
        saver = importlib.import_module("langgraph.checkpoint.sqlite")
        self._saver = saver.SqliteSaver(
            sqlite3.connect(self._system / "checkpoints.sqlite", check_same_thread=False)
        )
        self._saver.setup()
        self._chat = graphs.chat_model(self._settings)
        self._graph = graphs.Graph(
            self._settings,
            plain=plain,
            search=self.search,
            put=self._put,
            saver=self._saver,
            store=self._store,
            chat=self._chat,
        )

    def close(self) -> None:
        """Let go of the files; the next call opens them again."""
        if self._graph is not None:
            self._saver.conn.close()
            if self._settings["store"] == "sqlite":
                self._store.conn.close()
            self._graph = self._store = self._saver = self._chat = None

    def configure(self, **knobs: Any) -> None:
        """Change `k`, `deletion` or `ttl`.

        Raises:
            ValueError: Another knob is named, or a value is not usable.
        """
        for name in knobs:
            if name not in KNOBS:
                raise ValueError(f"unknown knob {name!r}; langgraph has {', '.join(KNOBS)}")
        self._settings.update(plain.merged("langgraph", DEFAULTS, CHOICES, {**self._settings, **knobs}))

    # --- writing ---

    def converse(self, user: str, session: Mapping[str, Any]) -> None:
        """A whole session, turn by turn, in its thread; then what the extractor makes of it, in the store."""
        self.open()
        turns = list(session["turns"])
        for i, turn in enumerate(turns):
            config = self._config(user, session["id"])
            if turn["role"] == "user":
                answered = i + 1 < len(turns) and turns[i + 1]["role"] == "assistant"
                given = turns[i + 1]["content"] if answered else ""
                exchange = graphs.Exchange(user, session=session["id"], given=given)
                self._graph.run(exchange, turn["content"], config, traced=True)
            elif i == 0 or turns[i - 1]["role"] == "assistant":
                self._graph.say(config, turn["content"])
        if self._settings["extractor"] == "scripted":
            for i, turn in enumerate(turns):
                if turn["role"] == "user":
                    self._put(user, f"{session['id']}/{i}", turn["content"], session["id"])
        elif self._settings["extractor"] == "model":
            said = "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)
            answer = self._chat.invoke([("system", FACTS), ("human", said)])
            lines = [line.strip(" -*\t") for line in str(answer.content).splitlines()]
            for i, line in enumerate(line for line in lines if line):
                self._put(user, f"{session['id']}/fact-{i}", line, session["id"])

    def remember(self, user: str, units: Sequence[Mapping[str, Any]]) -> None:
        """Statements as they stand, through `store.put`, each under its own id: no model reads them."""
        self.open()
        for unit in units:
            self._put(user, unit["id"], unit["text"], unit.get("session"), inferred=False)

    def _put(self, user: str, key: str, text: str, session: str | None, inferred: bool = True) -> None:
        value = {"text": text, "session": session, "inferred": inferred}
        if self._settings["ttl"] is None:
            self._store.put(_namespace(user), key, value)
        else:
            self._store.put(_namespace(user), key, value, ttl=float(self._settings["ttl"]))

    # --- reading ---

    def ask(self, user: str, prompt: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One prompt through the graph, in the old session's messages where one is continued.

        Without `write_back` the graph runs without its checkpointer, and leaves nothing; with it the exchange stays in
        its thread, and the prompt goes to the store where the extractor is ``scripted``.
        """
        self.open()
        options = options or {}
        traced = bool(options.get("write_back"))
        session = options.get("session")
        if traced and session is None:
            session = f"ask-{len(self._threads(user))}"
        exchange = graphs.Exchange(user, options=options, session=session)
        config = self._config(user, session) if session is not None else None
        answer = self._graph.run(exchange, prompt, config, traced=traced)
        if traced and self._settings["extractor"] == "scripted":
            key = f"{session}/{hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
            self._put(user, key, prompt, session)
            exchange.saved.append(prompt)
        reply: dict[str, Any] = {
            "text": str(answer.content),
            "retrieved": exchange.found,
            "memory_writes": exchange.saved,
            "tool_calls": exchange.calls,
            "tool_results": exchange.results,
            "finish_reason": answer.response_metadata.get("finish_reason", "stop"),
        }
        if usage := getattr(answer, "usage_metadata", None):
            reply["usage"] = {
                "prompt_tokens": usage["input_tokens"],
                "completion_tokens": usage["output_tokens"],
            }
        if options.get("trace"):
            reply["model_requests"] = exchange.requests
        return reply

    def search(self, user: str, query: str) -> list[dict[str, Any]]:
        """What `store.search` returns in the user's namespace, best first, as retrieved units."""
        self.open()
        items = self._store.search(_namespace(user), query=query, limit=int(self._settings["k"]))
        return [
            {"id": i.key, "tier": _tier(i.value), "text": i.value["text"], "score": float(i.score or 0.0)}
            for i in items
        ]

    # --- deleting ---

    def forget(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """What LangGraph offers, up to the knob `deletion` for a unit; a session's items and its thread; all of a user.

        LangGraph has no call for a user: an application deletes every key of the namespace and every thread. With
        scope ``everything`` that is done for every user.
        """
        self.open()
        scope, ids, value = request["scope"], list(request.get("ids") or ()), request.get("value")
        affected: dict[str, int] = {}
        if scope in ("user", "everything"):
            namespaces = (
                [_namespace(user)] if scope == "user" else self._store.list_namespaces(limit=EVERYTHING)
            )
            for namespace in namespaces:
                for item in self._store.search(namespace, limit=EVERYTHING):
                    self._delete_item(item, affected)
            for thread in self._threads(user) if scope == "user" else self._threads(None):
                self._delete_thread(thread, affected)
        elif ids or value:
            for item in self._store.search(_namespace(user), limit=EVERYTHING):
                if _named(item, scope, ids, value):
                    self._delete_item(item, affected)
            if scope in ("session", "source") and ids:
                known = self._threads(user)
                for thread in (self._thread(user, session) for session in ids):
                    if thread in known:
                        self._delete_thread(thread, affected)
            elif value and self._settings["deletion"] != "store":
                self._forget_messages(user, value, affected)
        else:
            message = "langgraph deletes by key, by thread and by message, and the request names none"
            return {"accepted": False, "completed": False, "message": message}
        return {"accepted": True, "completed": True, "affected": affected}

    def _forget_messages(self, user: str, value: str, affected: dict[str, int]) -> None:
        for thread in self._threads(user):
            config = {"configurable": {"thread_id": thread, "user_id": _name(user)}}
            held = self._graph.messages(config)
            hits = [m.id for m in held if plain.normal(value) in plain.normal(str(m.content))]
            if hits and self._settings["deletion"] == "threads":
                self._delete_thread(thread, affected)
            elif hits:
                self._graph.remove(config, hits)
                affected["thread"] = affected.get("thread", 0) + len(hits)

    def _delete_item(self, item: Any, affected: dict[str, int]) -> None:
        self._store.delete(item.namespace, item.key)
        tier = _tier(item.value)
        affected[tier] = affected.get(tier, 0) + 1

    def _delete_thread(self, thread: str, affected: dict[str, int]) -> None:
        self._saver.delete_thread(thread)
        affected["thread"] = affected.get("thread", 0) + 1

    def reset(self, user: str) -> None:
        """Drop everything of the user, past what LangGraph offers: vectors without an item are deleted by SQL."""
        self.forget(user, {"scope": "user"})
        if self._settings["store"] == "sqlite":
            prefix = ".".join(_namespace(user))
            self._store.conn.execute("DELETE FROM store_vectors WHERE prefix = ?", (prefix,))

    # --- looking ---

    def inspect(self, user: str) -> list[dict[str, Any]]:
        """Everything that some interface of LangGraph can return of the user, and vectors that none returns.

        Tiers: ``raw`` (stored directly) and ``summary`` (by the extractor) of the store, expired items too as long as
        `search` returns them; ``thread`` the messages of each thread's newest checkpoint; ``checkpoint`` those of
        all earlier ones and the writes kept beside each, as `SqliteSaver.list` returns them; ``vector`` embeddings
        whose item is gone, which search does not return: they are read off the table.
        """
        self.open()
        vectors: dict[str, str] = {}
        if self._settings["store"] == "sqlite":
            vectors = reads.vectors(self._store, ".".join(_namespace(user)), plain.packed)
        found: list[dict[str, Any]] = []
        for item in self._store.search(_namespace(user), limit=EVERYTHING):
            found.append(
                {
                    "id": item.key,
                    "tier": _tier(item.value),
                    "text": item.value["text"],
                    "session": item.value.get("session"),
                    "vector": vectors.pop(item.key, None),
                }
            )
        found += [
            {"id": f"vector/{key}", "tier": "vector", "text": "", "vector": vector}
            for key, vector in vectors.items()
        ]
        for thread in self._threads(user):
            found += reads.checkpoints(self._saver, thread)
        return found

    def storage(self) -> list[str]:
        """Every file of store and threads, write-ahead logs among them."""
        return [str(path) for path in sorted(self._system.rglob("*")) if path.is_file()]

    def settle(self) -> None:
        """Nothing to wait for: no sweeper is started, and all work is done inside the calls."""
        self.open()

    def maintain(self) -> None:
        """Sweep what has expired, then VACUUM both files and empty their write-ahead logs."""
        self.open()
        connections = [self._saver.conn]
        if self._settings["store"] == "sqlite":
            self._store.sweep_ttl()
            connections.append(self._store.conn)
        for connection in connections:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def describe(self) -> dict[str, Any]:
        """What it is; `configuration` holds every setting but the key, and how each SQLite treats deleted bytes."""
        parts = ("langgraph-checkpoint", "langgraph-checkpoint-sqlite", "sqlite-vec")
        versions = {part.replace("-", "_"): plain.version(part) for part in parts}
        acts, react = ["tool_arguments", "tool_results"], self._settings["agent"] == "react"
        return plain.described(
            "langgraph",
            "langgraph",
            self._settings,
            facts={**versions, **reads.sqlite_facts(self._settings["store"])},
            tiers=["raw", "summary", "thread", "checkpoint", "vector"],
            channels=acts if react else [],
            absent={} if react else dict.fromkeys(acts, "without agent=react no tools are called"),
            tools=["search_memory", "save_memory"] if react else [],
            knobs=list(KNOBS),
        )

    # --- names ---

    def _thread(self, user: str, session: str) -> str:
        return session if self._settings["threads"] == "session" else f"{_name(user)}/{session}"

    def _config(self, user: str, session: str) -> dict[str, Any]:
        # `user_id` becomes part of every checkpoint's metadata, by which a user's threads are found again.
        return {"configurable": {"thread_id": self._thread(user, session), "user_id": _name(user)}}

    def _threads(self, user: str | None) -> list[str]:
        chosen = None if user is None else {"user_id": _name(user)}
        kept = self._saver.list(None, filter=chosen)
        return list(dict.fromkeys(str(k.config["configurable"]["thread_id"]) for k in kept))


def _named(item: Any, scope: str, ids: Sequence[str], value: str | None) -> bool:
    if ids:
        return (item.key if scope == "unit" else item.value.get("session")) in ids
    return plain.normal(value or "") in plain.normal(item.value["text"])


def _tier(value: Mapping[str, Any]) -> str:
    return "summary" if value.get("inferred") else "raw"


def _name(name: str) -> str:
    """A name as a label of a namespace: those may hold no period."""
    return quote(name, safe="").replace(".", "%2E")


def _namespace(user: str) -> tuple[str, str]:
    return ("memories", _name(user))
