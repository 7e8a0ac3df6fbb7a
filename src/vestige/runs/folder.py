"""The run folder: where a run's plan, blobs, records and results stand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.runs.plan import Plan, canonical_json

_log = logging.getLogger(__name__)

__all__ = ["RunFolder", "blob_of", "write_atomic", "write_parts"]


def write_atomic(path: Path, data: bytes) -> None:
    """Write a whole file or nothing: a temporary neighbour, flushed, then renamed.

    Raises:
        StorageError: The disk is full or cannot be written.
    """
    write_parts(path, (data,))


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """`write_atomic` of a file that is made part by part, so that it need not be held.

    Raises:
        StorageError: The disk is full or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class RunFolder:
    """One run's folder; `create` opens it for writing and locks it, `open` reads a stored run."""

    def __init__(self, path: Path, plan: Plan, plan_sha256: str | None = None) -> None:
        self.path = path
        self.plan = plan
        self.plan_sha256 = plan_sha256 or plan.sha256
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, plan: Plan, blobs: dict[str, bytes], *, resume: bool) -> Self:
        """Freeze `plan` in a new folder, or take up a run of the same plan.

        Raises:
            ConfigError: The folder holds something else, or another process is writing it.
            StorageError: It cannot be written.
        """
        stored = path / "plan.json"
        try:
            if path.exists() and not path.is_dir():
                raise ConfigError(f"--out {path}: is a file; give the name of a folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)  # it holds conversations and secrets
        except OSError as error:
            raise StorageError(f"--out {path}: cannot be made: {error.strerror}") from error
        folder = cls(path, plan)
        folder._take_lock(wait=resume)
        try:
            if stored.exists():
                if not resume:
                    raise ConfigError(
                        f"--out {path}: holds a run already; continue it with --resume, or choose another folder"
                    )
                found = cls.open(path)
                if found.plan_sha256 != folder.plan_sha256:
                    raise ConfigError(
                        f"--resume: {path} holds another plan ({_difference(found.plan, plan)}); "
                        "give the options it was made with, or choose another folder"
                    )
            elif any(p.name not in (".lock", "blobs") and not p.name.startswith(".") for p in path.iterdir()):
                raise ConfigError(f"--out {path}: is not empty and holds no run; choose another folder")
            for digest, data in blobs.items():
                target = folder.blob_path(digest)
                if not target.exists():
                    write_atomic(target, data)
            if not stored.exists():
                write_atomic(stored, plan.to_bytes() + b"\n")
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a stored run.

        Raises:
            ConfigError: There is no run in the folder.
            IntegrityError: Its plan cannot be read.
        """
        stored = path / "plan.json"
        if not stored.is_file():
            raise ConfigError(f"{path}: no run here (no plan.json); give the folder that --out named")
        try:
            data = stored.read_bytes()
            plan = Plan.model_validate_json(data)
            # Of what is stored, not of what this version would write: a later version may know more fields.
            digest = _digest(canonical_json(json.loads(data)))
        except ValidationError as error:
            first = error.errors()[0]
            raise IntegrityError(
                f"{stored}: not a plan: {'.'.join(map(str, first['loc']))}: {first['msg']}"
            ) from None
        except (ValueError, RecursionError) as error:
            raise IntegrityError(f"{stored}: not a plan: {type(error).__name__}") from None
        except OSError as error:
            raise ConfigError(f"{stored}: cannot be read: {error.strerror}") from error
        return cls(path, plan, digest)

    def _take_lock(self, *, wait: bool) -> None:
        import fcntl

        try:
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(f"--out {self.path}: cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if wait:  # whoever resumes wants the finished run: let the other writer end first
                _log.warning("%s: another process is writing this run; waiting for it to end", self.path)
                fcntl.flock(fd, fcntl.LOCK_EX)
                self._lock = fd
                return
            os.close(fd)
            raise ConfigError(
                f"--out {self.path}: another process is writing this run; wait for it to end"
            ) from None
        self._lock = fd

    def close(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def blob_path(self, digest: str) -> Path:
        """Where a blob stands."""
        if len(digest) != 64 or any(c not in "0123456789abcdef" for c in digest):
            raise IntegrityError(f"not a SHA-256: {digest[:80]!r}")
        return self.path / "blobs" / f"{digest}.json"

    def get_blob(self, digest: str) -> bytes:
        """Read a payload and check it against its name.

        Raises:
            IntegrityError: It is missing or was changed.
        """
        path = self.blob_path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise IntegrityError(f"blob {digest[:12]}… cannot be read: {error.strerror}") from error
        if _digest(data) != digest:
            raise IntegrityError(f"blob {digest[:12]}… was changed: its content has another SHA-256")
        return data

    def write_json(self, name: str, value: Any) -> Path:
        """Write a readable JSON file, keys sorted."""
        path = self.path / name
        write_atomic(path, (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode())
        return path


def _difference(a: Plan, b: Plan) -> str:
    """Which options two plans differ in, with their values; what follows from them is not listed."""
    one, two = a.model_dump(mode="json"), b.model_dump(mode="json")
    found = [
        f"{name}: {_short(old)} there, {_short(new)} here"
        for name, old, new in (
            *_changes(one, two, _OPTIONS),
            *_changes(one["settings"], two["settings"], None),
        )
    ]
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return "differs in " + "; ".join(found[:3]) + more if found else "other episodes"


_OPTIONS = ("audit", "vestige_version", "seed", "agent", "models", "data")


def _changes(
    one: dict[str, Any], two: dict[str, Any], keys: tuple[str, ...] | None
) -> Iterator[tuple[str, Any, Any]]:
    for key in keys or sorted({*one, *two}):
        old, new = one.get(key), two.get(key)
        if old == new or key == "notes":
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            for name, before, after in _changes(old, new, None):
                yield (name if key in ("study", "residue") else f"{key}.{name}"), before, after
        else:
            yield key, old, new


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else f"{text[:21]}…"


def blob_of(value: Any) -> tuple[str, bytes]:
    """A value's canonical JSON with its SHA-256."""
    data = canonical_json(value)
    return _digest(data), data
