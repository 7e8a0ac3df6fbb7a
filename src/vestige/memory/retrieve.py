"""The read path: the stored units nearest to a query."""

from __future__ import annotations

from dataclasses import replace

from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.memory.units import Unit, as_vector
from vestige.memory.write import parts, token_estimate
from vestige.models.base import Embedder

__all__ = ["Retrieved", "retrieve"]

Retrieved = tuple[Unit, float]
"""A unit and its cosine to the query."""


async def retrieve(
    store: MemoryStore, embedder: Embedder, user: str, query: str, settings: MemorySettings
) -> list[Retrieved]:
    """The user's `settings.k` units nearest to `query` by cosine, best first, ties by order of creation.

    With `settings.tau` units below that cosine are left out. The tiers searched are `settings.tiers()`. Units that
    no longer fit `settings.context_budget` are left out too, and one that is too long by itself is cut to fit, so
    that a pasted document never breaks a prompt.

    Raises:
        ModelError: The embedder failed.
    """
    vector = as_vector((await embedder.embed([query]))[0].astype("<f4").tobytes())
    found = store.search(user, vector, k=settings.k, tiers=settings.tiers(), tau=settings.tau)
    room, fitting = settings.context_budget, list[Retrieved]()
    for unit, score in found:
        text = next(parts([unit.text], settings.context_budget), ("",))[0]
        if (cost := token_estimate(text)) <= room:
            room -= cost
            fitting.append((unit if text == unit.text else replace(unit, text=text), score))
    return fitting
