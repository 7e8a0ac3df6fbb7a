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

    Where the variance is 0 or cannot be told (all members above all others; one candidate in a class), the interval is
    Clopper and Pearson's with the smaller class as the trials (ours, wide): as many members can be paired with others
    that are in no other pair, and each pair is a trial.

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import expit, logit, ndtri

    s, y = check_ranking(scores, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([s], y)
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

    Returns:
        (AUC of the first minus that of the second, its interval, two-sided p-value).

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import ndtr, ndtri

    a, y = check_ranking(first, labels)
    b, _ = check_ranking(second, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([a, b], y)
    difference = float(auc[0] - auc[1])
    smaller = min(int(y.sum()), int((~y).sum()))
    error = math.sqrt(max(0.0, float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])))
    if np.array_equal(midranks(a), midranks(b)):
        half, p_value = -math.expm1(math.log((1.0 - confidence) / 2.0) / smaller), 1.0
    elif error < _NONE:
        half = math.sqrt(2.0 * math.log(2.0 / (1.0 - confidence)) / smaller)
        p_value = min(1.0, 2.0 * math.exp(-smaller * difference**2 / 2.0))
    else:
        half, p_value = z * error, 2.0 * float(ndtr(-abs(difference) / error))
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half))
    return difference, interval, max(p_value, float(np.finfo(np.float64).tiny))


def _delong(scores: list[Floats], labels: Bools) -> tuple[Floats, NDArray[np.float64]]:
    """AUCs and their covariance; the latter 0 where a class has one candidate, and it cannot be told."""
    n1 = int(labels.sum())
    n0 = len(labels) - n1
    v10, v01, auc = np.empty((len(scores), n1)), np.empty((len(scores), n0)), np.empty(len(scores))
    for k, s in enumerate(scores):
        ranks = midranks(s)
        own1, own0 = midranks(s[labels]), midranks(s[~labels])
        v10[k] = (ranks[labels] - own1) / n0
        v01[k] = 1.0 - (ranks[~labels] - own0) / n1
        auc[k] = v10[k].mean()
    if n1 < 2 or n0 < 2:
        return auc, np.zeros((len(scores), len(scores)))
    return auc, np.atleast_2d(np.cov(v10)) / n1 + np.atleast_2d(np.cov(v01)) / n0
