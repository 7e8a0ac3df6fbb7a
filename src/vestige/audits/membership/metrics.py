"""Metrics of a score with their intervals: over users where there are enough, labelled where there are not.

Source: DESIGN, Formulas: Membership. Every metric is the mean over the repeats, its sd beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vestige.audits.membership.results import AtFpr, Estimate, Threshold
from vestige.stats import auc_comparison, auc_interval, negatives_needed, operating_point, pr_auc, roc_auc
from vestige.stats.grouped import FEWEST_GROUPS, auc_draws, group_aucs, t_interval
from vestige.stats.resampling import percentile_interval

__all__ = ["Sample", "compared", "threshold_of"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """Candidates that have a score in every repeat."""

    scores: Floats
    """Shape (n, repeats)."""
    member: Bools
    users: NDArray[np.str_]
    confidence: float
    seed: int

    @property
    def usable(self) -> bool:
        """Both classes are there."""
        return bool(self.member.any() and not self.member.all())

    @property
    def groups(self) -> int:
        """Users."""
        return len(np.unique(self.users))

    def by_repeat(self) -> list[Floats]:
        """One column a repeat."""
        return [self.scores[:, r] for r in range(self.scores.shape[1])]

    def auc(self) -> Estimate:
        """Pooled ROC-AUC."""
        if not self.usable:
            return Estimate(value=None, reason="members or others are missing")
        values = [roc_auc(s, self.member) for s in self.by_repeat()]
        if self.groups >= FEWEST_GROUPS:
            draws = auc_draws(self.by_repeat(), self.member, self.users, seed=self.seed).mean(axis=1)
            low, high = percentile_interval(draws[np.isfinite(draws)], self.confidence)
            return _estimate(values, (low, high), "bootstrap over users", self.groups)
        low, high = auc_interval(self.scores[:, 0], self.member, self.confidence)
        few = f"{self.groups} users are too few to resample: candidates are taken as independent"
        return _estimate(values, (low, high), "delong", len(self.member), few)

    def auc_users(self) -> Estimate:
        """Mean of the users' own ROC-AUCs, with a t interval over users."""
        each = np.array([group_aucs(s, self.member, self.users) for s in self.by_repeat()])
        whole = each[:, np.isfinite(each).all(axis=0)]
        if whole.shape[1] == 0:
            return Estimate(value=None, reason="no user has both members and others")
        values = [float(v) for v in whole.mean(axis=1)]
        if whole.shape[1] < 2:
            return _estimate(values, None, "", 1, "one user: no interval over users")
        low, high = t_interval(whole.mean(axis=0), self.confidence)
        return _estimate(values, (max(0.0, low), min(1.0, high)), "t over users", whole.shape[1])

    def pr_auc(self) -> Estimate:
        """Average precision."""
        if not self.usable:
            return Estimate(value=None, reason="members or others are missing")
        return _estimate([pr_auc(s, self.member) for s in self.by_repeat()], None, "", len(self.member))

    def at_fpr(self, target: float) -> AtFpr:
        """The true positive rate at a false positive rate, or why it is refused."""
        negatives, needed = int((~self.member).sum()), negatives_needed(target)
        if not self.usable or negatives < needed:
            return AtFpr(
                target=target,
                tpr=None,
                refused=f"{negatives} non-members; a rate of {target:g} needs {needed}",
            )
        points = [operating_point(s, self.member, target, self.confidence) for s in self.by_repeat()]
        worst = max(points, key=lambda p: p.fpr)
        rates = [p.tpr for p in points]
        return AtFpr(
            target=target,
            tpr=float(np.mean(rates)),
            sd=_sd(rates),
            achieved=worst.fpr,
            exact=(worst.fpr_interval.low, worst.fpr_interval.high),
            threshold=worst.threshold if np.isfinite(worst.threshold) else None,
            accuracy=float(np.mean([p.accuracy for p in points])),
        )


def compared(first: Sample, second: Sample) -> tuple[Estimate, float | None]:
    """AUC of the first minus the second, on the same candidates; with DeLong's p where users are too few."""
    if not first.usable:
        return Estimate(value=None, reason="members or others are missing"), None
    pairs = list(zip(first.by_repeat(), second.by_repeat(), strict=True))
    values = [roc_auc(a, first.member) - roc_auc(b, first.member) for a, b in pairs]
    if first.groups >= FEWEST_GROUPS:
        columns = [s for pair in pairs for s in pair]
        draws = auc_draws(columns, first.member, first.users, seed=first.seed)
        differences = (draws[:, 0::2] - draws[:, 1::2]).mean(axis=1)
        low, high = percentile_interval(differences[np.isfinite(differences)], first.confidence)
        return _estimate(values, (low, high), "bootstrap over users", first.groups), None
    a, b = pairs[0]
    _, interval, p_value = auc_comparison(a, b, first.member, first.confidence)
    few = f"{first.groups} users are too few to resample: candidates are taken as independent"
    return _estimate(values, (interval.low, interval.high), "delong", len(first.member), few), p_value


def threshold_of(sample: Sample, fold: NDArray[np.int64]) -> Threshold:
    """γ with the highest TPR − FPR on the other folds' users, and the decisions it makes on a fold's own.

    Args:
        sample: Its first repeat is decided about.
        fold: Of each candidate, by its user.
    """
    folds = np.unique(fold)
    users = sample.groups
    if not sample.usable or len(folds) < 2:
        why = f"{users} user{'' if users == 1 else 's'}: γ needs others to be chosen on"
        return Threshold(gammas=None, accuracy=None, tpr=None, fpr=None, users=users, reason=why)
    scores, member = sample.scores[:, 0], sample.member
    called = np.zeros(len(scores), dtype=bool)
    gammas: list[float] = []
    for f in folds:
        others = fold != f
        if member[others].all() or not member[others].any():
            why = "the other users have members alone, or none"
            return Threshold(gammas=None, accuracy=None, tpr=None, fpr=None, users=users, reason=why)
        gamma = _youden(scores[others], member[others])
        gammas.append(gamma)
        called[fold == f] = scores[fold == f] >= gamma
    return Threshold(
        gammas=(min(gammas), max(gammas)),
        accuracy=float((called == member).mean()),
        tpr=float(called[member].mean()),
        fpr=float(called[~member].mean()),
        users=users,
    )


def _youden(scores: Floats, member: Bools) -> float:
    from vestige.stats import roc_curve

    curve = roc_curve(scores, member)
    best = int(np.argmax(curve.tpr[1:] - curve.fpr[1:])) + 1
    return float(curve.thresholds[best])


def _sd(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _estimate(
    values: Sequence[float], interval: tuple[float, float] | None, method: str, n: int, reason: str = ""
) -> Estimate:
    return Estimate(
        value=float(np.mean(values)), interval=interval, method=method, sd=_sd(values), n=n, reason=reason
    )
