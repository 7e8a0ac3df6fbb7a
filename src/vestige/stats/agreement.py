"""How far two raters agree beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["cohen_kappa"]


def cohen_kappa(a: Iterable[Hashable], b: Iterable[Hashable]) -> float | None:
    """Cohen's κ of two raters' labels of the same items, unweighted (Cohen, 1960).

    Returns:
        κ in [-1, 1]; None where it is undefined: no item, or one and the same label throughout from both.

    Raises:
        ValueError: The raters labelled different numbers of items.
    """
    first, second = list(a), list(b)
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} labels against {len(second)}: both raters must label the same items")
    agreed = sum(x == y for x, y in zip(first, second, strict=True))
    of_second = Counter(second)
    by_chance = sum(count * of_second[label] for label, count in Counter(first).items())
    if by_chance == n * n:
        return None
    return (n * agreed - by_chance) / (n * n - by_chance)
