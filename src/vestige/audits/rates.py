"""Rates and derived quantities with their intervals, all from one set of resampled instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vestige.audits.results import Derived, Rate
from vestige.stats import clopper_pearson, resample_indices

__all__ = ["Quantity", "Resampler"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """A number with its value in every bootstrap draw; arithmetic works draw by draw."""

    value: float
    draws: Floats
    """Shape (n_resamples,); NaN where a draw holds no instance that counts."""

    @classmethod
    def combine(cls, function: Callable[..., float], parts: Sequence[Self]) -> Quantity:
        """`function` of several quantities, evaluated on the data and again in every draw."""
        columns = np.stack([p.draws for p in parts], axis=1) if parts else np.empty((0, 0))
        return Quantity(
            float(function(*(p.value for p in parts))),
            np.array([function(*row) for row in columns.tolist()], dtype=np.float64),
        )

    @classmethod
    def mean(cls, parts: Sequence[Self]) -> Quantity:
        """Mean of several quantities."""
        return Quantity(float(np.mean([p.value for p in parts])), np.mean([p.draws for p in parts], axis=0))

    @classmethod
    def max(cls, parts: Sequence[Self]) -> Quantity:
        """Largest of several quantities, again in every draw."""
        return Quantity(max(p.value for p in parts), np.max([p.draws for p in parts], axis=0))

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self.draws - other.draws)

    def __abs__(self) -> Quantity:
        return Quantity(abs(self.value), np.abs(self.draws))

    @property
    def bounds(self) -> tuple[float, float]:
        """95 % percentile interval over the draws that count."""
        counted = self.draws[~np.isnan(self.draws)]
        if not counted.size:
            return (self.value, self.value)
        low, high = np.quantile(counted, [0.025, 0.975])
        return (float(low), float(high))

    def derived(self) -> Derived:
        """As it stands in a result: no exact interval."""
        return Derived(value=self.value, bootstrap=self.bounds)


class Resampler:
    """Resamples whole instances (or whole clusters of them), each with all its k and probes.

    Every quantity of one result is computed on the same 1,000 draws, so that derived quantities keep the
    dependence between their parts (DESIGN, Formulas: Frontier).
    """

    def __init__(
        self, n: int, *, seed: int, clusters: Sequence[str] | None = None, n_resamples: int = 1000
    ) -> None:
        self.n = n
        self.weights: Floats = np.zeros((n_resamples, n))
        codes = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
        draws = resample_indices(n, clusters=codes, n_resamples=n_resamples, seed=seed)
        for row, indices in enumerate(draws):
            self.weights[row] = np.bincount(indices, minlength=n)

    def quantity(
        self, values: Sequence[float] | NDArray[np.float64], where: NDArray[np.bool_] | None = None
    ) -> Quantity:
        """Mean of one value an instance, over the instances that `where` keeps."""
        x = np.asarray(values, dtype=np.float64)
        keep = np.ones(self.n, dtype=bool) if where is None else where
        sums = self.weights[:, keep] @ x[keep]
        counts = self.weights[:, keep].sum(axis=1)
        with np.errstate(invalid="ignore"):
            draws = np.where(counts > 0, sums / np.where(counts > 0, counts, 1), np.nan)
        return Quantity(float(x[keep].mean()), draws)

    def rate(
        self, events: Sequence[bool] | NDArray[np.bool_], where: NDArray[np.bool_] | None = None
    ) -> Rate:
        """Share of instances with the event, one instance one trial."""
        hits = np.asarray(events, dtype=bool)
        keep = np.ones(self.n, dtype=bool) if where is None else where
        count, total = int(hits[keep].sum()), int(keep.sum())
        exact = clopper_pearson(count, total)
        quantity = self.quantity(hits.astype(np.float64), where)
        return Rate(
            value=count / total,
            n=total,
            events=count,
            exact=(exact.low, exact.high),
            bootstrap=quantity.bounds,
        )
