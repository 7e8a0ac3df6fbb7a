"""LangGraph as an agent under test: a small graph over `SqliteStore` (long-term memory) and `SqliteSaver` (threads).

Stand-alone: it runs in a process whose environment has LangGraph (pinned in ``langgraph.txt``) and not Vestige, takes
and returns plain dicts shaped as the records of Vestige, and opens no connection but to the model's and the embedder's
address. LangGraph is a library of parts: what is the adapter's own choice (which namespace, which thread, what is
written to the store) is said where it is made.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
import json
import math
import os
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

__all__ = ["LangGraphAgent"]

NOTHING = "I don't know."
HASH_DIMS = 384
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
"""Every setting. `store`: ``sqlite`` or ``memory`` (`InMemoryStore`: gone with the process). `agent`: ``context`` (the
nearest items are put before the model) or ``react`` (the model searches and saves by tools). `extractor`: what a
conversation leaves in the store, ``scripted`` (every message of the user word for word), ``model`` (facts that the model
lists) or ``none``. `threads`: a thread's id, ``user`` (user and session) or ``session`` (the session's id as it is).
`deletion`: how far a removal of a unit goes, ``store`` (`store.delete`), ``messages`` (and `RemoveMessage` in the threads)
or ``threads`` (and `delete_thread` of every thread that holds it). `ttl`: minutes, of what is stored from now on."""
KNOBS = ("k", "deletion", "ttl")
CHOICES = {
    "store": ("sqlite", "memory"),
    "agent": ("context", "react"),
    "extractor": ("scripted", "model", "none"),
    "threads": ("user", "session"),
    "deletion": ("store", "messages", "threads"),
}
EVERYTHING = 1_000_000
SYSTEM = "Answer the user's question in one or two sentences from these memories of the user. If they do not say, say so."
REACT = "Search your memory before you answer a question about the user. Save what the user tells you of themselves."
FACTS = "List what the user says of themselves in this conversation, one fact a line, and nothing else."

RunnableConfig = dict[str, Any]


@dataclass
class _Exchange:
    """What one run of the graph is about, and what was seen in it."""

    user: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: str | None = None
    """The assistant's words where the conversation already has them, "" for none; None: the model is asked."""
    session: str | None = None
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    saved: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    results: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class LangGraphAgent:
    """A graph of an agent node and a tool node; memories in a store, conversations in checkpointed threads.

    Args:
        folder: Where everything is kept; a second instance over the same folder goes on where the first was closed.
        settings: Over `DEFAULTS`.

    Raises:
        ValueError: A setting is unknown or not usable.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any] | None = None) -> None:
        unknown = sorted(set(settings or ()) - set(DEFAULTS))
        if unknown:
            raise ValueError(f"unknown setting {unknown[0]!r}; langgraph has {', '.join(DEFAULTS)}")
        self._settings = {**DEFAULTS, **(settings or {})}
        self._check(self._settings)
        needs_model = self._settings["model"] != "extractive" or self._settings["extractor"] == "model"
        if needs_model and not self._settings["model_url"]:
            raise ValueError("model_url is missing: the model is reached there")
        if self._settings["agent"] == "react" and self._settings["model"] == "extractive":
            raise ValueError("agent='react' needs a model that calls tools: set model and model_url")
        if self._settings["embedder"] != "hash" and not self._settings["embedder_url"]:
            raise ValueError("embedder_url is missing: only the embedder 'hash' needs none")
        self._system = Path(folder) / "langgraph"
        self._exchange = _Exchange("")
        self._store: Any = None
        self._saver: Any = None
        self._graph: Any = None
        self._untraced: Any = None
        self._chat: Any = None

    @staticmethod
    def _check(settings: Mapping[str, Any]) -> None:
        for name, values in CHOICES.items():
            if settings[name] not in values:
                raise ValueError(f"{name}={settings[name]!r}: expected {', '.join(values)}")

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
        for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING"):
            os.environ[name] = "false"
        for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY"):
            os.environ.pop(name, None)
        self._store = self._opened_store()
        saver = importlib.import_module("langgraph.checkpoint.sqlite")
        self._saver = saver.SqliteSaver(
            sqlite3.connect(self._system / "checkpoints.sqlite", check_same_thread=False)
        )
        self._saver.setup()
        if self._settings["model"] != "extractive" or self._settings["extractor"] == "model":
            self._chat = importlib.import_module("langchain_openai").ChatOpenAI(
                model=self._settings["model"],
                base_url=self._settings["model_url"],
                api_key=self._settings["api_key"],
                temperature=0.0,
                max_retries=0,
            )
        builder = self._built()
        self._graph = builder.compile(checkpointer=self._saver, store=self._store)
        self._untraced = builder.compile(store=self._store)

    def close(self) -> None:
        """Let go of the files; the next call opens them again."""
        if self._graph is not None:
            self._saver.conn.close()
            if self._settings["store"] == "sqlite":
                self._store.conn.close()
            self._graph = self._untraced = self._store = self._saver = self._chat = None

    def configure(self, **knobs: Any) -> None:
        """Change `k`, `deletion` or `ttl`.

        Raises:
            ValueError: Another knob is named, or a value is not usable.
        """
        for name in knobs:
            if name not in KNOBS:
                raise ValueError(f"unknown knob {name!r}; langgraph has {', '.join(KNOBS)}")
        self._check({**self._settings, **knobs})
        self._settings.update(knobs)

    def _opened_store(self) -> Any:
        dims = int(self._settings["dims"] or self._measured())
        index = {"dims": dims, "embed": self._embed, "fields": ["text"], "text_fields": ["text"]}
        if self._settings["store"] == "memory":
            return importlib.import_module("langgraph.store.memory").InMemoryStore(index=index)
        driver = _with_extensions()
        connection = driver.connect(
            str(self._system / "store.sqlite"), check_same_thread=False, isolation_level=None
        )
        store = importlib.import_module("langgraph.store.sqlite").SqliteStore(
            connection, index=index, ttl={"refresh_on_read": False}
        )
        store.setup()
        return store

    # --- the graph ---

    def _built(self) -> Any:
        graph = importlib.import_module("langgraph.graph")
        prebuilt = importlib.import_module("langgraph.prebuilt")
        tools = importlib.import_module("langchain_core.tools")
        made = [
            tools.StructuredTool.from_function(self._search_tool, name="search_memory"),
            tools.StructuredTool.from_function(self._save_tool, name="save_memory"),
        ]
        if self._settings["agent"] == "react":
            self._chat = self._chat.bind_tools(made)
        builder = graph.StateGraph(graph.MessagesState)
        builder.add_node("agent", self._respond)
        builder.add_node("tools", prebuilt.ToolNode(made))
        builder.add_edge(graph.START, "agent")
        builder.add_conditional_edges("agent", prebuilt.tools_condition)
        builder.add_edge("tools", "agent")
        return builder

    def _search_tool(self, query: str) -> str:
        """Search what is remembered of the user."""
        found = self.search(self._exchange.user, query)
        self._exchange.found += found
        return "\n".join(unit["text"] for unit in found) or "(nothing)"

    def _save_tool(self, text: str) -> str:
        """Save one fact that the user told."""
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._put(self._exchange.user, key, text, self._exchange.session, inferred=True)
        self._exchange.saved.append(text)
        return "saved"

    def _respond(self, state: Any) -> dict[str, Any]:
        """The agent node: the words that are given, the extractive reader's, or the model's."""
        core = importlib.import_module("langchain_core.messages")
        exchange, history = self._exchange, list(state["messages"])
        if exchange.given is not None:
            return {"messages": [core.AIMessage(exchange.given)] if exchange.given else []}
        prompt = next(m for m in reversed(history) if m.type == "human")
        if self._settings["agent"] == "context":
            exchange.found = self.search(exchange.user, str(prompt.content))
            texts = [unit["text"] for unit in exchange.found]
            lines = "\n".join(f"- {text}" for text in texts) or "(none)"
            now = exchange.options.get("now")
            system = f"{SYSTEM}\nToday is {now}.\n{lines}" if now else f"{SYSTEM}\n{lines}"
        else:
            texts, system = [], REACT
        sent = [core.SystemMessage(system), *history]
        exchange.requests.append(json.dumps(core.messages_to_dict(sent), ensure_ascii=False))
        if self._settings["model"] == "extractive":
            earlier = [str(m.content) for m in history if m is not prompt and m.type == "human"]
            text = _extract(str(prompt.content), [*texts, *earlier], exchange.options)
            return {"messages": [core.AIMessage(text)]}
        bound = {"max_tokens": exchange.options.get("max_tokens", 300)}
        if exchange.options.get("seed") is not None:
            bound["seed"] = exchange.options["seed"]
        return {"messages": [self._chat.invoke(sent, **bound)]}

    def _run(self, exchange: _Exchange, text: str, *, traced: bool) -> Any:
        """One user message through the graph; the last message of it."""
        core = importlib.import_module("langchain_core.messages")
        self._exchange = exchange
        message = core.HumanMessage(text)
        if traced:
            assert exchange.session is not None
            config = self._config(exchange.user, exchange.session)
            state = self._graph.invoke({"messages": [message]}, config)
        else:
            state = self._untraced.invoke({"messages": [*self._earlier(exchange), message]})
        new = state["messages"][state["messages"].index(message) + 1 :] if message in state["messages"] else []
        for said in new or state["messages"][-1:]:
            for call in getattr(said, "tool_calls", None) or ():
                exchange.calls.append(
                    {"id": call["id"], "name": call["name"], "arguments": json.dumps(call["args"])}
                )
            if said.type == "tool":
                exchange.results.append(
                    {"call_id": said.tool_call_id, "name": said.name, "content": str(said.content)}
                )
        return state["messages"][-1]

    def _earlier(self, exchange: _Exchange) -> list[Any]:
        if exchange.session is None:
            return []
        values = self._graph.get_state(self._config(exchange.user, exchange.session)).values
        return list(values.get("messages", ()))

    # --- writing ---

    def converse(self, user: str, session: Mapping[str, Any]) -> None:
        """A whole session, turn by turn, in its thread; then what the extractor makes of it, in the store."""
        self.open()
        turns = list(session["turns"])
        core = importlib.import_module("langchain_core.messages")
        for i, turn in enumerate(turns):
            exchange = _Exchange(user, session=session["id"], given="")
            if turn["role"] == "user":
                answered = i + 1 < len(turns) and turns[i + 1]["role"] == "assistant"
                exchange.given = turns[i + 1]["content"] if answered else ""
                self._run(exchange, turn["content"], traced=True)
            elif i == 0 or turns[i - 1]["role"] == "assistant":
                said = {"messages": [core.AIMessage(turn["content"])]}
                self._graph.update_state(self._config(user, session["id"]), said, as_node="agent")
        if self._settings["extractor"] == "scripted":
            for i, turn in enumerate(turns):
                if turn["role"] == "user":
                    self._put(user, f"{session['id']}/{i}", turn["content"], session["id"], inferred=True)
        elif self._settings["extractor"] == "model":
            said = "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)
            answer = self._chat.invoke([core.SystemMessage(FACTS), core.HumanMessage(said)])
            lines = [line.strip(" -*\t") for line in str(answer.content).splitlines()]
            for i, line in enumerate(line for line in lines if line):
                self._put(user, f"{session['id']}/fact-{i}", line, session["id"], inferred=True)

    def remember(self, user: str, units: Sequence[Mapping[str, Any]]) -> None:
        """Statements as they stand, through `store.put`, each under its own id: no model reads them."""
        self.open()
        for unit in units:
            self._put(user, unit["id"], unit["text"], unit.get("session"), inferred=False)

    def _put(self, user: str, key: str, text: str, session: str | None, *, inferred: bool) -> None:
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
        exchange = _Exchange(user, options=options, session=session)
        answer = self._run(exchange, prompt, traced=traced)
        if traced and self._settings["extractor"] == "scripted":
            key = f"{session}/{hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
            self._put(user, key, prompt, session, inferred=True)
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
            namespaces = [_namespace(user)] if scope == "user" else self._store.list_namespaces(limit=EVERYTHING)
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
        core = importlib.import_module("langchain_core.messages")
        for thread in self._threads(user):
            config = {"configurable": {"thread_id": thread, "user_id": _name(user)}}
            held = self._graph.get_state(config).values.get("messages", ())
            hits = [m for m in held if _plain(value) in _plain(str(m.content))]
            if hits and self._settings["deletion"] == "threads":
                self._delete_thread(thread, affected)
            elif hits:
                removed = {"messages": [core.RemoveMessage(id=m.id) for m in hits]}
                self._graph.update_state(config, removed, as_node="agent")
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
        vectors = self._vectors(user)
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
            found += self._checkpoints(thread)
        return found

    def _checkpoints(self, thread: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for age, kept in enumerate(self._saver.list({"configurable": {"thread_id": thread}})):
            name = f"{thread}/{kept.checkpoint['id']}"
            values = kept.checkpoint["channel_values"]
            for channel, value in values.items():
                tier = "thread" if age == 0 and channel == "messages" else "checkpoint"
                found += [
                    {"id": f"{name}/{channel}/{n}", "tier": tier, "text": text}
                    for n, text in enumerate(_texts(value))
                ]
            for number, (_, channel, value) in enumerate(kept.pending_writes or ()):
                found += [
                    {"id": f"{name}/write-{number}/{channel}/{n}", "tier": "checkpoint", "text": text}
                    for n, text in enumerate(_texts(value))
                ]
        return found

    def _vectors(self, user: str) -> dict[str, str]:
        """Embeddings of the user's keys, with or without an item; one a key."""
        if self._settings["store"] != "sqlite":
            return {}
        rows = self._store.conn.execute(
            "SELECT key, embedding FROM store_vectors WHERE prefix = ?", (".".join(_namespace(user)),)
        )
        return {str(key): _unit(bytes(blob)) for key, blob in rows}

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
        shown = {k: v for k, v in self._settings.items() if k != "api_key"}
        parts = ("langgraph-checkpoint", "langgraph-checkpoint-sqlite", "sqlite-vec")
        versions = {part.replace("-", "_"): _version(part) for part in parts}
        absent = {"logs": "langgraph writes no log file"}
        channels = ["answer", "retrieval", "memory_writes", "summary", "model_requests", "storage", "vectors"]
        if self._settings["agent"] == "react":
            channels += ["tool_arguments", "tool_results"]
        else:
            absent |= dict.fromkeys(("tool_arguments", "tool_results"), "without 'react' no tools are called")
        if self._settings["model"] == "extractive":
            absent["reasoning"] = "the extractive reader writes nothing but its reply"
        return {
            "name": "langgraph",
            "version": _version("langgraph"),
            "configuration": {**shown, **versions, **self._sqlite_facts()},
            "capabilities": [
                *("open", "close", "configure", "remember", "inspect", "storage", "settle", "maintain")
            ],
            "tiers": ["raw", "summary", "thread", "checkpoint", "vector"],
            "channels": channels,
            "absent": absent,
            "tools": ["search_memory", "save_memory"] if self._settings["agent"] == "react" else [],
            "knobs": list(KNOBS),
        }

    def _sqlite_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        drivers: dict[str, Any] = {"checkpoints": sqlite3}
        if self._settings["store"] == "sqlite":
            drivers["store"] = _with_extensions()
        for name, driver in drivers.items():
            with contextlib.closing(driver.connect(":memory:")) as connection:
                facts[f"{name}_sqlite"] = driver.sqlite_version
                facts[f"{name}_secure_delete"] = int(connection.execute("PRAGMA secure_delete").fetchone()[0])
        return facts

    # --- names ---

    def _thread(self, user: str, session: str) -> str:
        return session if self._settings["threads"] == "session" else f"{_name(user)}/{session}"

    def _config(self, user: str, session: str) -> RunnableConfig:
        # `user_id` becomes part of every checkpoint's metadata, by which a user's threads are found again.
        return {"configurable": {"thread_id": self._thread(user, session), "user_id": _name(user)}}

    def _threads(self, user: str | None) -> list[str]:
        chosen = None if user is None else {"user_id": _name(user)}
        kept = self._saver.list(None, filter=chosen)
        return list(dict.fromkeys(str(k.config["configurable"]["thread_id"]) for k in kept))

    # --- vectors ---

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._settings["embedder"] == "hash":
            return [_hashed(text, int(self._settings["dims"] or HASH_DIMS)) for text in texts]
        openai = importlib.import_module("openai")
        url, key = self._settings["embedder_url"], self._settings["api_key"]
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as client:
            answer = client.embeddings.create(model=self._settings["embedder"], input=list(texts))
        return [list(one.embedding) for one in sorted(answer.data, key=lambda one: one.index)]

    def _measured(self) -> int:
        """How long the embedder's vectors are, where nobody said."""
        return HASH_DIMS if self._settings["embedder"] == "hash" else len(self._embed(["length"])[0])


