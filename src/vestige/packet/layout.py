"""How a packet is laid out, and what a file in it may be called.

::

    ROOT                 SHA-256 of MANIFEST, and of signature.json where there is one
    MANIFEST             SHA-256 of every public file and of restricted/MANIFEST (and of restricted.enc)
    signature.json       optional DSSE envelope over the root
    public/              no target and no text of an exchange: HMAC-SHA-256 and lengths in their place
    restricted/MANIFEST  SHA-256 of every other file in restricted/
    restricted/          the key, the plan with its fixtures, the records: a run folder that can be scored again
    restricted.enc       the same for one recipient, in place of restricted/

The three sum files have the form of ``sha256sum``, so that `sha256sum -c ROOT` and `sha256sum -c MANIFEST` work.
The sums of restricted files stand apart from those of public ones: a session that holds one unknown canary could be
guessed from its plain SHA-256. `restricted/MANIFEST` holds the sum of a random key, so its own sum gives nothing away,
and still commits the public part to exactly one restricted part.
"""

from __future__ import annotations

import re
from typing import Literal

from vestige.records import Record

__all__ = [
    "FORMAT",
    "KEY",
    "MANIFEST",
    "MAX_FILE",
    "MAX_FILES",
    "MAX_SUMS",
    "MAX_TOTAL",
    "PUBLIC",
    "RESTRICTED",
    "RESTRICTED_MANIFEST",
    "ROOT",
    "SEALED",
    "SIGNATURE",
    "Level",
    "Problem",
    "fits",
    "shown",
]

FORMAT = 1
"""Version of the packet's format: a later one raises it where a file changes its meaning."""

ROOT, MANIFEST, SIGNATURE = "ROOT", "MANIFEST", "signature.json"
PUBLIC, RESTRICTED = "public", "restricted"
RESTRICTED_MANIFEST = f"{RESTRICTED}/{MANIFEST}"
KEY = f"{RESTRICTED}/key"
SEALED = "restricted.enc"

MAX_FILES = 100_000
MAX_FILE = 8 * 1024**3
"""Bytes of one file."""
MAX_TOTAL = 32 * 1024**3
"""Bytes of all files together."""
MAX_SUMS = 32 * 1024**2
"""Bytes of a file of sums."""
_DEPTH = 4
_COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

Level = Literal["sums", "signature", "statistics", "verdict", "observations"]
"""What a check looks at, in its order."""


class Problem(Record):
    """Something that is not as it must be."""

    file: str
    """Name in the packet; of the packet itself where it cannot be opened."""
    what: str
    level: Level = "sums"

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def fits(name: str) -> bool:
    """Whether a relative name is one that a packet can hold: plain ASCII, no way out of the folder."""
    parts = name.split("/")
    return len(parts) <= _DEPTH and all(_COMPONENT.fullmatch(p) and not p.endswith(".") for p in parts)


def shown(name: str) -> str:
    """An untrusted name for a message: printable ASCII, not too long."""
    plain = ascii(name)[1:-1]
    return plain if len(plain) <= 80 else f"{plain[:77]}..."
