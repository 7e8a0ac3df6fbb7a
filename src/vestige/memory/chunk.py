"""Chunk granularity: how a user's turn is cut into raw memory units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from vestige.errors import ConfigError
from vestige.text import sentences

__all__ = ["Granularity", "parse_granularity"]


@dataclass(frozen=True, slots=True)
class Granularity:
    """One way to cut a turn."""

    kind: Literal["turn", "sentence", "tokens"]
    tokens: int = 0
    """Whitespace-separated tokens a unit, for `tokens`."""

    def __str__(self) -> str:
        return f"tokens:{self.tokens}" if self.kind == "tokens" else self.kind

    def cut(self, text: str) -> list[str]:
        """The units of one turn, in order; none where nothing alphanumeric stands in it."""
        if self.kind == "turn":
            pieces = [text.strip()]
        elif self.kind == "sentence":
            pieces = sentences(text)
        else:
            words = text.split()
            pieces = [" ".join(words[i : i + self.tokens]) for i in range(0, len(words), self.tokens)]
        return [piece for piece in pieces if any(c.isalnum() for c in piece)]


def parse_granularity(name: str) -> Granularity:
    """Read ``turn``, ``sentence`` or ``tokens:N`` with N whitespace-separated tokens.

    Raises:
        ConfigError: It is none of these.
    """
    if name == "turn":
        return Granularity("turn")
    if name == "sentence":
        return Granularity("sentence")
    if (match := re.fullmatch(r"tokens:([0-9]{1,6})", name)) and (count := int(match[1])) > 0:
        return Granularity("tokens", count)
    raise ConfigError(
        f"granularity {name!r} is not known; write turn, sentence or tokens:N (for example tokens:64)"
    )
