"""Confidence sequences: intervals that may be looked at after every episode, and stopped at by any rule.

An interval of a fixed n is right once; looked at again and again until it pleases, it is wrong far more often than
it says. The intervals here hold the true value after *all* numbers of episodes at once with probability at least
1 - alpha. Both invert a test martingale, the wealth of a bettor against the true value, which exceeds 1/alpha ever
with probability at most alpha (Ville). Which one is used, if any, is fixed in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, count_of

__all__ = [
    "difference_sequence",
    "log_wealth_of_difference",
    "log_wealth_of_rate",
    "p_values_beyond",
    "rate_sequence",
]

_HALVINGS = 64
_SMALLEST = float(np.finfo(np.float64).tiny)
_STAKES = np.arange(1, 21) / 20.0
"""Shares of the wealth that are bet each time; the wealth is the mean over them."""


def rate_sequence(
    events: SupportsIndex, n: SupportsIndex, alpha: float = 0.05, a: float = 1.0, b: float = 1.0
) -> Interval:
    """Interval of a rate after `n` trials, valid at every n at once: the beta-binomial mixture (Robbins, 1970).

    It holds the rates p at which B(a + events, b + n - events)/B(a, b), the likelihood averaged over a Beta(a, b)
    prior, is below 1/alpha times the likelihood at p. With the uniform prior 0 of 59 leaves up to 0.1132, and 0 of
    300 up to 0.02859. Before the first trial it is [0, 1].

    Args:
        events: Trials in which it happened.
        n: Trials so far.
        alpha: Probability of ever missing the true rate.
        a: First parameter of the mixing prior, fixed before the first trial.
        b: Second parameter of it.

    Raises:
        ValueError: A count, alpha or a parameter of the prior is out of range.
        TypeError: A count is not an integer.
    """
    hits, trials = count_of("events", events), count_of("n", n)
    if not 0 <= hits <= trials:
        raise ValueError(f"events={hits}, n={trials}: expected 0 <= events <= n")
    limit = -math.log(_check_alpha(alpha))
    for name, value in (("a", a), ("b", b)):
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name}={value!r}: expected a number above 0, such as 1")
    if trials == 0:
        return Interval(0.0, 1.0)

    def rejected(rate: float) -> bool:
        return bool(log_wealth_of_rate(hits, trials, rate, a, b) >= limit)

    estimate = hits / trials
    low = 0.0 if hits == 0 else _limit(rejected, estimate, 0.0)
    high = 1.0 if hits == trials else _limit(rejected, estimate, 1.0)
    return Interval(low, high)


def log_wealth_of_rate(
    events: ArrayLike, n: ArrayLike, rate: float, a: float = 1.0, b: float = 1.0
) -> NDArray[np.float64]:
    """Natural logarithm of the mixture martingale against `rate`; `rate_sequence` holds rates below ln(1/alpha)."""
    from scipy.special import betaln, xlog1py, xlogy

    hits, trials = np.asarray(events, dtype=np.float64), np.asarray(n, dtype=np.float64)
    misses = trials - hits
    likelihood = xlogy(hits, rate) + xlog1py(misses, -rate)
    return np.asarray(betaln(a + hits, b + misses) - betaln(a, b) - likelihood, dtype=np.float64)


def difference_sequence(values: ArrayLike, alpha: float = 0.05) -> Interval:
    """Interval of the mean of paired differences in [-1, 1], valid after every number of pairs at once.

    Betting (Waudby-Smith and Ramdas, 2024), diversified: against each mean that is tested, equal parts of the wealth
    stake 5, 10, …, 100 % of themselves on every next pair, half of all betting on more and half on less. Means against
    which either half has grown to 2/alpha are left out. The order of the values does not matter. 60 pairs without a
    difference give ±0.070 at alpha = 0.10; no pair at all gives [-1, 1].

    Args:
        values: Differences of all pairs so far; each has the same mean, given those before it.
        alpha: Probability of ever missing the true mean. An equivalence at level 0.05 reads 0.10 here.

    Raises:
        ValueError: A value is outside [-1, 1], or alpha is out of range.
    """
    unit, limit = _to_unit(values), math.log(2.0 / _check_alpha(alpha))
    if len(unit) == 0:
        return Interval(-1.0, 1.0)
    found, counts = np.unique(unit, return_counts=True)
    low, high = _lower(found, counts, limit), _lower(1.0 - found, counts, limit)
    return Interval(2.0 * low - 1.0, 1.0 - 2.0 * high)


def p_values_beyond(values: ArrayLike, margin: float) -> tuple[float, float]:
    """Any-time p-values of the mean difference being above `margin`, and below -margin.

    Each is 1 over the wealth of the half that bets on it, against a mean of exactly the margin: whenever one stops, it
    is at most p with probability at most p (Ville), so p-values of several sequences may be adjusted like others. The
    first is at most alpha exactly where the lower end of `difference_sequence` at 2 alpha is at or above the margin.

    Args:
        values: As `difference_sequence` takes them.
        margin: Strictly between 0 and 1.

    Raises:
        ValueError: A value is outside [-1, 1], or the margin is out of range.
    """
    unit = _to_unit(values)
    if not 0.0 < margin < 1.0:
        raise ValueError(f"{margin=}: expected a number strictly between 0 and 1")
    if len(unit) == 0:
        return 1.0, 1.0
    found, counts = np.unique(unit, return_counts=True)
    mean = (1.0 + margin) / 2.0
    wealth = (_log_wealth(found, counts, mean), _log_wealth(1.0 - found, counts, mean))
    above, below = (max(_SMALLEST, math.exp(-max(0.0, w))) for w in wealth)
    return above, below


def _log_wealth(unit: NDArray[np.float64], counts: NDArray[np.intp], mean: float) -> float:
    """Of betting on more than `mean`."""
    with np.errstate(divide="ignore"):
        wealth = counts @ np.log1p(_STAKES * (unit[:, None] / mean - 1.0))
    return float(np.logaddexp.reduce(wealth) - math.log(len(_STAKES)))


def log_wealth_of_difference(values: ArrayLike, difference: float) -> NDArray[np.float64]:
    """Natural logarithm of the larger half's wealth against `difference`, after each of the values.

    `difference_sequence` of the values up to there holds the difference as long as this is below ln(2/alpha).

    Args:
        values: Shape (n,), or (..., n) for many sequences at once.
        difference: The mean bet against, strictly between -1 and 1.
    """
    unit, mean = _to_unit(values), (1.0 + difference) / 2.0
    if not 0.0 < mean < 1.0:
        raise ValueError(f"{difference=}: expected a number strictly between -1 and 1")
    more = np.full(unit.shape, -np.inf)
    less = np.full(unit.shape, -np.inf)
    with np.errstate(divide="ignore"):
        for stake in _STAKES:
            more = np.logaddexp(more, np.cumsum(np.log1p(stake * (unit / mean - 1.0)), axis=-1))
            less = np.logaddexp(
                less, np.cumsum(np.log1p(stake * ((1.0 - unit) / (1.0 - mean) - 1.0)), axis=-1)
            )
    return np.maximum(more, less) - math.log(len(_STAKES))


def _lower(unit: NDArray[np.float64], counts: NDArray[np.intp], limit: float) -> float:
    """Largest mean in [0, 1] against which betting on more has grown to `limit`; 0 where there is none."""
    estimate = float(unit @ counts / counts.sum())
    if estimate <= 0.0:
        return 0.0

    def rejected(mean: float) -> bool:
        return _log_wealth(unit, counts, mean) >= limit

    return min(_limit(rejected, estimate, 0.0), estimate)


def _limit(rejected: Callable[[float], bool], inner: float, outer: float) -> float:
    """Where `rejected` begins between `inner`, which is not, and `outer`; the outer end of what is left."""
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2.0
        if middle in (inner, outer):
            break
        if rejected(middle):
            outer = middle
        else:
            inner = middle
    return outer


def _to_unit(values: ArrayLike) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim < 1:
        raise ValueError(f"values of shape {data.shape}: expected one difference a pair")
    if not ((data >= -1.0) & (data <= 1.0)).all():
        raise ValueError("values outside [-1, 1]: a sequence of differences needs their bounds")
    return (1.0 + data) / 2.0


def _check_alpha(alpha: float) -> float:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"{alpha=}: expected a number between 0 and 1, such as 0.05")
    return float(alpha)
