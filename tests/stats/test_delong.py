from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit, ndtr

from vestige.stats import auc_comparison, auc_interval, clopper_pearson, roc_auc

Z = 1.959963984540054


def components(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The structural components by their definition, without ranks."""
    better = (x[y][:, None] > x[~y][None, :]) + 0.5 * (x[y][:, None] == x[~y][None, :])
    return better.mean(axis=1), better.mean(axis=0)


two_scores = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4) | st.floats(0, 4, width=16), st.booleans()),
    min_size=6,
    max_size=60,
).filter(lambda rows: 2 <= sum(r[2] for r in rows) <= len(rows) - 2)


@settings(max_examples=150)
@given(two_scores)
def test_variances_are_those_of_the_definition(rows: list[tuple[float, float, bool]]) -> None:
    a, b = np.array([r[0] for r in rows], dtype=float), np.array([r[1] for r in rows], dtype=float)
    y = np.array([r[2] for r in rows])
    (a1, a0), (b1, b0) = components(a, y), components(b, y)
    spread = np.cov(a1, b1) / y.sum() + np.cov(a0, b0) / (~y).sum()
    auc, error = a1.mean(), math.sqrt(spread[0, 0])
    if error > 1e-9 and 0 < auc < 1:
        width = Z * error / (auc * (1 - auc))
        assert logit(np.array(tuple(auc_interval(a, y)))) == pytest.approx(
            [logit(auc) - width, logit(auc) + width], abs=1e-8
        )
    error = math.sqrt(max(0.0, spread[0, 0] + spread[1, 1] - 2 * spread[0, 1]))
    difference, interval, p_value = auc_comparison(a, b, y)
    assert difference == pytest.approx(auc - b1.mean())
    assert interval.low <= difference <= interval.high and interval.high > interval.low
    assert 0 < p_value <= 1
    if error > 1e-9:
        assert interval.low == pytest.approx(max(-1, difference - Z * error), abs=1e-9)
        assert p_value == pytest.approx(math.erfc(abs(difference) / error / math.sqrt(2)), abs=1e-9)


def test_a_yes_or_no_score_has_a_closed_form() -> None:
    # AUC = (1 + t - f)/2; its components are two values, so its variance is that of two rates, a quarter of it
    y = np.r_[np.ones(40, bool), np.zeros(50, bool)]
    x = np.r_[np.ones(30), np.zeros(10), np.ones(5), np.zeros(45)]
    t, f = 0.75, 0.1
    assert roc_auc(x, y) == pytest.approx((1 + t - f) / 2)
    error = math.sqrt((t * (1 - t) / 39 + f * (1 - f) / 49) / 4)
    _, interval, _ = auc_comparison(x, np.zeros(90), y)
    assert interval.high - interval.low == pytest.approx(2 * Z * error)


def test_permuted_labels_cover_one_half_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=120), 1)
    y = np.arange(120) < 60
    runs = 2000
    held = 0
    for _ in range(runs):
        low, high = auc_interval(x, rng.permutation(y))
        held += low <= 0.5 <= high
    # three standard errors of the simulation: 0.0146
    assert held / runs == pytest.approx(0.95, abs=3 * math.sqrt(0.05 * 0.95 / runs))


def test_two_scores_of_one_worth_differ_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(4)
    y = np.arange(120) < 60
    runs = 1500
    found = 0
    for _ in range(runs):
        a, b = rng.normal(size=(2, 120)) + rng.normal(size=120) + y
        found += auc_comparison(a, b, y)[2] < 0.05
    # three standard errors of the simulation: 0.0169
    assert found / runs == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / runs))


# ------------------------------------------------------------------------------------------ no variance


def test_a_perfect_ranking_has_an_interval_too() -> None:
    low, high = auc_interval([3, 2, 1, 0], [1, 1, 0, 0])
    assert (low, high) == (clopper_pearson(2, 2).low, 1.0)


def test_one_member_shows_next_to_nothing() -> None:
    scores, labels = np.arange(1000.0), np.arange(1000) == 900
    assert auc_interval(scores, labels) == clopper_pearson(1, 1)
    _, interval, p_value = auc_comparison(scores, -scores, labels)
    assert (tuple(interval), p_value) == ((-1, 1), 1)


def test_opposite_perfect_rankings_are_no_certainty() -> None:
    x, y = np.r_[np.full(20, 1.0), np.zeros(20)], np.arange(40) < 20
    difference, interval, p_value = auc_comparison(x, -x, y)
    assert difference == interval.high == 1
    # Hoeffding, 20 pairs on [-1, 1]
    assert interval.low == pytest.approx(1 - math.sqrt(2 * math.log(40) / 20))
    assert p_value == pytest.approx(2 * math.exp(-10))


def test_two_scores_that_rank_alike_are_bounded_like_an_event_never_seen() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=90), np.arange(90) < 30
    difference, interval, p_value = auc_comparison(x, np.exp(x), y)
    assert (difference, p_value) == (0, 1)
    assert interval.high == pytest.approx(clopper_pearson(0, 30).high)


# ------------------------------------------------------------------------------------------ repeats


def test_repeats_of_the_same_candidates_average_their_components() -> None:
    rng = np.random.default_rng(5)
    y = np.arange(80) < 35
    x = rng.normal(size=(80, 3)) + y[:, None] + rng.normal(size=(80, 1))
    parts = [components(column, y) for column in x.T]
    members = np.mean([p[0] for p in parts], axis=0)
    others = np.mean([p[1] for p in parts], axis=0)
    auc = members.mean()
    width = Z * math.sqrt(members.var(ddof=1) / 35 + others.var(ddof=1) / 45) / (auc * (1 - auc))
    assert logit(np.array(tuple(auc_interval(x, y)))) == pytest.approx(
        [logit(auc) - width, logit(auc) + width]
    )
    assert auc == pytest.approx(np.mean([roc_auc(column, y) for column in x.T]))


def test_asking_thrice_and_hearing_the_same_is_asking_once() -> None:
    rng = np.random.default_rng(6)
    y = np.arange(60) < 30
    a, b = rng.normal(size=(2, 60)) + y
    thrice = np.stack([a, a, a], axis=1)
    assert tuple(auc_interval(thrice, y)) == pytest.approx(tuple(auc_interval(a, y)))
    once, many = auc_comparison(a, b, y), auc_comparison(thrice, np.stack([b, b, b], axis=1), y)
    assert many[0] == pytest.approx(once[0]) and many[2] == pytest.approx(once[2])
    assert tuple(many[1]) == pytest.approx(tuple(once[1]))
    assert auc_comparison(thrice, np.exp(thrice), y)[2] == 1


def test_the_mean_of_noisy_repeats_covers_the_truth_at_the_nominal_rate() -> None:
    """The interval of the first repeat alone would be of another, noisier number."""
    rng = np.random.default_rng(21)
    y = np.arange(120) < 60
    truth = float(ndtr(1 / math.sqrt(2 * (0.5 + 1.0))))  # difference of two scores, each of variance 1.5
    runs, held, widths = 1200, 0, np.zeros(2)
    for _ in range(runs):
        x = math.sqrt(0.5) * rng.normal(size=(120, 1)) + rng.normal(size=(120, 3)) + y[:, None]
        low, high = auc_interval(x, y)
        held += low <= truth <= high
        first = auc_interval(x[:, 0], y)
        widths += (high - low, first.high - first.low)
    assert held / runs == pytest.approx(0.95, abs=3 * math.sqrt(0.05 * 0.95 / runs))
    assert widths[0] < 0.85 * widths[1]
