"""Search is exact: it gives what a sort of all cosines gives, ties by insertion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.errors import IntegrityError
from vestige.memory.search import VectorIndex


def unit_rows(seed: int, n: int, d: int, distinct: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(distinct, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[rng.integers(0, distinct, n)].astype(np.float32)


def blobs(rows: np.ndarray) -> list[bytes]:
    return [row.astype("<f4").tobytes() for row in rows]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 300),
    d=st.sampled_from([1, 3, 16, 384]),
    distinct=st.integers(1, 40),
    k=st.integers(1, 40),
    tau=st.none() | st.floats(-1, 1),
    split=st.integers(0, 300),
)
def test_search_equals_a_stable_sort_of_every_cosine(seed, n, d, distinct, k, tau, split):
    rows = unit_rows(seed, n, d, distinct)
    query = unit_rows(seed + 1, 1, d, 1)[0]
    orders = list(range(10, 10 + n))
    index = VectorIndex(orders[:split], blobs(rows[:split]))
    index.append(orders[split:], blobs(rows[split:]))

    cosines = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    best = np.argsort(-cosines, kind="stable")[:k]
    expected = [(orders[i], cosines[i]) for i in best if tau is None or cosines[i] >= tau]

    found = index.top(query, k, tau)
    assert [order for order, _ in found] == [order for order, _ in expected]
    assert [score for _, score in found] == [score for _, score in expected]


def test_equal_vectors_come_in_order_of_insertion_wherever_they_stand():
    row = unit_rows(3, 1, 384, 1)
    rows = np.repeat(row, 37, axis=0)
    found = VectorIndex(range(37), blobs(rows)).top(row[0], 9)
    assert [order for order, _ in found] == list(range(9))


def test_a_query_of_another_embedder_is_refused():
    index = VectorIndex([1], blobs(unit_rows(0, 1, 8, 1)))
    with pytest.raises(IntegrityError, match="4 dimensions and the store's have 8"):
        index.top(np.ones(4, np.float32), 1)


def test_vectors_of_another_length_are_refused():
    index = VectorIndex([1], blobs(unit_rows(0, 1, 8, 1)))
    with pytest.raises(IntegrityError, match="one embedder"):
        index.append([2], blobs(unit_rows(0, 1, 4, 1)))


def test_nothing_is_found_in_an_empty_index():
    assert VectorIndex([], []).top(np.ones(8, np.float32), 5) == []
