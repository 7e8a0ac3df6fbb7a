"""Metrics of a score with their intervals: over users where there are enough, labelled where there are not.

Source: DESIGN, Formulas: Membership. Every metric is the mean over the repeats, its sd beside it, and an interval is of
that mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vestige.audits.membership.results import AtFpr, Estimate
from vestige.stats import (
    OperatingPoint,
    auc_comparison,
    auc_interval,
    clopper_pearson,
    negatives_needed,
    operating_point,
    pr_auc,
    roc_auc,
    tpr_at_fpr,
)
from vestige.stats.grouped import (
    FEWEST_GROUPS,
    auc_draws,
    group_aucs,
    group_values,
    operating_draws,
    t_interval,
    t_p_value,
)
from vestige.stats.resampling import percentile_interval

__all__ = ["Sample", "compared"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_ALIKE = 1e-12
"""A spread below it is rounding."""


@dataclass(frozen=True)
class _Bounds:
    """An interval and what it is of."""

    interval: tuple[float, float] | None
    method: str = ""
    n: int = 0
    reason: str = ""
    centre: float | None = None


@dataclass(frozen=True)
class Sample:
    """Candidates that have a score in every repeat."""

    scores: Floats
    """Shape (n, repeats)."""
    member: Bools
    users: NDArray[np.str_]
    confidence: float
    seed: int
    fprs: tuple[float, ...] = ()
    """False positive rates at which `at_fpr` may be asked for."""

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
            draws = auc_draws(self.by_repeat(), self.member, self.users, seed=self.seed)
            found = _resampled(draws, self.confidence, self.groups)
        else:
            found = _by_users(self._own_aucs(), self.groups, self.confidence, (0.0, 1.0))
        return _estimate(values, found if found.interval is not None else self._delong(found.reason))

    def auc_users(self) -> Estimate:
        """Mean of the users' own ROC-AUCs, with a t interval over users."""
        each = self._own_aucs()
        whole = each[:, np.isfinite(each).all(axis=0)]
        users = whole.shape[1]
        if users == 0:
            return Estimate(value=None, reason="no user has both members and others")
        left = f"{each.shape[1] - users} users with one class alone are left out"
        reason = "" if users == each.shape[1] else left
        found = _t(whole.mean(axis=0), self.confidence, (0.0, 1.0))
        if found.interval is None:
            return _estimate([float(v) for v in whole.mean(axis=1)], found)
        return _estimate([float(v) for v in whole.mean(axis=1)], replace(found, centre=None, reason=reason))

    def pr_auc(self) -> Estimate:
        """Average precision."""
        if not self.usable:
            return Estimate(value=None, reason="members or others are missing")
        values = [pr_auc(s, self.member) for s in self.by_repeat()]
        if self.groups >= FEWEST_GROUPS:
            found = _resampled(self._draws[:, :, 0], self.confidence, self.groups)
        else:
            own = [group_values(pr_auc, s, self.member, self.users) for s in self.by_repeat()]
            found = _by_users(np.array(own), self.groups, self.confidence, (0.0, 1.0))
        return _estimate(values, found)

    def at_fpr(self, target: float) -> AtFpr:
        """The true positive rate at a false positive rate, or why it is refused.

        Args:
            target: One of `fprs`.
        """
        if not self.usable:
            return AtFpr(target=target, tpr=None, refused="members or others are missing")
        points = [operating_point(s, self.member, target, self.confidence) for s in self.by_repeat()]
        if points[0].refused:
            negatives, needed = points[0].negatives, negatives_needed(target)
            return AtFpr(
                target=target,
                tpr=None,
                refused=f"{negatives} non-members; a rate of {target:g} needs {needed}",
            )
        worst = max(points, key=lambda p: p.fpr)
        rates = [p.tpr for p in points]
        found = self._around_tpr(points)
        return AtFpr(
            target=target,
            tpr=float(np.mean(rates)),
            sd=_sd(rates),
            interval=found.interval,
            method=found.method,
            centre=found.centre,
            n=found.n,
            reason=found.reason,
            achieved=worst.fpr,
            exact=(worst.fpr_interval.low, worst.fpr_interval.high),
            threshold=worst.threshold if np.isfinite(worst.threshold) else None,
            accuracy=float(np.mean([p.accuracy for p in points])),
        )

    def tpr(self, target: float) -> float | None:
        """The value of `at_fpr` alone, at any rate."""
        if not self.usable or int((~self.member).sum()) < negatives_needed(target):
            return None
        return float(np.mean([tpr_at_fpr(s, self.member, target) for s in self.by_repeat()]))

    # ------------------------------------------------------------------------------------ intervals

    @cached_property
    def _draws(self) -> Floats:
        """Shape (draws, repeats, 1 + rates)."""
        return operating_draws(self.by_repeat(), self.member, self.users, self.fprs, seed=self.seed)

    def _own_aucs(self) -> Floats:
        """Shape (repeats, users)."""
        return np.array([group_aucs(s, self.member, self.users) for s in self.by_repeat()])

    def _delong(self, why: str) -> _Bounds:
        low, high = auc_interval(self.scores, self.member, self.confidence)
        return _Bounds((low, high), "delong", len(self.member), _independent(why))

    def _around_tpr(self, points: Sequence[OperatingPoint]) -> _Bounds:
        if self.groups >= FEWEST_GROUPS:
            place = 1 + self.fprs.index(points[0].target)
            found = _resampled(self._draws[:, :, place], self.confidence, self.groups)
        else:
            names, index = np.unique(self.users[self.member], return_inverse=True)
            members = np.bincount(index, minlength=len(names))
            hits = [
                np.bincount(index, weights=s[self.member] >= p.threshold, minlength=len(names))
                for s, p in zip(self.by_repeat(), points, strict=True)
            ]
            missing = np.full((len(hits), self.groups - len(names)), np.nan)
            own = np.concatenate([np.array(hits) / members, missing], axis=1)
            found = _by_users(own, self.groups, self.confidence, (0.0, 1.0))
        if found.interval is not None:
            return found
        n = int(self.member.sum())
        low, high = clopper_pearson(round(float(np.mean([p.tpr for p in points])) * n), n, self.confidence)
        return _Bounds((low, high), "exact", n, _independent(found.reason))


