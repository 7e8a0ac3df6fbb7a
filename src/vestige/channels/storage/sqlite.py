"""A SQLite database as pages: which bytes are a row, which an old version of one, and which are dead.

After the file format as sqlite.org describes it. Nothing is opened with SQLite: the files are only read, so that no
lock is taken, no WAL is recovered and no setting of the library here changes what is seen. Frame checksums of the WAL
are not computed: a frame with the right salts up to the last commit counts as current, the nearer of the two readings.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from vestige.channels.observation import Grade
from vestige.channels.storage.sqlite_page import Cell, Page, record_root

__all__ = ["Payload", "Place", "SqliteMap", "is_sqlite", "journal_place"]

_MAGIC = b"SQLite format 3\x00"
_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_WAL = (0x377F0682, 0x377F0683)
_LOCK_BYTE = 1 << 30
_MOST_PAGES = 1 << 26
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_UNOWNED, _TRUNK, _FREE, _POINTERS = 0, 1, 2, 3
_FIRST_OWNER = 4


class Place(NamedTuple):
    """What bytes of a file are."""

    grade: Grade | None
    """None: the format is not known here, and how near they are cannot be told."""
    words: str


class Payload(NamedTuple):
    """The content of a row or an index entry that does not fit on its page."""

    owner: str
    size: int
    edges: tuple[int, ...]
    """Where one page's piece ends and the next begins."""
    pages: tuple[tuple[int, int], ...]
    """Page and offset on it, of every piece."""


def is_sqlite(head: bytes) -> bool:
    """Whether a file that begins so is a SQLite database."""
    return len(head) >= 100 and head.startswith(_MAGIC) and _page_size(head) > 0


def journal_place(head: bytes) -> Place:
    """What a rollback journal's bytes are, by the file's first bytes."""
    if head.startswith(_JOURNAL):
        return Place("old_version", "rollback journal")
    return Place("dead_bytes", "rollback journal that was closed")


