"""Randomised response over statements: whether one is stored tells only so much about whether it was said."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vestige.agents.protocol import Agent
from vestige.defences.wrapper import Defended, generator_of
from vestige.records import MemoryUnit, Session

__all__ = ["RandomisedResponse", "randomised"]


def randomised(
    units: Sequence[MemoryUnit], pool: Sequence[MemoryUnit], epsilon: float, seed: int
) -> list[MemoryUnit]:
    """Each unit with probability e^ε / (1 + e^ε), and each of the pool that is none of them with 1 / (1 + e^ε).

    For a statement of the pool the odds of being stored change by e^ε at most with whether it was said (Warner 1965,
    as local differential privacy of the one bit), whatever an attacker sees of the store. Nothing is promised for a
    statement outside the pool: that one is stored only if it was said.

    Args:
        units: What was said.
        pool: What might have been said; may hold `units`.
        epsilon: ε ≥ 0.
        seed: The draws come from it and from each statement's text.
    """
    keep = 1.0 / (1.0 + math.exp(-epsilon))
    said = {unit.text for unit in units}
    out = [u for u in units if generator_of(seed, "randomised", u.text).random() < keep]
    others = [u for u in pool if u.text not in said]
    out += [u for u in others if generator_of(seed, "randomised", u.text).random() >= keep]
    # Neither the order nor the session may tell what was said: the one is drawn by the text, the other left out.
    place = {u.text: float(generator_of(seed, "order", u.text).random()) for u in out}
    return [
        u.model_copy(update={"session": None}) for u in sorted(out, key=lambda u: (place[u.text], u.text))
    ]


class RandomisedResponse(Defended):
    """Randomises what `remember` stores; of a conversation each user turn is kept with the same probability.

    A conversation has no pool of other turns, so that for it this is suppression alone, without the guarantee.
    """

    def __init__(
        self, agent: Agent, label: str, epsilon: float, *, pool: Sequence[MemoryUnit], seed: int
    ) -> None:
        super().__init__(agent, label)
        self._epsilon, self._pool, self._seed = epsilon, tuple(pool), seed
        if callable(getattr(agent, "remember", None)):
            self.remember = self._remember

    async def _remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        made = randomised(units, self._pool, self._epsilon, self._seed)
        await self._inner.remember(user, made)  # type: ignore[attr-defined]

    async def converse(self, user: str, session: Session) -> None:
        """See `Agent`."""
        keep = 1.0 / (1.0 + math.exp(-self._epsilon))
        turns = tuple(
            turn
            for turn in session.turns
            if turn.role != "user" or generator_of(self._seed, "randomised", turn.content).random() < keep
        )
        await self._inner.converse(user, session.model_copy(update={"turns": turns}))
