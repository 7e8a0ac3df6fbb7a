"""Differences between two conditions, one value a pair, and proportions over pairs, with lost pairs at their worst.

A lost pair might have shown anything. Where a limit decides, it is therefore computed again with every lost pair set
to the value that speaks most against the claim; a run that crashes where it would have leaked gains nothing by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vestige.audits.verification.results import Bound, Bounds, Proportion
from vestige.audits.verification.settings import VerificationSettings
from vestige.audits.verification.tally import Pairs
from vestige.stats import bootstrap, clopper_pearson, difference_sequence, equivalence, rate_sequence

__all__ = [
    "Contrast",
    "Units",
    "bootstrap_beside",
    "bound_of",
    "contrast",
    "lower_limit",
    "proportion",
    "upper_limit",
]


def _confidence(alpha: float, sides: int = 1) -> float:
    return round(1.0 - sides * alpha, 12)  # 1 - 0.07 is not 0.93


def proportion(events: int, n: int, alpha: float) -> Proportion:
    """`events` of `n` with the exact two-sided interval at 1 − α; [0, 1] where there is no trial."""
    if n == 0:
        return Proportion(value=None, n=0, events=0, exact=(0.0, 1.0))
    low, high = clopper_pearson(events, n, _confidence(alpha))
    return Proportion(value=events / n, n=n, events=events, exact=(low, high))


def upper_limit(events: int, n: int, settings: VerificationSettings) -> float:
    """One-sided upper limit at 1 − α: exact (1 − α^(1/n) where nothing happened), or of the mixture sequence."""
    if n == 0:
        return 1.0
    if settings.observer.stopping == "mixture":
        return rate_sequence(events, n, settings.alpha).high
    return clopper_pearson(events, n, _confidence(settings.alpha, 2)).high


def lower_limit(events: int, n: int, settings: VerificationSettings) -> float:
    """Lower limit of the two-sided interval at 1 − α: exact, or of the mixture sequence."""
    if n == 0:
        return 0.0
    if settings.observer.stopping == "mixture":
        return rate_sequence(events, n, settings.alpha).low
    return clopper_pearson(events, n, _confidence(settings.alpha)).low


def bound_of(events: int, n: int, settings: VerificationSettings) -> Bound:
    """A proportion with its one-sided upper bound."""
    method: Literal["exact", "mixture"] = "mixture" if settings.observer.stopping == "mixture" else "exact"
    plain = proportion(events, n, settings.alpha)
    return Bound(**plain.model_dump(), upper=upper_limit(events, n, settings), method=method)


@dataclass(frozen=True)
class Units:
    """What is counted as one trial: a pair, or a cluster of pairs where pairs are not independent.

    A cluster counts for an event that the claim must exclude if any of its pairs shows it, and for one that a control
    must show if all of them do; both are the cautious side of the rate of a single pair.
    """

    pairs: Pairs

    def names(self, pairs: Sequence[str]) -> list[str]:
        """The units that the pairs make up."""
        return sorted({self._unit(p) for p in pairs})

    def any(self, pairs: Sequence[str], events: Sequence[str]) -> tuple[int, int]:
        """(units with an event in any pair, units)."""
        hit = {self._unit(p) for p in events}
        names = self.names(pairs)
        return sum(u in hit for u in names), len(names)

    def all(self, pairs: Sequence[str], events: Sequence[str]) -> tuple[int, int]:
        """(units with an event in every pair, units)."""
        seen = set(events)
        failing = {self._unit(p) for p in pairs if p not in seen}
        names = self.names(pairs)
        return sum(u not in failing for u in names), len(names)

    def _unit(self, pair: str) -> str:
        return self.pairs.cluster[pair] if self.pairs.clustered else pair


@dataclass(frozen=True)
class Contrast:
    """Mean of a − b over pairs."""

    value: float | None
    n: int
    """Independent values: pairs, or clusters."""
    interval: Bounds
    """(1 − 2α), from the pairs that were completed."""
    guarded: Bounds
    """The same with every lost pair at +1 for the upper and at −1 for the lower limit."""
    p_value: float | None
    method: str
    reason: str = ""
    """Why nothing can be concluded; empty where something can."""
    refused: bool = False
    """An interval lies inside the margin it was tested with, yet the exact test does not agree."""

    def within(self, margin: float) -> Literal["inside", "outside", "straddles", "not_assessable"]:
        """Where the guarded interval lies: inside (−margin, margin), which counts only where the exact test
        agrees; wholly outside [−margin, margin]; or neither.
        """
        if self.reason:
            return "not_assessable"
        low, high = self.guarded
        if not self.refused and -margin < low and high < margin:
            return "inside"
        return "outside" if low > margin or high < -margin else "straddles"


NOTHING = Contrast(None, 0, (-1.0, 1.0), (-1.0, 1.0), None, "none", "no pair has a value in both conditions")


def contrast(
    a: Mapping[str, float],
    b: Mapping[str, float],
    pairs: Pairs,
    settings: VerificationSettings,
    margin: float,
) -> Contrast:
    """Compare two conditions over the distinct pairs that have a value in [0, 1] in both; the others count as lost.

    Yes/no values of independent pairs go to Tango, others to t, clustered ones to t over clusters' means; with a
    sequential design all go to the confidence sequence that the plan chose.
    """
    kept = [p for p in pairs.distinct if p in a and p in b]
    if not kept:
        return NOTHING
    lost = [*(p for p in pairs.distinct if p not in a or p not in b), *pairs.lost]
    first, second = [a[p] for p in kept], [b[p] for p in kept]
    seen = _interval(first, second, pairs.labels(kept), settings, margin)
    if not lost:
        return seen
    labels = pairs.labels([*kept, *lost])
    ones, zeros = [1.0] * len(lost), [0.0] * len(lost)
    upper = _interval([*first, *ones], [*second, *zeros], labels, settings, margin)
    lower = _interval([*first, *zeros], [*second, *ones], labels, settings, margin)
    # A t interval can move away from an outlier it is given; no limit may gain by a lost pair.
    guarded = (
        min(lower.interval[0], seen.interval[0]),
        max(upper.interval[1], seen.interval[1]),
    )
    return replace(seen, guarded=guarded, refused=seen.refused or upper.refused or lower.refused)


def _interval(
    a: Sequence[float],
    b: Sequence[float],
    clusters: list[str] | None,
    settings: VerificationSettings,
    margin: float,
) -> Contrast:
    if settings.observer.stopping == "mixture":
        values = np.asarray(a) - np.asarray(b)
        if clusters is not None:
            values = np.array(
                [values[[c == name for c in clusters]].mean() for name in sorted(set(clusters))]
            )
        found = difference_sequence(values, 2 * settings.alpha)
        interval = (found.low, found.high)
        return Contrast(float(values.mean()), len(values), interval, interval, None, "sequence")
    test = equivalence(a, b, margin=margin, alpha=settings.alpha, clusters=clusters)
    method = "t over clusters" if clusters is not None and test.method != "tango" else test.method
    interval = (test.interval.low, test.interval.high)
    refused = not test.reason and not test.equivalent and -margin < interval[0] and interval[1] < margin
    return Contrast(test.estimate, test.n, interval, interval, test.p_value, method, test.reason, refused)


def bootstrap_beside(
    a: Mapping[str, float], b: Mapping[str, float], pairs: Pairs, settings: VerificationSettings, seed: int
) -> Bounds | None:
    """The percentile bootstrap of the same difference: drawn beside, decides nothing."""
    kept = [p for p in pairs.distinct if p in a and p in b]
    if len(kept) < 2:
        return None
    values = [a[p] - b[p] for p in kept]
    confidence = _confidence(settings.alpha, 2)
    low, high = bootstrap(values, clusters=pairs.labels(kept), confidence=confidence, seed=seed)
    return (low, high) if math.isfinite(low + high) else None
