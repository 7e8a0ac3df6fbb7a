from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_curve

from vestige.stats import (
    accuracy_at_fpr,
    clopper_pearson,
    negatives_needed,
    operating_point,
    pr_auc,
    pr_curve,
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


def test_curves_hold_every_threshold_and_corners_draw_the_same_line() -> None:
    rng = np.random.default_rng(2)
    y = rng.random(3000) < 0.4
    x = np.round(rng.normal(size=3000) + y, 2)
    curve, line = roc_curve(x, y), roc_curve(x, y).corners()
    assert len(curve.thresholds) == len(np.unique(x)) + 1
    assert len(line.fpr) < len(curve.fpr)
    assert np.interp(curve.fpr[1:-1], line.fpr, line.tpr) == pytest.approx(
        np.interp(curve.fpr[1:-1], curve.fpr, curve.tpr), abs=1e-12
    )
    assert np.dot(np.diff(line.fpr), (line.tpr[1:] + line.tpr[:-1]) / 2) == pytest.approx(
        roc_auc(x, y), abs=1e-12
    )
    fpr, _, _ = sklearn_curve(y, x, drop_intermediate=True)
    assert len(line.fpr) <= len(fpr)
    precision, recall, thresholds = precision_recall_curve(y, x)
    found = pr_curve(x, y)
    assert found.recall[::-1] == pytest.approx(recall[:-1])
    assert found.precision[::-1] == pytest.approx(precision[:-1])
    assert (found.thresholds[::-1] == thresholds).all()


def test_a_rate_is_refused_with_the_number_of_negatives_that_it_needs() -> None:
    assert operating_point(SCORES, LABELS, 0.01).refused == (
        "4 negatives: a false positive rate of 0.01 needs 100"
    )
    assert operating_point(SCORES, LABELS, 0.25).refused == ""
    assert "cannot be told from any number" in operating_point(SCORES, LABELS, 0.0).refused


def test_a_million_scores_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=10**6), rng.random(10**6) < 0.5
    started = time.process_time()
    roc_auc(x, y), pr_auc(x, y), tpr_at_fpr(x, y, 0.01)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "scores, labels, words",
    [
        ([1, 2], [1, 1], "of one class"),
        ([1, np.nan], [1, 0], "1 of 2 scores are no finite numbers"),
        ([1, np.inf, 2], [1, 0, 1], "1 of 3 scores are no finite numbers"),
        ([], [], "no candidates"),
        ([1, 2, 3], [1, 0], "one label a score"),
        ([[1, 2]], [[1, 0]], "one label a score"),
        ([1, 2], [1, 2], "label 2: expected 1"),
        ([1, 2], [1, -1], "label -1: expected 1"),
    ],
)
def test_mistakes_are_told(scores: list[float], labels: list[int], words: str) -> None:
    for metric in (roc_auc, pr_auc, roc_curve, pr_curve, lambda x, y: tpr_at_fpr(x, y, 0.1)):
        with pytest.raises(ValueError, match=words):
            metric(scores, labels)
    with pytest.raises(ValueError, match="expected a rate"):
        negatives_needed(0)
    with pytest.raises(ValueError, match="expected a rate"):
        tpr_at_fpr([1, 2], [0, 1], 1.5)
