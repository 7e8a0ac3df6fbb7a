"""Interval of a ROC-AUC, and a comparison of two, for independent candidates (DeLong, DeLong and Clarke-Pearson, 1988).

An AUC is the mean of its structural components, one a member and one a non-member: the share of the other class that
stands on the right side of it. They follow from midranks in O(n log n) (Sun and Xu, IEEE Signal Processing Letters 21,
2014). Candidates of one user are not independent of one another: see `grouped`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence, clopper_pearson
from vestige.stats.ranking import check_ranking, midranks

__all__ = ["auc_comparison", "auc_interval"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_NONE = 1e-12
"""A standard error below it is rounding."""


def auc_interval(scores: ArrayLike, labels: ArrayLike, confidence: float = 0.95) -> Interval:
    """Interval of the ROC-AUC for independent candidates: DeLong's variance on the logit scale.

    With several scores of each candidate it is the interval of the mean of their AUCs: a candidate's structural
    component is the mean of its components, so repeats on the same candidates do not pass for more candidates.

    Where the variance is 0 or cannot be told (all members above all others; one candidate in a class), the interval is
    Clopper and Pearson's with the smaller class as the trials (ours, wide): as many members can be paired with others
    that are in no other pair, and each pair is a trial.

    Args:
        scores: Shape (n,), or (n, repeats) with a column a repeat.
        labels: True for members.
        confidence: Of the interval.

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import expit, logit, ndtri

    columns, y = _columns(scores, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([columns], y)
    value, error = float(auc[0]), math.sqrt(max(0.0, float(covariance[0, 0])))
    smaller = min(int(y.sum()), int((~y).sum()))
    if error < _NONE or value in (0.0, 1.0):
        events = round(value * smaller)
        return clopper_pearson(events, smaller, confidence)
    half = z * error / (value * (1.0 - value))
    centre = float(logit(value))
    return Interval(float(expit(centre - half)), float(expit(centre + half)))


def auc_comparison(
    first: ArrayLike, second: ArrayLike, labels: ArrayLike, confidence: float = 0.95
) -> tuple[float, Interval, float]:
    """DeLong's paired comparison of two scores of the same independent candidates.

    Where its variance is 0 or cannot be told, a bound takes its place that holds for any distribution, with as many
    trials as the smaller class has: where both scores rank all candidates alike, that of an event never seen; else
    Hoeffding's (1963, for U-statistics). So neither the interval nor p ever is 0 by lack of variance.

    Args:
        first: Shape (n,), or (n, repeats) with a column a repeat: means over the repeats are compared.
        second: Likewise.
        labels: True for members.
        confidence: Of the interval.

    Returns:
        (AUC of the first minus that of the second, its interval, two-sided p-value).

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import ndtr, ndtri

    a, y = _columns(first, labels)
    b, _ = _columns(second, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([a, b], y)
    difference = float(auc[0] - auc[1])
    smaller = min(int(y.sum()), int((~y).sum()))
    error = math.sqrt(max(0.0, float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])))
    if len(a) == len(b) and all(np.array_equal(midranks(s), midranks(t)) for s, t in zip(a, b, strict=True)):
        half, p_value = -math.expm1(math.log((1.0 - confidence) / 2.0) / smaller), 1.0
    elif error < _NONE:
        half = math.sqrt(2.0 * math.log(2.0 / (1.0 - confidence)) / smaller)
        p_value = min(1.0, 2.0 * math.exp(-smaller * difference**2 / 2.0))
    else:
        half, p_value = z * error, 2.0 * float(ndtr(-abs(difference) / error))
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half))
    return difference, interval, max(p_value, float(np.finfo(np.float64).tiny))


def _columns(scores: ArrayLike, labels: ArrayLike) -> tuple[list[Floats], Bools]:
    """Each repeat's scores, and the labels."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        s, y = check_ranking(values, labels)
        return [s], y
    checked = [check_ranking(column, labels) for column in values.T]
    return [s for s, _ in checked], checked[0][1]


def _delong(scores: list[list[Floats]], labels: Bools) -> tuple[Floats, NDArray[np.float64]]:
    """Mean AUCs over the repeats and their covariance; it is 0 where a class has one candidate, and cannot be told."""
    n1 = int(labels.sum())
    n0 = len(labels) - n1
    v10, v01 = np.zeros((len(scores), n1)), np.zeros((len(scores), n0))
    for k, repeats in enumerate(scores):
        for s in repeats:
            ranks = midranks(s)
            v10[k] += (ranks[labels] - midranks(s[labels])) / n0
            v01[k] += 1.0 - (ranks[~labels] - midranks(s[~labels])) / n1
        v10[k] /= len(repeats)
        v01[k] /= len(repeats)
    auc = v10.mean(axis=1)
    if n1 < 2 or n0 < 2:
        return auc, np.zeros((len(scores), len(scores)))
    return auc, np.atleast_2d(np.cov(v10)) / n1 + np.atleast_2d(np.cov(v01)) / n0
