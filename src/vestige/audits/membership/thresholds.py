"""A decision rule for the scores: γ chosen on some users, and how it does on others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vestige.audits.membership.metrics import Sample
from vestige.audits.membership.results import Threshold
from vestige.stats import roc_curve

__all__ = ["threshold_of"]


def threshold_of(sample: Sample, fold: NDArray[np.int64]) -> Threshold:
    """γ with the highest TPR − FPR on the other folds' users, and the decisions it makes on a fold's own.

    Args:
        sample: Each repeat has γs of its own.
        fold: Of each candidate, by its user.
    """
    folds = np.unique(fold)
    users, member = sample.groups, sample.member

    def none(why: str) -> Threshold:
        return Threshold(gammas=None, accuracy=None, tpr=None, fpr=None, users=users, reason=why)

    if not sample.usable or len(folds) < 2:
        return none(f"{users} user{'' if users == 1 else 's'}: γ needs others to be chosen on")
    if any(member[fold != f].all() or not member[fold != f].any() for f in folds):
        return none("the other users have members alone, or none")
    called = np.zeros(sample.scores.shape, dtype=bool)
    gammas: list[float] = []
    for r, scores in enumerate(sample.by_repeat()):
        for f in folds:
            own = fold == f
            gamma = _youden(scores[~own], member[~own])
            gammas.append(gamma)
            called[own, r] = scores[own] >= gamma
    return Threshold(
        gammas=(min(gammas), max(gammas)),
        accuracy=float((called == member[:, None]).mean()),
        tpr=float(called[member].mean()),
        fpr=float(called[~member].mean()),
        users=users,
    )


def _youden(scores: NDArray[np.float64], member: NDArray[np.bool_]) -> float:
    curve = roc_curve(scores, member)
    best = int(np.argmax(curve.tpr[1:] - curve.fpr[1:])) + 1
    return float(curve.thresholds[best])
