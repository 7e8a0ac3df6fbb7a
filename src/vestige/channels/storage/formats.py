"""What a file is by its first and last bytes, and whether bytes look compressed or encrypted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Format", "format_of", "is_text", "looks_packed"]

_PAGES = "what it holds may be compressed page by page, and has no reader here"
_CLOSED = "it is compressed or encrypted, and has no reader here"
_ENCRYPTED = "it is encrypted"

_FIRST: tuple[tuple[bytes, str, str | None], ...] = (
    (b"PAR1", "Parquet", _PAGES),
    (b"PARE", "Parquet, encrypted", _ENCRYPTED),
    (b"ORC", "ORC", _PAGES),
    (b"Obj\x01", "Avro", _PAGES),
    (b"\x89HDF\r\n\x1a\n", "HDF5", _PAGES),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", _CLOSED),
    (b"Rar!\x1a\x07", "RAR", _CLOSED),
    (b"age-encryption.org/", "age", _ENCRYPTED),
    (b"Salted__", "OpenSSL", _ENCRYPTED),
    (b"-----BEGIN PGP MESSAGE", "PGP", _ENCRYPTED),
    (b"LUKS\xba\xbe", "LUKS", _ENCRYPTED),
    (b"PGDMP", "PostgreSQL dump", _PAGES),
    (b"SQLite format 3\x00", "SQLite database, unreadable header", "its pages cannot be told apart"),
    (b"ARROW1", "Arrow", None),
    (b"\x1f\x8b", "gzip", None),
    (b"PK\x03\x04", "zip", None),
    (b"\x28\xb5\x2f\xfd", "zstd", None),
    (b"\x04\x22\x4d\x18", "LZ4", None),
    (b"\xfd7zXZ\x00", "xz", None),
    (b"BZh", "bzip2", None),
    (b"\x93NUMPY", "NumPy array", None),
    (b"\x80\x04\x95", "pickle", None),
    (b"\x80\x05\x95", "pickle", None),
    (b"%PDF-", "PDF", None),
    (b"\x89PNG", "PNG image", "a picture may show it"),
    (b"\xff\xd8\xff", "JPEG image", "a picture may show it"),
)
_LAST: tuple[tuple[bytes, str, str], ...] = (
    (b"LANC", "Lance", _PAGES),
    (b"\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", "RocksDB table", _PAGES),
    (b"\x57\xfb\x80\x8b\x24\x75\x47\xdb", "LevelDB table", _PAGES),
)
_SAMPLE = 1 << 14
_LEAST = 1 << 10
_PACKED = 0.988
"""Of the entropy that as many random bytes have. Random bytes have 1; float32 vectors about 0.93, base64 0.75."""


class Format(NamedTuple):
    """What a file seems to be."""

    name: str
    packed: str | None
    """Why a look at its bytes does not see all that it holds; None: streams that are known, or plain bytes."""


def format_of(head: bytes, tail: bytes) -> Format:
    """The format by the first 64 KiB and the last 64 bytes of a file."""
    for magic, name, packed in _FIRST:
        if head.startswith(magic):
            return Format(name, packed)
    for magic, name, packed in _LAST:
        if (tail or head).endswith(magic):
            return Format(name, packed)
    if not head:
        return Format("empty", None)
    return Format("text" if is_text(head) else "unknown", None)


def is_text(head: bytes) -> bool:
    """Whether the beginning of a file is UTF-8 text without control characters."""
    if any(head.count(byte) for byte in (0, 1, 2, 3, 4)):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # a character that the cut takes apart
    return True


def looks_packed(data: bytes) -> bool:
    """Whether bytes are as even as random ones; of fewer than 1,024 nobody can tell."""
    if len(data) < _LEAST:
        return False
    middle = max(0, (len(data) - _SAMPLE) // 2)
    counts = np.bincount(np.frombuffer(data, np.uint8, min(_SAMPLE, len(data)), middle), minlength=256)
    n = int(counts.sum())
    shares = counts[counts > 0] / n
    entropy = float(-(shares * np.log2(shares)).sum())
    # Of n random bytes the entropy is 8 bits less (256 - 1) / (2 n ln 2), after Miller (1955).
    return entropy > _PACKED * (8 - 255 / (2 * n * 0.6931))
