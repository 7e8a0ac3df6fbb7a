"""The read path: the stored units nearest to a query."""

from __future__ import annotations

from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.memory.units import Unit, as_vector
from vestige.models.base import Embedder

__all__ = ["Retrieved", "retrieve"]

Retrieved = tuple[Unit, float]
"""A unit and its cosine to the query."""


async def retrieve(
    store: MemoryStore, embedder: Embedder, user: str, query: str, settings: MemorySettings
) -> list[Retrieved]:
    """The user's `settings.k` units nearest to `query` by cosine, best first, ties by order of creation.

    With `settings.tau` units below that cosine are left out. The tiers searched are `settings.tiers()`.

    Raises:
        ModelError: The embedder failed.
    """
    vector = as_vector((await embedder.embed([query]))[0].astype("<f4").tobytes())
    return store.search(user, vector, k=settings.k, tiers=settings.tiers(), tau=settings.tau)
