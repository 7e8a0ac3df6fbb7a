"""How often two 95 % intervals hold the true rate, by exact enumeration (no simulation).

    python benchmarks/bootstrap_coverage.py

With x events in n trials the percentile bootstrap of the rate is, as resamples grow without limit, the two
percentiles of Binomial(n, x/n)/n. Its coverage at a true rate p is the probability of all x whose interval
holds p; the same sum gives the coverage of Clopper–Pearson.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import binom

from vestige.stats import Interval, clopper_pearson

RATES = (0.01, 0.05, 0.1, 0.5)
SIZES = (20, 60, 200)


def percentile_bootstrap(events: int, n: int, confidence: float = 0.95) -> Interval:
    """The interval that infinitely many resamples would give."""
    tail = (1 - confidence) / 2
    low, high = binom.ppf([tail, 1 - tail], n, events / n) / n
    return Interval(float(low), float(high))


def coverage(interval: Callable[[int, int], Interval], p: float, n: int) -> float:
    """Probability that the interval of n trials at the true rate p holds p."""
    weights = binom.pmf(np.arange(n + 1), n, p)
    return float(sum(w for x, w in enumerate(weights) if _holds(interval(x, n), p)))


def table(
    rates: Sequence[float] = RATES, sizes: Sequence[int] = SIZES
) -> list[tuple[float, int, float, float]]:
    """(p, n, coverage of the percentile bootstrap, coverage of Clopper–Pearson)."""
    return [
        (p, n, coverage(percentile_bootstrap, p, n), coverage(clopper_pearson, p, n))
        for p in rates
        for n in sizes
    ]


def _holds(interval: Interval, p: float) -> bool:
    return interval.low - 1e-12 <= p <= interval.high + 1e-12


if __name__ == "__main__":
    print("| true rate | n | percentile bootstrap | Clopper–Pearson |")
    print("|---|---|---|---|")
    for p, n, by_bootstrap, exact in table():
        print(f"| {p:g} | {n} | {by_bootstrap:.1%} | {exact:.1%} |")
