"""Stores other words than were said: paraphrased, with vague details, or without what identifies somebody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from vestige.agents.protocol import Agent
from vestige.defences.wrapper import Defended, generator_of
from vestige.records import MemoryUnit, Session

__all__ = ["Rewriter", "Rewriting"]

Rewriter = Callable[[str, int], Awaitable[str]]
"""The text that is stored for a text, the same for the same text and seed."""


class Rewriting(Defended):
    """Rewrites every user turn and every statement before the agent sees it.

    Args:
        agent: The agent inside.
        label: The defence's.
        rewrite: Makes the new text.
        seed: The plan's.
        share: Of the texts, drawn by the text itself, so that one text is always or never rewritten.
    """

    def __init__(self, agent: Agent, label: str, rewrite: Rewriter, *, seed: int, share: float = 1.0) -> None:
        super().__init__(agent, label)
        self._rewrite, self._seed, self._share = rewrite, seed, share
        if callable(getattr(agent, "remember", None)):
            self.remember = self._remember

    async def _new(self, text: str) -> str:
        rng = generator_of(self._seed, "rewriting", text)
        if rng.random() >= self._share:
            return text
        return await self._rewrite(text, int(rng.integers(2**31)))

    async def _remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        made = [unit.model_copy(update={"text": await self._new(unit.text)}) for unit in units]
        await self._inner.remember(user, made)  # type: ignore[attr-defined]

    async def converse(self, user: str, session: Session) -> None:
        """See `Agent`; what the assistant said is left as it is."""
        turns = [
            turn.model_copy(update={"content": await self._new(turn.content)})
            if turn.role == "user"
            else turn
            for turn in session.turns
        ]
        await self._inner.converse(user, session.model_copy(update={"turns": tuple(turns)}))
