"""Noise on ranks and queries is what it says, against closed forms."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.records import MemoryUnit

TEXTS = ["tea and rain", "tea and bread", "coffee at noon", "long walks by the sea", "tea"]


async def memory(path: Path, **settings: float) -> MemoryPipeline:
    held = MemoryPipeline(
        MemoryStore(path / "m.sqlite"), HashingEmbedder(), ExtractiveReader(), MemorySettings(**settings)
    )
    await held.remember("u", [MemoryUnit(id=str(i), text=t) for i, t in enumerate(TEXTS)])
    return held


async def test_ranks_are_drawn_in_proportion_to_the_exponential_of_the_cosine(tmp_path: Path) -> None:
    scale, draws = 0.4, 3000
    held = await memory(tmp_path, k=1, rank_noise=scale)
    exact = dict.fromkeys(TEXTS, 0.0)
    plain = await memory(tmp_path / "plain", k=5) if (tmp_path / "plain").mkdir() is None else held
    exact |= {unit.text: score for unit, score in await plain.retrieve("u", "tea and rain")}
    weights = np.exp(np.array([exact[t] for t in TEXTS]) / scale)
    seen = Counter([(await held.retrieve("u", "tea and rain", seed))[0][0].text for seed in range(draws)])
    observed = [seen[t] for t in TEXTS]
    assert scipy_stats.chisquare(observed, draws * weights / weights.sum()).pvalue > 1e-4


async def test_the_same_seed_and_query_give_the_same_units(tmp_path: Path) -> None:
    held = await memory(tmp_path, k=2, rank_noise=0.5, query_noise=1.0)
    once = await held.retrieve("u", "tea", 7)
    assert await held.retrieve("u", "tea", 7) == once
    others = [await held.retrieve("u", "tea", seed) for seed in range(20)]
    assert any([u.id for u, _ in other] != [u.id for u, _ in once] for other in others)


async def test_scores_and_threshold_are_of_the_query_itself(tmp_path: Path) -> None:
    held = await memory(tmp_path, k=5, tau=0.3, rank_noise=5.0)
    (tmp_path / "plain").mkdir()
    plain = await memory(tmp_path / "plain", k=5, tau=0.3)
    wanted = {u.text: s for u, s in await plain.retrieve("u", "tea")}
    assert wanted
    for seed in range(20):
        assert {u.text: s for u, s in await held.retrieve("u", "tea", seed)} == wanted


@pytest.mark.parametrize("length", [0.5, 1.0, 2.0])
def test_a_noisy_query_has_the_cosine_that_is_documented(length: float) -> None:
    rng = np.random.default_rng(0)
    d, n = 384, 2000
    vector = np.zeros(d)
    vector[0] = 1.0
    noisy = vector + rng.standard_normal((n, d)) * (length / np.sqrt(d))
    cosines = noisy[:, 0] / np.linalg.norm(noisy, axis=1)
    assert np.mean(cosines) == pytest.approx(1 / np.sqrt(1 + length**2), abs=0.01)
