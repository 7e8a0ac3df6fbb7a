"""One file read in every way there is: its bytes, the streams in them, and what its format makes of its bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from vestige.channels.scan import LOG_NAME, OLD_NAME
from vestige.channels.storage.blocks import Damaged
from vestige.channels.storage.containers import Start, Unreadable, starts_in, unpack
from vestige.channels.storage.formats import format_of, is_text, looks_packed
from vestige.channels.storage.forms import FormName, forms_of, parts_of
from vestige.channels.storage.results import FileRead, ScanHit
from vestige.channels.storage.search import Pattern, Search
from vestige.channels.storage.sqlite import Place, SqliteMap, is_sqlite, journal_place

__all__ = ["Limits", "Looker"]

_BLOCK = 1 << 20
_AHEAD = 16
"""Bytes after the beginning of a stream that say whether it is one."""
_CHANCE = 512
"""What a broken stream with a two-byte beginning gives, at most, where it is taken for chance.

In 8 MiB of noise the most is 236."""
_IN_MEMORY = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a hostile file can cost."""

    unpacked: int = 1 << 30
    """Bytes that the streams of one file may unpack to, and twenty times the file's own on top."""
    depth: int = 4
    """Streams within streams."""
    starts: int = 100_000
    """Places in one file or stream where a stream seems to begin."""


Placing = Callable[[int, int], Place]
Continues = Callable[[int], bool]
_Key = tuple[str, FormName, Place, tuple[str, ...]]


@dataclass(slots=True)
class _Sight:
    """What was seen of one file so far."""

    left: int
    """Bytes that its streams may still unpack to."""
    tally: dict[_Key, tuple[int, int]] = field(default_factory=dict[_Key, tuple[int, int]])
    streams: dict[str, int] = field(default_factory=dict[str, int])
    problems: dict[str, None] = field(default_factory=dict[str, None])
    chance: int = 0
    bytes: int = 0

    def problem(self, words: str) -> None:
        self.problems[words] = None

    def hits(self) -> tuple[ScanHit, ...]:
        """Parts are left out of a file that has the whole: they are its own."""
        whole = {label for label, form, _, _ in self.tally if form != "part"}
        return tuple(
            ScanHit(
                label=label,
                form=form,
                grade=place.grade,
                place=place.words,
                inside=inside,
                count=count,
                first=first,
            )
            for (label, form, place, inside), (count, first) in self.tally.items()
            if form != "part" or label not in whole
        )


@dataclass(frozen=True, slots=True)
class _Layer:
    """Bytes that are looked at in one pass: a file, what a stream unpacked to, or a row on several pages."""

    file: BinaryIO
    place: Placing
    inside: tuple[str, ...] = ()
    """The streams that it was unpacked from."""
    edges: Sequence[int] = ()
    """Where given, only what crosses one of these places is new."""
    continues: Continues = lambda offset: False
    """Whether a stream that begins there goes on elsewhere, and is read there."""

    rows: bool = False
    """Whether what it holds in rows is looked at apart: then nothing is said of bytes that look compressed."""

    def new(self, start: int, end: int) -> bool:
        return not self.edges or any(start < edge < end for edge in self.edges)


