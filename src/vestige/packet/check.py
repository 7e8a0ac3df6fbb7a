"""Checking a packet that came from somebody else: nothing in it is executed, and nothing is believed.

Order: sums; then, only where they are right, the signature; the statistics and the verdict, computed anew from the
brief and the findings; and, where the restricted part is there, everything once more from the records. A damaged packet
is not read beyond its sums.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field

from vestige.audits.verification.results import Verdict
from vestige.errors import ConfigError, IntegrityError, MissingDependency
from vestige.packet import keys, recompute
from vestige.packet.archive import located, opened, tree
from vestige.packet.encrypt import open_sealed
from vestige.packet.layout import (
    MANIFEST,
    PUBLIC,
    RESTRICTED,
    RESTRICTED_MANIFEST,
    SEALED,
    SIGNATURE,
    Level,
    Problem,
    shown,
)
from vestige.packet.sign import verify_envelope
from vestige.packet.sums import SUM_FILES, check_sums, digest_file, verify
from vestige.records import Record

__all__ = ["CheckReport", "LevelState", "check"]

LevelState = Literal["right", "wrong", "not_checked"]
LEVELS: tuple[Level, ...] = ("sums", "signature", "statistics", "verdict", "observations")


class CheckReport(Record):
    """What a check found."""

    packet: str
    """As it was named."""
    root: str | None
    """SHA-256 of MANIFEST; None: there is none that could be read."""
    levels: dict[Level, LevelState]
    reasons: dict[Level, str] = Field(default_factory=dict)
    """Why a level was not checked."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """What a reader should know and is no difference: sentences that say the same in other words, and torn lines of the
    records that no reader reads."""
    made_with: str = ""
    """Version that scored and sealed it, as it says; empty: it does not say."""
    signed_by: str | None = None
    """Id of the key whose signature is right."""
    trusted: bool = False
    """That key is the one the caller trusts."""
    restricted: Literal["present", "encrypted", "absent"] = "absent"
    by_sums_alone: tuple[str, ...] = ()
    """Reports for people that are here: their sums are right, and they were not made anew. What they say may differ."""
    verdict: Verdict | None = None
    """As computed anew; None: it could not be."""
    statement: str = ""
    """The verdict in one sentence, as computed anew."""

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is right."""
        return not self.problems


def check(
    path: Path,
    *,
    full: bool | None = None,
    trusted_key: Path | None = None,
    identity: Path | None = None,
) -> CheckReport:
    """Check a packet, a folder or a ZIP.

    Numbers, states and verdicts decide; where sentences say the same in other words, `CheckReport.notes` tells it.

    Args:
        path: The packet, or the folder of a run that holds one.
        full: Score again from the observations; None: where the restricted part can be read.
        trusted_key: File of the Ed25519 public key that must have signed it.
        identity: File of the X25519 private key that opens an encrypted restricted part.

    Raises:
        ConfigError: There is nothing at `path`, or a key file cannot be used.
        MissingDependency: A key was given, and `cryptography` is not installed.
        StorageError: There is no room to unpack it.
    """
    trusted = keys.load_verifier(trusted_key) if trusted_key is not None else None
    key = keys.load_identity(identity) if identity is not None else None
    path = located(path)
    checking = _Checking(str(path))
    try:
        with opened(path) as folder:
            checking.sums(folder)
            if not checking.problems:
                checking.signature(folder, trusted)
                checking.public(folder)
                checking.observations(folder, full, key)
    except IntegrityError as error:
        checking.found("sums", [Problem(file=path.name, what=str(error))])
    return checking.report()


