"""Exact intervals of a rate, and what no event at all in n trials still allows."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import SupportsIndex

__all__ = [
    "Interval",
    "check_confidence",
    "clopper_pearson",
    "count_of",
    "episodes_for_zero_event_bound",
    "zero_event_upper_bound",
]

_DIGITS = 60
_TIE = Decimal("1e-50")


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval; unpacks as ``low, high``.

    Raises:
        ValueError: `low` is above `high`, or one of them is not a number.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"low={self.low!r}, high={self.high!r}: an interval needs low <= high")

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}]"


def check_confidence(confidence: float) -> float:
    """`confidence` itself, if it is one.

    Raises:
        ValueError: It is not strictly between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        hint = f"; did you mean {confidence / 100:g}?" if 1.0 < confidence < 100.0 else ""
        raise ValueError(f"{confidence=}: expected a number between 0 and 1, such as 0.95{hint}")
    return float(confidence)


def clopper_pearson(events: SupportsIndex, n: SupportsIndex, confidence: float = 0.95) -> Interval:
    """Exact two-sided interval of a binomial rate (Clopper and Pearson, 1934).

    It holds the true rate with at least `confidence` probability at every rate and every n. After 0 of 30 its
    upper limit is 0.1157, not 0.

    Args:
        events: Trials in which it happened; an integer from 0 to n.
        n: Independent trials; at least 1.
        confidence: Two-sided coverage; 0.95 leaves 2.5 % on each side.

    Raises:
        ValueError: A count or the confidence is out of range; n = 0 is, since nothing was observed.
        TypeError: A count is not an integer.
    """
    from scipy.special import betainccinv, betaincinv

    hits, trials = count_of("events", events), count_of("n", n)
    if trials < 1:
        raise ValueError(f"n={trials}: an interval needs at least one trial")
    if not 0 <= hits <= trials:
        raise ValueError(f"events={hits}, n={trials}: expected 0 <= events <= n")
    tail = (1.0 - check_confidence(confidence)) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betainccinv(hits + 1, trials - hits, tail))
    return Interval(low, high)


def zero_event_upper_bound(n: SupportsIndex, confidence: float = 0.95) -> float:
    """One-sided upper bound of a rate after 0 events in `n` independent trials: 1 - (1 - confidence)^(1/n).

    0 of 300 at 0.95 bounds the rate by 0.00994.

    Raises:
        ValueError: `n` is below 1, or the confidence is out of range.
        TypeError: `n` is not an integer.
    """
    trials = count_of("n", n)
    if trials < 1:
        raise ValueError(f"n={trials}: a bound needs at least one trial")
    return -math.expm1(math.log(1.0 - check_confidence(confidence)) / trials)


def episodes_for_zero_event_bound(bound: float, confidence: float = 0.95) -> int:
    """Fewest independent episodes whose total silence bounds the rate by `bound`.

    The smallest n with (1 - bound)^n <= 1 - confidence: 59 for a bound of 0.05, 299 for 0.01. Both numbers
    are taken as the decimals they are written as, and n is decided with 60 digits, so that rounding costs
    or saves no episode.

    Raises:
        ValueError: `bound` or `confidence` is not strictly between 0 and 1.
    """
    if not 0.0 < bound < 1.0:
        raise ValueError(f"{bound=}: expected a rate between 0 and 1, such as 0.05")
    check_confidence(confidence)
    with localcontext() as context:
        context.prec = _DIGITS
        survive = (1 - Decimal(repr(float(bound)))).ln()
        allowed = (1 - Decimal(repr(float(confidence)))).ln()
        exact = allowed / survive
        n = max(1, int(exact))
        # A quotient that is an integer but for the last digits of the logarithms is that integer.
        while n < exact * (1 - _TIE):
            n += 1
        return n


def count_of(name: str, value: SupportsIndex) -> int:
    """`value` as an integer.

    Raises:
        TypeError: It is not one; the message calls it `name`.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected an integer") from None
