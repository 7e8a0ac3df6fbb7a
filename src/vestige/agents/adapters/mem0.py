"""Mem0 as an agent under test: `mem0.Memory` with embedded Qdrant and its SQLite history, in a folder of its own.

Stand-alone: it runs in a process whose environment has mem0 (pinned in ``mem0.txt``) and not Vestige, takes and
returns plain dicts shaped as the records of Vestige, and opens no connection but to the model's and the embedder's
address. What it calls is mem0's public interface; what it reads past that (`inspect`) is said there.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

__all__ = ["Mem0Agent"]


def _part(name: str) -> Any:
    """A module of the folder `parts`, by its path: nothing else is known of where this file was loaded from."""
    path = Path(__file__).resolve().parent / "parts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"_vestige_adapter_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not there")
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain, reads = _part("plain"), _part("mem0_reads")

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
CHOICES = {"extractor": ("model", "scripted", "scripted-context"), "sessions": ("metadata", "run_id")}
KNOBS = ("k", "threshold", "expires")
EVERYTHING = 1_000_000


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
        self._settings = plain.merged("mem0", DEFAULTS, CHOICES, settings)
        self._folder = Path(folder)
        self._system = self._folder / "mem0"
        self._memory: Any = None
        self.extractor: Any = None

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
            self.extractor = _part("scripted").ScriptedExtractor(
                self._settings["extractor"] == "scripted-context"
            )
            url = self.extractor.url
        embedder = {
            "model": self._settings["embedder"],
            "openai_base_url": self._settings["embedder_url"] or url,
            "api_key": self._settings["api_key"],
        }
        dims = plain.dims(self._settings)
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

    def _add(
        self, user: str, messages: Any, session: str | None, extra: dict[str, Any], infer: bool
    ) -> list[str]:
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
            reply |= {"text": plain.extracted(prompt, texts, options), "finish_reason": "stop"}
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
        messages = [
            {"role": "system", "content": plain.system_prompt(texts, options.get("now"))},
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
        with plain.client(self._settings["model_url"], self._settings) as client:
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
        ids = self._ids(user)
        self._mem0.delete_all(user_id=_name(user))
        reads.forget_kept(self._mem0, _name(user), ids)
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
        vectors = reads.vectors(self._mem0, [item["id"] for item in memories], plain.packed)
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
        kept = reads.messages(self._mem0, _name(user))
        return found + kept + reads.entities(self._mem0, _name(user))

    def storage(self) -> list[str]:
        """Every file that mem0 keeps; the adapter's own list of ids is not among them."""
        return [str(path) for path in sorted(self._system.rglob("*")) if path.is_file()]

    def settle(self) -> None:
        """Nothing to wait for: mem0 does all of its work inside the calls."""
        _ = self._mem0

    def maintain(self) -> None:
        """VACUUM of the history and of Qdrant's own SQLite files."""
        _ = self._mem0
        for path in reads.databases(self._system):
            with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("VACUUM")

    def describe(self) -> dict[str, Any]:
        """What it is; `configuration` holds every setting but the key, and how SQLite treats deleted bytes."""
        return plain.described(
            "mem0",
            "mem0ai",
            self._settings,
            facts={"qdrant_client": plain.version("qdrant-client"), **reads.sqlite_facts()},
            tiers=["raw", "summary", "history", "log", "graph"],
            absent=dict.fromkeys(("tool_arguments", "tool_results"), "mem0 calls no tools"),
            knobs=list(KNOBS),
        )

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


class _HashEmbedder:
    """Character n-grams hashed into a vector of unit length: deterministic, no model, no network."""

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self.config = type("Config", (), {"embedding_dims": dims})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return plain.hashed(text, self._dims)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [plain.hashed(text, self._dims) for text in texts]


def _named(item: Mapping[str, Any], scope: str, ids: Sequence[str], value: str | None) -> bool:
    metadata = item.get("metadata") or {}
    if ids:
        own = {item["id"], metadata.get("unit")} if scope == "unit" else {metadata.get("session")}
        return not own.isdisjoint(ids)
    return plain.normal(value or "") in plain.normal(item["memory"])


def _tier(item: Mapping[str, Any]) -> str:
    return "summary" if (item.get("metadata") or {}).get("inferred") else "raw"


def _name(name: str) -> str:
    """A name as mem0 takes it: without white space."""
    return quote(name, safe="")
