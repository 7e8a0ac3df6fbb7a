"""How well a score tells members from others: ROC-AUC, average precision, true positive rates at low false positive rates.

Labels are True (1) for members, the positives; higher scores speak for membership. Everything is computed on all
thresholds, without interpolation, and equal scores are one threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence, clopper_pearson

__all__ = [
    "OperatingPoint",
    "RocCurve",
    "accuracy_at_fpr",
    "auc_comparison",
    "auc_interval",
    "negatives_needed",
    "operating_point",
    "pr_auc",
    "roc_auc",
    "roc_curve",
    "tpr_at_fpr",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_SLACK = 1e-9
"""On floor(target · N): 0.29 · 100 is not 29 in floating point."""


@dataclass(frozen=True, slots=True)
class RocCurve:
    """One point a distinct score, from nothing called a member to everything."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    """Scores from here on are called members; the first is +inf."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The largest set of candidates that keeps a false positive rate."""

    tpr: float
    fpr: float
    """Achieved, at most the target."""
    fpr_interval: Interval
    """Clopper–Pearson of the false positives among the negatives."""
    threshold: float
    """+inf where no set keeps it but the empty one."""
    false_positives: int
    negatives: int

    @property
    def accuracy(self) -> float:
        """(TPR + 1 − FPR) / 2: of as many members as others."""
        return (self.tpr + 1.0 - self.fpr) / 2.0


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Probability that a member scores higher than another, ties counting one half.

    Raises:
        ValueError: A score is not a finite number, the lengths differ, or one of the two classes is missing.
    """
    s, y = _checked(scores, labels)
    ranks = _midranks(s)
    n1 = int(y.sum())
    n0 = len(y) - n1
    return float((ranks[y].sum() - n1 * (n1 + 1) / 2.0) / (n1 * n0))


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> RocCurve:
    """Every threshold, collinear points included.

    Raises:
        ValueError: See `roc_auc`.
    """
    s, y = _checked(scores, labels)
    tp, fp, thresholds = _counts(s, y)
    return RocCurve(
        fpr=np.r_[0.0, fp / fp[-1]], tpr=np.r_[0.0, tp / tp[-1]], thresholds=np.r_[np.inf, thresholds]
    )


def pr_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Average precision: the sum over thresholds of precision times the recall gained.

    Raises:
        ValueError: See `roc_auc`.
    """
    s, y = _checked(scores, labels)
    tp, fp, _ = _counts(s, y)
    precision = tp / (tp + fp)
    gained = np.diff(np.r_[0.0, tp]) / tp[-1]
    return float((precision * gained).sum())


def operating_point(
    scores: ArrayLike, labels: ArrayLike, fpr: float, confidence: float = 0.95
) -> OperatingPoint:
    """The largest set with at most floor(fpr · N + 1e-9) false positives among the N negatives.

    Raises:
        ValueError: See `roc_auc`; or `fpr` is not between 0 and 1.
    """
    if not 0.0 <= fpr <= 1.0:
        raise ValueError(f"{fpr=}: expected a rate between 0 and 1, such as 0.01")
    s, y = _checked(scores, labels)
    tp, fp, thresholds = _counts(s, y)
    negatives = int(fp[-1])
    allowed = math.floor(fpr * negatives + _SLACK)
    last = int(np.searchsorted(fp, allowed, side="right")) - 1
    false, true = (int(fp[last]), int(tp[last])) if last >= 0 else (0, 0)
    return OperatingPoint(
        tpr=true / int(tp[-1]),
        fpr=false / negatives,
        fpr_interval=clopper_pearson(false, negatives, confidence),
        threshold=float(thresholds[last]) if last >= 0 else math.inf,
        false_positives=false,
        negatives=negatives,
    )


def tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float) -> float:
    """True positive rate of `operating_point`. With fewer than 1 / fpr negatives it says little: `negatives_needed`.

    Raises:
        ValueError: See `operating_point`.
    """
    return operating_point(scores, labels, fpr).tpr


def accuracy_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float) -> float:
    """(TPR + 1 − achieved FPR) / 2 of `operating_point`.

    Raises:
        ValueError: See `operating_point`.
    """
    return operating_point(scores, labels, fpr).accuracy


def negatives_needed(fpr: float) -> int:
    """Fewest negatives of which one is no more than the rate: 1 / fpr.

    Raises:
        ValueError: `fpr` is not above 0 and at most 1.
    """
    if not 0.0 < fpr <= 1.0:
        raise ValueError(f"{fpr=}: expected a rate above 0, such as 0.01")
    return math.ceil(1.0 / fpr - _SLACK)


