from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import norm

from vestige.stats import tango_interval
from vestige.stats.tango import score_statistic, tango_limits

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"))

table = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda t: sum(t) > 0)


def score(n10: int, n01: int, n: int, difference: float) -> float:
    return float(score_statistic(np.array([float(n10)]), np.array([float(n01)]), n, difference)[0])


@pytest.mark.parametrize(
    "counts, low, high",
    [
        # Tango (1998), and Newcombe's examples of the same year
        ((43, 0, 1, 0), -0.1181, 0.0594),
        ((36, 12, 2, 0), 0.0611, 0.3447),
        ((10, 5, 2, 13), -0.0855, 0.2880),
    ],
)
def test_published_intervals(counts, low, high):
    assert tuple(tango_interval(*counts)) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [1, 6, 30, 60, 1000, 10**6])
def test_no_discordant_pair_has_a_closed_form(n: int):
    z = norm.ppf(0.95)
    low, high = tango_interval(n // 2, 0, 0, n - n // 2, confidence=0.90)
    assert (low, high) == pytest.approx((-(z**2) / (n + z**2), z**2 / (n + z**2)), rel=1e-9)
    if n == 60:
        assert high == pytest.approx(0.0431, abs=5e-5)


@given(table, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_it_holds_the_estimate_stays_in_range_and_never_collapses(counts, confidence):
    _, n10, n01, _ = counts
    n = sum(counts)
    low, high = tango_interval(*counts, confidence=confidence)
    assert -1 <= low <= (n10 - n01) / n <= high <= 1
    assert high - low > 0.5 / (n + 10)


@given(table)
def test_swapping_the_sides_mirrors_it(counts):
    n11, n10, n01, n00 = counts
    low, high = tango_interval(n11, n10, n01, n00)
    assert tuple(tango_interval(n00, n01, n10, n11)) == (-high, -low)


@given(table)
def test_the_limits_are_where_the_statistic_reaches_z(counts):
    _, n10, n01, _ = counts
    n, z = sum(counts), norm.ppf(0.975)
    low, high = tango_interval(*counts)
    if low > -1:
        assert score(n10, n01, n, low) == pytest.approx(z, rel=1e-6)
    if high < 1:
        assert score(n10, n01, n, high) == pytest.approx(-z, rel=1e-6)


@given(table)
def test_the_statistic_falls_so_that_there_is_one_interval(counts):
    _, n10, n01, _ = counts
    values = [score(n10, n01, sum(counts), d) for d in np.linspace(-0.999, 0.999, 101)]
    assert all(a >= b - 1e-9 for a, b in pairwise(values))


@given(table, st.floats(-0.95, 0.95))
def test_the_standard_error_is_that_of_the_restricted_maximum_of_the_likelihood(counts, difference):
    _, n10, n01, _ = counts
    n = sum(counts)

    def minus_log_likelihood(q: float) -> float:
        p01, p10 = q + max(0.0, -difference), q + max(0.0, difference)
        return -float(xlogy(n10, p10) + xlogy(n01, p01) + xlogy(n - n10 - n01, max(0.0, 1 - p10 - p01)))

    top = (1 - abs(difference)) / 2
    q = minimize_scalar(minus_log_likelihood, bounds=(0.0, top), method="bounded", options={"xatol": 1e-12}).x
    variance = 2 * q + abs(difference) - difference**2
    if abs(n10 - n01 - n * difference) > 1e-9:
        by_search = (n10 - n01 - n * difference) / np.sqrt(n * variance)
        assert score(n10, n01, n, difference) == pytest.approx(by_search, rel=1e-3, abs=1e-6)


def test_many_tables_at_once_are_the_tables_one_by_one():
    n10, n01 = np.array([0, 5, 12, 30]), np.array([0, 2, 2, 0])
    low, high = tango_limits(n10, n01, 30, 0.9)
    for i in range(4):
        one = tango_interval(0, n10[i], n01[i], 30 - n10[i] - n01[i], confidence=0.9)
        assert tuple(one) == (low[i], high[i])


@pytest.mark.parametrize("p10, p01", SCRIPT["DISCORDANCES"])
@pytest.mark.parametrize("n", SCRIPT["PAIR_SIZES"])
def test_the_95_percent_interval_covers_at_least_94_percent_by_enumeration(p10, p01, n):
    assert SCRIPT["coverage_of_a_difference"](p10, p01, n) >= 0.94


def test_weights_of_all_outcomes_add_up():
    # an interval that holds everything is held by everything
    assert SCRIPT["coverage_of_a_difference"](0.0, 0.0, 20) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("counts", [(-1, 0, 0, 5), (0, 0, 0, 0), (3, 0, -2, 5)])
def test_impossible_tables_are_refused(counts):
    with pytest.raises(ValueError, match=r"n01=-2|n11=-1|at least one pair"):
        tango_interval(*counts)
    with pytest.raises(TypeError, match=r"n10=0\.5"):
        tango_interval(1, 0.5, 0, 1)  # type: ignore[arg-type]  # a mistake on purpose: it must be refused
