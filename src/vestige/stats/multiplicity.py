"""Several tests at once."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["holm"]


def holm(p_values: Iterable[float]) -> list[float]:
    """p-values adjusted for their number (Holm, 1979), in whatever way the tests depend on one another.

    Calling those below alpha successes, it is wrong about any of them with probability at most alpha. For claims that
    *some* tests succeeded; where all must pass (intersection–union), nothing is adjusted.

    Returns:
        One adjusted value a test, in the order given, at most 1.

    Raises:
        ValueError: A p-value is not in [0, 1].
    """
    values = [float(p) for p in p_values]
    for p in values:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p_values has {p!r}: expected numbers from 0 to 1")
    adjusted = [0.0] * len(values)
    running = 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        running = max(running, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = running
    return adjusted
