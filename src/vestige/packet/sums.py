"""The sums of a packet: MANIFEST and ROOT, written and verified."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from vestige.errors import IntegrityError
from vestige.packet.archive import tree
from vestige.packet.layout import (
    MANIFEST,
    MAX_SUMS,
    RESTRICTED,
    RESTRICTED_MANIFEST,
    ROOT,
    SEALED,
    SIGNATURE,
    Problem,
    fits,
    shown,
)

__all__ = [
    "SUM_FILES",
    "check_sums",
    "digest",
    "digest_file",
    "manifest_bytes",
    "parse_manifest",
    "root_bytes",
    "verify",
]

SUM_FILES = (ROOT, MANIFEST, RESTRICTED_MANIFEST)
_LINE = re.compile(rb"([0-9a-f]{64})  ([ -~]{1,600})\n")
_INSIDE = f"{RESTRICTED}/"


def digest(data: bytes) -> str:
    """SHA-256 in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest_bytes(digests: Mapping[str, str]) -> bytes:
    """The sums in their canonical writing: a line a file, sorted by name."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode("ascii")


def root_bytes(manifest: str, signature: str | None = None) -> bytes:
    """What ROOT holds, given the SHA-256 of MANIFEST and of the signature."""
    return manifest_bytes({MANIFEST: manifest} | ({SIGNATURE: signature} if signature else {}))


def parse_manifest(data: bytes) -> dict[str, str]:
    """The sums by name.

    Raises:
        IntegrityError: A line is not one, or the lines are not in their canonical order.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        name = match[2].decode("ascii") if match else ""
        if match is None or not fits(name):
            raise IntegrityError(f"line {len(found) + 1} is not a sum and a name")
        found[name] = match[1].decode("ascii")
        at = match.end()
    if list(found) != sorted(found) or manifest_bytes(found) != data:
        raise IntegrityError("its lines are not sorted, or name a file twice")
    return found


def check_sums(folder: Path) -> list[Problem]:
    """Compare a packet's folder with its sums, and nothing else."""
    try:
        files = tree(folder)
        sums: dict[str, bytes] = {}
        for name in SUM_FILES:
            if name in files:
                if files[name].stat().st_size > MAX_SUMS:
                    raise IntegrityError(f"{name}: too large for a list of sums")
                sums[name] = files[name].read_bytes()
        return verify({name: digest_file(path) for name, path in files.items()}, sums)
    except IntegrityError as error:
        file, _, what = str(error).partition(": ")
        return [Problem(file=file, what=what or file)]
    except OSError as error:
        name = Path(str(error.filename)).name if error.filename else folder.name
        return [Problem(file=shown(name), what=f"cannot be read: {error.strerror}")]


def verify(digests: Mapping[str, str], sums: Mapping[str, bytes]) -> list[Problem]:
    """Compare a packet's files with its sums.

    The restricted part may be absent as a whole; a part of it may not.

    Args:
        digests: SHA-256 of every file that is there, by name.
        sums: Content of those of `SUM_FILES` that are there.
    """
    problems: list[Problem] = []
    for needed in (ROOT, MANIFEST):
        if needed not in digests or needed not in sums:
            problems.append(Problem(file=needed, what="is missing"))
    if problems:
        return problems
    if problem := _root(digests, sums[ROOT]):
        problems.append(problem)
    try:
        listed = parse_manifest(sums[MANIFEST])
    except IntegrityError as error:
        return [*problems, Problem(file=MANIFEST, what=str(error))]
    inside = {n: d for n, d in digests.items() if n.startswith(_INSIDE) and n != RESTRICTED_MANIFEST}
    top = {n: d for n, d in digests.items() if n not in inside and n not in (ROOT, MANIFEST, SIGNATURE)}
    if not inside and RESTRICTED_MANIFEST not in top:
        listed.pop(RESTRICTED_MANIFEST, None)
    if SEALED not in top:
        listed.pop(SEALED, None)
    problems += _compare(listed, top)
    try:
        names = parse_manifest(sums.get(RESTRICTED_MANIFEST, b""))
    except IntegrityError as error:
        return [*problems, Problem(file=RESTRICTED_MANIFEST, what=str(error))]
    problems += _compare({_INSIDE + name: value for name, value in names.items()}, inside)
    return problems


def _root(digests: Mapping[str, str], stated: bytes) -> Problem | None:
    signature = digests.get(SIGNATURE)
    if stated == root_bytes(digests[MANIFEST], signature):
        return None
    signed = SIGNATURE.encode() in stated
    if signed != (signature is not None):
        return Problem(file=SIGNATURE, what="is missing" if signed else "is extra: ROOT does not name it")
    return Problem(file=ROOT, what=f"does not hold the sum of {MANIFEST}{' and signature' if signed else ''}")


def _compare(listed: Mapping[str, str], there: Mapping[str, str]) -> Iterable[Problem]:
    for name in sorted({*listed, *there}):
        if name not in there:
            yield Problem(file=name, what="is missing")
        elif name not in listed:
            yield Problem(file=name, what="is extra: no manifest names it")
        elif listed[name] != there[name]:
            yield Problem(file=name, what="was changed: its SHA-256 is another")
