from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from vestige.stats import cohen_kappa

ratings = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=60)


@given(ratings)
def test_kappa_agrees_with_scikit_learn(pairs: list[tuple[str, str]]):
    a, b = zip(*pairs, strict=True)
    assume(len(set(a) | set(b)) > 1)
    assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)


@given(ratings)
def test_kappa_does_not_depend_on_who_is_first(pairs: list[tuple[str, str]]):
    a, b = zip(*pairs, strict=True)
    assert cohen_kappa(a, b) == cohen_kappa(b, a)


def test_kappa_by_hand():
    # 2 × 2 table 20, 5, 10, 15: observed 0.7, by chance 0.5
    a = [True] * 25 + [False] * 25
    b = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)
    assert cohen_kappa([1, 0], [1, 0]) == 1
    assert cohen_kappa([1, 0], [0, 1]) == -1


def test_kappa_of_one_class_alone_is_undefined_not_one():
    assert cohen_kappa([1, 1, 1], [1, 1, 1]) is None
    assert cohen_kappa([], []) is None
    assert cohen_kappa([1, 1], [1, 0]) == 0


def test_raters_of_different_items_are_refused():
    with pytest.raises(ValueError, match="3 labels against 2"):
        cohen_kappa([1, 1, 0], [1, 0])
