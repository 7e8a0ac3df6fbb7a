"""Metrics of candidates that come in groups, such as users: by group, and resampled by whole groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence
from vestige.stats.ranking import allowed_false_positives, check_ranking, roc_auc

__all__ = [
    "FEWEST_GROUPS",
    "auc_draws",
    "group_aucs",
    "group_values",
    "metric_draws",
    "operating_draws",
    "t_interval",
    "t_p_value",
]

Floats = NDArray[np.float64]

FEWEST_GROUPS = 20
"""Below it groups are not resampled: a t interval over their values stands instead."""


def group_aucs(scores: ArrayLike, labels: ArrayLike, groups: ArrayLike) -> Floats:
    """ROC-AUC within each group, in the order of their sorted names; NaN where a group lacks one of the classes."""
    return group_values(roc_auc, scores, labels, groups)


def group_values(
    metric: Callable[[Floats, NDArray[np.bool_]], float],
    scores: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
) -> Floats:
    """Any metric of a ranking within each group, in the order of their sorted names; NaN where a group lacks one of
    the classes.
    """
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    out = np.full(len(names), np.nan)
    for g in range(len(names)):
        own = index == g
        if y[own].any() and not y[own].all():
            out[g] = metric(s[own], y[own])
    return out


def t_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Student's interval of a mean of independent values.

    Raises:
        ValueError: There are fewer than two, or one is not finite.
    """
    from scipy.special import stdtrit

    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.isfinite(x).all():
        raise ValueError(f"{len(x)} values: a t interval needs at least two, all finite")
    half = float(stdtrit(len(x) - 1, (1.0 + check_confidence(confidence)) / 2.0)) * float(x.std(ddof=1))
    return Interval(float(x.mean()) - half / math.sqrt(len(x)), float(x.mean()) + half / math.sqrt(len(x)))


def t_p_value(values: ArrayLike) -> float:
    """Two-sided p of Student's test that the mean of independent values is 0; never 0 itself.

    Raises:
        ValueError: There are fewer than two, one is not finite, or all are alike.
    """
    from scipy.special import stdtr

    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.isfinite(x).all() or np.ptp(x) == 0.0:
        raise ValueError(f"{len(x)} values: a t test needs at least two that differ, all finite")
    t = abs(float(x.mean())) / (float(x.std(ddof=1)) / math.sqrt(len(x)))
    return max(2.0 * float(stdtr(len(x) - 1, -t)), float(np.finfo(np.float64).tiny))


def auc_draws(
    scores: Sequence[ArrayLike],
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Floats:
    """Pooled ROC-AUCs in resamples of whole groups, the same draws for every score.

    A resample draws as many groups as there are, with replacement; pairs of a member and another are counted as often
    as both their groups were drawn, so nothing is sorted again.

    Args:
        scores: One or more scores of the same candidates.
        labels: True for members.
        groups: A label for each candidate.
        n_resamples: Draws.
        seed: Of the draws.

    Returns:
        Shape (n_resamples, len(scores)); NaN in a draw without one of the classes.

    Raises:
        ValueError: See `roc_auc`.
    """
    columns, y, index, count = _design(scores, labels, groups)
    positives = np.bincount(index[y], minlength=count).astype(np.float64)
    negatives = np.bincount(index[~y], minlength=count).astype(np.float64)
    picks = _picks(count, n_resamples, seed)
    weights = np.zeros((n_resamples, count))
    np.add.at(weights, (np.arange(n_resamples)[:, None], picks), 1.0)
    pairs = (weights @ positives) * (weights @ negatives)
    out = np.empty((n_resamples, len(scores)))
    for k, values in enumerate(columns):
        wins = _wins(values, y, index, count)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, k] = np.einsum("bu,uv,bv->b", weights, wins, weights, optimize=True) / pairs
    return out


