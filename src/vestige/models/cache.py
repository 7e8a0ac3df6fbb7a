"""The response cache: a model asked the same thing twice is called once.

Content-addressed: the key is the SHA-256 of model, messages, parameters and seed, the value is the reply.
Prompts are not stored. A sampled call (temperature above 0) without a seed has no key and is never cached.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vestige.errors import StorageError
from vestige.models.base import ChatModel, ChatReply, ChatRequest, Message
from vestige.records import Record

__all__ = ["CachedModel", "Counted", "ResponseCache", "identity_of", "key_of"]

_log = logging.getLogger(__name__)
_BATCH = 64
_SECONDS = 0.5


class Counted(Record):
    """How often the cache could answer."""

    hits: int
    """From the file, or by waiting for the same call under way."""
    misses: int
    """Calls made."""


def key_of(identity: str, request: ChatRequest) -> str | None:
    """The key of one call, as hex; None where it must not be cached.

    Args:
        identity: What answers: name and file hash, or URL and model.
        request: Its `task`, `passages`, `query` and `choices` are never sent and do not count.
    """
    if request.temperature > 0 and request.seed is None:
        return None
    parts: list[Any] = [
        "vestige reply 1",
        identity,
        [_of(message) for message in request.messages],
        request.temperature,
        request.max_tokens,
        request.seed,
        request.top_logprobs,
        request.json_schema,
    ]
    if request.tools:  # only then: keys made before there were tools stay as they are
        parts.append([[tool.name, tool.description, tool.parameters] for tool in request.tools])
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _of(message: Message) -> list[Any]:
    """A message's part of the key; keys made before messages could hold tool calls stay as they are."""
    if not message.tool_calls and message.tool_call_id is None:
        return [message.role, message.content]
    calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
    return [message.role, message.content, calls, message.tool_call_id]


def identity_of(model: ChatModel) -> str:
    """What the cache calls a model: its `identity`, or its name where it has none."""
    return str(getattr(model, "identity", model.name))


class ResponseCache:
    """Replies in one SQLite file, and the calls that are under way.

    Commits come in batches: a killed process loses at most the replies of the last half second. A file that
    is not a database, or a damaged one, is moved aside and a new one begun. Use it from one event loop at a
    time; several processes may share a file.

    Args:
        path: The SQLite file; its folder is made.

    Raises:
        StorageError: The file cannot be written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._hits = self._misses = 0
        self._pending: dict[str, bytes] = {}
        self._flushed_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._flights: dict[str, asyncio.Future[ChatReply]] = {}
        self._db = self._open()

    @property
    def counted(self) -> Counted:
        """Hits and misses so far."""
        return Counted(hits=self._hits, misses=self._misses)

    def get(self, key: str) -> ChatReply | None:
        """The stored reply, marked `cached`; None where there is none."""
        body = self._pending.get(key)
        if body is None:
            try:
                row = self._db.execute(
                    "SELECT body FROM reply WHERE key = ?", (bytes.fromhex(key),)
                ).fetchone()
            except sqlite3.DatabaseError as error:
                self._recover(error)
                return None
            if row is None:
                return None
            body = row[0]
        try:
            return ChatReply.model_validate_json(body).model_copy(update={"cached": True})
        except ValidationError:  # written by another version, or damaged: as if it were not there
            return None

    def put(self, key: str, reply: ChatReply) -> None:
        """Store a reply; it reaches the file with the next batch.

        Raises:
            StorageError: The disk is full or cannot be written.
        """
        plain = reply.model_copy(update={"cached": False}) if reply.cached else reply
        self._pending[key] = plain.model_dump_json().encode("utf-8", "replace")
        if len(self._pending) >= _BATCH or time.monotonic() - self._flushed_at > _SECONDS:
            self.flush()
        elif self._timer is None:
            with contextlib.suppress(RuntimeError):  # no loop runs: the next put or close flushes
                self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._flush_later)

    async def through(self, key: str | None, call: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
        """The reply for `key`: stored, or awaited from the same call under way, or made by `call` and stored.

        Raises whatever `call` raises; those who wait for the same call get the same error.
        """
        if key is None:
            self._misses += 1
            return await call()
        while True:
            found = self.get(key)
            if found is not None:
                self._hits += 1
                return found
            flight = self._flights.get(key)
            if flight is None:
                return await self._lead(key, call)
            try:
                reply = await asyncio.shield(flight)
            except asyncio.CancelledError:
                if flight.cancelled():  # the leader was cancelled, not we: take over
                    continue
                raise
            self._hits += 1
            return reply.model_copy(update={"cached": True})

    def flush(self) -> None:
        """Write what is pending to the file.

        Raises:
            StorageError: The disk is full or cannot be written.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flushed_at = time.monotonic()
        if not self._pending:
            return
        rows = [(bytes.fromhex(key), body) for key, body in self._pending.items()]
        try:
            self._write(rows)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):  # another process is writing: with the next batch
                return
            raise StorageError(f"cannot write {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            self._recover(error)
            self._write(rows)
        self._pending.clear()

    def close(self) -> None:
        """Write what is pending and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    async def _lead(self, key: str, call: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
        flight: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        self._misses += 1
        try:
            reply = await call()
            self.put(key, reply)
            flight.set_result(reply)
            return reply
        except asyncio.CancelledError:
            flight.cancel()
            raise
        except BaseException as error:
            flight.set_exception(error)
            flight.exception()  # mark it as seen: nobody may be waiting
            raise
        finally:
            del self._flights[key]

    def _flush_later(self) -> None:
        self._timer = None
        with contextlib.suppress(StorageError):  # nobody to tell here; the next put or close tells it
            self.flush()

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO reply (key, body) VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._connect()
        except OSError as error:
            raise StorageError(f"cannot create {self.path.parent}: {error.strerror}") from error
        except sqlite3.OperationalError as error:
            raise StorageError(f"cannot open {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            self._move_aside(error)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = None
        try:
            db = sqlite3.connect(self.path, timeout=10.0, check_same_thread=False)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("CREATE TABLE IF NOT EXISTS reply (key BLOB PRIMARY KEY, body BLOB NOT NULL)")
            db.commit()
            db.execute("SELECT count(*) FROM (SELECT 1 FROM reply LIMIT 1)").fetchone()
        except sqlite3.Error:
            if db is not None:
                db.close()
            raise
        return db

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        """Begin a new file where the old one turned out damaged; other errors are the disk's."""
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise StorageError(f"cannot read {self.path}: {error}") from error
        self._db.close()
        self._move_aside(error)
        self._db = self._open()

    def _move_aside(self, error: sqlite3.DatabaseError) -> None:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        self.path.replace(aside)
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        _log.warning(
            "response cache %s is damaged (%s): moved to %s, begun anew", self.path, error, aside.name
        )


class CachedModel:
    """A chat model behind a response cache.

    Args:
        model: Answers what the cache cannot.
        cache: Shared between models; closing this model does not close it.
    """

    def __init__(self, model: ChatModel, cache: ResponseCache) -> None:
        self.model = model
        self.cache = cache
        self.identity = identity_of(model)

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    async def start(self) -> None:
        """Start the model's server, where it has one."""
        start: Any = getattr(self.model, "start", None)
        if start is not None:
            await start()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The stored reply, or the model's; raises what the model raises."""
        return await self.cache.through(key_of(self.identity, request), lambda: self.model.complete(request))

    async def close(self) -> None:
        """Close the model; what is pending in the cache is written."""
        self.cache.flush()
        await self.model.close()
