"""The scrubber: remove a value from stored text, as it is stored.

It looks for the value and for what folds to the same (case, Unicode compatibility forms, separators), so
``XQ7-VIOLET-3829``, ``xq7-violet-3829`` and ``XQ7 - VIOLET - 3829`` all go. A value in base64, in other
words, or split over two units is not found: that is the honest limit of a scrubber that reads text unit by
unit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from vestige.errors import ConfigError
from vestige.text import fold

__all__ = ["MARKER", "Scrub", "Scrubber"]

Scrub = Literal["normalised", "exact"]

MARKER = "[REDACTED]"
"""What a tombstone leaves in the value's place."""

_LONG = 8
"""Folded values of at least so many characters are removed inside longer words too; shorter ones only as
whole words, or forgetting "12" would eat "2012"."""
_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Removes one value from texts.

    Args:
        value: The value to forget.
        how: ``normalised`` finds all that folds to the value; ``exact`` only the value's own characters.
        replacement: What stands in its place.

    Raises:
        ConfigError: The value has no letter or digit to look for.
    """

    value: str
    how: Scrub = "normalised"
    replacement: str = ""

    def __post_init__(self) -> None:
        if not fold(self.value):
            raise ConfigError("the value to forget holds no letter or digit; name the units by id instead")

    def __call__(self, text: str) -> str:
        """The text without the value; the same object where it holds none."""
        # Removing one copy can join the ends of another, so look again; but a value that the marker itself
        # spells would be found for ever.
        rounds = 1 if fold(self.value) in fold(self.replacement) * 2 else _ROUNDS
        for _ in range(rounds):
            spans = self._spans(text)
            if not spans:
                break
            starts, ends = zip(*spans, strict=True)
            kept = [text[a:b] for a, b in zip((0, *ends), (*starts, len(text)), strict=True)]
            text = self.replacement.join(kept)
        return text

    def _spans(self, text: str) -> list[tuple[int, int]]:
        if self.how == "exact":
            return list(_occurrences(text, self.value))
        needle = fold(self.value)
        if needle not in fold(text):
            return []
        folded, places = _places(text)
        spans: list[tuple[int, int]] = []
        for first, last in _occurrences(folded, needle):
            start, end = places[first][0], places[last - 1][1]
            counts = len(needle) >= _LONG or _whole_word(text, start, end)
            if counts and (not spans or start >= spans[-1][1]):
                spans.append((start, end))
        return spans


def _occurrences(text: str, needle: str) -> Iterator[tuple[int, int]]:
    at = text.find(needle)
    while at >= 0:
        yield at, at + len(needle)
        at = text.find(needle, at + len(needle))


def _whole_word(text: str, start: int, end: int) -> bool:
    return not (start > 0 and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum())


def _places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The folded text, and where in `text` each of its characters comes from, with its combining marks."""
    forms: dict[str, str] = {}
    folded: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        cluster = text[start:end]
        form = forms.get(cluster)
        if form is None:
            form = forms[cluster] = fold(cluster)
        folded.append(form)
        places += [(start, end)] * len(form)
        start = end
    return "".join(folded), places
