"""The published split into members and non-members: whole groups of a user, half and half."""

from __future__ import annotations

import random
from collections.abc import Iterable

__all__ = ["Splitter"]


class Splitter:
    """Splits one user after the other with one generator for the whole file (MRMMIA, appendix A, and its code).

    So a user's split depends on the users before it in the file, never on those behind it. It is Python's own
    `random`, since the published counts come from its shuffle.

    Args:
        seed: The paper's is 42.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def members(self, groups: Iterable[str]) -> frozenset[str]:
        """The groups that are members: the first int(n/2) of the n distinct ones, shuffled.

        A single group is a non-member: such a user has one side alone and cannot be tested.
        """
        shuffled = list(dict.fromkeys(groups))
        self._random.shuffle(shuffled)
        return frozenset(shuffled[: len(shuffled) // 2])
