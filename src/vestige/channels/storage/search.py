"""Thousands of patterns in one pass over bytes, in memory that does not grow with what is read.

Of every block one window of `width` bytes in `stride` is looked up in a table, and each pattern stands in the table
with its windows at `stride` neighbouring places: wherever a pattern stands, one of its windows is looked up. A window
that is in the table is compared exactly, then the whole pattern. Case is folded in the table by setting a bit, so that
the block itself is never copied. Ours; the idea of windows is that of Wu and Manber (1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Found", "Pattern", "Search", "Searching"]

_BLOCK = 1 << 18
"""Bytes that are looked at in one go: windows and table stay in the processor's caches."""
_FEWEST_BITS, _MOST_BITS = 18, 22
_MIXES = {4: (0x9E3779B1, 0x85EBCA77), 8: (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)}
_FOLD = 0x20


class Found(NamedTuple):
    """A pattern at a place."""

    offset: int
    """In bytes, from the start of what was fed."""
    pattern: int
    """Its index among the patterns of the search."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Bytes to look for; at least four."""

    data: bytes
    """In lower case where `any_case`."""
    any_case: bool = False
    """Whether ASCII letters are found in either case."""


class _Group:
    """Patterns that are looked for with the same window and stride."""

    def __init__(self, width: int, stride: int, members: Sequence[tuple[int, Pattern]]) -> None:
        self.width, self.stride = width, stride
        self._kind = np.dtype(f"<u{width}")
        self._mixes = tuple(self._kind.type(mix) for mix in _MIXES[width])
        self._fold = np.frombuffer(bytes([_FOLD]) * width, self._kind)[0]
        fold = int(self._fold)
        places: dict[int, list[tuple[int, int]]] = {}
        for index, pattern in members:
            data = pattern.data
            for at in range(stride):
                window = int.from_bytes(data[at : at + width], "little") | fold
                places.setdefault(window, []).append((at, index))
        self._members = dict(members)
        self._windows = np.array(sorted(places), dtype=self._kind)
        self._places = [places[window] for window in sorted(places)]
        self._ready: dict[int, list[tuple[int, int, bool, dict[bytes, list[int]]]]] = {}
        # A table of sixteen times the windows lets one of sixteen others through; a larger one leaves the cache.
        bits = min(max(_FEWEST_BITS, (16 * len(places)).bit_length()), _MOST_BITS)
        self._shift = self._kind.type(8 * width - bits)
        # What the first table lets through by chance, the second mostly stops.
        self._tables = tuple(np.zeros(1 << bits, dtype=np.bool_) for _ in self._mixes)
        for table, mix in zip(self._tables, self._mixes, strict=True):
            table[self._slots(self._windows, mix)] = True

    def _slots(self, windows: NDArray[np.unsignedinteger], mix: np.unsignedinteger) -> NDArray[np.int64]:
        slots = (windows * mix) >> self._shift
        return slots.view(np.int64) if self.width == 8 else slots.astype(np.int64)

    def _owners(self, window: int) -> list[tuple[int, int, bool, dict[bytes, list[int]]]]:
        """The patterns that hold a window, by its place in them, their length and case; sorted when it is met."""
        ready = self._ready.get(window)
        if ready is None:
            found: dict[tuple[int, int, bool], dict[bytes, list[int]]] = {}
            for at, index in self._places[window]:
                pattern = self._members[index]
                same = found.setdefault((at, len(pattern.data), pattern.any_case), {})
                same.setdefault(pattern.data, []).append(index)
            ready = self._ready[window] = [(*key, owners) for key, owners in found.items()]
        return ready

    def search(self, data: bytes, base: int, since: int, found: list[Found]) -> None:
        """Add what stands in `data` and ends after `since`; `base` is the offset of its first byte."""
        step, width = self.stride, self.width
        # The block's own alignment does not matter: every stride-th window is looked up, wherever it starts.
        count = (len(data) - width) // step + 1
        if count <= 0:
            return
        rows = np.ndarray((count,), self._kind, buffer=data, strides=(step,)) | self._fold
        (first, second), (mix, other) = self._tables, self._mixes
        near = np.flatnonzero(first.take(self._slots(rows, mix), mode="wrap"))
        near = near[second.take(self._slots(rows[near], other), mode="wrap")]
        if not len(near):
            return
        windows = rows[near]
        at = np.searchsorted(self._windows, windows)
        at[at == len(self._windows)] = 0
        same = self._windows[at] == windows
        for place, window in zip(near[same].tolist(), at[same].tolist(), strict=True):
            for shift, length, any_case, owners in self._owners(window):
                start = place * step - shift
                end = start + length
                if start < 0 or end > len(data) or end <= since:
                    continue
                text = data[start:end]
                for index in owners.get(text.lower() if any_case else text, ()):
                    found.append(Found(base + start, index))


class Search:
    """Patterns, made ready once and looked for in as many files as there are.

    Args:
        patterns: What to look for. The same bytes may stand more than once; each is found.

    Raises:
        ValueError: A pattern has fewer than four bytes, or one of any case is not in lower case.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.longest = max((len(p.data) for p in patterns), default=1)
        classes: dict[tuple[int, int], list[tuple[int, Pattern]]] = {}
        for index, pattern in enumerate(patterns):
            size = len(pattern.data)
            if size < 4 or (pattern.any_case and pattern.data != pattern.data.lower()):
                raise ValueError(
                    "a pattern has at least four bytes, and is in lower case where any case will do"
                )
            shape = (8, 8) if size >= 15 else (8, 4) if size >= 11 else (4, 4) if size >= 7 else (4, size - 3)
            classes.setdefault(shape, []).append((index, pattern))
        self._groups = [_Group(*shape, members) for shape, members in sorted(classes.items())]

    def start(self) -> Searching:
        """Begin with something new: a file, or a stream out of one."""
        return Searching(self)

    def groups(self) -> Sequence[_Group]:
        """The tables, of long patterns and of short ones."""
        return self._groups


class Searching:
    """A search through bytes that come in pieces; a pattern that two pieces share is found."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._keep = search.longest - 1
        self._tail = b""
        self._base = 0
        self.size = 0
        """Bytes that were fed."""

    def feed(self, data: bytes) -> list[Found]:
        """The next bytes, and what was found that ends in them, by place; each place and pattern once."""
        found: list[Found] = []
        for at in range(0, len(data), _BLOCK):
            self._block(data[at : at + _BLOCK] if len(data) > _BLOCK else data, found)
        return found

    def _block(self, block: bytes, found: list[Found]) -> None:
        window = self._tail + block
        before = len(self._tail)
        new: list[Found] = []
        for group in self._search.groups():
            group.search(window, self._base, before, new)
        # A pattern of a repeating text has the same window at several places.
        found += sorted(set(new))
        self.size += len(block)
        cut = max(0, len(window) - self._keep) if self._keep else len(window)
        self._base += cut
        self._tail = window[cut:]
