"""What everybody knows, told by a user: a model can answer questions about it without any memory."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from vestige.datasets.synthetic.values import pick, yes
from vestige.datasets.units.synthetic.facts import Pool

__all__ = ["Knowledge"]


_WORDINGS = 8
"""Tried before a fact is passed over."""


@cache
def _lists() -> dict[str, tuple[str, ...]]:
    raw = tomllib.loads(
        files("vestige.datasets.units.synthetic").joinpath("knowledge.toml").read_text(encoding="utf-8")
    )
    return {name: tuple(lines) for name, lines in raw.items()}


class Knowledge:
    """One user's statements of common knowledge, each fact once.

    Args:
        pool: Of the user; a statement that is a near-duplicate of one handed out is passed over.
        hardness: Chance of a fact that is widely known, rather than one that few know.
    """

    def __init__(self, pool: Pool, hardness: float) -> None:
        self._pool = pool
        self._hardness = hardness
        self._left = {name: self._shuffled(name) for name in ("wide", "narrow")}

    def told(self) -> str:
        """One more statement.

        Raises:
            ValueError: There are no more.
        """
        wide = yes(self._pool.rng, self._hardness)
        for name in ("wide", "narrow") if wide else ("narrow", "wide"):
            for fact in self._left[name]:
                for _ in range(_WORDINGS):
                    text = pick(self._pool.rng, _lists()["told"]).format(who=self._pool.name, fact=fact)
                    if self._pool.admit(text):
                        return text
        raise ValueError("no more common knowledge that is free of near-duplicates")

    def _shuffled(self, name: str) -> Iterator[str]:
        lines = _lists()[name]
        return iter([lines[int(i)] for i in self._pool.rng.permutation(len(lines))])
