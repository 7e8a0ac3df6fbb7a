"""Folders and ZIP files from a stranger, read without trusting them; canonical ZIP files, written.

Source of the dangers: zip slip, links, devices, decompression bombs, names that collide on another system.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import BinaryIO

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.packet.layout import (
    MANIFEST,
    MAX_FILE,
    MAX_FILES,
    MAX_TOTAL,
    RESTRICTED,
    ROOT,
    SEALED,
    fits,
    shown,
)

__all__ = ["extract", "located", "opened", "pack", "packet_folder", "tree", "write_zip"]

_MAX_RATIO = 100
"""Bytes that one stored byte may become: records shrink to a tenth or so, a bomb to a thousandth."""
_FREE = 64 * 1024**2
"""Bytes that a ZIP may always become, whatever its ratio."""
_DIRECTORY = 512 * MAX_FILES
"""Bytes of a ZIP's central directory."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BLOCK = 1 << 20


# ------------------------------------------------------------------------------------------------- folders


def tree(folder: Path) -> dict[str, Path]:
    """Every file under a folder, by relative name.

    Raises:
        IntegrityError: Something in it is no plain file or folder, has a name that a packet cannot hold, differs
            from another in case alone, or there is too much of it.
    """
    found: dict[str, Path] = {}
    seen: set[str] = set()
    total = 0
    waiting = [("", folder)]
    while waiting:
        prefix, here = waiting.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                name = prefix + entry.name
                if not fits(name):
                    raise IntegrityError(f"{shown(name)}: not a name that a packet can hold")
                if name.lower() in seen:
                    raise IntegrityError(f"{shown(name)}: another name differs from it in case alone")
                seen.add(name.lower())
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(state.st_mode):
                    waiting.append((f"{name}/", Path(entry.path)))
                    continue
                if not stat.S_ISREG(state.st_mode):
                    raise IntegrityError(f"{shown(name)}: not a plain file (a link or a device)")
                total += state.st_size
                _limit(name, len(seen), state.st_size, total)
                found[name] = Path(entry.path)
    return found


def _limit(name: str, files: int, size: int, total: int) -> None:
    if files > MAX_FILES:
        raise IntegrityError(f"more than {MAX_FILES:,} files: not opened")
    if size > MAX_FILE or total > MAX_TOTAL:
        raise IntegrityError(f"{shown(name)}: too large ({max(size, total):,} bytes): not opened")


def located(path: Path) -> Path:
    """Where the packet is: the path itself, or of a run's folder the packet in it.

    Raises:
        ConfigError: It is a run's folder without a packet.
    """
    if (path / ROOT).exists() or not (path / "plan.json").is_file():
        return path
    if not (path / "packet" / ROOT).is_file():
        raise ConfigError(
            f"{path}: holds a run and no packet; make one with `vestige packet seal {path}`, or give a packet's folder"
        )
    return path / "packet"


def packet_folder(path: Path, purpose: str) -> Path:
    """A packet as a folder that can be written to.

    Raises:
        ConfigError: It is a ZIP or another file, or no packet.
    """
    path = located(path)
    if path.is_file():
        raise ConfigError(
            f"{path}: is a file; {purpose} needs the packet's folder: unpack the ZIP and give that"
        )
    if not (path / ROOT).is_file() or not (path / MANIFEST).is_file():
        raise ConfigError(
            f"{path}: no packet here (no {ROOT} and {MANIFEST}); give the folder that `vestige verify` wrote, as "
            "RUN/packet"
        )
    return path


@contextlib.contextmanager
def opened(path: Path) -> Generator[Path, None, None]:
    """A packet as a folder; a ZIP is unpacked into a private one that is removed afterwards.

    Raises:
        ConfigError: There is no packet at `path`.
        IntegrityError: It is a ZIP that cannot be unpacked safely.
    """
    path = located(path)
    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise ConfigError(f"{path}: no packet here; give the folder or ZIP that `vestige verify` wrote")
    with tempfile.TemporaryDirectory(prefix="vestige-packet-") as name:
        folder = Path(name)
        try:
            file = path.open("rb")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        with file:
            extract(file, folder)
        yield _inner(folder)


