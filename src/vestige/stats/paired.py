"""Whether paired values differ by less than a margin: the test that a behavioural residual stands or falls by.

The question is turned round from the usual one: the hypothesis to be rejected is that the difference is as large
as the margin (two one-sided tests; Lakens, 2017). Too few pairs, or too much scatter, therefore never pass.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval
from vestige.stats.tango import score_statistic, tango_limits

__all__ = ["MIN_CLUSTERS", "Equivalence", "equivalence", "exact_at_margin"]

MIN_CLUSTERS = 30
"""Fewest clusters whose means are tested; a t test of fewer, of unknown shape, decides nothing."""

_SMALLEST = float(np.finfo(np.float64).tiny)
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What the pairs say of a difference and a margin.

    `equivalent` and `outside` are both False where the interval is too wide to tell, and where the pairs are not
    assessable.
    """

    estimate: float
    """Mean of a - b over the pairs; over the clusters' means where clusters were given."""
    interval: Interval
    """Of the difference, with confidence 1 - 2 alpha."""
    p_value: float
    """Largest of the one-sided p-values and, with Tango, of `exact_at_margin`; in (0, 1], and 1 where the pairs are
    not assessable."""
    equivalent: bool
    """The interval lies inside the open (-margin, margin); with Tango `exact_at_margin` is below alpha as well."""
    outside: bool
    """The interval lies wholly outside the closed [-margin, margin]."""
    method: Literal["tango", "t", "bounded"]
    """`tango`; `t`, two one-sided paired t tests; `bounded`, where t has no variance to go by."""
    n: int
    """What was counted as independent: pairs, or clusters of them."""
    margin: float
    alpha: float
    """Level of each one-sided test."""
    reason: str = ""
    """Why nothing can be concluded; empty where the pairs are assessable."""

    @property
    def assessable(self) -> bool:
        """Whether the pairs meet what the test needs; a wide interval is assessable all the same."""
        return not self.reason


def equivalence(
    a: ArrayLike,
    b: ArrayLike,
    *,
    margin: float,
    alpha: float = 0.05,
    method: Literal["auto", "tango", "t"] = "auto",
    clusters: Iterable[Hashable] | None = None,
) -> Equivalence:
    """Test whether the mean of a - b lies within ±margin, from pairs (a[i], b[i]).

    `auto` takes Tango's score interval for independent pairs of yes/no values (0 and 1), and two one-sided paired t
    tests for all others. With Tango the exact test of `exact_at_margin` has to agree, which keeps the size of the
    test where the approximation behind the interval does not. Pairs in clusters that are not all of one pair are
    tested by their clusters' means, with t, and need `MIN_CLUSTERS` of them.

    Where all differences are one and the same number d, t has no variance to go by. If all values lie in [0, 1],
    the difference is then bounded as the rate of an event never seen is: the most that its mean can be is
    1 - (1 - d) alpha^(1/n), exact for any distribution on [-1, 1] (d = 0, n = 60, alpha = 0.05: ±0.0487). On
    any other scale the pairs are not assessable.

    A t interval is too narrow where nearly all differences are equal and a few are not; it is the pairs' number, not
    this function, that guards against it.

    Args:
        a: One finite number a pair, such as the action rate after the removal.
        b: The other number of each pair, such as the action rate of the twin that never saw it.
        margin: Largest difference that counts as none, in the values' units; below 1 for Tango.
        alpha: Level of each one-sided test, below 0.5; the interval's confidence is 1 - 2 alpha.
        method: `auto`, or what to use whatever the values are.
        clusters: A label for each pair, such as the conversation it belongs to.

    Raises:
        ValueError: There is no pair, the lengths differ, a value is not a finite number, the margin or alpha is out
            of range, or `tango` is asked for values or clusters that it does not fit.
    """
    first, second = _values("a", a), _values("b", b)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values of a, {len(second)} of b: each pair needs both")
    if len(first) == 0:
        raise ValueError("no pairs: a difference needs at least one")
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"{alpha=}: expected a level between 0 and 0.5, such as 0.05")
    if not (margin > 0.0 and math.isfinite(margin)):
        raise ValueError(f"{margin=}: expected a number above 0, such as 0.1")
    if method not in ("auto", "tango", "t"):
        raise ValueError(f"{method=}: expected 'auto', 'tango' or 't'")
    both = np.concatenate([first, second])
    binary = bool(np.isin(both, (0.0, 1.0)).all())
    groups = None if clusters is None else _groups(clusters, len(first))
    if groups is not None and len(set(groups)) == len(groups):
        groups = None
    if method == "tango" and not binary:
        raise ValueError("method='tango' takes 0 and 1 alone; method='t' takes other values")
    if method == "tango" and groups is not None:
        raise ValueError("method='tango' takes independent pairs; pairs in clusters are tested by method='t'")
    if method != "t" and binary and groups is None:
        return _by_tango(first, second, margin, alpha)
    differences = first - second if groups is None else _cluster_means(first - second, groups)
    unit = "pair" if groups is None else "cluster"
    return _by_t(differences, _Scale.of(both), margin, alpha, unit)


def exact_at_margin(net: ArrayLike, n: int, margin: float) -> NDArray[np.float64]:
    """Probability of a net difference of at most |`net`| pairs where the true one is the margin, in the worst corner.

    The corner is the one where no pair disagrees against the margin's direction: the net difference is then
    binomial(n, margin), and exactly there Tango's test finds most equivalences that are not there (0.0718 instead of
    0.05 at n = 25, margin 0.1). With no discordant pair it is (1 - margin)^n, the bound of an event never seen.

    Args:
        net: n10 - n01, of one table or of many.
        n: Pairs.
        margin: In (0, 1).
    """
    from scipy.special import bdtr

    return bdtr(np.abs(np.asarray(net, dtype=np.float64)), n, margin)


