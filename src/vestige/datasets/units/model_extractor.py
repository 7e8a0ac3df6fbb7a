"""Statements of a dialogue by a chat model: JSON by schema, checked against the dialogue, cached.

The published counts come from an extractor by model whose wording is part of the authors' code; this prompt is ours, so
counts of PerLTQA and MSC differ from the published ones, and with the model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

from vestige.datasets.units.dialogue import Dialogue
from vestige.datasets.units.extractor import Extracted
from vestige.datasets.units.unit import normalised
from vestige.models.base import ChatModel, ChatRequest, Message
from vestige.models.cache import CachedModel, ResponseCache
from vestige.text import content_words, tokens

__all__ = ["GROUNDED", "MAX_STATEMENT_CHARS", "ModelExtractor", "acceptable"]

MAX_STATEMENT_CHARS = 300
MAX_STATEMENTS = 60
"""Of one dialogue."""
GROUNDED = 0.5
"""Share of a statement's content words that must stand in the dialogue; the rest may be its own wording (ours)."""
TRANSCRIPT_CHARS = 12_000
_MAX_TOKENS = 1500
_SPEAKING = frozenset(("i", "me", "my", "mine", "we", "us", "our", "you", "your"))

_SYSTEM = (
    "You read a conversation and list what a memory would keep of it. Write each fact as one short sentence in the "
    "third person that names whom it is about by the name the conversation gives, and that can be understood without "
    "the conversation. One fact a sentence: personal facts, preferences, plans, relationships, work, hobbies, places, "
    "experiences. Keep names, numbers and dates exactly as they are said. Leave out greetings, questions, jokes, and "
    "facts about the world at large. Say nothing that the conversation does not say. "
    'Reply with JSON alone: {"statements": ["…", "…"]}'
)
_KNOWN = "Already known; do not repeat any of it, in these or in other words:\n"
_AGAIN = "Your last reply was not usable: reply with the JSON object alone, and keep it short."
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"statements": {"type": "array", "items": {"type": "string"}}},
    "required": ["statements"],
    "additionalProperties": False,
}


class ModelExtractor:
    """Asks a chat model at temperature 0 for a dialogue's statements and keeps those that pass the checks.

    Args:
        model: Any chat model; closed with the extractor.
        cache: Answers what was asked before; closed with the extractor. None: every dialogue is a call.
        concurrency: Dialogues in work at once.
    """

    def __init__(self, model: ChatModel, *, cache: ResponseCache | None = None, concurrency: int = 8) -> None:
        self._model: ChatModel = model if cache is None else CachedModel(model, cache)
        self._cache = cache
        self._concurrency = concurrency
        self._gate: asyncio.Semaphore | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def statements(self, dialogue: Dialogue, known: Sequence[str] = ()) -> Extracted:
        """The model's statements that are in the dialogue, each once and none of those known."""
        transcript = dialogue.transcript(TRANSCRIPT_CHARS)
        if self._gate is None:
            self._gate = asyncio.Semaphore(self._concurrency)
        async with self._gate:
            listed = await self._asked(transcript, known)
        if listed is None:
            return Extracted((), unread=True)
        words = frozenset(tokens(transcript))
        seen = {normalised(text) for text in known}
        kept: list[str] = []
        for item in listed:
            text = acceptable(item, words)
            if text is None or len(kept) == MAX_STATEMENTS or (plain := normalised(text)) in seen:
                continue
            seen.add(plain)
            kept.append(text)
        return Extracted(tuple(kept), refused=len(listed) - len(kept))

    async def close(self) -> None:
        """Close the model and the cache."""
        self._gate = None
        await self._model.close()
        if self._cache is not None:
            self._cache.close()

    async def _asked(self, transcript: str, known: Sequence[str]) -> list[object] | None:
        told = _KNOWN + "\n".join(f"- {text}" for text in known) + "\n\n" if known else ""
        asked = f"{told}Conversation:\n{transcript}"
        # At temperature 0 the same question gives the same answer, so the second one says what was wrong.
        for content in (asked, f"{asked}\n\n{_AGAIN}"):
            messages = (Message(role="system", content=_SYSTEM), Message(role="user", content=content))
            reply = await self._model.complete(
                ChatRequest(messages=messages, max_tokens=_MAX_TOKENS, json_schema=_SCHEMA, task="statements")
            )
            if (listed := _list(reply.text)) is not None:
                return listed
        return None


def _list(reply: str) -> list[object] | None:
    start, end = reply.find("{"), reply.rfind("}")
    if not 0 <= start < end:
        return None
    try:
        value = json.loads(reply[start : end + 1])
    except (ValueError, RecursionError):
        return None
    listed = cast("dict[str, object]", value).get("statements") if isinstance(value, dict) else None
    return cast("list[object]", listed) if isinstance(listed, list) else None


def acceptable(item: object, words: frozenset[str]) -> str | None:
    """The statement, white space squeezed, or None where it is none.

    Refused is what is no text or too long, a question, a sentence in the first or second person, one without two
    content words, one with a number that the dialogue does not hold, and one of whose content words fewer than
    `GROUNDED` stand in it.

    Args:
        item: What the model proposed; untrusted.
        words: The dialogue's tokens.
    """
    if not isinstance(item, str):
        return None
    text = " ".join(item.split())
    if not text or len(text) > MAX_STATEMENT_CHARS or not text.isprintable() or text.endswith("?"):
        return None
    said = tokens(text)
    content = content_words(text)
    if len(content) < 2 or (said and said[0] in _SPEAKING):
        return None
    if any(word[0].isdecimal() and word not in words for word in said):
        return None
    return text if sum(word in words for word in content) >= GROUNDED * len(content) else None
