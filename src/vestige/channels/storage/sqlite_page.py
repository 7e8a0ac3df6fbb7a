"""One page of a SQLite tree: its cells, its children, and what a row of the schema says."""

from __future__ import annotations

from typing import NamedTuple, Self

__all__ = ["Cell", "Page", "record_root"]

_INDEX_INNER, _TABLE_INNER, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13


class Cell(NamedTuple):
    """A row or index entry on its page; offsets from the page's start."""

    start: int
    end: int
    payload: int
    """Where its content begins."""
    size: int
    """Of the whole content."""
    local: int
    """How much of it stands here."""
    overflow: int
    """The page where it goes on; 0: all of it stands here."""


class Page(NamedTuple):
    """A page of a tree."""

    table: bool
    """Of a table; else of an index."""
    cells: tuple[Cell, ...]
    children: tuple[int, ...]
    doubtful: bool
    """Whether a cell could not be read."""

    @classmethod
    def parse(cls, data: bytes, usable: int, head: int) -> Self | None:
        """Read a page; None for one that is no tree's.

        Args:
            data: The page.
            usable: Bytes of a page that are in use.
            head: Where its header begins: at 100 on the first page.
        """
        if len(data) < head + 12 or data[head] not in (_INDEX_INNER, _TABLE_INNER, _INDEX_LEAF, _TABLE_LEAF):
            return None
        kind = data[head]
        count = int.from_bytes(data[head + 3 : head + 5], "big")
        inner = kind in (_INDEX_INNER, _TABLE_INNER)
        pointers = head + (12 if inner else 8)
        doubtful = pointers + 2 * count > len(data)
        cells: list[Cell] = []
        children: list[int] = []
        for at in range(pointers, min(pointers + 2 * count, len(data) - 1), 2):
            start = int.from_bytes(data[at : at + 2], "big")
            if not pointers <= start < len(data) - 3:
                doubtful = True
                continue
            if inner:
                children.append(int.from_bytes(data[start : start + 4], "big"))
            if kind != _TABLE_INNER:
                cell = _cell(data, start, kind, usable)
                if cell is None:
                    doubtful = True
                else:
                    cells.append(cell)
        if inner:
            children.append(int.from_bytes(data[head + 8 : head + 12], "big"))
        return cls(kind == _TABLE_LEAF, tuple(cells), tuple(children), doubtful)


def _cell(data: bytes, start: int, kind: int, usable: int) -> Cell | None:
    at = start + (4 if kind == _INDEX_INNER else 0)
    size, at = _varint(data, at)
    if kind == _TABLE_LEAF:
        _, at = _varint(data, at)
    largest = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    local, overflow = size, 0
    if size > largest:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= largest else least
        overflow = int.from_bytes(data[at + local : at + local + 4], "big")
    end = at + local + (4 if overflow else 0)
    if end > len(data) or size >= 1 << 40:
        return None
    return Cell(start, end, at, size, local, overflow)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(9):
        if at + index >= len(data):
            break
        byte = data[at + index]
        if index == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at + index + 1
    return 1 << 62, len(data)  # cut: larger than anything that is there


def record_root(data: bytes, cell: Cell) -> tuple[str, int] | None:
    """The name and the root page that a row of the schema gives; root 0 where it has none (a view, a trigger)."""
    end = cell.payload + cell.local
    header, at = _varint(data, cell.payload)
    body = cell.payload + header
    kinds: list[int] = []
    while at < min(body, end) and len(kinds) < 5:
        kind, at = _varint(data, at)
        kinds.append(kind)
    if len(kinds) < 4:
        return None
    sizes = [_size(kind) for kind in kinds]
    offset = body + sum(sizes[:3])
    if offset + sizes[3] > end:
        return None
    name = data[body + sizes[0] : body + sizes[0] + sizes[1]].replace(b"\x00", b"").decode("utf-8", "replace")
    kind = kinds[3]
    if kind in (0, 8):
        return name, 0
    if kind == 9:
        return name, 1
    return (name, int.from_bytes(data[offset : offset + sizes[3]], "big")) if 1 <= kind <= 6 else None


def _size(kind: int) -> int:
    if kind < 12:
        return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
    return (kind - 12) // 2
