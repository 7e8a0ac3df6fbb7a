"""Scan storage for values: every file, the control, and what may be said."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from vestige.channels.observation import Grade
from vestige.channels.storage.look import Limits, Looker
from vestige.channels.storage.results import Control, FileRead, ScanHit, ScanResult, Sighting
from vestige.errors import ConfigError, DataError, complaint

__all__ = ["control_of", "scan_storage"]

_ROUNDS = 100_000
_GRADES: tuple[Grade, ...] = get_args(Grade)


def scan_storage(
    paths: Iterable[Path],
    values: Mapping[str, str],
    *,
    control: ScanResult | None = None,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> ScanResult:
    """Look for values in every file among `paths`.

    Args:
        paths: Files and folders; a link within a folder is not followed.
        values: Values by label.
        control: An earlier scan of the same values while they were stored.
        limits: What one file may cost.
        progress: Is told of every file before it is read.

    Returns:
        What was found in what was read. `nothing_found` only where the control saw every value and all was read.

    Raises:
        ConfigError: A path does not exist, or the control is of other values.
        DataError: A value cannot be looked for.
    """
    if not values:
        raise ConfigError("no value to look for: give at least one")
    looker = Looker(values, limits)
    check = _check(values)
    if control is not None and control.check != check:
        raise ConfigError(
            "the control is of other values or other labels: scan for the same ones, in the same order"
        )
    found, unread = _files(paths)
    files: list[FileRead] = []
    for path, shown in found.items():
        name, hits = _named(looker, shown, len(files) + 1)
        if progress is not None:
            progress(name)
        read = looker.look(path, name)
        files.append(read.model_copy(update={"hits": (*hits, *read.hits)}))
    for shown, why in unread:
        name, hits = _named(looker, shown, len(files) + 1)
        files.append(
            FileRead(file=name, bytes=0, format="not read", how=(), hits=hits, not_computable=(why,))
        )
    sightings = tuple(_sighting(label, files) for label in values)
    seen = None
    if control is not None:
        whole = {s.label for s in control.sightings if s.whole}
        seen = Control(
            seen=tuple(label for label in values if label in whole),
            unseen=tuple(label for label in values if label not in whole),
        )
    reasons = tuple(_reasons(files, seen))
    if any(s.whole for s in sightings):
        outcome = "found"
    elif any(s.parts for s in sightings):
        outcome = "parts_found"
    else:
        outcome = "unassessable" if reasons else "nothing_found"
    return ScanResult(
        check=check,
        labels=tuple(values),
        files=tuple(files),
        sightings=sightings,
        control=seen,
        outcome=outcome,
        reasons=reasons,
    )


def control_of(path: Path) -> ScanResult:
    """Read the result of an earlier scan.

    Raises:
        ConfigError: The file cannot be read.
        DataError: It is no result of a scan.
    """
    try:
        return ScanResult.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); give the file that --out wrote"
        ) from None
    except ValidationError as error:
        raise DataError(f"{path}: not the result of a scan: {complaint(error)}") from None


def _files(paths: Iterable[Path]) -> tuple[dict[Path, str], list[tuple[str, str]]]:
    """Every file with what to call it, relative to what was given; and what is not read, with the reason."""
    found: dict[Path, str] = {}
    unread: list[tuple[str, str]] = []
    links: list[tuple[Path, str]] = []
    for given in paths:
        if given.is_file():
            found.setdefault(given, given.name)
            continue
        if not given.is_dir():
            raise ConfigError(f"{given}: there is no such file or folder")

        def named(path: Path, top: Path = given) -> str:
            return (Path(top.name) / path.relative_to(top)).as_posix()

        def failed(error: OSError, top: Path = given) -> None:
            where = Path(os.fsdecode(error.filename)) if error.filename else top
            unread.append((named(where), f"it cannot be read: {error.strerror}"))

        for folder, folders, names in os.walk(given, onerror=failed):
            folders.sort()
            here = Path(folder)
            links += [(here / name, named(here / name)) for name in folders if (here / name).is_symlink()]
            for path in (here / name for name in sorted(names)):
                if path.is_symlink():
                    links.append((path, named(path)))
                elif path.is_file():
                    found.setdefault(path, named(path))
                else:
                    unread.append(
                        (named(path), "it is no file that can be read: a socket, a pipe or a device")
                    )
    read = {path.resolve() for path in found}
    unread += [(shown, "a link is not followed") for path, shown in links if path.resolve() not in read]
    return found, unread


def _named(looker: Looker, shown: str, number: int) -> tuple[str, tuple[ScanHit, ...]]:
    """What to call a file, and the values that its name holds: such a name is not shown."""
    held = looker.in_name(shown)
    hits = tuple(
        ScanHit(label=label, form=form, grade="live_row", place="the file's name", count=1, first=0)
        for label, form in held
    )
    return (f"file {number} (its name holds a value)" if held else shown), hits


def _sighting(label: str, files: Iterable[FileRead]) -> Sighting:
    hits = [(index, hit) for index, file in enumerate(files) for hit in file.hits if hit.label == label]
    whole = [(index, hit) for index, hit in hits if hit.form != "part"]
    grades: list[Grade] = [hit.grade for _, hit in whole if hit.grade is not None]
    return Sighting(
        label=label,
        whole=sum(hit.count for _, hit in whole),
        parts=sum(hit.count for _, hit in hits if hit.form == "part"),
        files=len({index for index, _ in whole}),
        nearest=next((grade for grade in _GRADES if grade in grades), None),
        graded=len(grades) == len(whole),
    )


def _reasons(files: list[FileRead], control: Control | None) -> Iterable[str]:
    """What stands against saying that nothing is there."""
    if not files:
        yield "no file was read"
    if control is None:
        yield "no control: nobody has seen this scan find the values in this storage"
    elif control.unseen:
        count = len(control.seen) + len(control.unseen)
        yield f"the control did not see {len(control.unseen)} of {count} values: {_few(control.unseen)}"
    partly = [file.file for file in files if file.not_computable]
    if partly:
        yield f"{len(partly)} of {len(files)} files could not be read as a whole: {_few(partly)}"


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _check(values: Mapping[str, str]) -> str:
    """Slow on purpose: a planted value is drawn from few enough to try them all against a fast hash."""
    data = json.dumps(list(values.items())).encode()
    return hashlib.pbkdf2_hmac("sha256", data, b"vestige.scan/1", _ROUNDS).hex()
