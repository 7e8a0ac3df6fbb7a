"""The catalog of model files: named by SHA-256, each with several sources, verified before every use.

Files lie under ``VESTIGE_MODELS_DIR``, else ``$XDG_CACHE_HOME/vestige/models``, else
``~/.cache/vestige/models``, one folder a model.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib.resources
import json
import os
import shutil
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Literal

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.models.fetch import CatalogFile, Progress, fetch, sha256_of
from vestige.records import Record

__all__ = ["CatalogEntry", "ensure", "entries", "entry", "is_here", "locate", "models_dir", "pull"]


class CatalogEntry(Record):
    """A model that Vestige knows how to fetch."""

    name: str
    """As in `local/NAME`."""
    kind: Literal["chat", "embedder"]
    title: str
    licence: str
    file: tuple[CatalogFile, ...]
    """The model's files; the first is the model itself."""

    @property
    def bytes(self) -> int:
        """Size of all its files."""
        return sum(file.bytes for file in self.file)

    @property
    def sha256(self) -> str:
        """Hash of the model file itself."""
        return self.file[0].sha256


class _Catalog(Record):
    model: tuple[CatalogEntry, ...]


@functools.cache
def entries() -> tuple[CatalogEntry, ...]:
    """Every model in the catalog, in its order."""
    text = importlib.resources.files("vestige.models").joinpath("catalog.toml").read_text(encoding="utf-8")
    return _Catalog.model_validate(tomllib.loads(text)).model


def entry(name: str) -> CatalogEntry:
    """The entry called `name`, with or without `local/` before it.

    Raises:
        ConfigError: There is none; the message lists what there is and guesses.
    """
    wanted = name.removeprefix("local/")
    known = {item.name: item for item in entries()}
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"no model {wanted!r} in the catalog: {guess}known are {', '.join(known)}")


def models_dir(folder: Path | str | None = None) -> Path:
    """Where model files lie: `folder` if given, else from the environment, else the user's cache."""
    if folder is not None:
        return Path(folder)
    if own := os.environ.get("VESTIGE_MODELS_DIR"):
        return Path(own).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "vestige" / "models"


def locate(name: str, *, folder: Path | str | None = None) -> Path:
    """The model file of `name`, every file of it verified; its other files lie beside it.

    A file is hashed once and again whenever its size or time of change differs.

    Raises:
        ConfigError: It is not in the catalog, or not here yet.
        IntegrityError: A file's bytes are not the catalogued ones.
    """
    found = entry(name)
    home = models_dir(folder) / found.name
    for file in found.file:
        if not (home / file.name).is_file():
            raise ConfigError(f"model {found.name!r} is not here ({home}): vestige models pull {found.name}")
        if not _verified(home / file.name, file):
            raise IntegrityError(
                f"{home / file.name} does not have the catalogued SHA-256: vestige models pull {found.name}"
            )
    return home / found.file[0].name


def is_here(name: str, *, folder: Path | str | None = None) -> bool:
    """Whether every file of `name` is here with the right bytes."""
    try:
        locate(name, folder=folder)
    except (ConfigError, IntegrityError):
        return False
    return True


def pull(name: str, progress: Progress | None = None, *, folder: Path | str | None = None) -> Path:
    """Fetch what is missing of `name` and return its model file.

    Two pulls at once do not disturb each other: the second waits, then finds the file.

    Args:
        name: A name in the catalog.
        progress: Called with (file name, bytes here, bytes of the whole) as they come.
        folder: Instead of the usual `models_dir`.

    Raises:
        ConfigError: It is not in the catalog.
        ModelUnavailable: No source answered; the message names each and why.
        StorageError: The disk is full or cannot be written.
    """
    found = entry(name)
    home = models_dir(folder) / found.name
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {home}: {error.strerror}") from error
    with _lock(home):
        for stale in home.glob(".pull-*"):
            shutil.rmtree(stale, ignore_errors=True)
        for file in found.file:
            path = home / file.name
            if not (path.is_file() and _verified(path, file)):
                fetch(file, path, progress)
                _remember(path, file)
            if progress is not None:
                progress(file.name, file.bytes, file.bytes)
    return locate(name, folder=folder)


def ensure(name: str, progress: Progress | None = None, *, folder: Path | str | None = None) -> Path:
    """The model file of `name`, pulled first where it is not here; raises what `pull` raises."""
    return (
        locate(name, folder=folder) if is_here(name, folder=folder) else pull(name, progress, folder=folder)
    )


def _note_of(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _verified(path: Path, file: CatalogFile) -> bool:
    """Whether the bytes at `path` are the catalogued ones; a remembered answer holds while size and time
    do.
    """
    status = path.stat()
    if status.st_size != file.bytes:
        return False
    seen = {"sha256": file.sha256, "bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    try:
        if json.loads(_note_of(path).read_text(encoding="utf-8")) == seen:
            return True
    except (OSError, ValueError):
        pass
    if sha256_of(path) != file.sha256:
        return False
    _remember(path, file)
    return True


def _remember(path: Path, file: CatalogFile) -> None:
    status = path.stat()
    seen = {"sha256": file.sha256, "bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    with contextlib.suppress(OSError):  # a read-only cache is hashed again the next time, no more
        temporary = _note_of(path).with_name(f"{path.name}.verified.{os.getpid()}")
        temporary.write_text(json.dumps(seen), encoding="utf-8")
        temporary.replace(_note_of(path))


@contextlib.contextmanager
def _lock(home: Path) -> Generator[None, None, None]:
    """Let one process at a time fetch into `home`."""
    try:
        import fcntl
    except ImportError:  # no such lock on Windows; files are still renamed into place whole
        yield
        return
    try:
        handle = (home / ".lock").open("w")
    except OSError as error:
        raise StorageError(f"cannot write {home}: {error.strerror}") from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
