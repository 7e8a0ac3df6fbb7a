"""The area under a privacy–utility frontier (arXiv 2606.10062, PUA), exact for its step function."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["frontier_steps", "privacy_utility_auc"]

_ROUNDING = 1e-9


def frontier_steps(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other point dominates, as the steps of PR*(a).

    Args:
        points: (PR, AER) of each configuration, both in [0, 1].

    Returns:
        (AER, PR) pairs, both strictly rising: from each AER on, that PR can be had.

    Raises:
        ValueError: There is no point, or one is not a pair of rates.
    """
    pairs = sorted((_rate(aer, "AER"), -_rate(pr, "PR")) for pr, aer in points)
    if not pairs:
        raise ValueError("points=[]: a frontier needs at least one (PR, AER) point")
    steps: list[tuple[float, float]] = []
    best = 0.0
    for aer, minus_pr in pairs:
        if -minus_pr > best:
            best = -minus_pr
            steps.append((aer, best))
    return steps


def privacy_utility_auc(points: Iterable[tuple[float, float]]) -> float:
    """PUA: the integral over a in [0, 1] of PR*(a), the best PR at an AER of at most a (else 0).

    1 is full recall without a leak; 0 is no recall, or recall only at full leak. The order of the points does
    not matter, and a dominated point changes nothing.

    Args:
        points: (PR, AER) of each configuration of one level, both in [0, 1].

    Raises:
        ValueError: There is no point, or one is not a pair of rates.
    """
    steps = frontier_steps(points)
    ends = [aer for aer, _ in steps[1:]] + [1.0] if steps else []
    return math.fsum((end - aer) * pr for (aer, pr), end in zip(steps, ends, strict=True))


def _rate(value: float, name: str) -> float:
    """`value` in [0, 1]; a mean of rates may stand a rounding error outside."""
    if not -_ROUNDING <= value <= 1.0 + _ROUNDING:
        raise ValueError(f"{name}={value!r}: expected a rate between 0 and 1 (points are (PR, AER) pairs)")
    return min(1.0, max(0.0, float(value)))
