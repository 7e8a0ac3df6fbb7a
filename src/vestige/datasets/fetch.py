"""Fetches the public data files: pinned to a revision, checked by SHA-256, kept in a cache folder."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vestige.errors import DataError, IntegrityError, StorageError

__all__ = ["CONNECT_TIMEOUT", "PUBLIC_FILES", "PublicFile", "data_folder", "fetch"]

CONNECT_TIMEOUT = 5.0
"""Seconds until a source that does not answer is given up, and the longest silence within a download."""
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A data file of a public release."""

    name: str
    format: str
    url: str
    """Pinned to a revision."""
    bytes: int
    sha256: str
    page: str
    """Where a person finds it."""

    @property
    def filename(self) -> str:
        """The file's name in the release."""
        return self.url.rsplit("/", 1)[1]


_LONGMEMEVAL_PAGE = "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned"
_LONGMEMEVAL = f"{_LONGMEMEVAL_PAGE}/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f"
_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376"

# LoCoMo's hash was computed from the file. Those of LongMemEval are the ones that several independent public
# projects record for this revision; a download that differs is refused either way.
PUBLIC_FILES: dict[str, PublicFile] = {
    file.name: file
    for file in (
        PublicFile(
            "longmemeval:oracle",
            "longmemeval",
            f"{_LONGMEMEVAL}/longmemeval_oracle.json",
            15_388_478,
            "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
            _LONGMEMEVAL_PAGE,
        ),
        PublicFile(
            "longmemeval:s",
            "longmemeval",
            f"{_LONGMEMEVAL}/longmemeval_s_cleaned.json",
            277_383_467,
            "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
            _LONGMEMEVAL_PAGE,
        ),
        PublicFile(
            "longmemeval:m",
            "longmemeval",
            f"{_LONGMEMEVAL}/longmemeval_m_cleaned.json",
            2_737_100_077,
            "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f",
            _LONGMEMEVAL_PAGE,
        ),
        PublicFile(
            "locomo",
            "locomo",
            f"{_LOCOMO}/data/locomo10.json",
            2_805_274,
            "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
            "https://github.com/snap-research/locomo",
        ),
    )
}
"""The files that can be loaded by name."""


def data_folder() -> Path:
    """Where files are kept: $VESTIGE_DATA_DIR, else vestige/data under $XDG_CACHE_HOME or ~/.cache."""
    if own := os.environ.get("VESTIGE_DATA_DIR"):
        return Path(own)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "vestige" / "data"


def _hash_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def fetch(
    file: PublicFile, *, folder: Path | None = None, progress: Callable[[int, int], None] | None = None
) -> Path:
    """The local path of a public file, downloaded at first use and verified at every use.

    Args:
        file: which one; see `PUBLIC_FILES`.
        folder: where to keep it; None is `data_folder()`.
        progress: called with (bytes so far, bytes in all) while downloading.

    Raises:
        DataError: no source answered; the message says where to get the file and to pass its path.
        IntegrityError: the file is not the pinned one.
        StorageError: it cannot be written.
    """
    target = (folder or data_folder()) / file.filename
    if target.is_file():
        found = _hash_of(target)
        if found != file.sha256:
            raise IntegrityError(
                f"{target} has SHA-256 {found}, expected {file.sha256}; delete it so that it is fetched again"
            )
        return target
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    except OSError as error:
        raise StorageError(
            f"{target.parent} cannot be written: {error.strerror}; set VESTIGE_DATA_DIR"
        ) from error
    try:
        _download(file, part, progress)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _download(file: PublicFile, part: Path, progress: Callable[[int, int], None] | None) -> None:
    digest = hashlib.sha256()
    done = 0
    request = urllib.request.Request(file.url, headers={"User-Agent": "vestige"})
    try:
        with urllib.request.urlopen(request, timeout=CONNECT_TIMEOUT) as response, part.open("wb") as out:
            while chunk := response.read(_CHUNK_BYTES):
                done += len(chunk)
                if done > file.bytes:
                    break
                digest.update(chunk)
                _write(out.write, chunk, part)
                if progress is not None:
                    progress(done, file.bytes)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{file.name} could not be fetched ({reason}): download {file.filename} from {file.page} "
            "and give its path instead of the name"
        ) from error
    if done != file.bytes or digest.hexdigest() != file.sha256:
        raise IntegrityError(
            f"{file.url} gave {done:,} bytes or more with SHA-256 {digest.hexdigest()}; "
            f"expected {file.bytes:,} bytes with {file.sha256}; "
            f"download {file.filename} from {file.page} and give its path"
        )


def _write(write: Callable[[bytes], object], chunk: bytes, part: Path) -> None:
    try:
        write(chunk)
    except OSError as error:
        raise StorageError(f"{part} cannot be written: {error.strerror}; set VESTIGE_DATA_DIR") from error
