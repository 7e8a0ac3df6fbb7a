"""Bodies of requests by their SHA-256: the same body is kept once, in memory or in a folder."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from vestige.errors import IntegrityError, StorageError

__all__ = ["Bodies"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_AT_ONCE = 1 << 18
"""Bytes up to which a hash takes less time than handing the body to a thread."""
_WAITING = 8 << 20
"""Bytes that wait in memory for the disk before they are written of their own accord."""
_MOST_WAITING = 128 << 20


class Bodies:
    """Content-addressed bodies.

    A body that goes to a folder is not written while its request waits: `flush` writes, and what reads a proxy's
    requests flushes before.

    Args:
        folder: Where they are written, each as `SHA256.json`, as a run folder names its blobs; it is made where it
            is missing. None: they are kept in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._kept: dict[str, bytes] = {}
        self._written: set[str] = set()
        self._waiting = 0
        self._lock = threading.Lock()
        self._writing: asyncio.Task[None] | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(f"the folder {folder.name!r} cannot be made: {error.strerror}") from error

    def __len__(self) -> int:
        """How many different bodies were put."""
        with self._lock:
            return len(self._kept.keys() | self._written)

    async def put(self, data: bytes) -> str:
        """Keep a body and return its SHA-256.

        Raises:
            StorageError: The disk refuses, and no more can wait in memory.
        """
        digest = _digest(data) if len(data) <= _AT_ONCE else await asyncio.to_thread(_digest, data)
        with self._lock:
            if digest in self._kept or digest in self._written:
                return digest
            if self._folder is not None and self._waiting + len(data) > _MOST_WAITING:
                raise StorageError("model requests cannot be written as fast as they come, or not at all")
            self._kept[digest] = data
            self._waiting += len(data)
        if self._folder is not None and self._waiting > _WAITING and self._writing is None:
            self._writing = asyncio.create_task(self._write_behind())
        return digest

    def get(self, digest: str) -> bytes:
        """The body of that hash.

        Raises:
            KeyError: There is none.
            IntegrityError: What stands in the folder is another body.
        """
        data = self._kept.get(digest)
        if data is not None:
            return data
        if self._folder is None or not _DIGEST.fullmatch(digest):
            raise KeyError(digest)
        try:
            data = self._path(self._folder, digest).read_bytes()
        except FileNotFoundError:
            raise KeyError(digest) from None
        if _digest(data) != digest:
            raise IntegrityError(f"body {digest[:12]}… was changed: its content has another SHA-256")
        return data

    def drop(self, digests: Iterable[str]) -> None:
        """Let go of bodies that are kept in memory; in a folder they stay."""
        if self._folder is not None:
            return
        with self._lock:
            for digest in digests:
                self._waiting -= len(self._kept.pop(digest, b""))

    def flush(self) -> None:
        """Write what waits; nothing to do where bodies are kept in memory.

        Raises:
            StorageError: It cannot be written; it goes on waiting.
        """
        if self._folder is None:
            return
        with self._lock:
            waiting = list(self._kept.items())
        for digest, data in waiting:
            self._write(self._folder, digest, data)
            with self._lock:
                self._written.add(digest)
                if self._kept.pop(digest, None) is not None:
                    self._waiting -= len(data)

    async def _write_behind(self) -> None:
        try:
            await asyncio.to_thread(self.flush)
        except StorageError:
            return  # what waits is kept, and the next look at the requests raises this
        finally:
            self._writing = None

    def _write(self, folder: Path, digest: str, data: bytes) -> None:
        path = self._path(folder, digest)
        # Two flushes may write the same body at the same time: each has its own file until it is whole.
        part = folder / f".{digest}.{threading.get_ident():x}.part"
        try:
            part.write_bytes(data)
            part.replace(path)
        except OSError as error:
            raise StorageError(f"a model request cannot be written: {error.strerror}") from error

    @staticmethod
    def _path(folder: Path, digest: str) -> Path:
        return folder / f"{digest}.json"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
