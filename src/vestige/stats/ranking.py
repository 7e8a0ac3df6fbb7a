"""How well a score tells members from others: ROC-AUC, average precision, true positives at few false positives.

Labels are True (1) for members, the positives; higher scores speak for membership. Everything is computed on all
thresholds, without interpolation, and equal scores are one threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, clopper_pearson

__all__ = [
    "OperatingPoint",
    "PrCurve",
    "RocCurve",
    "accuracy_at_fpr",
    "allowed_false_positives",
    "check_ranking",
    "midranks",
    "negatives_needed",
    "operating_point",
    "pr_auc",
    "pr_curve",
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

    def corners(self) -> RocCurve:
        """The same line without the points within its straight parts: to draw it, not to read a TPR from it."""
        positives, negatives = np.diff(self.tpr), np.diff(self.fpr)
        straight = np.isclose(
            positives[1:] * negatives[:-1], positives[:-1] * negatives[1:], rtol=1e-9, atol=0.0
        )
        kept = np.r_[True, ~straight, True]
        return RocCurve(self.fpr[kept], self.tpr[kept], self.thresholds[kept])


@dataclass(frozen=True, slots=True)
class PrCurve:
    """One point a distinct score, the highest first; between two points nothing is known, so draw steps."""

    recall: Floats
    precision: Floats
    thresholds: Floats
    """Scores from here on are called members."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The largest set of candidates that keeps a false positive rate."""

    target: float
    """False positive rate asked for."""
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

    @property
    def refused(self) -> str:
        """Why the TPR is not to be reported: fewer than 1 / target negatives; empty where there are enough."""
        if self.target > 0.0 and self.negatives >= negatives_needed(self.target):
            return ""
        needs = (
            f"needs {negatives_needed(self.target)}"
            if self.target > 0.0
            else "cannot be told from any number"
        )
        return f"{self.negatives} negatives: a false positive rate of {self.target:g} {needs}"


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Probability that a member scores higher than another, ties counting one half.

    Raises:
        ValueError: A score is not a finite number, the lengths differ, or one of the two classes is missing.
    """
    s, y = check_ranking(scores, labels)
    ranks = midranks(s)
    n1 = int(y.sum())
    n0 = len(y) - n1
    return float((ranks[y].sum() - n1 * (n1 + 1) / 2.0) / (n1 * n0))


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> RocCurve:
    """Every threshold, collinear points included.

    Raises:
        ValueError: See `roc_auc`.
    """
    s, y = check_ranking(scores, labels)
    tp, fp, thresholds = _counts(s, y)
    return RocCurve(
        fpr=np.r_[0.0, fp / fp[-1]], tpr=np.r_[0.0, tp / tp[-1]], thresholds=np.r_[np.inf, thresholds]
    )


def pr_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Average precision: the sum over thresholds of precision times the recall gained.

    Raises:
        ValueError: See `roc_auc`.
    """
    s, y = check_ranking(scores, labels)
    tp, fp, _ = _counts(s, y)
    gained = np.diff(tp, prepend=0.0) / tp[-1]
    return float((tp / (tp + fp) * gained).sum())


def pr_curve(scores: ArrayLike, labels: ArrayLike) -> PrCurve:
    """Precision and recall at every threshold.

    Raises:
        ValueError: See `roc_auc`.
    """
    tp, fp, thresholds = _counts(*check_ranking(scores, labels))
    return PrCurve(recall=tp / tp[-1], precision=tp / (tp + fp), thresholds=thresholds)


def operating_point(
    scores: ArrayLike, labels: ArrayLike, fpr: float, confidence: float = 0.95
) -> OperatingPoint:
    """The largest set with at most floor(fpr · N + 1e-9) false positives among the N negatives.

    A group of equal scores is taken whole or not at all: where more others than allowed share the top score, the TPR is
    0, however many members are among them.

    Raises:
        ValueError: See `roc_auc`; or `fpr` is not between 0 and 1.
    """
    if not 0.0 <= fpr <= 1.0:
        raise ValueError(f"{fpr=}: expected a rate between 0 and 1, such as 0.01")
    s, y = check_ranking(scores, labels)
    tp, fp, thresholds = _counts(s, y)
    negatives = int(fp[-1])
    allowed = allowed_false_positives(fpr, negatives)
    last = int(np.searchsorted(fp, allowed, side="right")) - 1
    false, true = (int(fp[last]), int(tp[last])) if last >= 0 else (0, 0)
    return OperatingPoint(
        target=float(fpr),
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


def allowed_false_positives(fpr: float, negatives: int) -> int:
    """Most false positives among so many negatives that keep the rate: floor(fpr · N + 1e-9)."""
    return math.floor(fpr * negatives + _SLACK)


def negatives_needed(fpr: float) -> int:
    """Fewest negatives of which one is no more than the rate: 1 / fpr.

    Raises:
        ValueError: `fpr` is not above 0 and at most 1.
    """
    if not 0.0 < fpr <= 1.0:
        raise ValueError(f"{fpr=}: expected a rate above 0, such as 0.01")
    return math.ceil(1.0 / fpr - _SLACK)


def midranks(values: Floats) -> Floats:
    """Ranks from 1, ties at their mean."""
    order = np.argsort(values)
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
    order = np.argsort(scores)[::-1]
    ordered, hit = scores[order], labels[order]
    last = np.r_[np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1]
    tp = np.cumsum(hit)[last].astype(np.float64)
    return tp, (last + 1) - tp, ordered[last]


def check_ranking(scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, Bools]:
    """Scores and labels as arrays, if they are some.

    Raises:
        ValueError: See `roc_auc`.
    """
    s = np.asarray(scores, dtype=np.float64)
    y = np.asarray(labels)
    if s.ndim != 1 or y.ndim != 1 or len(s) != len(y):
        raise ValueError(f"{s.shape} scores, {y.shape} labels: expected one label a score, in one row each")
    if not np.isfinite(s).all():
        bad = int((~np.isfinite(s)).sum())
        raise ValueError(
            f"{bad} of {len(s)} scores are no finite numbers: leave those candidates out, and count them"
        )
    if y.dtype != np.bool_ and not np.isin(y, (0, 1)).all():
        strange = y[~np.isin(y, (0, 1))].tolist()
        raise ValueError(
            f"label {strange[0]!r}: expected 1 (or True) for members and 0 (or False) for others"
        )
    flags = y.astype(bool)
    if not flags.any() or flags.all():
        have = "no candidates" if len(s) == 0 else f"all {len(s)} candidates are of one class"
        raise ValueError(f"{have}: a ranking needs members and others")
    return s, flags
