"""Blocks replies that reproduce what is stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vestige.agents.protocol import Agent
from vestige.defences.prompt import texts
from vestige.defences.wrapper import Defended
from vestige.models.base import Embedder
from vestige.records import (
    Artifact,
    AskOptions,
    MemoryUnit,
    Receipt,
    RemovalRequest,
    Reply,
    Session,
    TokenLogprob,
)
from vestige.text import content_words, covers, sentences

__all__ = ["OutputFilter"]

KEPT = 20_000
"""Vectors that are remembered."""
MOST_SENTENCES = 50
"""Of a reply; further ones are looked at as one."""


class OutputFilter(Defended):
    """Compares each reply with every text that is stored of the user.

    The stored texts are the agent's own (`inspect`), where it has that method; else what was told through this wrapper,
    which then is a copy that a partial deletion does not reach (`forget` of one value; reset and removal of a whole
    user do). Similar is the larger of two: the cosine of a sentence of the reply with the text, and the share of the
    text's content words that the reply holds.

    A blocked reply is a fixed sentence. Where the agent shows log-probabilities, its tokens have log-probability 0: it
    is said with certainty, and those of the reply that was blocked would tell of it.
    """

    def __init__(self, agent: Agent, label: str, similarity: float, embedder: Embedder) -> None:
        super().__init__(agent, label)
        self._limit, self._embedder = similarity, embedder
        self._told: dict[str, list[str]] = {}
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        if callable(getattr(agent, "remember", None)):
            self.remember = self._remember

    async def _remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        await self._inner.remember(user, units)  # type: ignore[attr-defined]
        self._keep(user, [unit.text for unit in units])

    async def converse(self, user: str, session: Session) -> None:
        """See `Agent`."""
        await self._inner.converse(user, session)
        self._keep(user, [turn.content for turn in session.turns if turn.role == "user"])

    def _keep(self, user: str, said: list[str]) -> None:
        if not callable(getattr(self._inner, "inspect", None)):
            self._told.setdefault(user, []).extend(said)

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """See `Agent`."""
        receipt = await self._inner.forget(user, request)
        if request.scope in ("user", "everything"):
            self._told.pop(user, None)
        elif request.value:
            self._told[user] = [t for t in self._told.get(user, ()) if request.value not in t]
        return receipt

    async def reset(self, user: str) -> None:
        """See `Agent`."""
        await self._inner.reset(user)
        self._told.pop(user, None)

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        """See `Agent`."""
        reply = await self._inner.ask(user, prompt, options)
        text = reply if isinstance(reply, str) else reply.text
        if not text.strip() or not await self._reproduces(text, await self._stored(user)):
            return reply
        blocked = str(texts()["output_filter"]["blocked"])
        if isinstance(reply, str):
            return Reply(text=blocked)
        certain = tuple(TokenLogprob(token=token, logprob=0.0) for token in blocked.split())
        return reply.model_copy(
            update={
                "text": blocked,
                "logprobs": None if reply.logprobs is None else certain,
                "reasoning": None,
                "finish_reason": "content_filter",
            }
        )

    async def _stored(self, user: str) -> list[str]:
        if not callable(getattr(self._inner, "inspect", None)):
            return self._told.get(user, [])
        artifacts: list[Artifact] = await self._inner.inspect(user)  # type: ignore[attr-defined]
        return list(dict.fromkeys(a.text for a in artifacts if a.text))

    async def _reproduces(self, reply: str, stored: Sequence[str]) -> bool:
        for text in stored:
            words = content_words(text)
            if words and sum(covers([w], reply) for w in words) / len(words) >= self._limit:
                return True
        if not stored:
            return False
        parts = sentences(reply)
        if len(parts) > MOST_SENTENCES:
            parts = [*parts[: MOST_SENTENCES - 1], " ".join(parts[MOST_SENTENCES - 1 :])]
        said = await self._vectors_of(parts)
        held = await self._vectors_of(stored)
        return bool(len(said)) and bool(np.max(said @ held.T) >= self._limit)

    async def _vectors_of(self, parts: Sequence[str]) -> NDArray[np.float32]:
        new = [p for p in dict.fromkeys(parts) if p not in self._vectors]
        if new:
            for part, vector in zip(new, await self._embedder.embed(new), strict=True):
                self._vectors[part] = vector
        out = np.array([self._vectors[p] for p in parts], dtype=np.float32)
        while len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)
        return out
