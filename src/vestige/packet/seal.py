"""Sealing: from a stored run to a packet."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import ADJUDICATIONS
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.reading import pairs_of
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.packet import keys
from vestige.packet.archive import tree, write_zip
from vestige.packet.check import check
from vestige.packet.contents import REPORTS, SOFTWARE, Evidence, public_files
from vestige.packet.encrypt import encrypt_files
from vestige.packet.keyed import Keyed, new_key, secrets_of, targets_of
from vestige.packet.layout import (
    KEY,
    MANIFEST,
    MAX_FILE,
    PUBLIC,
    RESTRICTED,
    RESTRICTED_MANIFEST,
    ROOT,
    SEALED,
    SIGNATURE,
    fits,
)
from vestige.packet.leaks import LeakScan
from vestige.packet.manifests import software
from vestige.packet.sign import envelope
from vestige.packet.sums import digest, digest_file, manifest_bytes, root_bytes
from vestige.runs.folder import RunFolder, write_atomic
from vestige.runs.plan import canonical_json

__all__ = ["seal"]

_COPIED = ("plan.json", "host.json", ADJUDICATIONS)
_REPORT_TYPES = frozenset((".html", ".md", ".json", ".xml", ".svg", ".csv", ".txt"))


def seal(
    folder: RunFolder,
    out: Path,
    *,
    findings: Iterable[Finding],
    result: VerificationResult,
    brief: Brief,
    ledger: Iterable[LedgerRow],
    reports: Sequence[Path] = (),
    key: bytes | None = None,
    recipient: Path | None = None,
    sign_key: Path | None = None,
    zip: bool = False,
    replace: bool = False,
) -> Path:
    """Write the removal packet of a verification, whole or not at all.

    Before anything appears at `out`, every public file is searched for every target and nonce of the plan, in every
    encoding, and the public check is run on what was written.

    Args:
        folder: The stored run.
        out: The folder to make; a ZIP goes beside it, with ``.zip`` added.
        findings: As `score` gave them.
        result: As `conclude` gave it.
        brief: As `brief_of` gave it.
        ledger: The removal ledger.
        reports: Report files to put in the public part, as they are. Their names begin with ``report``.
        key: 32 bytes in place of random ones: the same run, key and report give the same bytes, unless encrypted.
        recipient: File of an X25519 public key; the restricted part is then encrypted to it and not left in plain.
        sign_key: File of an Ed25519 private key to sign the root with.
        zip: Write a canonical ZIP as well.
        replace: Put the packet in the place of an earlier one.

    Returns:
        `out`.

    Raises:
        ConfigError: There is something at `out`, or a report or key file cannot be used.
        IntegrityError: A public file would hold a target; the message names the file. Or the run's record cannot be
            read, or the result does not follow from the findings.
        MissingDependency: Signing or encrypting was asked for, and `cryptography` is not installed.
        StorageError: The packet cannot be written.
    """
    signer = keys.load_signer(sign_key) if sign_key is not None else None
    reader = keys.load_recipient(recipient) if recipient is not None else None
    archive = out.with_name(f"{out.name}.zip")
    _refuse_taken(out, replace)
    if zip and archive.exists() and not replace:
        raise ConfigError(f"{archive}: exists already; choose another name, or replace it")
    raw_key = key or new_key()
    values = secrets_of(folder.plan)
    keyed = Keyed(raw_key, values)
    evidence = Evidence(folder, list(findings), result, brief, list(ledger), software())
    shown = _reports(reports)
    public = public_files(evidence, keyed, shown) | shown
    _refuse_leaks(public, (*values, raw_key.hex()))
    with _staged(out) as made:
        for name, data in public.items():
            _write(made / PUBLIC / name, data, 0o644)
        _restricted(made / RESTRICTED, evidence, keyed, raw_key)
        sums = {n: digest_file(p) for n, p in tree(made).items() if n.startswith(f"{PUBLIC}/")}
        inside = {n: p for n, p in tree(made).items() if n.startswith(f"{RESTRICTED}/")}
        inner = manifest_bytes({n.removeprefix(f"{RESTRICTED}/"): digest_file(p) for n, p in inside.items()})
        _write(made / RESTRICTED_MANIFEST, inner, 0o600)
        sums[RESTRICTED_MANIFEST] = digest(inner)
        if reader is not None:
            encrypt_files({**inside, RESTRICTED_MANIFEST: made / RESTRICTED_MANIFEST}, made / SEALED, reader)
            sums[SEALED] = digest_file(made / SEALED)
            shutil.rmtree(made / RESTRICTED)
        manifest = manifest_bytes(sums)
        root = digest(manifest)
        signature = envelope(root, signer) if signer is not None else None
        _write(made / MANIFEST, manifest, 0o644)
        if signature is not None:
            _write(made / SIGNATURE, signature, 0o644)
        _write(made / ROOT, root_bytes(root, digest(signature) if signature is not None else None), 0o644)
        found = check(made, full=False)
        if problems := (*found.problems, *found.notes):
            raise IntegrityError(f"{out}: not sealed: the packet does not pass its own check: {problems[0]}")
    if zip:
        write_zip(out, archive)
    return out


def _refuse_taken(out: Path, replace: bool) -> None:
    if not out.exists() and not out.is_symlink():
        return
    ours = out.is_dir() and not out.is_symlink() and (out / ROOT).is_file() and (out / MANIFEST).is_file()
    if not (replace and ours):
        raise ConfigError(
            f"{out}: exists already; a packet is evidence and is not written over, choose another name"
        )


def _reports(paths: Iterable[Path]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        name = path.name
        if not (fits(name) and name.startswith(REPORTS) and path.suffix.lower() in _REPORT_TYPES):
            raise ConfigError(
                f"report {name!r}: expected a name that begins with {REPORTS!r} and ends with one of "
                f"{', '.join(sorted(_REPORT_TYPES))}"
            )
        if name.lower() in {other.lower() for other in found}:
            raise ConfigError(f"report {name!r}: is given twice")
        try:
            if path.stat().st_size > MAX_FILE:
                raise ConfigError(f"report {name!r}: larger than {MAX_FILE:,} bytes")
            found[name] = path.read_bytes()
            found[name].decode("utf-8")
        except OSError as error:
            raise ConfigError(f"report {path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise ConfigError(
                f"report {name!r}: expected text as UTF-8, so that it can be searched"
            ) from None
    return found


def _refuse_leaks(public: dict[str, bytes], values: Sequence[str]) -> None:
    scan = LeakScan(values)
    for name, data in public.items():
        if scan.leaks(data):
            raise IntegrityError(
                f"not sealed: {PUBLIC}/{name} would hold a target or a nonce of the plan in the clear; "
                "where it is a report, write it with targets masked"
            )


def _restricted(target: Path, evidence: Evidence, keyed: Keyed, raw_key: bytes) -> None:
    """The run folder as it is, with the key, the targets by code, and what sealed it."""
    source = evidence.folder.path
    target.mkdir(mode=0o700)
    copied = [source / name for name in _COPIED if (source / name).is_file()]
    copied += sorted(source.glob("records-*.jsonl"))
    for path in copied:
        _copy(path, target / path.name)
    for path in sorted((source / "blobs").glob("*.json")):
        _copy(path, target / "blobs" / path.name)
    payloads = {
        keyed.mac("target", value): {"pair": name, "target": kind, "role": role, "value": value}
        for name, pair in pairs_of(evidence.folder.plan).items()
        for kind, role, value in targets_of(pair)
    }
    _write(target / "payloads.json", canonical_json(payloads) + b"\n", 0o600)
    _write(target / SOFTWARE, canonical_json(evidence.software) + b"\n", 0o600)
    _write(target.parent / KEY, raw_key.hex().encode() + b"\n", 0o600)


def _copy(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with source.open("rb") as read, os.fdopen(fd, "wb") as written:
            shutil.copyfileobj(read, written, 1 << 20)
    except OSError as error:
        raise StorageError(f"cannot write {target.name}: {error.strerror}") from error


def _write(path: Path, data: bytes, mode: int) -> None:
    write_atomic(path, data)
    path.chmod(mode)


@contextlib.contextmanager
def _staged(out: Path) -> Generator[Path, None, None]:
    """A private folder beside `out` that takes its place when all went well."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=out.parent, prefix=".packet-"))
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    try:
        yield staging
        try:
            staging.chmod(0o755)
            old: Path | None = None
            if out.exists():
                old = Path(tempfile.mkdtemp(dir=out.parent, prefix=".packet-"))
                out.replace(old / "old")
            staging.replace(out)
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise StorageError(f"cannot write {out}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
