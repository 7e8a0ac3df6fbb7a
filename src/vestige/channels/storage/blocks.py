"""LZ4 and Snappy, read without a package: both are a handful of rules, and a scan must not miss them.

LZ4 frames after the LZ4 frame format 1.6.3 (legacy frames too), Snappy streams after its framing format of 2015.
Checksums are not compared: what can be read of a damaged stream is looked at all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["Damaged", "lz4_block", "lz4_frame", "snappy_block", "snappy_stream"]

_LZ4, _LZ4_LEGACY = b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"
_LEGACY_BLOCK = 8 << 20
_WINDOW = 1 << 16
_SNAPPY_CHUNK = 1 << 16


class Damaged(Exception):
    """A stream is not what its format says; what came before stands."""


def lz4_block(data: bytes, limit: int, history: bytes = b"") -> bytes:
    """Unpack one LZ4 block.

    Args:
        data: The block.
        limit: Bytes that it may unpack to.
        history: What stands before it, which it may refer to.

    Raises:
        Damaged: It is no LZ4 block, or unpacks to more.
    """
    out = bytearray(history)
    limit += len(history)
    at, size = 0, len(data)
    while at < size:
        token = data[at]
        length, at = _lz4_length(data, at + 1, token >> 4)
        if at + length > size or len(out) + length > limit:
            raise Damaged("literals end outside the block")
        out += data[at : at + length]
        at += length
        if at == size:
            return bytes(out[len(history) :])
        if at + 2 > size:
            break
        back = data[at] | data[at + 1] << 8
        length, at = _lz4_length(data, at + 2, token & 15)
        _copy(out, back, length + 4, limit)
    raise Damaged("the block ends within a sequence")


def _lz4_length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            if at >= len(data):
                raise Damaged("the block ends within a length")
            more = data[at]
            at += 1
            length += more
            if more != 255:
                break
    return length, at


def _copy(out: bytearray, back: int, length: int, limit: int) -> None:
    """Repeat `length` bytes from `back` bytes before the end; source and target may overlap."""
    if not 0 < back <= len(out) or len(out) + length > limit:
        raise Damaged("a reference leads outside what was unpacked")
    start = len(out) - back
    if back >= length:
        out += out[start : start + length]
    else:
        piece = bytes(out[start:])
        out += (piece * (length // back + 1))[:length]


def lz4_frame(file: BinaryIO) -> Iterator[bytes]:
    """Unpack the LZ4 frame at the file's position, a block at a time; the position ends behind it.

    Raises:
        Damaged: It is none, or is cut.
    """
    magic = _exactly(file, 4)
    if magic == _LZ4_LEGACY:
        yield from _lz4_legacy(file)
        return
    if magic != _LZ4:
        raise Damaged("no LZ4 frame")
    flags, descriptor = _exactly(file, 2)
    largest = 1 << (8 + 2 * (descriptor >> 4 & 7))
    if flags >> 6 != 1 or descriptor & 0x8F or largest < _WINDOW:
        raise Damaged("no LZ4 frame of version 1")
    if flags & 1:
        raise Damaged("packed with a dictionary that is not in the file")
    _exactly(file, (8 if flags & 8 else 0) + 1)
    history = b""
    while size := int.from_bytes(_exactly(file, 4), "little"):
        stored, size = size >> 31, size & 0x7FFFFFFF
        if size > largest:
            raise Damaged("a block is larger than the frame allows")
        data = _exactly(file, size)
        if flags & 16:
            _exactly(file, 4)
        piece = data if stored else lz4_block(data, largest, history)
        if not flags & 32:  # blocks that depend on one another
            history = (history + piece)[-_WINDOW:]
        yield piece
    if flags & 4:
        _exactly(file, 4)


def _lz4_legacy(file: BinaryIO) -> Iterator[bytes]:
    while head := file.read(4):
        size = int.from_bytes(head, "little")
        if len(head) < 4 or not 0 < size <= _LEGACY_BLOCK + (_LEGACY_BLOCK >> 7):
            file.seek(-len(head), 1)  # the frame has no end mark: what is no block is what comes after it
            return
        yield lz4_block(_exactly(file, size), _LEGACY_BLOCK)


def snappy_block(data: bytes, limit: int) -> bytes:
    """Unpack one raw Snappy block, which begins with its unpacked length.

    Raises:
        Damaged: It is none, or unpacks to more than `limit` bytes.
    """
    size = shift = at = 0
    while True:
        if at >= len(data) or shift > 28:
            raise Damaged("no length")
        size |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            break
    if size > limit:
        raise Damaged("unpacks to more than it may")
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if not tag & 3:
            length = (tag >> 2) + 1
            if length > 60:
                wide = length - 60
                length = int.from_bytes(data[at : at + wide], "little") + 1
                at += wide
            if at + length > len(data) or len(out) + length > size:
                raise Damaged("literals end outside the block")
            out += data[at : at + length]
            at += length
            continue
        wide = (1, 2, 4)[(tag & 3) - 1]
        if at + wide > len(data):
            raise Damaged("the block ends within a reference")
        back = int.from_bytes(data[at : at + wide], "little")
        length = (tag >> 2) + 1
        if tag & 3 == 1:
            back |= tag >> 5 << 8
            length = (tag >> 2 & 7) + 4
        at += wide
        _copy(out, back, length, size)
    if len(out) != size:
        raise Damaged("unpacks to less than it says")
    return bytes(out)


def snappy_stream(file: BinaryIO) -> Iterator[bytes]:
    """Unpack the framed Snappy stream at the file's position; the position ends behind its last chunk.

    Raises:
        Damaged: It is none, or is cut.
    """
    if _exactly(file, 10) != b"\xff\x06\x00\x00sNaPpY":
        raise Damaged("no Snappy stream")
    while head := file.read(4):
        kind, size = head[0], int.from_bytes(head[1:], "little")
        if len(head) < 4 or (kind > 1 and kind not in (0xFE, 0xFF)) or (kind < 2 and size < 4):
            file.seek(-len(head), 1)  # the stream has no end mark either
            return
        data = _exactly(file, size)
        if kind == 0:
            yield snappy_block(data[4:], _SNAPPY_CHUNK)
        elif kind == 1:
            yield data[4:]


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise Damaged("ends early")
    return data
