"""A forensic read: where given bytes stand in files, whatever the files' format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from vestige.errors import StorageError

__all__ = ["Hit", "scan_bytes"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Hit:
    """One needle in one file."""

    path: Path
    needle: str
    """The needle's label, never its bytes."""
    offset: int
    """Of the first occurrence, in bytes from the file's start."""
    count: int
    """Occurrences, those that overlap counted apart."""


def scan_bytes(
    paths: Iterable[Path], needles: Mapping[str, bytes] | Iterable[bytes], *, chunk: int = _CHUNK
) -> list[Hit]:
    """Look for needles in files, byte by byte and in constant memory.

    Args:
        paths: The files; those that are not there are skipped (a log may be gone).
        needles: Labels and bytes, or bytes alone, which are labelled by their position: ``0``, ``1``, …
        chunk: Bytes read at a time.

    Returns:
        One hit for each file and needle that meet, in the order of `paths`, then of `needles`.

    Raises:
        ValueError: A needle is empty, or `chunk` is not positive.
        StorageError: A file cannot be read.
    """
    if isinstance(needles, Mapping):
        labelled: dict[str, bytes] = dict(cast("Mapping[str, bytes]", needles))
    else:
        labelled = {str(i): needle for i, needle in enumerate(needles)}
    if not all(labelled.values()) or chunk < 1:
        raise ValueError("a needle must hold at least one byte, and chunk must be positive")
    hits: list[Hit] = []
    for path in paths:
        if path.exists() and not path.is_file():
            continue  # a folder, or a device that never ends: its name is recorded, its bytes are none of a store
        try:
            found = _scan(path, labelled, chunk)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"{path.name!r} cannot be read: {error.strerror}") from error
        hits += [Hit(path, label, *found[label]) for label in labelled if label in found]
    return hits


def _scan(path: Path, needles: Mapping[str, bytes], chunk: int) -> dict[str, tuple[int, int]]:
    keep = max(map(len, needles.values()), default=1) - 1
    found: dict[str, tuple[int, int]] = {}
    tail, base = b"", 0
    with path.open("rb") as file:
        while block := file.read(chunk):
            window = tail + block
            for label, needle in needles.items():
                # an occurrence that lies wholly in the tail was counted with the block before
                at = window.find(needle, max(0, len(tail) - len(needle) + 1))
                while at >= 0:
                    first, count = found.get(label, (base + at, 0))
                    found[label] = (first, count + 1)
                    at = window.find(needle, at + 1)
            cut = max(0, len(window) - keep)
            base, tail = base + cut, window[cut:]
    return found
