"""Labels as parts of a URL, and the headers that a proxy passes on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from multidict import CIMultiDict

__all__ = ["label_bytes", "label_of", "listed", "passed", "segment_of"]

_SAFE = re.compile(rb"[A-Za-z0-9_-]")
_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect"),
    )
)
"""Headers that belong to one connection and are made anew for the other."""


def passed(headers: Mapping[str, str], dropped: set[str]) -> CIMultiDict[str]:
    """The headers that go on to the other side: none that belong to one connection, and none of `dropped`."""
    return CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if (low := name.lower()) not in _HOP and low not in dropped
    )


def listed(header: str | None) -> set[str]:
    """The names that a Connection header lists, lower-case."""
    return {name.strip().lower() for name in (header or "").split(",")} - {""}


def label_bytes(label: str) -> bytes:
    """A label as bytes, whatever characters it has."""
    return label.encode("utf-8", "surrogatepass")


def segment_of(label: str) -> str:
    """A label as one segment of a path that no client rewrites: neither dots nor percent signs are in it."""
    return "".join(
        chr(byte) if _SAFE.fullmatch(bytes((byte,))) else f"~{byte:02x}" for byte in label_bytes(label)
    )


def label_of(segment: str) -> str | None:
    """The label of a segment; None: it is none of ours."""
    raw = re.sub(r"~([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), segment)
    try:
        label = raw.encode("latin-1").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return None
    return label if segment_of(label) == segment else None
