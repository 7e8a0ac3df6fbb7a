"""Mem0 as an agent under test: `mem0.Memory` with embedded Qdrant and its SQLite history, in a folder of its own.

Stand-alone: it runs in a process whose environment has mem0 (pinned in ``mem0.txt``) and not Vestige, takes and
returns plain dicts shaped as the records of Vestige, and opens no connection but to the model's and the embedder's
address. What it calls is mem0's public interface; what it reads past that (`inspect`) is said there.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

__all__ = ["Mem0Agent", "ScriptedExtractor"]

NOTHING = "I don't know."
HASH_DIMS = 384
DEFAULTS: dict[str, Any] = {
    "model": "extractive",
    "model_url": None,
    "api_key": "none",
    "embedder": "hash",
    "embedder_url": None,
    "dims": None,
    "extractor": "scripted",
    "sessions": "metadata",
    "k": 5,
    "threshold": 0.0,
    "expires": None,
}
"""Every setting. `extractor`: ``model`` (the model at `model_url` reads conversations, as mem0 is meant to be used),
``scripted`` (stores every new message of the user word for word) or ``scripted-context`` (and every earlier message
that mem0 puts before it). `sessions`: where a session's id goes, ``metadata`` or mem0's own ``run_id``. `expires`: the
`expiration_date` of what is stored from now on, YYYY-MM-DD."""
KNOBS = ("k", "threshold", "expires")
EVERYTHING = 1_000_000
SYSTEM = "Answer the user's question in one or two sentences from these memories of the user. If they do not say, say so."


class Mem0Agent:
    """Conversations become memories by mem0's own pipeline; an answer is read off what `search` returns.

    Args:
        folder: Where everything is kept; a second instance over the same folder goes on where the first was closed.
        settings: Over `DEFAULTS`.

    Raises:
        ValueError: A setting is unknown or not usable.
    """

    state_in_folder = True

    def __init__(self, folder: str | Path, settings: Mapping[str, Any] | None = None) -> None:
        unknown = sorted(set(settings or ()) - set(DEFAULTS))
        if unknown:
            raise ValueError(f"unknown setting {unknown[0]!r}; mem0 has {', '.join(DEFAULTS)}")
        self._settings = {**DEFAULTS, **(settings or {})}
        extractors, places = ("model", "scripted", "scripted-context"), ("metadata", "run_id")
        if self._settings["extractor"] not in extractors:
            raise ValueError(f"extractor={self._settings['extractor']!r}: expected {', '.join(extractors)}")
        if self._settings["sessions"] not in places:
            raise ValueError(f"sessions={self._settings['sessions']!r}: expected {', '.join(places)}")
        needs_model = self._settings["model"] != "extractive" or self._settings["extractor"] == "model"
        if needs_model and not self._settings["model_url"]:
            raise ValueError("model_url is missing: the model or the extractor is reached there")
        if self._settings["embedder"] != "hash" and not self._settings["embedder_url"]:
            raise ValueError("embedder_url is missing: only the embedder 'hash' needs none")
        if self._settings["embedder"] == "hash":
            self._settings["dims"] = int(self._settings["dims"] or HASH_DIMS)
        self._folder = Path(folder)
        self._system = self._folder / "mem0"
        self._memory: Any = None
        self.extractor: ScriptedExtractor | None = None

    def open(self) -> None:
        """Start mem0 over the folder; safe to call again."""
        if self._memory is not None:
            return
        self._system.mkdir(parents=True, exist_ok=True)
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(self._system), ANONYMIZED_TELEMETRY="False")
        for name in ("OPENROUTER_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
            os.environ.pop(name, None)  # each would send texts elsewhere than the settings say
        system = importlib.import_module("mem0")
        url = self._settings["model_url"]
        if self._settings["extractor"] != "model":
            self.extractor = ScriptedExtractor(self._settings["extractor"] == "scripted-context")
            url = self.extractor.url
        embedder = {
            "model": self._settings["embedder"],
            "openai_base_url": self._settings["embedder_url"] or url,
            "api_key": self._settings["api_key"],
        }
        dims = int(self._settings["dims"] or self._measured())
        self._memory = system.Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(self._system / "qdrant"),
                        "embedding_model_dims": dims,
                        "on_disk": True,
                    },
                },
                "llm": {
                    "provider": "openai",
                    "config": {
                        "model": self._settings["model"],
                        "openai_base_url": url,
                        "api_key": self._settings["api_key"],
                        "temperature": 0.0,
                    },
                },
                "embedder": {"provider": "openai", "config": embedder},
                "history_db_path": str(self._system / "history.db"),
            }
        )
        if self._settings["embedder"] == "hash":
            self._memory.embedding_model = _HashEmbedder(dims)

    def close(self) -> None:
        """Let go of the files; the next call opens them again."""
        if self._memory is not None:
            self._memory.vector_store.client.close()
            self._memory.close()
            self._memory = None
        if self.extractor is not None:
            self.extractor.close()
            self.extractor = None

    def configure(self, **knobs: Any) -> None:
        """Change `k`, `threshold` or `expires`.

        Raises:
            ValueError: Another knob is named.
        """
        for name in knobs:
            if name not in KNOBS:
                raise ValueError(f"unknown knob {name!r}; mem0 has {', '.join(KNOBS)}")
        self._settings.update(knobs)

    # --- writing ---

    def converse(self, user: str, session: Mapping[str, Any]) -> None:
        """A whole session through `add(infer=True)`: one call of the extractor."""
        messages = [{"role": turn["role"], "content": turn["content"]} for turn in session["turns"]]
        self._add(user, messages, session["id"], {"date": session.get("date")}, infer=True)

    def remember(self, user: str, units: Sequence[Mapping[str, Any]]) -> None:
        """Statements as they stand, through `add(infer=False)`: no model reads them."""
        for unit in units:
            self._add(user, unit["text"], unit.get("session"), {"unit": unit["id"]}, infer=False)

    def _add(self, user: str, messages: Any, session: str | None, extra: dict[str, Any], infer: bool) -> list[str]:
        metadata = {k: v for k, v in {**extra, "session": session}.items() if v is not None}
        scope = {"user_id": _name(user)}
        if session is not None and self._settings["sessions"] == "run_id":
            scope["run_id"] = _name(session)
        added = self._mem0.add(
            messages,
            **scope,
            metadata={**metadata, "inferred": infer},
            expiration_date=self._settings["expires"],
            infer=infer,
        )
        with self._ledger.open("a", encoding="utf-8") as file:
            for item in added["results"]:
                file.write(json.dumps([user, item["id"]]) + "\n")
        return [str(item["memory"]) for item in added["results"]]

    # --- reading ---

    def ask(self, user: str, prompt: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Search, then answer from what was found; with `write_back` the exchange goes through `add(infer=True)`."""
        options = options or {}
        found = self.search(user, prompt)
        texts = [unit["text"] for unit in found]
        reply: dict[str, Any] = {"retrieved": found, "memory_writes": []}
        body = self._request(prompt, texts, options)
        if self._settings["model"] == "extractive":
            reply |= {"text": _extract(prompt, texts, options), "finish_reason": "stop"}
        else:
            reply |= self._generate(body)
        if options.get("trace"):
            reply["model_requests"] = [json.dumps(body, ensure_ascii=False)]
        if options.get("write_back"):
            said = [{"role": "user", "content": prompt}, {"role": "assistant", "content": reply["text"]}]
            reply["memory_writes"] = self._add(user, said, options.get("session"), {}, infer=True)
        return reply

    def search(self, user: str, query: str) -> list[dict[str, Any]]:
        """What `search` returns for the user, best first, as retrieved units."""
        found = self._mem0.search(
            query,
            filters={"user_id": _name(user)},
            top_k=int(self._settings["k"]),
            threshold=float(self._settings["threshold"]),
        )
        return [
            {"id": item["id"], "tier": _tier(item), "text": item["memory"], "score": float(item["score"])}
            for item in found["results"]
        ]

    def _request(self, prompt: str, texts: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        lines = "\n".join(f"- {text}" for text in texts) or "(none)"
        today = f"\nToday is {options['now']}." if options.get("now") else ""
        messages = [
            {"role": "system", "content": f"{SYSTEM}{today}\n{lines}"},
            {"role": "user", "content": prompt},
        ]
        body: dict[str, Any] = {
            "model": self._settings["model"],
            "messages": messages,
            "max_tokens": options.get("max_tokens", 300),
            "temperature": 0.0,
        }
        if options.get("seed") is not None:
            body["seed"] = options["seed"]
        return body

    def _generate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        with self._client(self._settings["model_url"]) as client:
            answer = client.chat.completions.create(**body)
        reply: dict[str, Any] = {
            "text": answer.choices[0].message.content or "",
            "finish_reason": answer.choices[0].finish_reason,
        }
        if answer.usage is not None:
            reply["usage"] = {
                "prompt_tokens": answer.usage.prompt_tokens,
                "completion_tokens": answer.usage.completion_tokens,
            }
        return reply

    def _client(self, url: str) -> Any:
        openai = importlib.import_module("openai")
        return openai.OpenAI(base_url=url, api_key=self._settings["api_key"], max_retries=0)

    def _measured(self) -> int:
        """How long the embedder's vectors are, where nobody said."""
        with self._client(self._settings["embedder_url"]) as client:
            answer = client.embeddings.create(model=self._settings["embedder"], input=["length"])
        return len(answer.data[0].embedding)

    # --- deleting ---

    def forget(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """What mem0 offers: `delete(id)` for each match, `delete_all` for a user or a run, `reset` for everything.

        A unit is matched by its id (mem0's or the evaluator's), or by a value that its text contains; a session or a
        source by its id, or by a value. mem0 has no call that deletes kept messages or history of one user.
        """
        scope, ids = request["scope"], list(request.get("ids") or ())
        before = self._listed(user)
        if scope == "everything":
            self._mem0.reset()
        elif scope == "user":
            self._mem0.delete_all(user_id=_name(user))
        elif scope in ("session", "source") and ids and self._settings["sessions"] == "run_id":
            for session in ids:
                self._mem0.delete_all(user_id=_name(user), run_id=_name(session))
        elif ids or request.get("value"):
            for item in before:
                if _named(item, scope, ids, request.get("value")):
                    self._mem0.delete(item["id"])
        else:
            message = "mem0 deletes by id, by run and by user, and the request names none"
            return {"accepted": False, "completed": False, "message": message}
        left = {item["id"] for item in self._listed(user)}
        affected: dict[str, int] = {}
        for item in before:
            if item["id"] not in left:
                affected[_tier(item)] = affected.get(_tier(item), 0) + 1
        return {"accepted": True, "completed": True, "affected": affected}

    def reset(self, user: str) -> None:
        """Drop everything of the user, past what mem0 offers: its history and messages are deleted by SQL."""
        ids = [(memory_id,) for memory_id in self._ids(user)]
        scopes = [(scope,) for scope in self._scopes(user)]
        self._mem0.delete_all(user_id=_name(user))
        with self._mem0.db._lock, self._mem0.db.connection as connection:
            connection.executemany("DELETE FROM history WHERE memory_id = ?", ids)
            connection.executemany("DELETE FROM messages WHERE session_scope = ?", scopes)
        others = [line for line in self._ledger_lines() if line[0] != user]
        self._ledger.write_text("".join(json.dumps(line) + "\n" for line in others), encoding="utf-8")

    # --- looking ---

    def inspect(self, user: str) -> list[dict[str, Any]]:
        """Everything that some interface of mem0 can return of the user.

        Tiers: ``raw`` (stored directly) and ``summary`` (extracted) of `get_all`, expired ones too; ``history`` of
        `history(id)` for every id that `add` ever returned; ``log`` the kept messages, which the next extraction
        is given; ``graph`` the entities that search is boosted by. The last two have no public listing and are read
        off mem0's own table and collection.
        """
        memories = self._listed(user)
        vectors = self._vectors([item["id"] for item in memories])
        found: list[dict[str, Any]] = [
            {
                "id": item["id"],
                "tier": _tier(item),
                "text": item["memory"],
                "session": (item.get("metadata") or {}).get("session"),
                "vector": vectors.get(item["id"]),
            }
            for item in memories
        ]
        for memory_id in self._ids(user):
            for row in self._mem0.history(memory_id):
                for side in ("old_memory", "new_memory"):
                    if row[side]:
                        name = f"history/{row['id']}/{side}"
                        found.append(
                            {"id": name, "tier": "history", "text": row[side], "sources": [memory_id]}
                        )
        for scope in self._scopes(user):
            rows = self._rows("SELECT id, content FROM messages WHERE session_scope = ?", scope)
            found += [{"id": f"messages/{i}", "tier": "log", "text": text} for i, text in rows if text]
        return found + self._entities(user)

    def storage(self) -> list[str]:
        """Every file that mem0 keeps; the adapter's own list of ids is not among them."""
        return [str(path) for path in sorted(self._system.rglob("*")) if path.is_file()]

    def settle(self) -> None:
        """Nothing to wait for: mem0 does all of its work inside the calls."""
        _ = self._mem0

    def maintain(self) -> None:
        """VACUUM of the history and of Qdrant's own SQLite files."""
        _ = self._mem0
        for path in _databases(self._system):
            with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("VACUUM")

    def describe(self) -> dict[str, Any]:
        """What it is; `configuration` holds every setting but the key, and how SQLite treats deleted bytes."""
        shown = {k: v for k, v in self._settings.items() if k != "api_key"}
        absent = {"logs": "mem0 writes no log file"}
        absent |= dict.fromkeys(("tool_arguments", "tool_results"), "mem0 calls no tools")
        if self._settings["model"] == "extractive":
            absent["reasoning"] = "the extractive reader writes nothing but its reply"
        return {
            "name": "mem0",
            "version": _version("mem0ai"),
            "configuration": {**shown, "qdrant_client": _version("qdrant-client"), **_sqlite_facts()},
            "capabilities": [
                *("open", "close", "configure", "remember", "inspect", "storage", "settle", "maintain")
            ],
            "tiers": ["raw", "summary", "history", "log", "graph"],
            "channels": [
                *("answer", "retrieval", "memory_writes", "summary", "model_requests", "storage", "vectors")
            ],
            "absent": absent,
            "knobs": list(KNOBS),
        }

    @property
    def _mem0(self) -> Any:
        self.open()
        return self._memory

    @property
    def _ledger(self) -> Path:
        """Which memory ids were ever a user's: an application has them from `add`, mem0 itself forgets them."""
        return self._folder / "ids.jsonl"

    def _ledger_lines(self) -> list[list[str]]:
        if not self._ledger.exists():
            return []
        return [json.loads(line) for line in self._ledger.read_text(encoding="utf-8").splitlines()]

    def _ids(self, user: str) -> list[str]:
        return list(dict.fromkeys(memory_id for name, memory_id in self._ledger_lines() if name == user))

    def _listed(self, user: str) -> list[dict[str, Any]]:
        listed = self._mem0.get_all(filters={"user_id": _name(user)}, top_k=EVERYTHING, show_expired=True)
        return cast(list[dict[str, Any]], listed["results"])

    def _rows(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        with self._mem0.db._lock:
            return list(self._mem0.db.connection.execute(statement, values))

    def _scopes(self, user: str) -> list[str]:
        mine = f"user_id={_escaped(_name(user))}"
        scopes = [row[0] for row in self._rows("SELECT DISTINCT session_scope FROM messages")]
        return [scope for scope in scopes if mine in scope.split("&")]

    def _vectors(self, ids: Sequence[str]) -> dict[str, str]:
        store = self._mem0.vector_store
        points = store.client.retrieve(store.collection_name, ids=list(ids), with_vectors=True) if ids else []
        found: dict[str, str] = {}
        for point in points:
            vector = point.vector.get("") if isinstance(point.vector, dict) else point.vector
            if vector:
                found[str(point.id)] = _base64(vector)
        return found

    def _entities(self, user: str) -> list[dict[str, Any]]:
        # Not through `entity_store`: that property would make the store, and deletions clean up only where it is made.
        store = self._mem0.vector_store
        name = f"{store.collection_name}_entities"
        if name not in {c.name for c in store.client.get_collections().collections}:
            return []
        found: list[dict[str, Any]] = []
        offset: Any = None
        while True:
            points, offset = store.client.scroll(name, limit=1000, offset=offset, with_payload=True)
            for point in points:
                if point.payload.get("user_id") == _name(user):
                    linked = [str(i) for i in point.payload.get("linked_memory_ids", ())]
                    text = str(point.payload.get("data", ""))
                    found.append({"id": f"entity/{point.id}", "tier": "graph", "text": text, "sources": linked})
            if offset is None:
                return found


class ScriptedExtractor:
    """An OpenAI-compatible endpoint on the loopback that "extracts" by repeating: no model, and not like one.

    It shows what mem0 puts before its model and what a model could make of it, not what a given model does.

    Args:
        context: Repeat the user's lines of the earlier messages too, not of the new ones alone.
    """

    def __init__(self, context: bool = False) -> None:
        self.requests: list[str] = []
        """The last message of every request, in order."""
        headings = ("Last k Messages", "New Messages") if context else ("New Messages",)
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                prompt = str(body["messages"][-1]["content"])
                requests.append(prompt)
                said = [text for heading in headings for text in _user_lines(prompt, heading)]
                memory = [
                    {"id": str(i), "text": text, "attributed_to": "user"}
                    for i, text in enumerate(dict.fromkeys(said))
                ]
                message = {"role": "assistant", "content": json.dumps({"memory": memory})}
                answer = {
                    "id": "scripted",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "scripted",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
                }
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: a log line would hold the request."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, name="scripted-extractor", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _user_lines(prompt: str, heading: str) -> list[str]:
    """What the user says in one section of mem0's extraction prompt; a message may have several lines."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", prompt, re.DOTALL | re.MULTILINE)
    messages = re.split(r"^(user|assistant|system): ", section[1] if section else "", flags=re.MULTILINE)
    pairs = zip(messages[1::2], messages[2::2], strict=True)
    return [text.strip() for role, text in pairs if role == "user" and text.strip()]


class _HashEmbedder:
    """Character n-grams hashed into a vector of unit length: deterministic, no model, no network."""

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self.config = type("Config", (), {"embedding_dims": dims})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return _hashed(text, self._dims)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [_hashed(text, self._dims) for text in texts]


def _hashed(text: str, dims: int) -> list[float]:
    vector = [0.0] * dims
    for word in re.findall(r"\w+", text.casefold()):
        padded = f" {word} "
        grams = [padded, *(padded[i : i + 3] for i in range(len(padded) - 2))]
        for gram in grams:
            digest = int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest(), "big")
            vector[digest % dims] += 1.0 if digest >> 63 else -1.0
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else [1.0, *vector[1:]]


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


def _named(item: Mapping[str, Any], scope: str, ids: Sequence[str], value: str | None) -> bool:
    metadata = item.get("metadata") or {}
    if ids:
        own = {item["id"], metadata.get("unit")} if scope == "unit" else {metadata.get("session")}
        return not own.isdisjoint(ids)
    return _plain(value or "") in _plain(item["memory"])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _tier(item: Mapping[str, Any]) -> str:
    return "summary" if (item.get("metadata") or {}).get("inferred") else "raw"


def _name(name: str) -> str:
    """A name as mem0 takes it: without white space."""
    return quote(name, safe="")


def _escaped(name: str) -> str:
    """A name as mem0 writes it in the scope of its messages."""
    return name.replace("%", "%25").replace("&", "%26").replace("=", "%3D")


def _base64(vector: Sequence[float]) -> str:
    """Little-endian float32 of unit length, as Vestige's records take it."""
    import base64
    import struct

    length = math.sqrt(sum(float(x) ** 2 for x in vector)) or 1.0
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *(float(x) / length for x in vector))).decode()


def _databases(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(16) == b"SQLite format 3\0":
                    yield path


def _sqlite_facts() -> dict[str, Any]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        secure = connection.execute("PRAGMA secure_delete").fetchone()[0]
    return {"sqlite": sqlite3.sqlite_version, "secure_delete": int(secure)}


def _version(package: str) -> str:
    return importlib.import_module("importlib.metadata").version(package)
