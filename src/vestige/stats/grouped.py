"""ROC-AUC of candidates that come in groups, such as users: by group, and resampled by whole groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence
from vestige.stats.ranking import roc_auc

__all__ = ["FEWEST_GROUPS", "auc_draws", "group_aucs", "t_interval"]

Floats = NDArray[np.float64]

FEWEST_GROUPS = 20
"""Below it groups are not resampled: a t interval over their values stands instead."""


def group_aucs(scores: ArrayLike, labels: ArrayLike, groups: ArrayLike) -> Floats:
    """ROC-AUC within each group, in the order of their sorted names; NaN where a group lacks one of the classes."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    out = np.full(len(names), np.nan)
    for g in range(len(names)):
        own = index == g
        if y[own].any() and not y[own].all():
            out[g] = roc_auc(s[own], y[own])
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
    """
    y = np.asarray(labels, dtype=bool)
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    count = len(names)
    positives = np.bincount(index[y], minlength=count).astype(np.float64)
    negatives = np.bincount(index[~y], minlength=count).astype(np.float64)
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, count, size=(n_resamples, count))
    weights = np.zeros((n_resamples, count))
    np.add.at(weights, (np.arange(n_resamples)[:, None], picks), 1.0)
    pairs = (weights @ positives) * (weights @ negatives)
    out = np.empty((n_resamples, len(scores)))
    for k, values in enumerate(scores):
        wins = _wins(np.asarray(values, dtype=np.float64), y, index, count)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, k] = np.einsum("bu,uv,bv->b", weights, wins, weights, optimize=True) / pairs
    return out


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
