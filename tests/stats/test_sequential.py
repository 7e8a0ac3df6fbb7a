from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, binom

from vestige.stats import clopper_pearson, difference_sequence, rate_sequence
from vestige.stats.sequential import log_wealth_of_difference, log_wealth_of_rate, p_values_beyond

ALPHA, LOOKS = 0.05, 10_000


def allowed(runs: int) -> float:
    """alpha and three standard errors."""
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# ------------------------------------------------------------------------------------------------- rates


@pytest.mark.parametrize("n, upper", [(300, 0.02859), (59, 0.1132)])
def test_known_upper_limits_of_silence(n: int, upper: float):
    low, high = rate_sequence(0, n)
    assert low == 0
    assert high == pytest.approx(upper, abs=5e-5 if n == 59 else 5e-6)
    # uniform prior: the mean of (1 - p)^n over it is 1/(n + 1)
    assert high == pytest.approx(1 - (0.05 / (n + 1)) ** (1 / n), rel=1e-12)


@pytest.mark.parametrize("a, b", [(1, 1), (0.5, 0.5), (2, 7)])
def test_the_wealth_is_the_likelihood_averaged_over_the_prior(a, b):
    for events, n, rate in [(0, 10, 0.2), (3, 12, 0.5), (12, 12, 0.9)]:
        mean, _ = quad(lambda p: binom.pmf(events, n, p) * beta.pdf(p, a, b), 0, 1)  # noqa: B023  # evaluated within the loop
        expected = math.log(mean / binom.pmf(events, n, rate))
        assert float(log_wealth_of_rate(events, n, rate, a, b)) == pytest.approx(expected, abs=1e-6)


@given(counts, st.sampled_from([0.01, 0.05, 0.2]), st.sampled_from([0.5, 1.0, 3.0]))
def test_a_rate_sequence_is_what_the_wealth_does_not_reject(count, alpha, prior):
    events, n = count
    low, high = rate_sequence(events, n, alpha, prior, prior)
    assert 0 <= low <= events / n <= high <= 1 and low < high
    for rate in np.linspace(0.001, 0.999, 41):
        held = float(log_wealth_of_rate(events, n, rate, prior, prior)) < -math.log(alpha)
        assert held == (low < rate < high)


@given(counts)
def test_looking_all_the_time_costs_width(count):
    always, once = rate_sequence(*count), clopper_pearson(*count)
    assert always.high - always.low >= once.high - once.low - 1e-12


@given(counts)
def test_a_rate_sequence_mirrors_the_complement(count):
    events, n = count
    low, high = rate_sequence(events, n)
    assert tuple(rate_sequence(n - events, n)) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_over_ten_thousand_looks_a_rate_is_missed_in_at_most_alpha(rate):
    draws = np.random.default_rng(1).random((500, LOOKS)) < rate
    events = np.cumsum(draws, axis=1)
    wealth = log_wealth_of_rate(events, np.arange(1, LOOKS + 1), rate)
    assert (wealth.max(axis=1) >= -math.log(ALPHA)).mean() <= allowed(500)


def test_a_fixed_interval_looked_at_as_often_is_not_so_careful():
    # what the sequence is for: peeking at Clopper–Pearson misses several times as often as it says
    draws = np.random.default_rng(2).random((200, 500)) < 0.3
    events = np.cumsum(draws, axis=1)
    held = np.array(
        [[clopper_pearson(x, n) for x in range(n + 1)] for n in (50, 100, 200, 300, 400, 500)], dtype=object
    )
    missed = np.zeros(200, dtype=bool)
    for table, n in zip(held, (50, 100, 200, 300, 400, 500), strict=True):
        missed |= np.array([not table[x].low <= 0.3 <= table[x].high for x in events[:, n - 1]])
    assert missed.mean() > 0.08


def test_before_the_first_trial_everything_is_possible():
    assert tuple(rate_sequence(0, 0)) == (0, 1)


@pytest.mark.parametrize(
    "arguments, message",
    [((3, 2), "events=3"), ((-1, 2), "events=-1"), ((0, 2, 0.0), "alpha=0"), ((0, 2, 0.05, 0.0), "a=0")],
)
def test_impossible_rates_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rate_sequence(*arguments)


# ------------------------------------------------------------------------------------------- differences

ternary = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=80)
bounded = st.lists(st.floats(-1, 1), min_size=1, max_size=40)


