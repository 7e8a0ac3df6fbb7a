"""Exact cosine search over one user's vectors, held in memory as one float32 matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vestige.errors import IntegrityError

__all__ = ["VectorIndex"]

# Bound on how far a float32 dot product of unit vectors strays from the exact one (d up to some thousands).
_SLACK = np.float32(2e-5)
_BLOCK = 8192


class VectorIndex:
    """Rows of unit length, in order of insertion; grows at the end, is rebuilt after any other change.

    The float32 product only picks candidates; their scores are then summed in float64 in one fixed order, so
    equal vectors have equal scores wherever they stand and ties fall to the earlier row, whatever the BLAS.
    """

    def __init__(self, orders: Sequence[int], blobs: Sequence[bytes]) -> None:
        self._orders: list[int] = []
        self._rows: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self.append(orders, blobs)

    def __len__(self) -> int:
        return len(self._orders)

    def append(self, orders: Sequence[int], blobs: Sequence[bytes]) -> None:
        """Add rows; `orders` are the units' orders of creation.

        Raises:
            IntegrityError: The vectors have different lengths.
        """
        if not blobs:
            return
        width = len(blobs[0])
        held = len(self._orders)
        if width % 4 or any(len(b) != width for b in blobs) or (held and self._rows.shape[1] * 4 != width):
            raise IntegrityError(
                "the stored vectors have different lengths: one store belongs to one embedder"
            )
        new = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), width // 4)
        needed = held + len(blobs)
        if needed > len(self._rows):
            grown = np.empty((needed if held == 0 else max(needed, 2 * held), width // 4), dtype=np.float32)
            if held:
                grown[:held] = self._rows[:held]
            self._rows = grown
        self._rows[held:needed] = new
        self._orders.extend(orders)

    def top(self, query: NDArray[np.float32], k: int, tau: float | None = None) -> list[tuple[int, float]]:
        """The `k` best rows as (order of creation, cosine), by score descending, then by insertion.

        Args:
            query: Shape (d,), unit length.
            k: How many at most.
            tau: Leave out rows whose cosine is below it; None: no threshold.

        Raises:
            IntegrityError: The query's dimension is not the rows'.
        """
        n = len(self._orders)
        if n == 0 or k <= 0:
            return []
        if query.shape != (self._rows.shape[1],):
            raise IntegrityError(
                f"the query's vector has {query.size} dimensions and the store's have {self._rows.shape[1]}: "
                "one store belongs to one embedder"
            )
        rows = self._rows[:n]
        rough = rows @ query
        if k < n:
            floor = np.partition(rough, n - k)[n - k]
            candidates = np.flatnonzero(rough >= floor - _SLACK)
        else:
            candidates = np.arange(n)
        exact = _dot(rows, candidates, query)
        best = candidates[np.argsort(-exact, kind="stable")[:k]]
        scores = np.sort(-exact, kind="stable")[:k]
        found = [(self._orders[row], -float(score)) for row, score in zip(best, scores, strict=True)]
        return found if tau is None else [hit for hit in found if hit[1] >= tau]


def _dot(
    rows: NDArray[np.float32], chosen: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float64]:
    wide = query.astype(np.float64)
    parts = [
        (rows[chosen[i : i + _BLOCK]].astype(np.float64) * wide).sum(axis=1)
        for i in range(0, len(chosen), _BLOCK)
    ]
    return np.concatenate(parts)