def _with_extensions() -> Any:
    """An SQLite that can load sqlite-vec: the standard library's, or the one of pysqlite3-binary."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        raise ValueError(
            "this Python's sqlite3 cannot load extensions and pysqlite3-binary is missing: "
            "install it, use another Python, or set store=memory"
        ) from None


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a value that a checkpoint keeps."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for part in cast(Mapping[Any, Any], value).values():
            yield from _texts(part)
    elif isinstance(value, (list, tuple)):
        for part in cast(Sequence[Any], value):
            yield from _texts(part)
    elif hasattr(value, "content"):
        yield from _texts(value.content)
        for call in getattr(value, "tool_calls", None) or ():
            yield json.dumps(call.get("args"), ensure_ascii=False)


def _extract(query: str, texts: Sequence[str], options: Mapping[str, Any]) -> str:
    """The stored text, or the option, that shares the most and the rarest words with the query."""
    words = [set(re.findall(r"\w+", text.casefold())) for text in texts]
    rarity: Callable[[str], float] = lambda word: math.log(1 + len(words) / sum(word in w for w in words))
    asked = set(re.findall(r"\w{3,}", query.casefold()))
    choices = [str(choice) for choice in options.get("choices") or ()]
    if choices:
        own = {c: set(re.findall(r"\w+", c.casefold())) for c in sorted(choices)}
        common = set.intersection(*own.values())
        scores = {c: max((len((own[c] - common) & w) for w in words), default=0) for c in own}
        tied = [c for c in own if scores[c] == max(scores.values())]
        coin = hashlib.sha256(json.dumps([options.get("seed"), sorted(asked), tied]).encode()).digest()
        return tied[int.from_bytes(coin[:8], "big") % len(tied)]
    scored = [(sum(rarity(word) for word in asked & w), -i) for i, w in enumerate(words)]
    best = max(scored, default=(0.0, 0))
    return texts[-best[1]] if best[0] > 0 else NOTHING


def _named(item: Any, scope: str, ids: Sequence[str], value: str | None) -> bool:
    if ids:
        return (item.key if scope == "unit" else item.value.get("session")) in ids
    return _plain(value or "") in _plain(item.value["text"])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _tier(value: Mapping[str, Any]) -> str:
    return "summary" if value.get("inferred") else "raw"


def _name(name: str) -> str:
    """A name as a label of a namespace: those may hold no period."""
    return quote(name, safe="").replace(".", "%2E")


def _namespace(user: str) -> tuple[str, str]:
    return ("memories", _name(user))


def _hashed(text: str, dims: int) -> list[float]:
    """Character n-grams hashed into a vector of unit length: deterministic, no model, no network."""
    vector = [0.0] * dims
    for word in re.findall(r"\w+", text.casefold()):
        padded = f" {word} "
        for gram in [padded, *(padded[i : i + 3] for i in range(len(padded) - 2))]:
            digest = int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest(), "big")
            vector[digest % dims] += 1.0 if digest >> 63 else -1.0
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else [1.0, *vector[1:]]


def _unit(blob: bytes) -> str:
    """The embedding as little-endian float32 of unit length, in base64."""
    vector = struct.unpack(f"<{len(blob) // 4}f", blob)
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *(x / length for x in vector))).decode()


def _version(package: str) -> str:
    return importlib.import_module("importlib.metadata").version(package)
