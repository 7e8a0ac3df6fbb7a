from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from vestige.stats import Interval, clopper_pearson, episodes_for_zero_event_bound, zero_event_upper_bound


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 5000))
    return draw(st.integers(0, n)), n


def test_zero_of_thirty_still_allows_eleven_percent():
    # closed form: 1 - 0.025^(1/30)
    assert clopper_pearson(0, 30).high == pytest.approx(1 - 0.025 ** (1 / 30), abs=1e-12)
    assert clopper_pearson(0, 30).high == pytest.approx(0.1157033, abs=1e-7)
    assert clopper_pearson(0, 30).low == 0
    assert clopper_pearson(30, 30).low == pytest.approx(1 - 0.1157033, abs=1e-7)


def test_zero_of_three_hundred_one_sided():
    assert zero_event_upper_bound(300) == pytest.approx(1 - 0.05 ** (1 / 300), abs=1e-14)
    assert zero_event_upper_bound(300) == pytest.approx(0.00994, abs=5e-6)


@pytest.mark.parametrize("n", [20, 60, 200])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.1, 0.5])
def test_clopper_pearson_covers_at_least_95_percent_by_enumeration(p: float, n: int):
    held = [x for x in range(n + 1) if clopper_pearson(x, n).low <= p <= clopper_pearson(x, n).high]
    assert binom.pmf(held, n, p).sum() >= 0.95


@given(counts(), st.sampled_from([0.8, 0.95, 0.999]))
def test_clopper_pearson_agrees_with_scipy(count: tuple[int, int], confidence: float):
    events, n = count
    theirs = binomtest(events, n).proportion_ci(confidence, method="exact")
    ours = clopper_pearson(events, n, confidence)
    assert ours.low == pytest.approx(theirs.low, abs=1e-9)
    assert ours.high == pytest.approx(theirs.high, abs=1e-9)


@given(counts())
def test_clopper_pearson_holds_the_estimate_and_mirrors_the_complement(count: tuple[int, int]):
    events, n = count
    low, high = clopper_pearson(events, n)
    assert 0 <= low <= events / n <= high <= 1
    other = clopper_pearson(n - events, n)
    assert (1 - other.high, 1 - other.low) == pytest.approx((low, high), abs=1e-12)


@given(counts())
def test_more_confidence_is_wider(count: tuple[int, int]):
    narrow, wide = clopper_pearson(*count, 0.9), clopper_pearson(*count, 0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_numpy_integers_are_counts():
    assert clopper_pearson(np.int64(3), np.int32(40)) == clopper_pearson(3, 40)


@pytest.mark.parametrize("events, n", [(-1, 10), (11, 10), (0, 0), (0, -3)])
def test_impossible_counts_are_refused_with_their_value(events: int, n: int):
    with pytest.raises(ValueError, match=rf"n={n}"):
        clopper_pearson(events, n)


def test_a_rate_in_place_of_a_count_is_refused():
    with pytest.raises(TypeError, match=r"events=0\.3"):
        clopper_pearson(0.3, 10)  # type: ignore[arg-type]  # a mistake on purpose: it must be refused


def test_a_confidence_in_percent_gets_a_hint():
    with pytest.raises(ValueError, match=r"confidence=95.*did you mean 0\.95"):
        clopper_pearson(1, 10, 95)
    with pytest.raises(ValueError, match="nan"):
        zero_event_upper_bound(10, math.nan)


@pytest.mark.parametrize(
    "bound, confidence, n",
    [
        (0.05, 0.95, 59),
        (0.01, 0.95, 299),
        (0.9, 0.99, 2),  # (1/10)^2 = 1/100 exactly
        (0.5, 0.75, 2),
        (0.1, 0.19, 2),
        (0.1, 0.271, 3),
        (0.99, 0.5, 1),
        (1e-9, 0.95, 2_995_732_273),
    ],
)
def test_episodes_for_a_bound(bound: float, confidence: float, n: int):
    assert episodes_for_zero_event_bound(bound, confidence) == n


@given(st.floats(1e-6, 0.999), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_episodes_are_enough_and_one_fewer_is_not(bound: float, confidence: float):
    n = episodes_for_zero_event_bound(bound, confidence)
    assert zero_event_upper_bound(n, confidence) <= bound * (1 + 1e-12)
    assert n == 1 or zero_event_upper_bound(n - 1, confidence) > bound * (1 - 1e-12)


@pytest.mark.parametrize("bound", [0.0, 1.0, -0.1, 5, math.nan])
def test_a_bound_that_is_no_rate_is_refused(bound: float):
    with pytest.raises(ValueError, match="bound="):
        episodes_for_zero_event_bound(bound)


def test_an_interval_unpacks_prints_and_cannot_be_turned_round():
    low, high = Interval(0.25, 0.5)
    assert (low, high) == (0.25, 0.5)
    assert str(Interval(0.0, 0.11570331)) == "[0, 0.1157]"
    for bad in ((0.5, 0.25), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="low <= high"):
            Interval(*bad)