def auc_interval(scores: ArrayLike, labels: ArrayLike, confidence: float = 0.95) -> Interval:
    """Interval of the ROC-AUC for independent candidates: DeLong's variance on the logit scale.

    Where the variance is 0 (all members above all others, or the like), the interval is that of the rank sum's most
    extreme outcome: an exact bound on a proportion, with the smaller class as its trials (ours, wide).

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import expit, logit, ndtri

    s, y = _checked(scores, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([s], y)
    value, error = float(auc[0]), math.sqrt(max(0.0, float(covariance[0, 0])))
    smaller = min(int(y.sum()), int((~y).sum()))
    if error == 0.0 or value in (0.0, 1.0):
        events = round(value * smaller)
        return clopper_pearson(events, smaller, confidence)
    half = z * error / (value * (1.0 - value))
    centre = float(logit(value))
    return Interval(float(expit(centre - half)), float(expit(centre + half)))


def auc_comparison(
    first: ArrayLike, second: ArrayLike, labels: ArrayLike, confidence: float = 0.95
) -> tuple[float, Interval, float]:
    """DeLong's paired comparison of two scores of the same independent candidates.

    Returns:
        (AUC of the first minus that of the second, its interval, two-sided p-value; 1 where both always rank alike).

    Raises:
        ValueError: See `roc_auc`; or the confidence is out of range.
    """
    from scipy.special import ndtr, ndtri

    a, y = _checked(first, labels)
    b, _ = _checked(second, labels)
    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    auc, covariance = _delong([a, b], y)
    difference = float(auc[0] - auc[1])
    variance = float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
    error = math.sqrt(max(0.0, variance))
    if error < 1e-12:
        return difference, Interval(difference, difference), 1.0 if difference == 0.0 else 0.0
    p_value = 2.0 * float(ndtr(-abs(difference) / error))
    return difference, Interval(difference - z * error, difference + z * error), p_value


def _delong(scores: list[Floats], labels: Bools) -> tuple[Floats, NDArray[np.float64]]:
    """AUCs and their covariance by midranks (Sun and Xu, 2014), O(n log n)."""
    n1 = int(labels.sum())
    n0 = len(labels) - n1
    v10, v01, auc = np.empty((len(scores), n1)), np.empty((len(scores), n0)), np.empty(len(scores))
    for k, s in enumerate(scores):
        ranks = _midranks(s)
        own1, own0 = _midranks(s[labels]), _midranks(s[~labels])
        v10[k] = (ranks[labels] - own1) / n0
        v01[k] = 1.0 - (ranks[~labels] - own0) / n1
        auc[k] = v10[k].mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = _cov(v10) / n1 + _cov(v01) / n0
    return auc, spread


def _cov(v: NDArray[np.float64]) -> NDArray[np.float64]:
    if v.shape[1] < 2:
        return np.zeros((v.shape[0], v.shape[0]))
    return np.atleast_2d(np.cov(v))


def _midranks(values: Floats) -> Floats:
    """Ranks from 1, ties at their mean."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    starts = np.flatnonzero(first)
    stops = np.r_[starts[1:], len(values)]
    middle = (starts + stops + 1) / 2.0
    ranks = np.empty(len(values))
    ranks[order] = middle[np.cumsum(first) - 1]
    return ranks


def _counts(scores: Floats, labels: Bools) -> tuple[Floats, Floats, Floats]:
    """(members, others, threshold) from each distinct score on, the highest first."""
    order = np.argsort(-scores, kind="stable")
    ordered, hit = scores[order], labels[order]
    last = np.r_[np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1]
    tp = np.cumsum(hit)[last].astype(np.float64)
    return tp, (last + 1) - tp, ordered[last]


def _checked(scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, Bools]:
    s = np.asarray(scores, dtype=np.float64)
    y = np.asarray(labels)
    if s.ndim != 1 or y.ndim != 1 or len(s) != len(y):
        raise ValueError(f"{s.shape} scores, {y.shape} labels: expected one label a score, in one row each")
    if not np.isfinite(s).all():
        raise ValueError(f"{int((~np.isfinite(s)).sum())} scores are no finite numbers")
    if y.dtype != np.bool_ and not np.isin(y, (0, 1)).all():
        raise ValueError("labels other than 0 and 1")
    flags = y.astype(bool)
    if not flags.any() or flags.all():
        raise ValueError("all candidates are of one class: a ranking needs members and others")
    return s, flags
