"""Loads a data set by its name or from a file, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from vestige.datasets.fetch import PUBLIC_FILES, fetch
from vestige.datasets.formats import Format, objects, sniffed
from vestige.datasets.instance import Dataset
from vestige.datasets.locomo import LOCOMO
from vestige.datasets.longmemeval import LONGMEMEVAL
from vestige.datasets.reading import RecordFile
from vestige.errors import ConfigError, DataError

__all__ = ["DEFAULT_INSTANCES", "FORMATS", "load", "names"]

FORMATS: dict[str, Format] = {LONGMEMEVAL.name: LONGMEMEVAL, LOCOMO.name: LOCOMO}
"""The loaders by name. Add one, and `load` sniffs it and takes its name as `format`."""
DEFAULT_INSTANCES = 50
"""Instances of `synthetic` where no number is given."""
_SYNTHETIC = re.compile(r"synthetic(?::(\d{1,7}))?")


def names() -> tuple[str, ...]:
    """The names that `load` takes besides paths."""
    return (*PUBLIC_FILES, "synthetic", "synthetic:N")


def load(
    name_or_path: str | Path,
    format: str | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Load a data set.

    Args:
        name_or_path: one of `names()` (``longmemeval:oracle``, ``locomo``, ``synthetic:200``, …), or the path
            of a file. A public file is fetched at first use, pinned to a revision and checked by its hash.
        format: the file's format, a key of `FORMATS`; None sniffs it from the content.
        n: the number of instances, for `synthetic` alone; ``synthetic:N`` says the same.
        seed: of the generator, for `synthetic` alone.
        progress: called with (bytes so far, bytes in all) while a public file is downloaded.

    Raises:
        DataError: no such file or name, an unknown format, a malformed record (the message names file, record
            and field), or a public file that cannot be fetched.
        ConfigError: `format` or `n` is not usable.
        IntegrityError: a fetched file is not the pinned one.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(f"no format {format!r}; expected one of {', '.join(FORMATS)}")
    if isinstance(name_or_path, str):
        if found := _SYNTHETIC.fullmatch(name_or_path):
            return _synthetic(int(found[1]) if found[1] else None, n, seed)
        name = "longmemeval:oracle" if name_or_path == "longmemeval" else name_or_path
        if name in PUBLIC_FILES:
            public = PUBLIC_FILES[name]
            return _read(fetch(public, progress=progress), public.format, name)
    path = Path(name_or_path)
    if not str(name_or_path).strip() or not _exists(path):  # Path("") is the folder we stand in
        known = ", ".join(names())
        raise DataError(f"no data file {str(name_or_path)!r}; expected a path, or one of {known}")
    return _read(path, format, None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _synthetic(named: int | None, n: int | None, seed: int) -> Dataset:
    from vestige.datasets.synthetic import generate

    if named is not None and n is not None and named != n:
        raise ConfigError(f"synthetic:{named} and n = {n} disagree; give one of them")
    wanted = named if named is not None else n
    return generate(DEFAULT_INSTANCES if wanted is None else wanted, seed=seed)


def _read(path: Path, format: str | None, name: str | None) -> Dataset:
    records = RecordFile(path)
    stream = iter(records)
    first = next(stream, None)
    if first is None:
        raise DataError(f"{path} holds no record")
    chosen = FORMATS[format] if format is not None else sniffed(FORMATS.values(), first, path, "format")
    parsed = chosen.read(objects(chain([first], stream)))
    if not parsed.instances:
        raise DataError(f"{path} holds no question")
    return Dataset(
        name=name or chosen.name,
        source=path.name,
        sha256=records.sha256,
        license=chosen.license,
        instances=parsed.instances,
        notes=parsed.notes,
    )
