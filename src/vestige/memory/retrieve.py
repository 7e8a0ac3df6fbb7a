"""The read path: the stored units nearest to a query."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.memory.units import Unit, as_vector
from vestige.memory.write import parts, token_estimate
from vestige.models.base import Embedder

__all__ = ["Retrieved", "retrieve"]

Retrieved = tuple[Unit, float]
"""A unit and its cosine to the query."""

MAX_RANKED = 100_000
"""Units that a noisy ranking draws from."""


async def retrieve(
    store: MemoryStore, embedder: Embedder, user: str, query: str, settings: MemorySettings, seed: int = 0
) -> list[Retrieved]:
    """The user's `settings.k` units nearest to `query` by cosine, best first, ties by order of creation.

    With `settings.rank_noise` or `settings.query_noise` the order is drawn at random by `seed` and the query; the
    cosines that are given, and held against `settings.tau`, are those of the query itself.

    With `settings.tau` units below that cosine are left out. The tiers searched are `settings.tiers()`. Units that
    no longer fit `settings.context_budget` are left out too, and one that is too long by itself is cut to fit, so
    that a pasted document never breaks a prompt.

    Raises:
        ModelError: The embedder failed.
    """
    vector = as_vector((await embedder.embed([query]))[0].astype("<f4").tobytes())
    if settings.rank_noise or settings.query_noise:
        found = _drawn(store, user, query, vector, settings, seed)
    else:
        found = store.search(user, vector, k=settings.k, tiers=settings.tiers(), tau=settings.tau)
    room, fitting = settings.context_budget, list[Retrieved]()
    for unit, score in found:
        text = next(parts([unit.text], settings.context_budget), ("",))[0]
        if (cost := token_estimate(text)) <= room:
            room -= cost
            fitting.append((unit if text == unit.text else replace(unit, text=text), score))
    return fitting


def _drawn(
    store: MemoryStore,
    user: str,
    query: str,
    vector: NDArray[np.float32],
    settings: MemorySettings,
    seed: int,
) -> list[Retrieved]:
    """As `MemoryStore.search`, with a noisy query and noisy ranks.

    The k best of cosine + scale · Gumbel are a draw without replacement in proportion to e^(cosine / scale), which is
    the exponential mechanism (Kool et al. 2019, "Stochastic beams and where to find them", section 2.3).
    """
    digest = hashlib.sha256(f"{seed}\x1f{query}".encode()).digest()
    rng = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32).tolist())
    units = store.search(user, vector, k=MAX_RANKED, tiers=settings.tiers())
    told = {unit.order: score for unit, score in units}
    ranked: list[Retrieved] = units
    if settings.query_noise:
        noise = rng.standard_normal(vector.size) * (settings.query_noise / np.sqrt(vector.size))
        noisy = (vector + noise).astype("<f4")
        ranked = store.search(user, as_vector(noisy.tobytes()), k=MAX_RANKED, tiers=settings.tiers())
    if settings.rank_noise:
        # Drawn in the order of creation, so that two equal scores do not swap their noise.
        draws = {
            unit.order: settings.rank_noise * float(rng.gumbel())
            for unit, _ in sorted(ranked, key=lambda r: r[0].order)
        }
        ranked = sorted(ranked, key=lambda r: (-(r[1] + draws[r[0].order]), r[0].order))
    allowed = [
        unit for unit, _ in ranked if settings.tau is None or told.get(unit.order, -1.0) >= settings.tau
    ]
    return [(unit, told.get(unit.order, 0.0)) for unit in allowed[: settings.k]]