def _inner(folder: Path) -> Path:
    """The packet's own folder, where a ZIP holds the folder and not its content."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir() and (inside[0] / ROOT).is_file():
        return inside[0]
    return folder


# ------------------------------------------------------------------------------------------------ unpacking


def extract(file: BinaryIO, folder: Path) -> None:
    """Unpack a ZIP into an empty folder.

    Raises:
        IntegrityError: It is torn or encrypted, or an entry would leave the folder, is a link or device, has a name
            twice or one that a packet cannot hold, or is larger than it says or than the limits allow.
        StorageError: The folder cannot be written.
    """
    try:
        _refuse_large_directory(file)
        with zipfile.ZipFile(file) as archive:
            entries = _safe(archive, os.fstat(file.fileno()).st_size)
            for entry in entries:
                _unpack(archive, entry, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error) as error:
        raise IntegrityError(f"not a ZIP that can be read ({type(error).__name__})") from None
    except OSError as error:
        raise StorageError(f"cannot unpack: {error.strerror or type(error).__name__}") from error


def _refuse_large_directory(file: BinaryIO) -> None:
    """Read the size of the central directory before `zipfile` reads all of it into memory."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - 65_535 - 22)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise zipfile.BadZipFile
    (length,) = struct.unpack_from("<L", tail, at + 12)
    if length == 0xFFFFFFFF:
        place = start + at - 20 - 56  # the ZIP64 record and its locator stand right before
        file.seek(max(place, 0))
        record = file.read(56)
        if place < 0 or len(record) < 56 or record[:4] != b"PK\x06\x06":
            raise zipfile.BadZipFile
        (length,) = struct.unpack_from("<Q", record, 40)
    if length > _DIRECTORY:
        raise IntegrityError(f"more than {MAX_FILES:,} files: not opened")
    file.seek(0)


def _safe(archive: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The entries to unpack, once every one of them has been looked at."""
    entries: list[zipfile.ZipInfo] = []
    seen: set[str] = set()
    total = stored = 0
    for entry in archive.infolist():
        name = entry.filename.removesuffix("/")
        if entry.orig_filename != entry.filename or not fits(name):
            raise IntegrityError(f"{shown(entry.orig_filename)}: not a name that a packet can hold")
        if name.lower() in seen:
            raise IntegrityError(f"{shown(name)}: is there twice, or another name differs in case alone")
        seen.add(name.lower())
        kind = stat.S_IFMT(entry.external_attr >> 16)
        wanted = stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
        if kind not in (0, wanted):
            raise IntegrityError(f"{shown(name)}: not a plain file (a link or a device)")
        if entry.flag_bits & 0x1:
            raise IntegrityError(f"{shown(name)}: is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise IntegrityError(f"{shown(name)}: is packed in a way that is not read here")
        total += entry.file_size
        stored += entry.compress_size
        _limit(name, len(seen), entry.file_size, total)
        if not entry.is_dir():
            entries.append(entry)
    if stored > size or (total > _FREE and total > _MAX_RATIO * max(stored, 1)):
        raise IntegrityError("its entries overlap, or become far too large: not opened")
    return entries


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    target = folder / entry.filename
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise IntegrityError(f"{shown(entry.filename)}: stands under a file") from None
    left = entry.file_size
    with archive.open(entry) as source, target.open("xb") as out:
        while block := source.read(min(_BLOCK, left + 1)):
            left -= len(block)
            if left < 0:
                raise IntegrityError(f"{shown(entry.filename)}: is larger than the ZIP says")
            out.write(block)
    if left:
        raise IntegrityError(f"{shown(entry.filename)}: is smaller than the ZIP says")


# -------------------------------------------------------------------------------------------------- writing


def write_zip(folder: Path, out: Path, *, public_only: bool = False) -> Path:
    """Write a packet's folder as a canonical ZIP: equal files give equal bytes on every machine.

    Names are sorted, times are 1980-01-01, permissions are fixed, and nothing is compressed, since implementations of
    deflate differ in what they write.

    Args:
        folder: A packet.
        out: The file to write, whole or not at all.
        public_only: Leave the restricted part out, plain or encrypted.

    Raises:
        StorageError: It cannot be written.
    """
    files = {n: p for n, p in tree(folder).items() if not (public_only and _secret(n))}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                pack(files, file)
            Path(name).replace(out)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror or type(error).__name__}") from error
    return out


def pack(files: Mapping[str, Path], out: BinaryIO) -> None:
    """Write files as a canonical ZIP into an open one."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, whatever wrote it
            info.external_attr = (stat.S_IFREG | (0o600 if _secret(name) else 0o644)) << 16
            info.file_size = files[name].stat().st_size
            with files[name].open("rb") as source, archive.open(info, "w") as target:
                while block := source.read(_BLOCK):
                    target.write(block)


def _secret(name: str) -> bool:
    return name == SEALED or name.startswith(f"{RESTRICTED}/")
