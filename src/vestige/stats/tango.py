"""Tango's score statistic and interval of a difference of paired proportions (Statistics in Medicine 17, 1998).

n pairs of yes/no values are counted as n11, n10, n01, n00; the difference is p10 - p01, estimated by
(n10 - n01)/n. The statistic at a difference d divides n10 - n01 - nd by its standard error under the maximum of
the likelihood restricted to p10 - p01 = d, which is the root of a quadratic. Unlike an interval of Wald's kind it
does not shrink to a point where no pair disagrees.
"""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence, count_of

__all__ = ["restricted_variance", "score_statistic", "tango_interval", "tango_limits"]

_HALVINGS = 64


def tango_interval(
    n11: SupportsIndex, n10: SupportsIndex, n01: SupportsIndex, n00: SupportsIndex, confidence: float = 0.95
) -> Interval:
    """Score interval of p10 - p01 from the four counts of n independent pairs.

    It holds (n10 - n01)/n, stays within [-1, 1] and never has width 0. Where no pair disagrees it is
    ±z²/(n + z²): ±0.0431 for 60 pairs at 0.90. Its coverage is not exact: docs/reference/methods.md has the table.

    Args:
        n11: Pairs with yes on both sides.
        n10: Pairs with yes on the first side alone.
        n01: Pairs with yes on the second side alone.
        n00: Pairs with no on both sides.
        confidence: Two-sided coverage aimed at.

    Raises:
        ValueError: A count is negative, there is no pair, or the confidence is out of range.
        TypeError: A count is not an integer.
    """
    named = {"n11": n11, "n10": n10, "n01": n01, "n00": n00}
    counts = {name: count_of(name, value) for name, value in named.items()}
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name}={value}: expected a count of pairs, 0 or more")
    n = sum(counts.values())
    if n < 1:
        raise ValueError("n11 + n10 + n01 + n00 = 0: an interval needs at least one pair")
    low, high = tango_limits([counts["n10"]], [counts["n01"]], n, confidence)
    return Interval(float(low[0]), float(high[0]))


def tango_limits(
    n10: ArrayLike, n01: ArrayLike, n: int, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The limits of `tango_interval` for many tables of `n` pairs at once; counts of equal shape, unchecked.

    Each limit is bracketed between the estimate and the end of [-1, 1] and halved until nothing is left to
    halve; the outer end is returned.
    """
    from scipy.special import ndtri

    z = float(ndtri((1.0 + check_confidence(confidence)) / 2.0))
    first, second = np.asarray(n10, dtype=np.float64), np.asarray(n01, dtype=np.float64)
    # p10 - p01 read from the other side is p01 - p10: the lower limit is the upper one of the swapped table.
    return -_upper(second, first, n, z), _upper(first, second, n, z)


def score_statistic(
    n10: NDArray[np.float64], n01: NDArray[np.float64], n: int, difference: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Tango's statistic at a `difference` in [-1, 1], asymptotically standard normal where it is the true one.

    It falls as the difference rises, and is 0 at the estimate. Where the standard error is 0 it is 0 or ±inf.
    """
    distance = n10 - n01 - n * np.asarray(difference, dtype=np.float64)
    error = np.sqrt(n * restricted_variance(n10, n01, n, difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0.0, 0.0, distance / error)


def restricted_variance(
    n10: NDArray[np.float64], n01: NDArray[np.float64], n: int, difference: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Variance of one pair's difference, its nuisance parameter being most likely given `difference`.

    Depends on the shares n10/n and n01/n alone, so expected counts may stand for observed ones.
    """
    d = np.asarray(difference, dtype=np.float64)
    b, c = np.where(d < 0.0, n01, n10), np.where(d < 0.0, n10, n01)
    d = np.abs(d)
    # The smaller discordant probability q solves 2n q² + (-b - c + (2n - b + c)d) q - c d(1 - d) = 0.
    linear = (2 * n - b + c) * d - b - c
    q = (np.sqrt(linear * linear + 8.0 * n * c * d * (1.0 - d)) - linear) / (4.0 * n)
    return np.maximum(2.0 * np.maximum(q, 0.0) + d * (1.0 - d), 0.0)


def _upper(n10: NDArray[np.float64], n01: NDArray[np.float64], n: int, z: float) -> NDArray[np.float64]:
    inner = (n10 - n01) / n
    outer = np.ones_like(inner)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2.0
        # As a product, not a quotient: the standard error vanishes at the ends.
        held = n * middle - (n10 - n01) <= z * np.sqrt(n * restricted_variance(n10, n01, n, middle))
        inner, outer = np.where(held, middle, inner), np.where(held, outer, middle)
    return outer
