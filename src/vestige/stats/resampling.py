"""The percentile bootstrap over instances, or over clusters of them.

`bootstrap` and `resample_indices` draw the same resamples from the same seed, so that an audit can recompute
everything it reports on one set of draws. A bootstrap of a rate near 0 or 1 covers far less than its name
says (18 % at p = 0.01, n = 20); no verdict reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vestige.stats.intervals import Interval, check_confidence

__all__ = ["bootstrap", "percentile_interval", "resample_indices"]

Seed = int | Sequence[int] | np.random.SeedSequence
Statistic = Callable[[NDArray[np.float64]], Any]

_BLOCK = 1 << 19
"""Indices drawn at a time: bounds memory, and is part of what a seed means."""


def bootstrap(
    values: ArrayLike,
    *,
    clusters: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    statistic: Statistic = np.mean,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> Interval:
    """Percentile bootstrap interval of a statistic.

    Args:
        values: Shape (n,), or (n, d) with a row an instance; rows are resampled together.
        clusters: A label for each row; rows of a cluster are drawn whole, so that what is nested in an
            episode or a conversation does not pass for independent.
        strata: A label for each row; each stratum keeps its number of rows (of clusters, where given).
        statistic: Maps resampled values, of the same number of dimensions, to one number.
        n_resamples: Draws.
        confidence: Share of the resampled statistics between the limits.
        seed: What the draws are a function of.

    Returns:
        The limits: percentiles of the resampled statistics, linearly interpolated. One row, or one cluster,
        gives an interval of width 0.

    Raises:
        ValueError: There are no values, the labels do not fit them, a cluster lies in two strata, or the
            statistic is not a number on some resample.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim not in (1, 2):
        raise ValueError(f"values of shape {data.shape}: expected (n,) or (n, d)")
    check_confidence(confidence)
    design = _Design.of(len(data), clusters, strata)
    if statistic is np.mean:
        draws = _means(data, design, n_resamples, seed)
    else:
        indices = _rows(design, n_resamples, seed)
        draws = np.fromiter((float(statistic(data[i])) for i in indices), dtype=np.float64, count=n_resamples)
    return percentile_interval(draws, confidence)


def resample_indices(
    n: int,
    *,
    clusters: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    n_resamples: int = 1000,
    seed: Seed = 0,
) -> Iterator[NDArray[np.intp]]:
    """The draws that `bootstrap` uses with the same arguments: row indices, one array a resample.

    Without clusters an array has shape (n,); clusters of unequal size give arrays of unequal length.

    Raises:
        ValueError: As for `bootstrap`; raised at the call, not at the first draw.
    """
    return _rows(_Design.of(n, clusters, strata), n_resamples, seed)


def percentile_interval(draws: ArrayLike, confidence: float = 0.95) -> Interval:
    """The central `confidence` share of resampled statistics, as an interval.

    Raises:
        ValueError: There are no draws, or some are not numbers.
    """
    values = np.asarray(draws, dtype=np.float64)
    tail = (1.0 - check_confidence(confidence)) / 2.0
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"draws of shape {values.shape}: expected one statistic a resample")
    missing = int(np.isnan(values).sum())
    if missing:
        raise ValueError(
            f"the statistic is nan on {missing} of {values.size} resamples: it must be defined on each"
        )
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


@dataclass(frozen=True, slots=True)
class _Design:
    """What is drawn: units (rows, or clusters of rows) within strata."""

    members: list[NDArray[np.intp]] | None
    """Rows of each cluster; None: every row is a unit of its own."""
    strata: list[NDArray[np.intp]]
    """Units of each stratum."""
    size: int
    """Units in all."""

    @classmethod
    def of(cls, n: int, clusters: Iterable[Hashable] | None, strata: Iterable[Hashable] | None) -> _Design:
        if n < 1:
            raise ValueError(f"n={n}: a bootstrap needs at least one row")
        by_cluster = None if clusters is None else _groups("clusters", clusters, n)
        by_stratum = None if strata is None else _groups("strata", strata, n)
        size = n if by_cluster is None else len(by_cluster)
        if by_stratum is None:
            return cls(by_cluster, [np.arange(size, dtype=np.intp)], size)
        if by_cluster is None:
            return cls(None, by_stratum, size)
        stratum_of = np.empty(n, dtype=np.intp)
        for number, rows in enumerate(by_stratum):
            stratum_of[rows] = number
        homes = [np.unique(stratum_of[rows]) for rows in by_cluster]
        for number, home in enumerate(homes):
            if len(home) > 1:
                raise ValueError(
                    f"cluster number {number} lies in {len(home)} strata: a cluster is drawn whole"
                )
        home_of = np.concatenate(homes)
        return cls(by_cluster, [np.flatnonzero(home_of == s) for s in range(len(by_stratum))], size)


def _groups(name: str, labels: Iterable[Hashable], n: int) -> list[NDArray[np.intp]]:
    """Row numbers by label, in order of first appearance, so that renaming labels changes nothing."""
    rows: dict[Hashable, list[int]] = {}
    count = 0
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
        count += 1
    if count != n:
        raise ValueError(f"{count} {name} for {n} rows: each row needs one label")
    return [np.array(r, dtype=np.intp) for r in rows.values()]


def _blocks(design: _Design, n_resamples: int, seed: Seed) -> Iterator[NDArray[np.intp]]:
    """Drawn units, shape (resamples in the block, units); the one place where anything is drawn."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    rng = np.random.Generator(np.random.PCG64(sequence))
    height = max(1, _BLOCK // design.size)
    for start in range(0, n_resamples, height):
        count = min(height, n_resamples - start)
        yield np.concatenate(
            [units[rng.integers(0, len(units), size=(count, len(units)))] for units in design.strata], axis=1
        )


def _rows(design: _Design, n_resamples: int, seed: Seed) -> Iterator[NDArray[np.intp]]:
    _check_resamples(n_resamples)

    def draw() -> Iterator[NDArray[np.intp]]:
        for block in _blocks(design, n_resamples, seed):
            for units in block:
                members = design.members
                yield units if members is None else np.concatenate([members[u] for u in units])

    return draw()


def _means(data: NDArray[np.float64], design: _Design, n_resamples: int, seed: Seed) -> NDArray[np.float64]:
    """Means over the resamples, from the sums and sizes of the units."""
    _check_resamples(n_resamples)
    sums = data if data.ndim == 1 else data.sum(axis=1)
    width = 1 if data.ndim == 1 else data.shape[1]
    if width == 0:
        raise ValueError(f"values of shape {data.shape}: rows are empty")
    if design.members is None:
        parts = [
            sums[block].sum(axis=1) / (design.size * width) for block in _blocks(design, n_resamples, seed)
        ]
        return np.concatenate(parts)
    totals = np.array([sums[rows].sum() for rows in design.members])
    sizes = np.array([len(rows) * width for rows in design.members])
    parts = [totals[b].sum(axis=1) / sizes[b].sum(axis=1) for b in _blocks(design, n_resamples, seed)]
    return np.concatenate(parts)


def _check_resamples(n_resamples: int) -> None:
    if n_resamples < 1:
        raise ValueError(f"{n_resamples=}: expected at least 1")
