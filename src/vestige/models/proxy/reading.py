"""What a request's body says of itself, and the token count in a reply that passes by in pieces."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import from_json

from vestige.models.proxy.request import Kind
from vestige.records import Usage

__all__ = ["BodyFacts", "UsageReader", "body_facts", "body_text", "kind_of"]

_KINDS: dict[str, Kind] = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completion",
    "/v1/embeddings": "embeddings",
    "/v1/models": "models",
}
_MODEL_NAME = 200
_LINE = 4 << 20
"""Bytes of one line of an event stream that are held."""
_REPLY = 64 << 20
"""Bytes of a reply that are held for its token count."""
_TOKENS = 1 << 62


def kind_of(path: str) -> Kind:
    """The kind of a request by its path, which has no query."""
    if path.startswith("/v1/models/"):
        return "models"
    return _KINDS.get(path, "other")


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What is read from a body."""

    model: str | None
    unread: str | None
    """See `ModelRequest.unread`."""


def body_facts(kind: Kind, body: bytes) -> BodyFacts:
    """Read the model's name, and whether the body's text is all that it says. The body is untrusted."""
    if not body:
        return BodyFacts(None, None)
    value = _json(body)
    if not isinstance(value, dict):
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            return BodyFacts(None, "no UTF-8 text")
        # Text without JSON hides nothing; for the known interfaces it is no request at all.
        return BodyFacts(None, None if kind in ("models", "other") else "not a JSON object")
    fields = cast("dict[str, Any]", value)
    name = fields.get("model")
    model = name[:_MODEL_NAME] if isinstance(name, str) else None
    return BodyFacts(model, _unread(kind, fields))


def body_text(body: bytes) -> str:
    """A body as text to look for values in: JSON with no character escaped that need not be, else as it stands."""
    value = _json(body)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return body.decode("utf-8", "replace")


def _json(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError:
        pass
    try:
        return json.loads(
            body
        )  # what the fast parser refuses: half surrogate pairs, a byte order mark, UTF-16
    except (ValueError, RecursionError):
        return None


def _unread(kind: Kind, fields: dict[str, Any]) -> str | None:
    given = fields.get("input" if kind == "embeddings" else "prompt")
    if kind in ("embeddings", "completion") and isinstance(given, list):
        rows = cast("list[Any]", given)
        if any(isinstance(row, int | list) for row in rows):
            return "token ids"
    if kind == "chat" and _has_media(fields.get("messages")):
        return "images, sound or files"
    return None


def _has_media(messages: Any) -> bool:
    if not isinstance(messages, list):
        return False
    for message in cast("list[Any]", messages):
        content = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            parts = cast("list[Any]", content)
            if any(isinstance(p, dict) and cast("dict[str, Any]", p).get("type") != "text" for p in parts):
                return True
    return False


class UsageReader:
    """Finds the token count in a reply that is handed over piece by piece, in bounded memory.

    Args:
        events: Whether the reply is a stream of server-sent events; then the last count is taken.
        encoding: The reply's Content-Encoding; of others than gzip and deflate no count is read.
    """

    def __init__(self, *, events: bool, encoding: str = "") -> None:
        named = encoding.strip().lower()
        self._inflate = zlib.decompressobj(47) if named in ("gzip", "x-gzip", "deflate") else None
        self._off = self._inflate is None and named not in ("", "identity")
        self._events = events
        self._parts: list[bytes] = []
        self._held = 0
        self._line = bytearray()
        self._skipping = False
        self._last: Usage | None = None

    def feed(self, piece: bytes) -> None:
        """The next bytes of the reply."""
        if self._off:
            return
        if self._inflate is not None:
            try:
                piece = self._inflate.decompress(piece, _REPLY)
            except zlib.error:
                self._off = True
                return
            self._off = bool(self._inflate.unconsumed_tail)  # a bomb: what is left would have to be kept
        if self._events:
            self._feed_events(piece)
        elif (held := self._held + len(piece)) > _REPLY:
            self._off, self._parts = True, []
        else:
            self._held = held
            self._parts.append(piece)

    def usage(self) -> Usage | None:
        """The count of what was fed; None where there is none, or none that can be read."""
        if self._events:
            self._end_line()
            return self._last
        if self._off:
            return None
        whole = b"".join(self._parts)
        return _usage(whole) if b'"usage"' in whole else None

    def _feed_events(self, piece: bytes) -> None:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._hold(piece[start:end])
            self._end_line()
            start = end + 1
        self._hold(piece[start:])

    def _hold(self, data: bytes) -> None:
        if self._skipping:
            return
        if len(self._line) + len(data) > _LINE:
            self._skipping = True
            self._line.clear()
        else:
            self._line += data

    def _end_line(self) -> None:
        if self._line.startswith(b"data:") and b'"usage"' in self._line:
            found = _usage(bytes(self._line[5:]))
            self._last = found or self._last
        self._line.clear()
        self._skipping = False


def _usage(data: bytes) -> Usage | None:
    """The `usage` of a JSON object, under the names of either OpenAI interface."""
    try:
        value = from_json(data)
    except ValueError:
        return None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    inner = fields.get("response")
    counted = fields.get("usage") or (
        cast("dict[str, Any]", inner).get("usage") if isinstance(inner, dict) else None
    )
    if not isinstance(counted, dict):
        return None
    counts = cast("dict[str, Any]", counted)
    prompt = counts.get("prompt_tokens", counts.get("input_tokens"))
    completion = counts.get("completion_tokens", counts.get("output_tokens"))
    if prompt is None and completion is None:
        return None
    try:
        usage = Usage.model_validate(
            {"prompt_tokens": prompt or 0, "completion_tokens": completion or 0}, strict=True
        )
    except ValidationError:
        return None
    sane = 0 <= usage.prompt_tokens < _TOKENS and 0 <= usage.completion_tokens < _TOKENS
    return usage if sane else None
