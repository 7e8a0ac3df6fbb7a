from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from vestige.stats import holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_bonferroni_on_every_subset_that_holds_the_test(p_values):
    everyone = range(len(p_values))
    subsets = [s for size in range(1, len(p_values) + 1) for s in combinations(everyone, size)]
    by_closure = [
        max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in subsets if i in s) for i in everyone
    ]
    assert holm(p_values) == pytest.approx(by_closure, abs=1e-12)


def test_holm_agrees_with_statsmodels():
    p_values = [0.04, 0.001, 0.3, 0.04, 0.012, 0.9, 0.0, 0.02]
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]), abs=1e-12)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(bad):
    with pytest.raises(ValueError, match="p_values has"):
        holm([0.5, bad])