def metric_draws(
    metric: Callable[[Floats, NDArray[np.bool_]], float],
    scores: Sequence[ArrayLike],
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Floats:
    """Any metric of a ranking in resamples of whole groups, the same draws as `auc_draws` for every score.

    A paired bootstrap of two attacks is the difference of their columns: both are computed on the same users in every
    draw. It sorts each resample; `auc_draws` is much faster for the ROC-AUC.

    Args:
        metric: Of scores and labels, such as `pr_auc`.
        scores: One or more scores of the same candidates.
        labels: True for members.
        groups: A label for each candidate.
        n_resamples: Draws.
        seed: Of the draws.

    Returns:
        Shape (n_resamples, len(scores)); NaN in a draw without one of the classes.

    Raises:
        ValueError: See `roc_auc`.
    """
    columns, y, index, count = _design(scores, labels, groups)
    rows = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index, minlength=count))[:-1])
    out = np.full((n_resamples, len(columns)), np.nan)
    for draw, chosen in enumerate(_picks(count, n_resamples, seed)):
        drawn = np.concatenate([rows[g] for g in chosen])
        own = y[drawn]
        if own.any() and not own.all():
            out[draw] = [metric(values[drawn], own) for values in columns]
    return out


def operating_draws(
    scores: Sequence[ArrayLike],
    labels: ArrayLike,
    groups: ArrayLike,
    fprs: Sequence[float],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Floats:
    """Average precision and TPRs at false positive rates in the resamples of `metric_draws`, of which they are the
    values; each score is sorted once, and a resample only counts candidates as often as their groups were drawn.

    Args:
        scores: One or more scores of the same candidates.
        labels: True for members.
        groups: A label for each candidate.
        fprs: False positive rates, as of `operating_point`.
        n_resamples: Draws.
        seed: Of the draws.

    Returns:
        Shape (n_resamples, len(scores), 1 + len(fprs)), the average precision first; NaN in a draw without one of the
        classes.

    Raises:
        ValueError: See `roc_auc`.
    """
    columns, y, index, count = _design(scores, labels, groups)
    picks = _picks(count, n_resamples, seed)
    out = np.full((n_resamples, len(columns), 1 + len(fprs)), np.nan)
    for k, values in enumerate(columns):
        order = np.argsort(values)[::-1]
        ordered, of, hit = values[order], index[order], y[order]
        last = np.r_[np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1]
        for draw, chosen in enumerate(picks):
            times = np.bincount(chosen, minlength=count)[of]
            tp = np.cumsum(times * hit)[last]
            fp = np.cumsum(times)[last] - tp
            if tp[-1] == 0 or fp[-1] == 0:
                continue
            precision = tp / np.maximum(tp + fp, 1)
            out[draw, k, 0] = (precision * np.diff(tp, prepend=0)).sum() / tp[-1]
            for j, rate in enumerate(fprs):
                place = int(np.searchsorted(fp, allowed_false_positives(rate, int(fp[-1])), side="right")) - 1
                out[draw, k, 1 + j] = tp[place] / tp[-1] if place >= 0 else 0.0
    return out


def _design(
    scores: Sequence[ArrayLike], labels: ArrayLike, groups: ArrayLike
) -> tuple[list[Floats], NDArray[np.bool_], NDArray[np.intp], int]:
    """(scores, labels, number of each candidate's group in the order of their sorted names, how many groups)."""
    checked = [check_ranking(values, labels) for values in scores]
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    if not checked or len(index) != len(checked[0][1]):
        raise ValueError(
            f"{len(checked)} scores, {len(index)} groups: expected a score, and a group a candidate"
        )
    return [values for values, _ in checked], checked[0][1], index, len(names)


def _picks(count: int, n_resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, count, size=(n_resamples, count))


def _wins(scores: Floats, labels: NDArray[np.bool_], index: NDArray[np.intp], count: int) -> Floats:
    """wins[u, v]: pairs of a member of u above another candidate of v, ties counting one half."""
    members, of = scores[labels], index[labels]
    wins = np.zeros((count, count))
    for v in range(count):
        others = np.sort(scores[~labels & (index == v)])
        if len(others):
            below = np.searchsorted(others, members, side="left")
            upto = np.searchsorted(others, members, side="right")
            wins[:, v] = np.bincount(of, weights=(below + upto) / 2.0, minlength=count)
    return wins
