"""The leak scan: no target, in any encoding, in any public file of a packet.

A packet can hold thousands of targets in dozens of spellings and many megabytes of text, so the search looks at every
window of eight (or four) bytes at once instead of at one spelling after another.
"""

from __future__ import annotations

import html
import re
import urllib.parse
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from vestige.text import encoded_forms, fold

__all__ = ["LeakScan", "MultiSearch"]

_CHUNK = 4 << 20
_TABLE = 1 << 20
_DROPPED = np.uint64(64 - 20)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: spreads windows over the table
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = 6
"""Folded characters below which a value is looked for as words: it would be found inside others."""


class MultiSearch:
    """Whether any of many byte strings stands in some bytes."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        whole = {n for n in needles if n}
        self._tiny = [n for n in sorted(whole) if len(n) < 4]
        self._groups = [
            _Windows(8, {n for n in whole if len(n) >= 8}),
            _Windows(4, {n for n in whole if 4 <= len(n) < 8}),
        ]
        self._longest = max(map(len, whole), default=0)

    def found_in(self, data: bytes) -> bool:
        """Whether one of the needles stands in `data`."""
        if any(n in data for n in self._tiny):
            return True
        step = max(_CHUNK, 2 * self._longest)
        return any(
            group.found_in(data[at : at + step + self._longest])
            for at in range(0, max(len(data), 1), step)
            for group in self._groups
        )


class _Windows:
    """Needles by their first `width` bytes."""

    def __init__(self, width: int, needles: set[bytes]) -> None:
        self._width = width
        self._by_start: dict[bytes, list[bytes]] = {}
        for needle in sorted(needles):
            self._by_start.setdefault(needle[:width], []).append(needle)
        self._table = np.zeros(_TABLE, dtype=np.bool_)
        for start in self._by_start:
            self._table[self._slots(start)] = True

    def _slots(self, data: bytes | memoryview) -> NDArray[np.intp]:
        """Where in the table the windows stand that follow one another without overlap."""
        windows = np.frombuffer(data, dtype=f"<u{self._width}").astype(np.uint64, copy=False)
        return ((windows * _MIX) >> _DROPPED).astype(np.intp)

    def found_in(self, data: bytes) -> bool:
        width, view = self._width, memoryview(data)
        if not self._by_start or len(data) < width:
            return False
        for first in range(width):
            whole = (len(data) - first) // width * width
            slots = self._slots(view[first : first + whole])
            for at in (np.flatnonzero(self._table[slots]) * width + first).tolist():
                for needle in self._by_start.get(data[at : at + width], ()):
                    if data.startswith(needle, at):
                        return True
        return False


class LeakScan:
    """Looks for secrets in texts that are to be published.

    Found are: the secret as it is, in any case, with any separators and in any Unicode form, with its digits spelled,
    reversed, in base64 (at any alignment) and in hex; as written, and under HTML, JSON and URL escapes.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        plain: set[bytes] = set()
        folded: set[bytes] = set()
        words: list[str] = []
        for secret in secrets:
            if len(fold(secret)) < _SHORT:
                words.append(secret)
                continue
            forms = encoded_forms(secret)
            plain.add(secret.encode("utf-8", "surrogatepass"))
            plain |= {core.encode() for core in forms.get("base64", ())}
            folded |= {fold(text).encode() for text in (secret, *_spelled(secret))}
            folded |= {text.encode() for name in ("reversed", "hex") for text in forms.get(name, ())}
        self._plain, self._folded = MultiSearch(plain), MultiSearch(folded)
        short = "|".join(re.escape(word) for word in words if word.strip())
        self._words = re.compile(rf"(?<!\w)(?:{short})(?!\w)", re.IGNORECASE) if short else None

    def leaks(self, data: bytes) -> bool:
        """Whether a secret stands in `data`, which is read as UTF-8."""
        text = data.decode("utf-8", "replace")
        if text.encode() != data and self._plain.found_in(data):
            return True
        return any(self._found_in(reading) for reading in dict.fromkeys(_readings(text)))

    def _found_in(self, text: str) -> bool:
        return (
            self._folded.found_in(fold(text).encode("utf-8", "surrogatepass"))
            or self._plain.found_in(text.encode("utf-8", "surrogatepass"))
            or (self._words is not None and self._words.search(text) is not None)
        )


def _spelled(secret: str) -> Iterator[str]:
    """With all digits spelled, and with those of the last part spelled."""
    if any(c.isdecimal() and c.isascii() for c in secret):
        yield _spell(secret)
        head, dash, tail = secret.rpartition("-")
        if dash:
            yield head + dash + _spell(tail)


def _spell(text: str) -> str:
    return "".join(f" {_DIGITS[int(c)]} " if c.isascii() and c.isdecimal() else c for c in text)


def _readings(text: str) -> Iterator[str]:
    yield text
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(_unescaped, text)
    if "%" in text:
        yield urllib.parse.unquote(text)


def _unescaped(match: re.Match[str]) -> str:
    code, letter = match.groups()
    return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r"}.get(letter, letter)