@given(st.one_of(ternary, bounded), st.sampled_from([0.02, 0.1]))
def test_a_difference_sequence_is_what_the_wealth_does_not_reject(values, alpha):
    low, high = difference_sequence(values, alpha)
    mean = float(np.mean(values))
    assert -1 <= low <= mean + 1e-12 and mean - 1e-12 <= high <= 1 and low < high
    for difference in np.linspace(-0.97, 0.97, 23):
        wealth = float(log_wealth_of_difference(values, difference)[-1]) - math.log(2 / alpha)
        if abs(wealth) > 1e-6:
            assert (wealth < 0) == (low < difference < high)


@given(ternary, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_sides_mirror(values, random):
    low, high = difference_sequence(values)
    other = list(values)
    random.shuffle(other)
    assert tuple(difference_sequence(other)) == pytest.approx((low, high), abs=1e-12)
    assert tuple(difference_sequence([-x for x in values])) == pytest.approx((-high, -low), abs=1e-12)


def test_the_wealth_is_a_fair_bet():
    # against the true mean, the expected factor of each stake is 1: over all 3^4 outcomes the mean wealth of a half
    # is 1, so that of the larger is at most 2
    support, p = np.array([-1.0, 0.0, 1.0]), np.array([0.3, 0.5, 0.2])
    outcomes = np.stack(np.meshgrid(*[np.arange(3)] * 4), axis=-1).reshape(-1, 4)
    weights = p[outcomes].prod(axis=1)
    wealth = np.exp(log_wealth_of_difference(support[outcomes], float(support @ p))[:, -1])
    assert 1 <= float(weights @ wealth) <= 2


@pytest.mark.parametrize("discordance", [0.05, 1.0])
def test_over_ten_thousand_looks_a_difference_is_missed_in_at_most_alpha(discordance):
    p10 = 0.75 * discordance
    draws = np.random.default_rng(3).choice(
        [-1.0, 0.0, 1.0], size=(256, LOOKS), p=[discordance - p10, 1 - discordance, p10]
    )
    missed = sum(
        int((log_wealth_of_difference(block, 2 * p10 - discordance).max(axis=1) >= math.log(2 / ALPHA)).sum())
        for block in np.split(draws, 8)
    )
    assert missed / 256 <= allowed(256)


def test_it_narrows_as_pairs_come_in():
    widths = [
        high - low for low, high in (difference_sequence(np.zeros(n), 0.1) for n in (0, 10, 60, 300, 5000))
    ]
    assert all(a > b for a, b in pairwise(widths))
    assert difference_sequence(np.zeros(60), 0.1).high == pytest.approx(0.0700, abs=5e-5)
    assert tuple(difference_sequence([])) == (-1, 1)


@pytest.mark.parametrize("values", [[1.5], [math.nan], [0, -2]])
def test_differences_without_bounds_are_refused(values):
    with pytest.raises(ValueError, match="outside"):
        difference_sequence(values)
    with pytest.raises(ValueError, match="alpha=1"):
        difference_sequence([0], alpha=1)
    with pytest.raises(ValueError, match="difference=1"):
        log_wealth_of_difference([0.0], 1)


# --------------------------------------------------------------------------- beyond the margin


@given(st.one_of(ternary, bounded), st.sampled_from([0.05, 0.1, 0.3]), st.sampled_from([0.01, 0.05]))
def test_an_any_time_p_value_is_the_sequence_inverted(values, margin, alpha):
    above, below = p_values_beyond(values, margin)
    found = difference_sequence(values, 2 * alpha)
    assert 0 < above <= 1 and 0 < below <= 1
    if abs(above - alpha) > 1e-9:
        assert (above < alpha) == (found.low > margin)
    if abs(below - alpha) > 1e-9:
        assert (below < alpha) == (found.high < -margin)
    assert p_values_beyond([-v for v in values], margin) == pytest.approx((below, above), rel=1e-9)


def test_it_is_one_over_the_wealth_of_whoever_bets_on_more():
    values = [1, 0, 1, 1, 0, 1, 0, 1, -1, 1] * 6
    wealth = log_wealth_of_difference(values, 0.1)[-1]
    assert p_values_beyond(values, 0.1) == pytest.approx((math.exp(-wealth), 1.0), rel=1e-9)
    assert p_values_beyond([], 0.1) == (1.0, 1.0)
    assert 0 < p_values_beyond([1] * 100_000, 0.1)[0] < 1e-300
    for bad in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="margin"):
            p_values_beyond(values, bad)