@dataclass(frozen=True, slots=True)
class _Scale:
    """What the values themselves tell of their scale."""

    rates: bool
    """All values lie in [0, 1], so that no difference can leave [-1, 1]."""
    rounding: float
    """Differences nearer to one another than this are one number."""

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> _Scale:
        rates = bool(((values >= 0.0) & (values <= 1.0)).all())
        return cls(rates, _ROUNDING * float(np.abs(values).max()))

    @property
    def whole(self) -> Interval:
        return Interval(-1.0, 1.0) if self.rates else Interval(-math.inf, math.inf)


def _by_tango(a: NDArray[np.float64], b: NDArray[np.float64], margin: float, alpha: float) -> Equivalence:
    from scipy.special import ndtr

    if margin >= 1.0:
        raise ValueError(f"{margin=}: expected less than 1, the largest difference of two rates")
    n = len(a)
    n10, n01 = np.array([np.sum(a > b)], dtype=np.float64), np.array([np.sum(a < b)], dtype=np.float64)
    low, high = tango_limits(n10, n01, n, 1.0 - 2.0 * alpha)
    above = ndtr(-score_statistic(n10, n01, n, -margin)[0])
    below = ndtr(score_statistic(n10, n01, n, margin)[0])
    interval = Interval(float(low[0]), float(high[0]))
    net = float(n10[0] - n01[0])
    exact = float(exact_at_margin(net, n, margin))
    p_value = max(above, below, exact)
    return _conclude(net / n, interval, p_value, "tango", n, margin, alpha, agreed=exact < alpha)


def _by_t(
    differences: NDArray[np.float64], scale: _Scale, margin: float, alpha: float, unit: str
) -> Equivalence:
    n = len(differences)
    estimate = float(differences.mean())
    method: Literal["t", "bounded"] = "t"
    reason = ""
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if error > 0.0 and float(np.ptp(differences)) > scale.rounding:
        interval, p_value = _t_tests(estimate, error, n, margin, alpha)
    elif scale.rates:
        interval, p_value = _bounded(estimate, n, margin, alpha)
        method = "bounded"
    else:
        interval, p_value = scale.whole, 1.0
        reason = f"the differences of all {n} {unit}s are one number, on a scale without known bounds"
    if n < 2 and not scale.rates:
        reason = f"1 {unit}: a t test needs two"
    if unit == "cluster" and n < MIN_CLUSTERS:
        reason = f"{n} clusters: their means decide nothing below {MIN_CLUSTERS}"
    return _conclude(estimate, interval, p_value, method, n, margin, alpha, reason)


def _t_tests(mean: float, error: float, n: int, margin: float, alpha: float) -> tuple[Interval, float]:
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(n - 1, 1.0 - alpha)) * error
    p_value = max(stdtr(n - 1, -(mean + margin) / error), stdtr(n - 1, (mean - margin) / error))
    return Interval(mean - half, mean + half), float(p_value)


def _bounded(difference: float, n: int, margin: float, alpha: float) -> tuple[Interval, float]:
    """Where n differences on [-1, 1] are all one number d, and others, if there are any, were not drawn.

    A distribution with mean m puts at most (1 - m)/(1 - d) on d, the rest of it lying at 1; so n draws are all d
    with at most that to the power n as their probability.
    """
    shrunk = alpha ** (1.0 / n)
    low = min(difference, (1.0 + difference) * shrunk - 1.0)
    high = max(difference, 1.0 - (1.0 - difference) * shrunk)
    size = abs(difference)
    p_value = 1.0 if size >= min(margin, 1.0) else (max(0.0, 1.0 - margin) / (1.0 - size)) ** n
    return Interval(low, high), p_value


def _conclude(
    estimate: float,
    interval: Interval,
    p_value: float,
    method: Literal["tango", "t", "bounded"],
    n: int,
    margin: float,
    alpha: float,
    reason: str = "",
    agreed: bool = True,
) -> Equivalence:
    return Equivalence(
        estimate=estimate,
        interval=interval,
        p_value=1.0 if reason else min(1.0, max(_SMALLEST, float(p_value))),
        equivalent=not reason and agreed and -margin < interval.low and interval.high < margin,
        outside=not reason and (interval.low > margin or interval.high < -margin),
        method=method,
        n=n,
        margin=float(margin),
        alpha=float(alpha),
        reason=reason,
    )


def _values(name: str, values: ArrayLike) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1:
        raise ValueError(f"{name} of shape {data.shape}: expected one number a pair")
    if not np.isfinite(data).all():
        raise ValueError(f"{name} has {int((~np.isfinite(data)).sum())} values that are no finite numbers")
    return data


def _groups(labels: Iterable[Hashable], n: int) -> list[int]:
    """A number for each pair's cluster, in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    groups = [numbers.setdefault(label, len(numbers)) for label in labels]
    if len(groups) != n:
        raise ValueError(f"{len(groups)} clusters for {n} pairs: each pair needs one label")
    return groups


def _cluster_means(differences: NDArray[np.float64], groups: list[int]) -> NDArray[np.float64]:
    of = np.array(groups)
    return np.bincount(of, weights=differences) / np.bincount(of)
