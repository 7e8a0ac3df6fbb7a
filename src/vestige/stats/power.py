"""How many pairs an answer needs, and which answers a number of pairs can give at all. Exact, not simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from vestige.stats.intervals import (
    Interval,
    clopper_pearson,
    count_of,
    episodes_for_zero_event_bound,
    zero_event_upper_bound,
)
from vestige.stats.paired import exact_at_margin
from vestige.stats.tango import restricted_variance, score_statistic, tango_interval

__all__ = ["Reach", "equivalence_power", "pairs_for_bound", "pairs_for_equivalence", "reachable"]

_MOST_EXACT = 1000
"""Most pairs that are counted out."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What `n` pairs can meet at best: nothing leaks, no pair disagrees, every positive control shows the target."""

    n: int
    leakage_upper: float
    """One-sided upper bound of the leak rate after 0 events."""
    leakage: bool
    """That bound is no higher than the one asked for."""
    residual: Interval
    """Tango's interval of the residual where no pair disagrees."""
    equivalence: bool
    """It lies inside the margin, and the exact test at the margin agrees."""
    sensitivity_lower: float
    """Lower limit of the exact two-sided interval of n of n."""
    sensitivity: bool
    """That limit is no lower than the minimum asked for."""
    pairs_for_leakage: int
    """Fewest pairs at which the leakage bound can be met."""
    pairs_for_equivalence: int
    """Fewest pairs at which the equivalence can be shown."""
    pairs_for_sensitivity: int
    """Fewest pairs at which the sensitivity can be shown."""

    @property
    def all(self) -> bool:
        """Every criterion can be met; where False, the run can only end in `fails` or `unassessable`."""
        return self.leakage and self.equivalence and self.sensitivity

    @property
    def pairs_needed(self) -> int:
        """Fewest pairs at which every criterion can be met, if nothing goes wrong in any of them."""
        return max(self.pairs_for_leakage, self.pairs_for_equivalence, self.pairs_for_sensitivity)


def pairs_for_bound(bound: float, confidence: float = 0.95) -> int:
    """Fewest pairs in which silence bounds the leak rate by `bound`; see `episodes_for_zero_event_bound`."""
    return episodes_for_zero_event_bound(bound, confidence)


def reachable(
    n: SupportsIndex,
    *,
    margin: float = 0.1,
    bound: float = 0.05,
    sensitivity: float = 0.5,
    alpha: float = 0.05,
) -> Reach:
    """Which criteria `n` distinct pairs can meet at all, and how many pairs each needs at least.

    With the defaults 6 pairs can show that the positive control is sensitive, and nothing else: they can end in
    `fails` or in `unassessable` alone.

    Args:
        n: Pairs, each with a fixture of its own.
        margin: Margin of the equivalence, in (0, 1).
        bound: Leak rate that silence has to exclude, one-sided, in (0, 1).
        sensitivity: Least lower limit of the positive control's rate, in (0, 1).
        alpha: Level: of each one-sided test, and of the two-sided interval of the sensitivity.

    Raises:
        ValueError: A number is out of range.
        TypeError: `n` is not an integer.
    """
    pairs = _check_pairs(n)
    _check_margin(margin)
    _check_alpha(alpha)
    if not 0.0 < sensitivity < 1.0:
        raise ValueError(f"{sensitivity=}: expected a rate between 0 and 1, such as 0.5")
    # Rounded, because 1 - 0.07 is not 0.93 and the number of episodes is decided on the decimals.
    one_sided, two_sided = round(1.0 - alpha, 12), round(1.0 - 2.0 * alpha, 12)
    for_leakage = episodes_for_zero_event_bound(bound, one_sided)
    for_equivalence = _pairs_without_discordance(margin, alpha)
    for_sensitivity = max(1, math.ceil(math.log(alpha / 2.0) / math.log(sensitivity) - 1e-9))
    return Reach(
        n=pairs,
        leakage_upper=zero_event_upper_bound(pairs, one_sided),
        leakage=pairs >= for_leakage,
        residual=tango_interval(0, 0, 0, pairs, two_sided),
        equivalence=pairs >= for_equivalence,
        sensitivity_lower=clopper_pearson(pairs, pairs, one_sided).low,
        sensitivity=pairs >= for_sensitivity,
        pairs_for_leakage=for_leakage,
        pairs_for_equivalence=for_equivalence,
        pairs_for_sensitivity=for_sensitivity,
    )


