from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.weightstats import ttost_paired

from vestige.stats import clopper_pearson, equivalence, tango_interval

RNG = np.random.default_rng(5)
bits = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80)


@pytest.mark.parametrize(
    "shift, margin, n", [(0.01, 0.05, 50), (0.0, 0.1, 7), (0.2, 0.1, 30), (-0.3, 2.0, 12)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_t_agrees_with_statsmodels(shift, margin, n, alpha):
    a, b = RNG.normal(shift, 0.1, n), RNG.normal(0, 0.1, n)
    result = equivalence(a, b, margin=margin, alpha=alpha)
    p, *_ = ttost_paired(a, b, -margin, margin)
    assert result.method == "t"
    assert result.p_value == pytest.approx(p, abs=1e-9)
    assert result.equivalent == (p < alpha)
    from statsmodels.stats.weightstats import DescrStatsW

    assert tuple(result.interval) == pytest.approx(DescrStatsW(a - b).tconfint_mean(2 * alpha), abs=1e-9)


@given(bits, st.sampled_from([0.05, 0.1, 0.3]), st.sampled_from([0.05, 0.01]))
def test_binary_pairs_go_by_tangos_interval(pairs, margin, alpha):
    a, b = np.array(pairs, dtype=float).T
    result = equivalence(a, b, margin=margin, alpha=alpha)
    n11, n10 = int((a * b).sum()), int((a * (1 - b)).sum())
    n01 = int(((1 - a) * b).sum())
    interval = tango_interval(n11, n10, n01, len(a) - n11 - n10 - n01, confidence=1 - 2 * alpha)
    assert (result.method, result.interval, result.n) == ("tango", interval, len(a))
    inside = -margin < interval.low and interval.high < margin
    exact = binom.cdf(abs(n10 - n01), len(a), margin)
    assert result.equivalent == (inside and exact < alpha)
    assert result.p_value >= exact * (1 - 1e-12)
    assert result.outside == (interval.low > margin or interval.high < -margin)
    assert 0 < result.p_value <= 1
    assert result.equivalent == (result.p_value < alpha)
    assert result.assessable


@given(bits)
def test_the_sides_can_be_exchanged(pairs):
    a, b = np.array(pairs, dtype=float).T
    one, other = equivalence(a, b, margin=0.1), equivalence(b, a, margin=0.1)
    assert one.estimate == -other.estimate
    assert one.p_value == pytest.approx(other.p_value, abs=1e-12)
    assert (one.equivalent, one.outside) == (other.equivalent, other.outside)


def test_no_discordant_pair_is_neither_zero_nor_nan():
    one = np.ones(60)
    result = equivalence(one, one, margin=0.1)
    assert result.equivalent and 0 < result.p_value < 0.05
    assert result.interval.high == pytest.approx(0.0431, abs=5e-5)
    few = equivalence(one[:28], one[:28], margin=0.1)
    assert few.interval.high < 0.1 and not few.equivalent and not few.outside and few.assessable
    assert few.p_value == pytest.approx(0.9**28, rel=1e-12)
    assert equivalence(one[:29], one[:29], margin=0.1).equivalent


def test_a_billionfold_certainty_is_still_not_zero():
    one = np.ones(200_000)
    assert equivalence(one, one, margin=0.1).p_value > 0
    half = np.full(200_000, 0.5)
    assert equivalence(half, half, margin=0.1).p_value > 0


def test_a_true_difference_fails_and_too_few_pairs_decide_nothing():
    few = equivalence([1, 0, 1], [1, 1, 1], margin=0.1)
    assert (few.equivalent, few.outside, few.assessable) == (False, False, True)
    much = equivalence(np.r_[np.ones(20), np.zeros(20)], np.zeros(40), margin=0.1)
    assert (much.equivalent, much.outside) == (False, True)
    assert equivalence(np.zeros(40), np.r_[np.ones(20), np.zeros(20)], margin=0.1).outside


# ------------------------------------------------------------------------------------------ no variance


def test_equal_rates_are_bounded_like_an_event_never_seen():
    half = np.full(60, 0.5)
    result = equivalence(half, half, margin=0.1)
    assert result.method == "bounded" and result.assessable
    # one-sided exact bound of a rate after 0 of 60
    assert result.interval.high == pytest.approx(clopper_pearson(0, 60, 0.90).high, abs=1e-12)
    assert result.p_value == pytest.approx(0.9**60, rel=1e-12)
    # more careful than Tango on the same agreement
    assert result.interval.high > equivalence(np.ones(60), np.ones(60), margin=0.1).interval.high


@given(
    st.floats(-1, 1).map(lambda x: round(x, 3)), st.integers(1, 200), st.sampled_from([0.05, 0.1, 0.5, 1.5])
)
def test_a_constant_difference_never_gives_zero_or_nan(d, n, margin):
    a, b = np.full(n, (1 + d) / 2), np.full(n, (1 - d) / 2)
    result = equivalence(a, b, margin=margin, method="t")
    assert 0 < result.p_value <= 1
    assert -1 <= result.interval.low <= result.estimate <= result.interval.high <= 1
    assert result.interval.high > result.interval.low
    if margin < 1:
        assert result.equivalent == (result.p_value < 0.05)


@given(st.integers(2, 60), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.25]))
def test_the_bound_without_variance_holds_for_the_worst_distribution(n, p, d):
    # n draws from {d with p, 1 with 1 - p} are all d with p^n; where that exceeds alpha the mean must be covered
    if p**n > 0.05 * (1 + 1e-9):
        high = equivalence(np.full(n, d), np.zeros(n), margin=0.1, method="t").interval.high
        assert p * d + (1 - p) <= high + 1e-12