class _Checking:
    def __init__(self, name: str) -> None:
        self._name = name
        self._levels: dict[Level, LevelState] = dict.fromkeys(LEVELS, "not_checked")
        self._reasons: dict[Level, str] = dict.fromkeys(LEVELS, "the sums are not right")
        self._root: str | None = None
        self._signed_by: str | None = None
        self._trusted = False
        self._restricted: Literal["present", "encrypted", "absent"] = "absent"
        self._again: recompute.Concluded | None = None
        self._reports: tuple[str, ...] = ()
        self._made_with = ""
        self._notes: dict[tuple[str, str], Problem] = {}
        self.problems: list[Problem] = []

    def found(self, level: Level, problems: Iterable[Problem], notes: Iterable[Problem] = ()) -> None:
        """Take down what a level found."""
        problems = list(problems)
        self.problems += problems
        self._notes |= {(n.file, n.what): n for n in notes if (n.file, n.what) not in self._notes}
        self._levels[level] = "wrong" if problems else "right"
        self._reasons.pop(level, None)

    def _skip(self, level: Level, reason: str) -> None:
        self._reasons[level] = reason

    def sums(self, folder: Path) -> None:
        self.found("sums", check_sums(folder))
        if (folder / MANIFEST).is_file():
            self._root = digest_file(folder / MANIFEST)
        if (folder / RESTRICTED_MANIFEST).is_file():
            self._restricted = "present"
        elif (folder / SEALED).is_file():
            self._restricted = "encrypted"

    def signature(self, folder: Path, trusted: keys.Verifier | None) -> None:
        path = folder / SIGNATURE
        if not path.is_file():
            if trusted is None:
                self._skip("signature", "it is not signed: sums alone show damage, not who made it")
            else:
                self.found("signature", [Problem(file=SIGNATURE, what="is missing", level="signature")])
            return
        if not keys.available():
            self._skip("signature", str(MissingDependency("cryptography", "verifying a signature", "packet")))
            return
        try:
            self._signed_by = verify_envelope(recompute.read(path), self._root or "", trusted)
            self._trusted = trusted is not None
            self.found("signature", [])
        except IntegrityError as error:
            self.found("signature", [Problem(file=SIGNATURE, what=str(error), level="signature")])

    def public(self, folder: Path) -> None:
        try:
            self._reports = tuple(
                f"{PUBLIC}/{shown(name)}" for name in recompute.reports_of(folder) if name != recompute.REPORT
            )
            self._again = recompute.conclude_again(folder)
            self._made_with = shown(recompute.made_with(folder))
        except IntegrityError as error:
            file, _, what = str(error).partition(": ")
            self.found("statistics", [Problem(file=file, what=what, level="statistics")])
            self._skip("verdict", "the statistics cannot be computed")
            return
        for level in ("statistics", "verdict"):
            again = self._again
            self.found(
                level,
                (p for p in again.problems if p.level == level),
                (p for p in again.wording if p.level == level),
            )

    def observations(self, folder: Path, full: bool | None, key: keys.Identity | None) -> None:
        if full is False:
            self._skip("observations", "the public check was asked for")
        elif self._restricted == "encrypted" and key is None:
            self._missing(full, "the restricted part is encrypted: give the key that opens it")
        elif self._restricted == "absent":
            self._missing(full, "the restricted part is not here")
        else:
            try:
                with _restricted(folder, key if self._restricted == "encrypted" else None) as inside:
                    self.found("observations", *recompute.observe_again(folder, inside))
            except IntegrityError as error:
                file, _, what = str(error).partition(": ")
                self.found("observations", [Problem(file=file, what=what, level="observations")])

    def _missing(self, full: bool | None, reason: str) -> None:
        self._skip("observations", reason)
        if full:
            self.found("observations", [Problem(file=RESTRICTED, what=reason, level="observations")])

    def report(self) -> CheckReport:
        again = self._again
        return CheckReport(
            packet=self._name,
            root=self._root,
            levels=self._levels,
            reasons=self._reasons,
            problems=tuple(self.problems),
            notes=tuple(self._notes.values()),
            made_with=self._made_with,
            signed_by=self._signed_by,
            trusted=self._trusted,
            restricted=self._restricted,
            by_sums_alone=self._reports,
            verdict=again.result.verdict if again is not None else None,
            statement=again.result.statement if again is not None else "",
        )


@contextmanager
def _restricted(folder: Path, key: keys.Identity | None) -> Generator[Path, None, None]:
    """The restricted part in plain: where it stands, or opened into a private folder and compared with its sums."""
    if key is None:
        yield folder / RESTRICTED
        return
    with tempfile.TemporaryDirectory(prefix="vestige-restricted-") as name:
        try:
            open_sealed(folder / SEALED, Path(name), key)
        except ConfigError as error:
            raise IntegrityError(f"{SEALED}: {error}") from None
        merged = {n: digest_file(p) for n, p in tree(Path(name)).items()}
        public = {n: digest_file(p) for n, p in tree(folder).items()}
        texts = {n: (folder / n).read_bytes() for n in SUM_FILES if n in public}
        inner = Path(name) / RESTRICTED_MANIFEST
        if inner.is_file():
            texts[RESTRICTED_MANIFEST] = inner.read_bytes()
        if problems := verify({**public, **merged}, texts):
            raise IntegrityError(f"{SEALED}: does not hold what the manifest says: {problems[0]}")
        if not inner.is_file():
            raise IntegrityError(f"{SEALED}: holds no restricted part")
        yield Path(name) / RESTRICTED