def equivalence_power(
    n: SupportsIndex, margin: float, discordance: float, alpha: float = 0.05, *, difference: float = 0.0
) -> float:
    """Probability that `equivalence` finds one in `n` independent pairs of yes/no values.

    Summed over all outcomes. With `difference` = ±margin it is the size of the test: how often it finds an equivalence
    that is not there.

    Args:
        n: Pairs.
        margin: In (0, 1).
        discordance: True share of the pairs that disagree, in either direction.
        alpha: Level of each one-sided test.
        difference: True p10 - p01; no larger than the discordance.

    Raises:
        ValueError: A number is out of range.
        TypeError: `n` is not an integer.
    """
    from scipy.special import gammaln, xlogy

    pairs = _check_pairs(n)
    _check_margin(margin)
    _check_alpha(alpha)
    if not 0.0 <= discordance <= 1.0:
        raise ValueError(f"{discordance=}: expected a share between 0 and 1, such as 0.1")
    if not abs(difference) <= discordance + 1e-12:
        raise ValueError(f"{difference=}, {discordance=}: the difference cannot exceed the discordance")
    first, second = _accepted(pairs, float(margin), float(alpha))
    p10, p01 = max(0.0, (discordance + difference) / 2.0), max(0.0, (discordance - difference) / 2.0)
    same = pairs - first - second
    ways = gammaln(pairs + 1) - gammaln(first + 1) - gammaln(second + 1) - gammaln(same + 1)
    logs = ways + xlogy(first, p10) + xlogy(second, p01) + xlogy(same, max(0.0, 1.0 - p10 - p01))
    return min(1.0, float(np.exp(logs).sum()))


def pairs_for_equivalence(
    margin: float, power: float = 0.8, discordance: float = 0.0, alpha: float = 0.05
) -> int:
    """Fewest pairs that show an equivalence with probability `power`, where there truly is no difference.

    The power does not rise evenly with the pairs; the number returned is the first from which it stays, at least
    up to a quarter more pairs, so that a few pairs more than planned never lose it. At margin 0.1 and 80 %: 29, 69,
    104 and 178 pairs at a discordance of 0, 5, 10 and 20 %. Where a normal
    approximation says more than 1,000 it answers itself; it errs by a few pairs in a hundred, mostly upward.

    Args:
        margin: In (0, 1).
        power: In (0, 1).
        discordance: Share of pairs that disagree by chance, such as those of a model that is sampled.
        alpha: Level of each one-sided test.

    Raises:
        ValueError: A number is out of range.
    """
    from scipy.special import ndtri

    _check_margin(margin)
    _check_alpha(alpha)
    if not 0.0 < power < 1.0:
        raise ValueError(f"{power=}: expected a probability between 0 and 1, such as 0.8")
    if not 0.0 <= discordance <= 1.0:
        raise ValueError(f"{discordance=}: expected a share between 0 and 1, such as 0.1")
    fewest = _pairs_without_discordance(margin, alpha)
    half = np.array([discordance / 2.0])
    if_different = math.sqrt(restricted_variance(half, half, 1, margin)[0])
    spread = float(ndtri(1.0 - alpha)) * if_different + float(ndtri((1.0 + power) / 2.0)) * math.sqrt(
        discordance
    )
    approximately = max(fewest, math.ceil((spread / margin) ** 2))
    if approximately > _MOST_EXACT:
        return approximately
    start = n = max(fewest, approximately // 2)
    while n <= start + max(20, start // 4):
        if equivalence_power(n, margin, discordance, alpha) < power:
            start = n + 1
        n += 1
    return start


def _pairs_without_discordance(margin: float, alpha: float) -> int:
    """Fewest pairs that can show an equivalence: z²/(n + z²) < margin, and (1 - margin)^n < alpha."""
    from scipy.special import ndtri

    z_squared = float(ndtri(1.0 - alpha)) ** 2
    n = max(1, math.floor(z_squared * (1.0 - margin) / margin))
    while z_squared / (n + z_squared) >= margin or exact_at_margin(0, n, margin) >= alpha:
        n += 1
    return n


@lru_cache(maxsize=64)
def _accepted(n: int, margin: float, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n10, n01) of all tables that show an equivalence."""
    from scipy.special import ndtri

    z = float(ndtri(1.0 - alpha))
    # The estimate lies in the interval, so only tables whose estimate is inside the margin are looked at.
    reach = np.arange(-math.floor(n * margin), math.floor(n * margin) + 1)
    second, away = np.meshgrid(np.arange(n + 1), reach, indexing="ij")
    first = second + away
    possible = (first >= 0) & (first + second <= n)
    n10, n01 = first[possible].astype(np.float64), second[possible].astype(np.float64)
    shown = (score_statistic(n10, n01, n, -margin) > z) & (score_statistic(n10, n01, n, margin) < -z)
    shown &= exact_at_margin(n10 - n01, n, margin) < alpha
    return n10[shown], n01[shown]


def _check_pairs(n: SupportsIndex) -> int:
    pairs = count_of("n", n)
    if pairs < 1:
        raise ValueError(f"n={pairs}: expected at least one pair")
    return pairs


def _check_margin(margin: float) -> None:
    if not 0.0 < margin < 1.0:
        raise ValueError(f"{margin=}: expected a number between 0 and 1, such as 0.1")


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"{alpha=}: expected a level between 0 and 0.5, such as 0.05")
