"""Randomised response keeps its promise: the odds of being stored change by e^ε at most."""

from __future__ import annotations

import math

import pytest
from scipy import stats as scipy_stats

from vestige.defences.randomised import randomised
from vestige.records import MemoryUnit


def units(n: int, side: str) -> list[MemoryUnit]:
    return [MemoryUnit(id=f"{side}{i}", text=f"{side} statement number {i}") for i in range(n)]


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.0, 4.0])
def test_members_and_others_are_stored_at_the_rates_of_the_mechanism(epsilon: float) -> None:
    said, others = units(4000, "said"), units(4000, "other")
    stored = {u.text for u in randomised(said, said + others, epsilon, seed=3)}
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    for side, rate in ((said, keep), (others, 1 - keep)):
        kept = sum(u.text in stored for u in side)
        assert scipy_stats.binomtest(kept, len(side), rate).pvalue > 1e-4


def test_without_a_pool_it_only_drops() -> None:
    said = units(200, "said")
    stored = randomised(said, (), 1.0, seed=0)
    assert {u.id for u in stored} < {u.id for u in said}


def test_the_draw_belongs_to_the_statement_and_the_seed() -> None:
    said, others = units(50, "said"), units(50, "other")
    once = randomised(said, others, 1.0, seed=5)
    assert {u.id for u in randomised(said[::-1], others[::-1], 1.0, seed=5)} == {u.id for u in once}
    assert {u.id for u in randomised(said, others, 1.0, seed=6)} != {u.id for u in once}


def test_a_large_epsilon_stores_what_was_said() -> None:
    said, others = units(300, "said"), units(300, "other")
    assert {u.id for u in randomised(said, others, 50.0, seed=1)} == {u.id for u in said}


def test_neither_order_nor_session_tells_what_was_said() -> None:
    """Ranks of what was said among all that is stored: Mann-Whitney finds nothing, and no unit names a session."""
    said = [u.model_copy(update={"session": f"session_{i}"}) for i, u in enumerate(units(600, "said"))]
    others = units(600, "other")
    stored = randomised(said, [*said, *others], 0.5, seed=2)
    assert {u.session for u in stored} == {None}
    ranks = {True: [], False: []}
    for rank, unit in enumerate(stored):
        ranks[unit.id.startswith("said")].append(rank)
    assert scipy_stats.mannwhitneyu(ranks[True], ranks[False]).pvalue > 0.01