def test_rounding_is_not_variance():
    a = np.array([0.1 + 0.2, 0.3, 0.15 + 0.15, 0.3] * 10)
    result = equivalence(a, np.full(40, 0.1), margin=0.3)
    assert result.method == "bounded"


def test_on_an_unknown_scale_no_variance_is_not_assessable():
    result = equivalence([3.0] * 50, [3.0] * 50, margin=0.5)
    assert (result.assessable, result.equivalent, result.outside, result.p_value) == (
        False,
        False,
        False,
        1.0,
    )
    assert "without known bounds" in result.reason
    assert tuple(result.interval) == (-math.inf, math.inf)


def test_one_pair_alone():
    assert not equivalence([2.0], [3.5], margin=0.1).assessable
    assert "needs two" in equivalence([2.0], [3.5], margin=0.1).reason
    assert not equivalence([0.5], [0.5], margin=0.1).equivalent
    assert not equivalence([1], [1], margin=0.1).equivalent


# ---------------------------------------------------------------------------------------------- clusters


def test_clusters_are_tested_by_their_means():
    a, b = RNG.integers(0, 2, 120).astype(float), RNG.integers(0, 2, 120).astype(float)
    labels = np.repeat(np.arange(40), 3)
    result = equivalence(a, b, margin=0.2, clusters=labels)
    means = (a - b).reshape(40, 3).mean(axis=1)
    p, *_ = ttost_paired(means, np.zeros(40), -0.2, 0.2)
    assert (result.method, result.n, result.assessable) == ("t", 40, True)
    assert result.p_value == pytest.approx(p, abs=1e-9)
    shuffled = RNG.permutation(120)
    again = equivalence(a[shuffled], b[shuffled], margin=0.2, clusters=labels[shuffled])
    assert again.p_value == pytest.approx(p, abs=1e-9)


def test_pairs_that_repeat_a_conversation_count_once():
    a, b = RNG.integers(0, 2, 40).astype(float), RNG.integers(0, 2, 40).astype(float)
    once = equivalence(a, b, margin=0.1, method="t")
    many = equivalence(np.repeat(a, 25), np.repeat(b, 25), margin=0.1, clusters=np.repeat(np.arange(40), 25))
    assert many.p_value == pytest.approx(once.p_value, rel=1e-9)
    assert tuple(many.interval) == pytest.approx(tuple(once.interval), abs=1e-12)


def test_fewer_than_thirty_clusters_decide_nothing():
    labels = np.repeat(np.arange(29), 10)
    zeros = np.zeros(290)
    result = equivalence(zeros, zeros, margin=0.5, clusters=labels)
    assert (result.assessable, result.equivalent, result.p_value, result.n) == (False, False, 1.0, 29)
    assert "29 clusters" in result.reason
    far = equivalence(zeros + 1, zeros, margin=0.1, clusters=labels)
    assert not far.outside and not far.assessable


def test_clusters_of_one_pair_each_are_independent_pairs():
    a = np.array([1.0, 0, 1, 1, 0])
    assert equivalence(a, a, margin=0.5, clusters="vwxyz") == equivalence(a, a, margin=0.5)


# ---------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    "change, message",
    [
        ({"a": [], "b": []}, "no pairs"),
        ({"a": [1, 0]}, "2 values of a, 3 of b"),
        ({"a": [1, math.nan, 0]}, "no finite numbers"),
        ({"a": [[1, 0, 0]]}, "one number a pair"),
        ({"margin": 0.0}, "margin=0"),
        ({"margin": math.nan}, "margin=nan"),
        ({"margin": 10}, "less than 1"),
        ({"alpha": 0.5}, "alpha=0.5"),
        ({"alpha": 5}, "alpha=5"),
        ({"method": "wald"}, "method='wald'"),
        ({"a": [0.5, 0, 1], "method": "tango"}, "0 and 1 alone"),
        ({"clusters": "aab", "method": "tango"}, "independent pairs"),
        ({"clusters": "ab"}, "2 clusters for 3 pairs"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"a": [1, 0, 1], "b": [1, 1, 1], "margin": 0.1} | change
    with pytest.raises(ValueError, match=message):
        equivalence(arguments.pop("a"), arguments.pop("b"), **arguments)