class Looker:
    """Looks for the same values in any number of files.

    Args:
        values: Values by label.
        limits: See `Limits`.

    Raises:
        DataError: A value is too short or too long to be looked for.
    """

    def __init__(self, values: Mapping[str, str], limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._owners: list[tuple[str, FormName, int]] = []
        patterns: list[Pattern] = []
        for label, value in values.items():
            for form in (*forms_of(value), *parts_of(value)):
                patterns.append(Pattern(form.pattern, form.any_case))
                self._owners.append((label, form.name, len(form.pattern)))
        self._search = Search(patterns)

    def in_name(self, name: str) -> tuple[tuple[str, FormName], ...]:
        """Labels and forms that a file's name holds."""
        found = self._search.start().feed(name.encode("utf-8", "surrogateescape"))
        return tuple(dict.fromkeys(self._owners[hit.pattern][:2] for hit in found))

    def look(self, path: Path, name: str) -> FileRead:
        """Read one file; of a database, its WAL and its journal are files of their own.

        Args:
            path: The file.
            name: What it is called in the result.
        """
        try:
            with ExitStack() as opened:
                return self._look(path, name, opened)
        except OSError as error:
            words = f"it cannot be read: {error.strerror or type(error).__name__}"
            return FileRead(file=name, bytes=0, format="unknown", how=(), not_computable=(words,))

    def _look(self, path: Path, name: str, opened: ExitStack) -> FileRead:
        before = path.stat()
        file = _open(path, opened)
        head = file.read(1 << 16)
        file.seek(max(0, before.st_size - 64))
        kind, packed = format_of(head, file.read(64))
        sight = _Sight(self._limits.unpacked + 20 * before.st_size)
        how, settings = ["bytes"], dict[str, str]()
        layer = _Layer(file, _by_name(path.name, head))
        database = None
        if is_sqlite(head):
            log = path.with_name(f"{path.name}-wal")
            database = SqliteMap(_open(path, opened), _open(log, opened) if log.is_file() else None)
            kind, packed, settings = "SQLite database", None, _settings(database, head)
            layer = _Layer(file, database.place, continues=database.continues, rows=True)
            how.append("pages")
        elif path.name.endswith("-wal") and (main := _main_of(path, opened)) is not None:
            log_of = SqliteMap(main, _open(path, opened))
            kind = "SQLite WAL"
            layer = _Layer(
                file, log_of.wal_place, continues=lambda at: log_of.continues(at, wal=True), rows=True
            )
            how.append("frames")
        elif path.name.endswith("-journal"):
            kind, place = "SQLite journal", journal_place(head)
            layer = _Layer(file, lambda start, end: place)
        if packed is not None:
            sight.problem(f"{kind}: {packed}")
        sight.bytes = self._pass(layer, sight)
        if database is not None:
            rows = self._long_rows(database, sight)
            how += [f"{rows:,} rows on several pages"] if rows else []
            for words in database.problems:
                sight.problem(f"SQLite: {words}")
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            sight.problem("it was written to while it was read")
        how += [f"{count:,} {stream}" for stream, count in sorted(sight.streams.items())]
        if sight.chance:
            how.append(f"{sight.chance:,} places that begin like zlib and are no stream")
        return FileRead(
            file=name,
            bytes=sight.bytes,
            format=kind,
            how=tuple(how),
            settings=settings,
            hits=sight.hits(),
            not_computable=tuple(sight.problems),
        )

    def _long_rows(self, database: SqliteMap, sight: _Sight) -> int:
        for payload in database.payloads():
            place = Place("live_row", f"row on several pages of {payload.owner}")
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
                spool.writelines(database.pieces(payload))
                self._pass(
                    _Layer(cast(BinaryIO, spool), lambda start, end, p=place: p, edges=payload.edges), sight
                )
        return len(database.payloads())

    # --- one pass ---

    def _pass(self, layer: _Layer, sight: _Sight) -> int:
        """Look at all bytes of a layer, then at the streams in it; how many bytes there were."""
        searching = self._search.start()
        starts: list[Start] = []
        dense: list[tuple[int, int]] = []
        last: dict[tuple[str, bool], tuple[int, int]] = {}
        window, base = b"", 0
        layer.file.seek(0)
        while True:
            block = layer.file.read(_BLOCK)
            for hit in searching.feed(block):
                label, form, size = self._owners[hit.pattern]
                seen = last.get((label, form == "part"), (0, 0))
                if hit.offset < seen[1] and hit.offset + size > seen[0]:
                    continue  # the same bytes in another form
                last[(label, form == "part")] = (hit.offset, hit.offset + size)
                self._note(layer, sight, hit.offset, hit.pattern)
            if looks_packed(block):
                dense.append((searching.size - len(block), searching.size))
            window += block
            # Beginnings in the last bytes are judged with the block after them.
            stop = len(window) - _AHEAD if block else len(window)
            if len(starts) <= self._limits.starts:
                starts += (s for s in starts_in(window, base) if s.offset < base + stop)
            if not block:
                break
            base, window = base + max(0, stop), window[max(0, stop) :]
        if len(starts) > self._limits.starts:
            sight.problem(f"more than {self._limits.starts:,} places where a stream seems to begin")
        extents = self._streams(layer, sight, sorted(starts[: self._limits.starts]))
        unknown = sum(stop - start for start, stop in dense if not _covered(extents, start, stop))
        if unknown and not layer.rows:
            where = (
                "in long rows of a table"
                if layer.edges
                else f"unpacked from {layer.inside[-1]}"
                if layer.inside
                else ""
            )
            size = "bytes" if layer.edges else f"about {unknown:,} bytes"
            sight.problem(
                " ".join(
                    filter(None, (size, where, "look compressed or encrypted, by what is not known here"))
                )
            )
        return searching.size

    def _note(self, layer: _Layer, sight: _Sight, offset: int, pattern: int) -> None:
        label, form, size = self._owners[pattern]
        if not layer.new(offset, offset + size):
            return
        key = (label, form, layer.place(offset, offset + size), layer.inside)
        count, first = sight.tally.get(key, (0, offset))
        sight.tally[key] = (count + 1, min(first, offset))

    def _streams(self, layer: _Layer, sight: _Sight, starts: list[Start]) -> list[tuple[int, int]]:
        """Unpack and look at every stream; where those stood that could be read."""
        extents: list[tuple[int, int]] = []
        for start in starts:
            if extents and start.offset < extents[-1][1]:
                continue  # chance, within a stream that was read
            if len(layer.inside) >= self._limits.depth:
                sight.problem(f"streams within more than {self._limits.depth} streams")
                break
            if sight.left <= 0:
                sight.problem("its streams unpack to more than is looked at: the rest was not")
                break
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
                size, trouble = self._unpack(layer, sight, start, cast(BinaryIO, spool))
                end = layer.file.tell()
                if not layer.new(start.offset, end):
                    if not trouble:
                        extents.append((start.offset, end))
                    continue  # a stream on one page: it was read with the file
                if trouble and (layer.continues(start.offset) or (not start.sure and size <= _CHANCE)):
                    sight.chance += not layer.continues(start.offset)
                elif trouble:
                    sight.problem(
                        f"{start.kind} at offset {start.offset:,}: {trouble}; read up to {size:,} bytes"
                    )
                else:
                    sight.streams[start.kind] = sight.streams.get(start.kind, 0) + 1
                    extents.append((start.offset, end))
                if size:
                    place = layer.place(start.offset, start.offset + 1)
                    inside = (*layer.inside, start.kind)
                    self._pass(_Layer(cast(BinaryIO, spool), lambda s, e, p=place: p, inside), sight)
        return extents

    def _unpack(self, layer: _Layer, sight: _Sight, start: Start, spool: BinaryIO) -> tuple[int, str]:
        """Write what a stream unpacks to; how much that is, and what went wrong."""
        size, trouble = 0, ""
        try:
            for piece in unpack(layer.file, start):
                spool.write(piece)
                size += len(piece)
                sight.left -= len(piece)
                if sight.left <= 0:
                    return size, "it unpacks to more than is looked at"
        except Damaged as damage:
            trouble = str(damage)
        except Unreadable as missing:
            trouble = str(missing)
        return size, trouble


def _covered(extents: list[tuple[int, int]], start: int, stop: int) -> bool:
    """Whether streams that were read make up most of these bytes."""
    return 2 * sum(max(0, min(stop, b) - max(start, a)) for a, b in extents) > stop - start


def _by_name(name: str, head: bytes) -> Placing:
    """What the bytes of a file are that has no reader: a log and a text are read by whoever opens them."""
    if LOG_NAME.search(name):
        place = Place("live_row", "log")
    elif OLD_NAME.search(name):
        place = Place("old_version", "older version, by its name")
    elif head and is_text(head):
        place = Place("live_row", "text")
    else:
        place = Place(None, "bytes")
    return lambda start, end: place


def _open(path: Path, opened: ExitStack) -> BinaryIO:
    """A handle of its own for every reader: each moves its position."""
    return cast(BinaryIO, opened.enter_context(path.open("rb")))


def _main_of(wal: Path, opened: ExitStack) -> BinaryIO | None:
    path = wal.with_name(wal.name.removesuffix("-wal"))
    if not path.is_file():
        return None
    main = _open(path, opened)
    return main if is_sqlite(main.read(100)) else None


def _settings(database: SqliteMap, head: bytes) -> dict[str, str]:
    number = database.version
    version = f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
    return {
        "last written by": f"SQLite {version}",
        "pages": f"{database.pages:,} of {database.page_size:,} bytes, {database.free_pages:,} of them free",
        "journal": "WAL" if head[18] == 2 else "rollback",
        "auto_vacuum": "on" if any(head[52:56]) else "off",
        "secure_delete": "not told by the file",
    }
