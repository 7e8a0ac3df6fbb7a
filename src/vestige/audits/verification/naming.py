"""Invented names: options of a preference, never words that the conversations hold."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from vestige.audits.verification.settings import TARGETS, TargetName, kind_of
from vestige.errors import DataError
from vestige.text import fold

__all__ = ["fixture_texts", "invent", "nonce_words", "second_source_texts", "topics"]

_DRAWS = 1_000


@cache
def fixture_texts() -> dict[str, Any]:
    """The file of fixture texts."""
    return tomllib.loads(
        files("vestige.audits.verification").joinpath("fixtures.toml").read_text(encoding="utf-8")
    )


@cache
def topics() -> tuple[str, ...]:
    """What the options of a preference can be, such as a courier service."""
    return tuple(fixture_texts()["topics"])


def nonce_words(target: TargetName) -> dict[str, str] | None:
    """What a further nonce is called (label), what it belongs to (thing), and its decoy.

    None: the first has texts of its own.
    """
    names = [t for t in TARGETS if kind_of(t) == "nonce"]
    number = names.index(target)
    return fixture_texts()["nonces"][number - 1] if number else None


def invent(rng: np.random.Generator, held: Callable[[str], bool], taken: set[str]) -> str:
    """A made-up word that is new to the pair.

    Args:
        rng: Drawn from.
        held: Whether the conversations hold a folded word.
        taken: Beginnings and ends of the pair's names so far: no two names look alike.

    Raises:
        DataError: Nothing new is left to invent.
    """
    parts = fixture_texts()["names"]
    for _ in range(_DRAWS):
        start, middle, end = (
            str(parts[part][int(rng.integers(len(parts[part])))]) for part in ("first", "middle", "last")
        )
        word = start + middle + end
        if not taken.isdisjoint((start, end)) or held(fold(word)):
            continue
        taken |= {start, end}
        return word
    raise DataError("no invented name is new to these conversations")


def second_source_texts() -> list[str]:
    """Questions about the value that a second source supports."""
    return list(fixture_texts()["second_source"]["questions"])