def compared(first: Sample, second: Sample) -> tuple[Estimate, float | None]:
    """AUC of the first minus the second, on the same candidates, with p unless it is a bootstrap."""
    if not first.usable:
        return Estimate(value=None, reason="members or others are missing"), None
    pairs = list(zip(first.by_repeat(), second.by_repeat(), strict=True))
    values = [roc_auc(a, first.member) - roc_auc(b, first.member) for a, b in pairs]
    p_value: float | None = None
    if first.groups >= FEWEST_GROUPS:
        columns = [s for pair in pairs for s in pair]
        draws = auc_draws(columns, first.member, first.users, seed=first.seed)
        found = _resampled(draws[:, 0::2] - draws[:, 1::2], first.confidence, first.groups)
    else:
        own = np.array(
            [
                group_aucs(a, first.member, first.users) - group_aucs(b, first.member, first.users)
                for a, b in pairs
            ]
        )
        found = _by_users(own, first.groups, first.confidence, (-1.0, 1.0))
        if found.interval is not None:
            p_value = t_p_value(own.mean(axis=0))
    if found.interval is None:
        _, interval, p_value = auc_comparison(first.scores, second.scores, first.member, first.confidence)
        found = _Bounds(
            (interval.low, interval.high), "delong", len(first.member), _independent(found.reason)
        )
    return _estimate(values, found), p_value


def _resampled(draws: Floats, confidence: float, users: int) -> _Bounds:
    """Of draws with a column a repeat: percentiles of their mean."""
    means = draws.mean(axis=1)
    means = means[np.isfinite(means)]
    if not len(means):
        return _Bounds(None, reason="no draw of users has both members and others")
    low, high = percentile_interval(means, confidence)
    if high - low < _ALIKE:
        return _Bounds(None, reason="every draw of users gives the same value")
    return _Bounds((low, high), "bootstrap over users", users)


def _by_users(each: Floats, users: int, confidence: float, ends: tuple[float, float]) -> _Bounds:
    """Of values with a row a repeat and a column a user, of whom there are too few to resample."""
    few = f"{users} user{'s are' if users > 1 else ' is'} too few to resample"
    if not np.isfinite(each).all():
        return _Bounds(None, reason=f"{few}, and some have one class alone")
    found = _t(each.mean(axis=0), confidence, ends)
    return replace(found, reason=f"{few}, and {found.reason}" if found.reason else few)


def _t(values: Floats, confidence: float, ends: tuple[float, float]) -> _Bounds:
    """Student's interval, none where the values do not differ: it would have no width."""
    if len(values) < 2:
        return _Bounds(None, reason="one user has no interval over users")
    if np.ptp(values) < _ALIKE:
        return _Bounds(None, reason="the users' own values are all alike")
    low, high = t_interval(values, confidence)
    interval = (max(ends[0], low), min(ends[1], high))
    return _Bounds(interval, "t over users", len(values), centre=float(values.mean()))


def _independent(why: str) -> str:
    return f"{why}: candidates are taken as independent"


def _sd(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _estimate(values: Sequence[float], found: _Bounds) -> Estimate:
    return Estimate(
        value=float(np.mean(values)),
        interval=found.interval,
        method=found.method,
        centre=found.centre,
        sd=_sd(values),
        n=found.n,
        reason=found.reason,
    )
