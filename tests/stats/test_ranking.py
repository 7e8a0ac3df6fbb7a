from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_curve

from vestige.stats import (
    accuracy_at_fpr,
    auc_comparison,
    auc_interval,
    clopper_pearson,
    negatives_needed,
    operating_point,
    pr_auc,
    roc_auc,
    roc_curve,
    tpr_at_fpr,
)

SCORES, LABELS = [1, 1, 1, 0.67, 1, 0.33, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]


def test_the_top_tie_decides_at_low_rates() -> None:
    assert roc_auc(SCORES, LABELS) == 13.5 / 16
    assert [tpr_at_fpr(SCORES, LABELS, q) for q in (0.01, 0.1, 0.249)] == [0, 0, 0]
    point = operating_point(SCORES, LABELS, 0.25)
    assert (point.tpr, point.fpr, point.threshold) == (1.0, 0.25, 0.67)
    assert point.fpr_interval == clopper_pearson(1, 4)
    assert accuracy_at_fpr(SCORES, LABELS, 0.25) == (1.0 + 1.0 - 0.25) / 2
    none = operating_point(SCORES, LABELS, 0.1)
    assert (none.fpr, none.threshold, none.accuracy) == (0.0, np.inf, 0.5)


def test_the_negatives_that_a_rate_needs() -> None:
    assert [negatives_needed(q) for q in (0.1, 0.01, 0.001, 0.29, 1.0)] == [10, 100, 1000, 4, 1]
    # 0.29 of 100 negatives is 29 of them, although 0.29 * 100 is 28.999…
    scores, labels = np.r_[np.arange(100.0), -1.0], np.r_[np.zeros(100), 1]
    assert operating_point(scores, labels, 0.29).false_positives == 29


ranked = st.lists(
    st.tuples(st.integers(0, 6).map(float) | st.floats(-5, 5, width=32), st.booleans()),
    min_size=2,
    max_size=80,
).filter(lambda rows: 0 < sum(y for _, y in rows) < len(rows))


@settings(max_examples=200)
@given(ranked)
def test_agrees_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    assert roc_auc(x, y) == pytest.approx(roc_auc_score(y, x), abs=1e-12)
    assert pr_auc(x, y) == pytest.approx(average_precision_score(y, x), abs=1e-9)
    fpr, tpr, _ = sklearn_curve(y, x, drop_intermediate=False)
    curve = roc_curve(x, y)
    assert curve.fpr == pytest.approx(fpr) and curve.tpr == pytest.approx(tpr)
    for q in (0.5, 0.1, 0.01, 0.001):
        assert tpr_at_fpr(x, y, q) == pytest.approx(tpr[fpr <= q + 1e-12].max())


@settings(max_examples=60)
@given(ranked)
def test_the_auc_is_the_rank_sum(rows: list[tuple[float, bool]]) -> None:
    x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    u = mannwhitneyu(x[y], x[~y]).statistic
    assert roc_auc(x, y) == pytest.approx(u / (y.sum() * (~y).sum()))


def test_delong_is_its_own_definition() -> None:
    """The structural components by their definition, without ranks."""
    rng = np.random.default_rng(7)
    y = rng.random(60) < 0.4
    a, b = np.round(rng.normal(size=60) + y, 1), np.round(rng.normal(size=60) + 0.5 * y, 1)

    def components(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        better = (x[y][:, None] > x[~y][None, :]) + 0.5 * (x[y][:, None] == x[~y][None, :])
        return better.mean(axis=1), better.mean(axis=0)

    (a1, a0), (b1, b0) = components(a), components(b)
    spread = np.cov(a1, b1) / y.sum() + np.cov(a0, b0) / (~y).sum()
    error = np.sqrt(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    difference, interval, p_value = auc_comparison(a, b, y)
    assert difference == pytest.approx(roc_auc(a, y) - roc_auc(b, y))
    assert interval.high - interval.low == pytest.approx(2 * 1.959963985 * error)
    assert 0 < p_value < 1
    assert auc_comparison(a, a, y)[2] == 1.0


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
    assert held / runs == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / runs))


def test_a_perfect_ranking_has_an_interval_too() -> None:
    low, high = auc_interval([3, 2, 1, 0], [1, 1, 0, 0])
    assert (low, high) == (clopper_pearson(2, 2).low, 1.0)


@pytest.mark.parametrize(
    "scores, labels, words",
    [
        ([1, 2], [1, 1], "of one class"),
        ([1, np.nan], [1, 0], "1 scores are no finite numbers"),
        ([1, 2, 3], [1, 0], "one label a score"),
        ([1, 2], [1, 2], "labels other than 0 and 1"),
    ],
)
def test_mistakes_are_told(scores: list[float], labels: list[int], words: str) -> None:
    for metric in (roc_auc, pr_auc, roc_curve, lambda x, y: tpr_at_fpr(x, y, 0.1)):
        with pytest.raises(ValueError, match=words):
            metric(scores, labels)
    with pytest.raises(ValueError, match="expected a rate"):
        negatives_needed(0)
    with pytest.raises(ValueError, match="expected a rate"):
        tpr_at_fpr([1, 2], [0, 1], 1.5)
