"""Compressed streams within bytes: where one begins, and what it unpacks to, piece by piece.

A stream may begin anywhere in a file: at its start, in a column of a database, as a member of an archive. Zip members
are found by their local headers, so that an archive without its directory, or in the middle of a file, is read too.
"""

from __future__ import annotations

import bz2
import importlib
import importlib.util
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from vestige.channels.storage.blocks import Damaged, lz4_frame, snappy_stream

__all__ = ["MAGICS", "PIECE", "Encrypted", "Start", "Unreadable", "starts_in", "unpack"]

PIECE = 1 << 18
"""Bytes of a piece, at most; of LZ4 one may have 8 MiB, of zstd 16 MiB."""
_READ = 1 << 16
_ZSTD_READ = 512
"""Its unpacker has no limit of its own: a block of four bytes may become 128 KiB, so this bounds a piece to 16 MiB."""
_MEMORY = 256 << 20
"""What an unpacker may hold."""


class Unreadable(Exception):
    """What unpacks this is not installed, or not known; the message names it."""


class Encrypted(Unreadable):
    """A member is encrypted."""


class Start(NamedTuple):
    """A place where a stream seems to begin."""

    offset: int
    kind: str
    sure: bool
    """Whether chance does not write such a beginning."""


MAGICS: dict[str, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b\x08",),
    "zlib": (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "lz4": (b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"),
    "snappy": (b"\xff\x06\x00\x00sNaPpY",),
    "zip member": (b"PK\x03\x04",),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
}
"""By what a stream begins."""
_LONGEST = 10
_BY_PAIR: dict[bytes, list[tuple[str, bytes]]] = {}
for _kind, _magics in MAGICS.items():
    for _magic in _magics:
        _BY_PAIR.setdefault(_magic[:2], []).append((_kind, _magic))
_TABLE = np.zeros(1 << 16, dtype=np.bool_)
_TABLE[[int.from_bytes(pair, "little") for pair in _BY_PAIR]] = True
_NONE = np.zeros(0, dtype="<u2")
_LOOKED = 1 << 16


def starts_in(data: bytes, base: int) -> Iterator[Start]:
    """The places in `data` where a stream seems to begin, in no order.

    Args:
        data: Bytes; a beginning in the last ten of them may seem to be one.
        base: The offset of its first byte.
    """
    for at in _pairs(data):
        for kind, magic in _BY_PAIR[data[at : at + 2]]:
            if data.startswith(magic, at) and _plausible(kind, data, at):
                yield Start(base + at, kind, kind != "zlib" or base + at == 0)


def _pairs(data: bytes) -> Iterator[int]:
    """Where two bytes stand by which a stream begins: one look-up for all of them."""
    for first in (0, 1):
        pairs = (
            np.frombuffer(data, "<u2", (len(data) - first) // 2, first) if len(data) > first + 1 else _NONE
        )
        for at in range(0, len(pairs), _LOOKED):
            near = np.flatnonzero(_TABLE.take(pairs[at : at + _LOOKED], mode="wrap"))
            yield from (2 * (at + near) + first).tolist()


def _plausible(kind: str, data: bytes, at: int) -> bool:
    head = data[at : at + _LONGEST]
    match kind:
        case "gzip":  # reserved flags are zero; level and system are among those in use
            return len(head) < _LONGEST or (
                not head[3] & 0xE0 and head[8] in (0, 2, 4) and head[9] in (*range(14), 255)
            )
        case "zlib":  # the first block's kind is one of three
            return len(head) > 2 and head[2] & 6 != 6
        case "bzip2":
            return head[3:4] in b"123456789" and head[4:] in (b"1AY&SY", b"\x17rE8P\x90")
        case "zip member":
            return len(head) < _LONGEST or (head[4] < 100 and head[5] < 20 and head[8] in _METHODS)
        case _:
            return True


class _Stream(Protocol):
    """An unpacker of the standard library."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def unpack(file: BinaryIO, start: Start) -> Iterator[bytes]:
    """Unpack a stream in pieces; the file's position ends behind it (behind what was read, where it is damaged).

    Raises:
        Damaged: The stream is cut or is not what its beginning says; the pieces before stand.
        Unreadable: It cannot be unpacked here.
    """
    file.seek(start.offset)
    match start.kind:
        case "gzip":
            yield from _deflate(file, 31)
        case "zlib":
            yield from _deflate(file, 15)
        case "bzip2":
            yield from _bounded(file, bz2.BZ2Decompressor(), OSError)
        case "xz":
            yield from _bounded(file, lzma.LZMADecompressor(memlimit=_MEMORY), lzma.LZMAError)
        case "zstd":
            yield from _zstd(file)
        case "lz4":
            yield from lz4_frame(file)
        case "snappy":
            yield from snappy_stream(file)
        case _:
            yield from _zip_member(file)


def _deflate(file: BinaryIO, bits: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(bits)
    waiting = b""
    while not stream.eof:
        data = waiting or file.read(_READ)
        if not data:
            raise Damaged("ends early")
        kept = stream.copy()
        try:
            piece = stream.decompress(data, PIECE)
        except zlib.error:
            yield from _salvage(kept, data)
            raise Damaged("is not what its beginning says") from None
        waiting = stream.unconsumed_tail
        if piece:
            yield piece
    file.seek(-len(stream.unused_data) - len(waiting), 1)


def _salvage(stream: Any, data: bytes) -> Iterator[bytes]:
    """What comes out before the damage: the call that meets it gives nothing at all."""
    pieces: list[bytes] = []
    size = 0
    for at in range(len(data)):
        try:
            pieces.append(stream.decompress(data[at : at + 1], PIECE))
        except zlib.error:
            break
        size += len(pieces[-1])
        if size >= PIECE:
            break
    if size:
        yield b"".join(pieces)


def _bounded(file: BinaryIO, stream: Any, failure: type[Exception]) -> Iterator[bytes]:
    unpacker: _Stream = stream
    while not unpacker.eof:
        data = file.read(_READ) if stream.needs_input else b""
        if not data and stream.needs_input:
            raise Damaged("ends early")
        try:
            piece = unpacker.decompress(data, PIECE)
        except (failure, EOFError, ValueError, MemoryError):
            raise Damaged("is not what its beginning says") from None
        if piece:
            yield piece
    file.seek(-len(unpacker.unused_data), 1)


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    if importlib.util.find_spec("zstandard") is None:
        raise Unreadable("zstd: needs the package zstandard, pip install 'vestige[storage]'")
    zstandard: Any = importlib.import_module("zstandard")
    stream = zstandard.ZstdDecompressor(max_window_size=_MEMORY >> 1).decompressobj()
    while not stream.eof:
        data = file.read(_ZSTD_READ)
        if not data:
            raise Damaged("ends early")
        try:
            piece = stream.decompress(data)
        except zstandard.ZstdError:
            raise Damaged("is not what its beginning says") from None
        if piece:
            yield piece
    file.seek(-len(stream.unused_data), 1)


_METHODS = {0, 8, 9, 12, 14, 93, 95, 96, 97, 98, 99}


def _zip_member(file: BinaryIO) -> Iterator[bytes]:
    head = file.read(30)
    if len(head) < 30:
        raise Damaged("ends early")
    flags, method = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    packed = int.from_bytes(head[18:22], "little")
    names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    file.seek(names, 1)
    if flags & 1 or method == 99:
        raise Encrypted("zip member: encrypted")
    readers: dict[int, Callable[[], Iterator[bytes]]] = {
        8: lambda: _deflate(file, -15),
        12: lambda: _bounded(file, bz2.BZ2Decompressor(), OSError),
        14: lambda: _zip_lzma(file),
        93: lambda: _zstd(file),
        95: lambda: _bounded(file, lzma.LZMADecompressor(memlimit=_MEMORY), lzma.LZMAError),
    }
    if method == 0:
        # Stands as it is, and is read with the file around it.
        file.seek(0 if flags & 8 else packed, 1)
        return
    if method not in readers:
        raise Unreadable(f"zip member: packed by method {method}, which is not known here")
    yield from readers[method]()


def _zip_lzma(file: BinaryIO) -> Iterator[bytes]:
    head = file.read(4)
    size = int.from_bytes(head[2:4], "little")
    properties = file.read(size)
    if len(head) < 4 or size != 5 or len(properties) != 5:
        raise Damaged("ends early")
    code = properties[0]
    if code >= 225:
        raise Damaged("is not what its beginning says")
    used = {
        "id": lzma.FILTER_LZMA1,
        "lc": code % 9,
        "lp": code // 9 % 5,
        "pb": code // 45,
        "dict_size": min(int.from_bytes(properties[1:], "little"), _MEMORY),
    }
    try:
        stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[used])
    except (lzma.LZMAError, ValueError):
        raise Damaged("is not what its beginning says") from None
    yield from _bounded(file, stream, lzma.LZMAError)
