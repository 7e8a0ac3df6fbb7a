"""What other packages packed is unpacked, wherever it stands; what is damaged ends in one clear exception."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.channels.storage.blocks import Damaged, lz4_block, lz4_frame, snappy_block, snappy_stream
from vestige.channels.storage.containers import MAGICS, PIECE, Encrypted, Start, Unreadable, starts_in, unpack

TEXT = b"".join(b"unit %d: the token is XQ7-VIOLET-%04d. " % (i, i * 7 % 10000) for i in range(3000))


def zipped(method: int) -> Callable[[bytes], bytes]:
    def write(data: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("member.txt", data)
        return out.getvalue()

    return write


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("zlib", zlib.compress),
    "zlib, fastest": ("zlib", lambda data: zlib.compress(data, 1)),
    "zlib, best": ("zlib", lambda data: zlib.compress(data, 9)),
    "bzip2": ("bzip2", bz2.compress),
    "xz": ("xz", lzma.compress),
    "zip deflated": ("zip member", zipped(zipfile.ZIP_DEFLATED)),
    "zip bzip2": ("zip member", zipped(zipfile.ZIP_BZIP2)),
    "zip lzma": ("zip member", zipped(zipfile.ZIP_LZMA)),
}


def first(data: bytes, kind: str) -> Start:
    return min(s for s in starts_in(data, 0) if s.kind == kind)


def unpacked(data: bytes, start: Start) -> tuple[bytes, int]:
    file = io.BytesIO(data)
    pieces = list(unpack(file, start))
    assert all(len(piece) <= 16 << 20 for piece in pieces)
    return b"".join(pieces), file.tell()


@pytest.mark.parametrize("name", sorted(PACKERS))
@pytest.mark.parametrize("before", [b"", b"\x00" * 4093, b"words "])
@pytest.mark.parametrize("text", [TEXT, b"short", b""], ids=["long", "short", "empty"])
def test_a_stream_is_unpacked_wherever_it_begins(name: str, before: bytes, text: bytes) -> None:
    kind, pack = PACKERS[name]
    packed = pack(text)
    start = first(before + packed + b" and after", kind)
    assert start.offset == len(before)
    got, end = unpacked(before + packed + b" and after", start)
    assert got == text
    if kind != "zip member":
        assert end == len(before) + len(packed)


def lz4_literals(data: bytes) -> bytes:
    """A block of literals alone, as the format's specification describes it."""
    length = len(data)
    token = bytes([min(length, 15) << 4])
    rest = length - 15
    more = b"" if rest < 0 else b"\xff" * (rest // 255) + bytes([rest % 255])
    return token + more + data


@given(data=st.binary(max_size=2000))
def test_literals_by_hand(data: bytes) -> None:
    assert lz4_block(lz4_literals(data), 5000) == data


def test_references_by_hand() -> None:
    assert lz4_block(b"\x35abc\x03\x00\x10x", 100) == b"abc" * 4 + b"x"
    assert lz4_block(b"\x10x\x05\x00\x10!", 100, history=b"01234") == b"x1234!"
    # Snappy: 12 bytes, literal "abc", copy of 9 from 3 back (one byte of offset)
    assert snappy_block(b"\x0c\x08abc" + bytes([(9 - 4) << 2 | 1, 3]), 100) == b"abcabcabcabc"
    assert snappy_block(b"\x06\x08abc" + bytes([2 << 2 | 2, 3, 0]), 100) == b"abcabc"


def frames(package: str) -> dict[str, tuple[str, Callable[[bytes], bytes]]]:
    found: Any = pytest.importorskip(package)
    if package == "lz4.frame":
        return {
            "linked": (
                "lz4",
                lambda data: found.compress(data, block_linked=True, block_size=found.BLOCKSIZE_MAX64KB),
            ),
            "checked": ("lz4", lambda data: found.compress(data, content_checksum=True, block_checksum=True)),
            "sized": ("lz4", lambda data: found.compress(data, store_size=True, compression_level=9)),
        }
    if package == "cramjam":
        return {
            "snappy": ("snappy", lambda data: bytes(found.snappy.compress(data))),
            "lz4": ("lz4", lambda data: bytes(found.lz4.compress(data))),
            "zstd": ("zstd", lambda data: bytes(found.zstd.compress(data))),
        }
    return {"zstd": ("zstd", lambda data: found.ZstdCompressor().compress(data))}


@pytest.mark.parametrize("package", ["lz4.frame", "cramjam", "zstandard"])
def test_what_other_packages_packed(package: str) -> None:
    rng = random.Random(5)
    noise = rng.randbytes(200_000)
    for kind, pack in frames(package).values():
        if kind == "zstd":
            pytest.importorskip("zstandard")
        for text in (TEXT, b"short", noise, bytes(1 << 20), TEXT + noise + TEXT):
            data = b"before" + pack(text)
            start = first(data, kind)
            assert start.offset == 6
            assert unpacked(data, start)[0] == text


def test_raw_snappy_of_another_package() -> None:
    cramjam = pytest.importorskip("cramjam")
    for text in (TEXT, b"", b"x", bytes(100_000), random.Random(1).randbytes(70_000)):
        packed = bytes(cramjam.snappy.compress_raw(text))
        assert snappy_block(packed, len(text)) == text
        if text:
            with pytest.raises(Damaged):
                snappy_block(packed, len(text) - 1)
        packed = bytes(cramjam.lz4.compress_block(text, store_size=False))
        assert lz4_block(packed, len(text)) == text


def reader_of(kind: str) -> Callable[[bytes], object]:
    return lambda data: list(unpack(io.BytesIO(MAGICS[kind][0] + data), Start(0, kind, True)))


READERS: list[Callable[[bytes], object]] = [
    lambda data: lz4_block(data, 1 << 16),
    lambda data: snappy_block(data, 1 << 16),
    lambda data: list(lz4_frame(io.BytesIO(b"\x04\x22\x4d\x18" + data))),
    lambda data: list(snappy_stream(io.BytesIO(b"\xff\x06\x00\x00sNaPpY" + data))),
    *(reader_of(kind) for kind in MAGICS),
]


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=400))
def test_anything_else_is_damaged_or_unreadable(reader: Callable[[bytes], object], data: bytes) -> None:
    with suppress(Damaged, Unreadable):
        reader(data)