class SqliteMap:
    """The pages of a database and its WAL.

    Damage never raises: it is listed in `problems`, and what it leaves in doubt counts as live.

    Args:
        main: The database file.
        wal: Its write-ahead log, where there is one.
    """

    def __init__(self, main: BinaryIO, wal: BinaryIO | None = None) -> None:
        self._main, self._wal = main, wal
        self.problems: list[str] = []
        head = _at(main, 0, 100)
        self.page_size = _page_size(head)
        main_size = main.seek(0, 2)
        self._usable = max(480, self.page_size - head[20])
        self.version = _number(head, 96)
        """Number of the SQLite library that last wrote the header, as 3045001 for 3.45.1."""
        self._read_wal()
        pages = self._wal_pages
        if not pages:
            pages = _number(head, 28) if head[24:28] == head[92:96] else 0
            pages = pages or main_size // self.page_size
        held = max(main_size // self.page_size, max(self._frames, default=0))
        if pages > held or pages > _MOST_PAGES:
            self._problem("it should have more pages than it has")
            pages = min(held, _MOST_PAGES)
        self.pages = pages
        self._kinds = array("L", bytes(array("L").itemsize * (pages + 1)))
        self._owners: list[str] = []
        self._read = lru_cache(maxsize=256)(self._parse)
        self._used: dict[int, int] = {}
        self._read_free()
        self._pointer_pages(_number(head, 52))
        self._walk_all()
        self._payloads = tuple(self._find_payloads())

    @property
    def wal_frames(self) -> int:
        """Frames in the WAL, old and stale ones among them."""
        return self._all_frames

    # --- what is asked ---

    def place(self, start: int, end: int) -> Place:
        """What the bytes of the database file from `start` to `end` are."""
        number = start // self.page_size + 1
        if number > self.pages:
            return Place("dead_bytes", "behind the last page")
        if number in self._frames:
            base = (number - 1) * self.page_size
            if _at(self._main, base, self.page_size) != self._current(number):
                return Place("old_version", "page that the WAL replaces")
        return self._on_page(number, start % self.page_size, start % self.page_size + end - start)

    def wal_place(self, start: int, end: int) -> Place:
        """What the bytes of the WAL from `start` to `end` are."""
        frame, within = divmod(start - 32, self.page_size + 24)
        if start < 32 or frame >= self._last_commit:
            return Place("dead_bytes", "frame of an earlier WAL, or not committed")
        number = self._frame_pages[frame]
        if self._frames.get(number) != frame or number > self.pages:
            return Place("old_version", "older WAL frame")
        place = self._on_page(number, within - 24, within - 24 + end - start)
        return Place(place.grade, f"{place.words} (WAL)")

    def continues(self, offset: int, *, wal: bool = False) -> bool:
        """Whether a byte belongs to a content that goes on, on another page: `payloads` has it whole."""
        if wal:
            frame, within = divmod(offset - 32, self.page_size + 24)
            if (
                offset < 32
                or frame >= self._last_commit
                or self._frames.get(self._frame_pages[frame]) != frame
            ):
                return False
            number, at = self._frame_pages[frame], within - 24
        else:
            number, at = offset // self.page_size + 1, offset % self.page_size
        if number > self.pages:
            return False
        page = None if number in self._used else self._read(number)
        cells = page.cells if page is not None else ()
        return number in self._used or any(c.start <= at < c.end and c.overflow for c in cells)

    def payloads(self) -> tuple[Payload, ...]:
        """The contents of live rows and index entries that do not fit on one page."""
        return self._payloads

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        """The bytes of such a content, a page at a time."""
        before = 0
        for (number, offset), edge in zip(payload.pages, (*payload.edges, payload.size), strict=True):
            yield self._current(number)[offset : offset + edge - before]
            before = edge

    # --- pages ---

    def _on_page(self, number: int, start: int, end: int) -> Place:
        kind = self._kinds[number]
        if kind == _TRUNK:
            return Place("dead_bytes", "freelist trunk page")
        if kind == _FREE:
            return Place("dead_bytes", "free page")
        if kind == _POINTERS:
            return Place("dead_bytes", "pointer map page")
        if number in self._used:
            if end <= 4 + self._used[number]:
                return Place("live_row", f"row on an overflow page{self._of(kind)}")
            return Place("dead_bytes", "unused end of an overflow page")
        page = self._read(number)
        if kind == _UNOWNED:
            if self.problems:
                return Place("live_row", "page in doubt: the database is damaged")
            return Place("dead_bytes", "page that nothing refers to")
        if page is None:
            return Place("live_row", "page in doubt: the database is damaged")
        if any(cell.start <= start and end <= cell.end for cell in page.cells):
            return Place("live_row", f"{'row' if page.table else 'index entry'}{self._of(kind)}")
        if page.doubtful:
            return Place("live_row", "page in doubt: the database is damaged")
        return Place("dead_bytes", f"unallocated space on a live page{self._of(kind)}")

    def _of(self, kind: int) -> str:
        if kind < _FIRST_OWNER:
            return ""
        return f" of {self._owners[kind - _FIRST_OWNER]}"

    def _current(self, number: int) -> bytes:
        frame = self._frames.get(number)
        if frame is not None and self._wal is not None:
            return _at(self._wal, 32 + frame * (self.page_size + 24) + 24, self.page_size)
        return _at(self._main, (number - 1) * self.page_size, self.page_size)

    def _parse(self, number: int) -> Page | None:
        return Page.parse(self._current(number), self._usable, 100 if number == 1 else 0)

    def _problem(self, words: str) -> None:
        if words not in self.problems:
            self.problems.append(words)

    # --- the WAL ---

    def _read_wal(self) -> None:
        self._frames: dict[int, int] = {}
        self._frame_pages = array("L")
        self._last_commit = self._all_frames = self._wal_pages = 0
        if self._wal is None:
            return
        head, size = _at(self._wal, 0, 32), self._wal.seek(0, 2)
        if not size:
            return
        if len(head) < 32 or _number(head, 0) not in _WAL or _number(head, 8) not in (self.page_size, 1):
            self._problem("its WAL has no readable header")
            return
        step = self.page_size + 24
        self._all_frames = (size - 32) // step
        salts, waiting = head[16:24], dict[int, int]()
        for frame in range(self._all_frames):
            row = _at(self._wal, 32 + frame * step, 24)
            if row[8:16] != salts:
                break
            number, commit = _number(row, 0), _number(row, 4)
            self._frame_pages.append(number)
            waiting[number] = frame
            if commit:
                self._frames |= waiting
                waiting.clear()
                self._last_commit, self._wal_pages = frame + 1, commit

    # --- which page is what ---

    def _read_free(self) -> None:
        head = self._current(1)
        trunk, expected = _number(head, 32), _number(head, 36)
        found = 0
        while trunk:
            if not 1 < trunk <= self.pages or self._kinds[trunk]:
                self._problem("its list of free pages is damaged")
                return
            self._kinds[trunk] = _TRUNK
            found += 1
            page = self._current(trunk)
            count = _number(page, 4)
            if count > self._usable // 4 - 2:
                self._problem("its list of free pages is damaged")
                return
            for index in range(count):
                leaf = _number(page, 8 + 4 * index)
                if not 1 < leaf <= self.pages or self._kinds[leaf]:
                    self._problem("its list of free pages is damaged")
                    continue
                self._kinds[leaf] = _FREE
                found += 1
            trunk = _number(page, 0)
        if found != expected:
            self._problem("its list of free pages is damaged")
        self.free_pages = found

    free_pages = 0
    """Pages on the freelist, its own among them."""

    def _pointer_pages(self, largest_root: int) -> None:
        if largest_root:  # auto_vacuum
            step = self._usable // 5 + 1
            for number in range(2, self.pages + 1, step):
                self._kinds[number] = _POINTERS
        lock = _LOCK_BYTE // self.page_size + 1
        if lock <= self.pages:
            self._kinds[lock] = _POINTERS

    def _walk_all(self) -> None:
        self._owners.append("the schema")
        leaves = self._walk(1, _FIRST_OWNER)
        for leaf in leaves:
            page = self._read(leaf)
            for cell in page.cells if page is not None else ():
                found = record_root(self._current(leaf), cell)
                if found is None:
                    self._problem("its schema is damaged")
                elif found[1]:
                    self._owners.append(_shown(found[0], len(self._owners)))
                    self._walk(found[1], _FIRST_OWNER + len(self._owners) - 1)

    def _walk(self, root: int, kind: int) -> list[int]:
        """Give every page of a tree its owner; the leaves.

        All leaves are as far from the root: where one page of a level is a leaf, none of that level is read.
        """
        level = [root]
        while level:
            owned = [number for number in level if self._own(number, kind)]
            first = self._read(owned[0]) if owned else None
            if first is not None and not first.children:
                return owned
            level = []
            for number in owned:
                page = self._read(number)
                if page is None or page.doubtful:
                    self._problem("a page of a table is damaged")
                level += page.children if page is not None else ()
        return []

    def _own(self, number: int, kind: int) -> bool:
        if not 0 < number <= self.pages or self._kinds[number]:
            self._problem("a table refers to a page that is not its own")
            return False
        self._kinds[number] = kind
        return True

    def _find_payloads(self) -> Iterator[Payload]:
        # Without a page that is neither a tree's nor free there can be no content that needs one.
        if not any(kind == _UNOWNED for kind in self._kinds[1:]):
            return
        for number in range(1, self.pages + 1):
            if self._kinds[number] < _FIRST_OWNER or number in self._used:
                continue
            page = self._read(number)
            for cell in page.cells if page is not None else ():
                if cell.overflow and (payload := self._chain(number, cell)) is not None:
                    yield payload

    def _chain(self, number: int, cell: Cell) -> Payload | None:
        kind = self._kinds[number]
        pages, edges = [(number, cell.payload)], list[int]()
        reached, left, following = cell.local, cell.size - cell.local, cell.overflow
        while left > 0:
            if not 1 < following <= self.pages or self._kinds[following] or following in self._used:
                self._problem("a long row is damaged")
                return None
            edges.append(reached)
            pages.append((following, 4))
            took = min(left, self._usable - 4)
            self._used[following], self._kinds[following] = took, kind
            reached, left = reached + took, left - took
            following = _number(self._current(following), 0)
        return Payload(self._of(kind).removeprefix(" of "), cell.size, tuple(edges), tuple(pages))


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def _page_size(head: bytes) -> int:
    size = int.from_bytes(head[16:18], "big")
    size = 65536 if size == 1 else size
    return size if 512 <= size <= 65536 and not size & (size - 1) else 0


def _shown(name: str, number: int) -> str:
    """A table's name where it is a plain one: it comes out of the file, and it is shown."""
    return name if _NAME.fullmatch(name) else f"table {number}"