@pytest.mark.parametrize("name", sorted(PACKERS))
@given(data=st.data())
def test_a_damaged_stream_gives_what_came_before(name: str, data: st.DataObject) -> None:
    kind, pack = PACKERS[name]
    packed = bytearray(pack(TEXT[:20_000]))
    cut = data.draw(st.integers(0, len(packed)))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(Damaged, Unreadable):
        list(unpack(io.BytesIO(bytes(packed[:cut])), Start(0, kind, True)))


@pytest.mark.parametrize("name", [n for n in sorted(PACKERS) if n != "zip lzma"])
@pytest.mark.parametrize("cut", [1, 9, 100])
def test_a_stream_that_ends_early_is_never_whole(name: str, cut: int) -> None:
    kind, pack = PACKERS[name]
    packed = pack(TEXT)
    end = packed.rfind(b"PK\x01\x02") if kind == "zip member" else len(packed)
    pieces: list[bytes] = []
    with pytest.raises(Damaged):
        pieces.extend(unpack(io.BytesIO(packed[: end - cut]), Start(0, kind, True)))


@pytest.mark.parametrize("package", ["lz4.frame", "cramjam", "zstandard"])
def test_a_frame_that_ends_early_is_never_whole(package: str) -> None:
    for kind, pack in frames(package).values():
        if kind == "zstd":
            pytest.importorskip("zstandard")
        packed = pack(TEXT)
        with pytest.raises(Damaged):
            list(unpack(io.BytesIO(packed[:-9]), Start(0, kind, True)))


def test_a_bomb_comes_in_small_pieces() -> None:
    packed = gzip.compress(bytes(64 << 20))
    total = 0
    for piece in unpack(io.BytesIO(packed), Start(0, "gzip", True)):
        assert len(piece) <= PIECE
        total += len(piece)
    assert total == 64 << 20


def test_an_encrypted_member_is_named() -> None:
    data = bytearray(zipped(zipfile.ZIP_DEFLATED)(TEXT))
    data[6] |= 1
    with pytest.raises(Encrypted, match="encrypted"):
        list(unpack(io.BytesIO(bytes(data)), Start(0, "zip member", True)))


def test_starts_are_seen_in_noise_and_not_everywhere() -> None:
    noise = random.Random(2).randbytes(4 << 20)
    found = list(starts_in(noise, 0))
    assert {s.kind for s in found if not s.sure} <= {"zlib"}
    assert not [s for s in found if s.sure]
    assert len(found) < 400
