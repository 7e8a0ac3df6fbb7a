"""`check` finds every change, computes everything anew, and trusts nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.packet.made import Scored, every_file, nonce, scored

from vestige.errors import ConfigError
from vestige.packet.archive import write_zip
from vestige.packet.check import check
from vestige.packet.encrypt import decrypt
from vestige.packet.keys import keygen
from vestige.packet.sign import sign
from vestige.packet.sums import (
    SUM_FILES,
    check_sums,
    digest,
    manifest_bytes,
    parse_manifest,
    root_bytes,
    verify,
)
from vestige.report.verification.gather import gather, waits
from vestige.report.verification.writing import write_verification


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    keygen("sign", folder / "signer")
    keygen("encrypt", folder / "reader")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(tmp_path_factory.mktemp("run") / "r", leaks=True)


@pytest.fixture(scope="module")
def sealed(run: Scored, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.seal(tmp_path_factory.mktemp("sealed") / "packet", sign_key=keys / "signer", zip=True)


@pytest.fixture(scope="module")
def closed(run: Scored, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("closed") / "packet"
    return run.seal(out, recipient=keys / "reader.pub")


@pytest.fixture
def packet(sealed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed, tmp_path / "packet"))


def rewrite(packet: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file and write new sums, as somebody would who wants it not to be seen."""
    path = packet / name
    path.write_bytes(change(path.read_bytes()))
    resum(packet)


def resum(packet: Path) -> None:
    files = every_file(packet)
    inside = {
        n.removeprefix("restricted/"): digest(d) for n, d in files.items() if n.startswith("restricted/")
    }
    inside.pop("MANIFEST", None)
    if inside:
        (packet / "restricted" / "MANIFEST").write_bytes(manifest_bytes(inside))
    files = every_file(packet)
    listed = parse_manifest((packet / "MANIFEST").read_bytes())
    sums = {
        n: digest(files[n])
        for n in files
        if n.startswith("public/") or n in ("restricted/MANIFEST", "restricted.enc")
    }
    sums = {n: listed[n] for n in listed if not n.startswith("public/") and n not in sums} | sums
    (packet / "MANIFEST").write_bytes(manifest_bytes(sums))
    (packet / "signature.json").unlink(missing_ok=True)
    (packet / "ROOT").write_bytes(root_bytes(digest((packet / "MANIFEST").read_bytes())))


def edit(path: str, value: Any) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        whole = json.loads(data)
        at = whole
        *places, last = path.split(".")
        for place in places:
            at = at[int(place)] if place.isdecimal() else at[place]
        at[last] = value
        return json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"

    return change


# ----------------------------------------------------------------------------------------- a whole packet


def test_a_packet_as_it_was_made_is_right(sealed: Path, run: Scored) -> None:
    report = check(sealed)
    assert report.ok, report.problems
    assert set(report.levels.values()) == {"right"}
    assert report.root == hashlib.sha256((sealed / "MANIFEST").read_bytes()).hexdigest()
    assert (report.verdict, report.statement) == (run.result.verdict, run.result.statement)
    assert report.restricted == "present"


def test_a_zip_checks_as_its_folder_does(sealed: Path) -> None:
    one, two = check(sealed), check(sealed.with_name("packet.zip"))
    assert one.model_copy(update={"packet": ""}) == two.model_copy(update={"packet": ""})


def test_a_zip_in_another_order_or_compressed_still_checks(packet: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixed.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in sorted(every_file(packet).items(), key=lambda item: digest(item[0].encode())):
            made.writestr(f"packet/{name}", data)
    assert check(path).ok


def test_the_public_part_alone_checks_and_says_what_it_cannot(
    packet: Path, tmp_path: Path, run: Scored
) -> None:
    public = write_zip(packet, tmp_path / "public.zip", public_only=True)
    report = check(public)
    assert report.ok
    assert report.verdict == run.result.verdict
    assert report.levels["observations"] == "not_checked"
    assert "not here" in report.reasons["observations"]
    assert report.root == check(packet).root
    wanted = check(public, full=True)
    assert [p.file for p in wanted.problems] == ["restricted"]


def test_a_public_check_can_be_asked_for(sealed: Path) -> None:
    assert check(sealed, full=False).levels["observations"] == "not_checked"


def test_nothing_at_the_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no packet here"):
        check(tmp_path / "none")
    report = check(tmp_path)
    assert [p.what for p in report.problems] == ["is missing", "is missing"]


# -------------------------------------------------------------------------------------------- every change


def test_every_single_byte_change_in_any_file_is_found(keys: Path, tmp_path: Path) -> None:
    """By the function that `check` calls; the sum of the changed file is computed, those of the others are known."""
    small = scored(
        tmp_path / "r", pairs=1, conditions=("never_exposed", "exposed_unchanged", "exposed_removed")
    )
    files = every_file(small.seal(tmp_path / "packet", sign_key=keys / "signer", ledger=()))
    assert "signature.json" in files
    digests = {name: digest(data) for name, data in files.items()}
    texts = {name: files[name] for name in SUM_FILES}
    assert verify(digests, texts) == []
    tried = 0
    for name, data in files.items():
        before = hashlib.sha256()
        for at in range(len(data)):
            # A file that is only summed: one other value of a byte stands for all. ROOT is compared: every bit.
            for value in (1, 2, 4, 8, 16, 32, 64, 128) if name == "ROOT" else (1 + at % 255,):
                other = bytes((data[at] ^ value,))
                changed = before.copy()
                changed.update(other + data[at + 1 :])
                new = {**texts, name: data[:at] + other + data[at + 1 :]} if name in texts else texts
                assert verify({**digests, name: changed.hexdigest()}, new), (name, at, value)
                tried += 1
            before.update(data[at : at + 1])
    assert tried == sum(map(len, files.values())) + 7 * len(files["ROOT"])


def test_check_itself_finds_changes_in_every_file(packet: Path) -> None:
    for name, data in every_file(packet).items():
        path = packet / name
        for at in {0, len(data) // 2, len(data) - 1} if data else ():
            path.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
            report = check(packet)
            assert not report.ok, (name, at)
            assert report.levels["sums"] == "wrong"
            assert {p.file for p in report.problems} & {name, "ROOT", "MANIFEST", "restricted/MANIFEST"}
        for changed in {data[:-1], data + b"\n", b""} - {data}:
            path.write_bytes(changed)
            assert not check(packet).ok, name
        path.write_bytes(data)
    assert check(packet).ok


def test_a_damaged_packet_is_not_read_beyond_its_sums(packet: Path) -> None:
    (packet / "public" / "findings.jsonl").write_bytes(b"{")
    report = check(packet)
    assert report.verdict is None
    assert report.levels["statistics"] == "not_checked"
    assert [(p.level, p.file) for p in report.problems] == [("sums", "public/findings.jsonl")]


def test_deleted_added_and_renamed_files_are_named(packet: Path, tmp_path: Path) -> None:
    for name in every_file(packet):
        path = packet / name
        path.rename(tmp_path / "away")
        assert (name, "is missing") in [(p.file, p.what) for p in check(packet).problems]
        other = path.with_name(f"x{path.name}")
        shutil.copy(tmp_path / "away", other)
        assert not check(packet).ok
        (tmp_path / "away").rename(path)
        (problem,) = check(packet).problems
        assert "extra" in problem.what
        other.unlink()
    assert check(packet).ok


def test_a_truncated_zip_is_no_packet(sealed: Path, tmp_path: Path) -> None:
    data = sealed.with_name("packet.zip").read_bytes()
    path = tmp_path / "cut.zip"
    for length in (0, 1, 30, 1_000, len(data) // 2, len(data) - 22, len(data) - 1):
        path.write_bytes(data[:length])
        report = check(path)
        assert not report.ok
        assert report.levels["sums"] == "wrong"


def test_links_in_a_packet_are_not_followed(packet: Path) -> None:
    target = packet / "public" / "result.json"
    kept = packet.parent / "kept"
    target.rename(kept)
    target.symlink_to(kept)
    (problem,) = check(packet).problems
    assert problem.file == "public/result.json"
    assert "link" in problem.what


# ----------------------------------------------------------------------------------- changes with new sums


@pytest.mark.parametrize(
    ("name", "place", "value", "level"),
    [
        ("result.json", "verdict", "limited_evidence", "verdict"),
        ("result.json", "claims.0.verdict", "limited_evidence", "verdict"),
        ("result.json", "claims.0.rules.0.outcome", "fails", "verdict"),
        ("result.json", "distinct_pairs", 300, "statistics"),
        ("result.json", "cells.0.episodes.upper", 0.001, "statistics"),
        ("result.json", "claims.0.decided_by", 0, "verdict"),
        ("packet.json", "verdict", "limited_evidence", "verdict"),
        ("packet.json", "statement", None, "verdict"),
    ],
)
def test_a_result_that_does_not_follow_is_found(
    packet: Path, name: str, place: str, value: object, level: str
) -> None:
    rewrite(packet, f"public/{name}", edit(place, value))
    report = check(packet, full=False)
    assert report.levels["sums"] == "right"
    assert level in {p.level for p in report.problems}
    assert {p.file for p in report.problems} == {f"public/{name}"}


@pytest.fixture
def reported(run: Scored, tmp_path: Path) -> Path:
    """A packet with the reports of its run."""
    paths = write_verification(
        run.result,
        ledger=run.ledger,
        episodes=gather(run.folder, run.findings),
        waited=waits(run.folder),
        folder=tmp_path / "reports",
    )
    return run.seal(tmp_path / "reported", reports=[paths.html, paths.markdown, paths.json])


def test_reports_are_said_to_be_covered_by_sums_alone(reported: Path) -> None:
    report = check(reported)
    assert report.ok, report.problems
    assert report.by_sums_alone == ("public/report.html", "public/report.md")
    rewrite(reported, "public/report.html", lambda data: data + b"<!-- changed -->")
    assert check(reported, full=False).by_sums_alone == report.by_sums_alone


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("verdict", "limited_evidence"),
        ("statement", 3),
        ("claims.0.verdict", "limited_evidence"),
        ("claims.0.statement", None),
        ("claims", []),
        ("claims", 3),
    ],
)
def test_a_report_that_says_another_verdict_is_found(reported: Path, place: str, value: object) -> None:
    rewrite(reported, "public/report.json", edit(place, value))
    report = check(reported, full=False)
    assert report.levels["verdict"] == "wrong" and report.levels["statistics"] == "right"
    assert {p.file for p in report.problems} == {"public/report.json"}


@pytest.mark.parametrize("data", [b"[]", b"{", b"null"])
def test_a_report_that_is_none_is_found(reported: Path, data: bytes) -> None:
    rewrite(reported, "public/report.json", lambda _: data)
    assert not check(reported, full=False).ok


def test_findings_that_were_left_out_are_found(packet: Path) -> None:
    """The leaks are gone from the findings, and the result no longer follows from them."""

    def without(data: bytes) -> bytes:
        return b"".join(line for line in data.splitlines(keepends=True) if b'"sighting' not in line)

    rewrite(packet, "public/findings.jsonl", without)
    report = check(packet)
    assert report.levels["verdict"] == "wrong"
    assert any("a line is missing" in p.what for p in report.problems if p.level == "observations")


@pytest.mark.parametrize(
    "name",
    ["fixtures.json", "provenance.json", "scoring.json", "manifests.json", "ledger.json", "ledger.jsonl"],
)
def test_the_full_check_finds_what_the_public_one_cannot(packet: Path, name: str) -> None:
    def changed(data: bytes) -> bytes:
        at = data.rindex(b'"')
        return data[: at - 1] + (b"A" if data[at - 1 : at] != b"A" else b"B") + data[at:]

    rewrite(packet, f"public/{name}", changed)
    assert check(packet, full=False).ok
    report = check(packet)
    assert report.levels["observations"] == "wrong"
    assert {p.file for p in report.problems} == {f"public/{name}"}


def test_the_full_check_says_which_observation_differs(packet: Path) -> None:
    name = "public/observations.jsonl"
    lines = (packet / name).read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"answer"' in line)
    lines[at] = lines[at].replace(b'"length":', b'"length":1')
    rewrite(packet, name, lambda _: b"".join(lines))
    found = [p.what for p in check(packet).problems]
    assert found[0] == f"line {at + 1}: the records do not give it"
    assert found[1].startswith("a line is missing: ")


def test_records_that_were_changed_are_found(packet: Path) -> None:
    """A leak is taken out of the restricted records, with new sums throughout."""
    value = nonce(0, "exposed_removed").encode()
    rewrite(
        packet,
        "restricted/records-0000.jsonl",
        lambda data: data.replace(b"It is " + value, b"I do not know"),
    )
    report = check(packet)
    assert report.levels["verdict"] == "right"
    assert report.levels["observations"] == "wrong"
    assert {p.file for p in report.problems} >= {"public/findings.jsonl", "public/observations.jsonl"}


def test_another_key_is_found(packet: Path) -> None:
    rewrite(packet, "restricted/key", lambda _: b"0" * 64 + b"\n")
    assert {p.file for p in check(packet).problems} >= {"public/fixtures.json", "public/observations.jsonl"}


def test_another_plan_is_found(packet: Path) -> None:
    rewrite(packet, "restricted/plan.json", edit("seed", 8))
    (problem,) = check(packet).problems
    assert problem.level == "observations"


# ------------------------------------------------------------------------------------------ hostile content


@pytest.mark.parametrize("name", ["packet.json", "brief.json", "result.json", "findings.jsonl"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b"\xff\xfe{}\n",
        b"[" * 200_000 + b"\n",
        b'{"format": NaN}\n',
        b'{"a":' * 5_000,
    ],
    ids=["empty", "null", "list", "object", "utf16", "deep", "nan", "nested"],
)
def test_hostile_public_files_are_problems_and_no_crash(packet: Path, name: str, data: bytes) -> None:
    rewrite(packet, f"public/{name}", lambda _: data)
    report = check(packet, full=False)
    assert not report.ok
    assert all(len(str(p)) < 500 for p in report.problems)


@pytest.mark.parametrize("name", ["plan.json", "records-0000.jsonl", "key", "software.json"])
@pytest.mark.parametrize("data", [b"", b"[" * 200_000 + b"\n", b'{"a": 1}\n', b"\xff\n"])
def test_hostile_restricted_files_are_problems_and_no_crash(packet: Path, name: str, data: bytes) -> None:
    rewrite(packet, f"restricted/{name}", lambda _: data)
    assert not check(packet).ok


@pytest.mark.parametrize("data", [b"[" * 200_000 + b"\n", b'{"a": 1}\n', b"\xff\n"])
def test_hostile_decisions_are_problems_and_no_crash(packet: Path, data: bytes) -> None:
    (packet / "restricted" / "adjudications.jsonl").touch()
    rewrite(packet, "restricted/adjudications.jsonl", lambda _: data)
    assert not check(packet).ok


def test_a_huge_line_is_refused(packet: Path) -> None:
    rewrite(packet, "public/findings.jsonl", lambda data: b'{"a":"' + b"x" * 2_000_000 + b'"}\n' + data)
    (problem,) = check(packet, full=False).problems
    assert "longer than" in problem.what


def test_a_public_file_that_no_packet_holds_is_found(packet: Path) -> None:
    (packet / "public" / "setup.py").write_bytes(b"print()")
    resum(packet)
    (problem,) = check(packet).problems
    assert problem.file == "public/setup.py"


def test_findings_of_another_run_are_refused(packet: Path) -> None:
    rewrite(
        packet, "public/findings.jsonl", lambda data: data.replace(b'"instance":"P000"', b'"instance":"P777"')
    )
    (problem,) = check(packet, full=False).problems
    assert problem.level == "statistics"


def test_a_later_format_is_said_to_be_one(packet: Path) -> None:
    rewrite(packet, "public/packet.json", edit("format", 2))
    (problem,) = check(packet).problems[:1]
    assert "this version reads format 1" in problem.what


# ---------------------------------------------------------------------------------------- signature and key


def test_a_signature_is_trusted_by_key(sealed: Path, keys: Path, tmp_path: Path) -> None:
    report = check(sealed)
    assert report.signed_by is not None
    assert not report.trusted
    known = check(sealed, trusted_key=keys / "signer.pub")
    assert known.ok
    assert known.trusted
    assert known.signed_by == report.signed_by
    keygen("sign", tmp_path / "other")
    other = check(sealed, trusted_key=tmp_path / "other.pub")
    assert [(p.level, p.file) for p in other.problems] == [("signature", "signature.json")]


def test_a_packet_that_was_changed_and_summed_anew_has_lost_its_signature(packet: Path, keys: Path) -> None:
    rewrite(packet, "public/scoring.json", lambda data: data + b" ")
    assert check(packet, full=False).levels["signature"] == "not_checked"
    found = check(packet, full=False, trusted_key=keys / "signer.pub")
    assert [p.what for p in found.problems] == ["is missing"]


def test_an_old_signature_does_not_cover_a_new_root(packet: Path) -> None:
    old = (packet / "signature.json").read_bytes()
    rewrite(packet, "public/scoring.json", lambda data: data + b" ")
    (packet / "signature.json").write_bytes(old)
    manifest = (packet / "MANIFEST").read_bytes()
    (packet / "ROOT").write_bytes(root_bytes(digest(manifest), digest(old)))
    report = check(packet, full=False)
    assert [(p.level, p.file) for p in report.problems] == [("signature", "signature.json")]


def test_a_packet_can_be_signed_afterwards(packet: Path, keys: Path) -> None:
    rewrite(packet, "restricted/key", lambda data: data)
    root = check(packet).root
    assert check(packet).signed_by is None
    signed = sign(packet, keys / "signer")
    report = check(packet, trusted_key=keys / "signer.pub")
    assert (report.ok, report.root, report.signed_by) == (True, root, signed)


# ----------------------------------------------------------------------------------------------- encrypted


def test_an_encrypted_packet_checks_in_public_and_with_the_key_in_full(closed: Path, keys: Path) -> None:
    assert not (closed / "restricted").exists()
    report = check(closed)
    assert report.ok
    assert report.restricted == "encrypted"
    assert report.levels["observations"] == "not_checked"
    assert check(closed, full=True).problems[0].what.startswith("the restricted part is encrypted")
    whole = check(closed, identity=keys / "reader")
    assert whole.ok, whole.problems
    assert whole.levels["observations"] == "right"


def test_the_wrong_key_is_said_to_be_wrong(closed: Path, tmp_path: Path) -> None:
    keygen("encrypt", tmp_path / "other")
    (problem,) = check(closed, identity=tmp_path / "other").problems
    assert problem.file == "restricted.enc"
    assert problem.level == "observations"


def test_every_byte_of_the_encrypted_part_counts(closed: Path) -> None:
    files = every_file(closed)
    digests = {name: digest(data) for name, data in files.items()}
    texts = {name: files[name] for name in SUM_FILES if name in files}
    data = files["restricted.enc"]
    for at in range(0, len(data), 97):
        changed = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
        assert verify({**digests, "restricted.enc": digest(changed)}, texts)


def test_an_encrypted_packet_can_be_opened_in_place(closed: Path, keys: Path, tmp_path: Path) -> None:
    packet = Path(shutil.copytree(closed, tmp_path / "packet"))
    opened = decrypt(packet, keys / "reader")
    assert (opened / "key").stat().st_mode & 0o777 == 0o600
    report = check(packet)
    assert report.ok
    assert report.restricted == "present"
    with pytest.raises(ConfigError, match="exists already"):
        decrypt(packet, keys / "reader")


def test_another_restricted_part_in_the_envelope_is_found(
    closed: Path, sealed: Path, keys: Path, tmp_path: Path
) -> None:
    """Somebody encrypts records of their own to the reader and writes new sums."""
    from vestige.packet.encrypt import encrypt_files
    from vestige.packet.keys import load_recipient

    packet = Path(shutil.copytree(closed, tmp_path / "packet"))
    own = Path(shutil.copytree(sealed, tmp_path / "own"))
    (own / "restricted" / "key").write_bytes(b"1" * 64)
    resum(own)
    files = {n: own / n for n in every_file(own) if n.startswith("restricted/")}
    (packet / "restricted.enc").unlink()
    encrypt_files(files, packet / "restricted.enc", load_recipient(keys / "reader.pub"))
    resum(packet)
    assert check(packet).ok
    (problem,) = check(packet, identity=keys / "reader").problems
    assert problem.level == "observations"


def test_sums_need_no_package_and_no_model(sealed: Path) -> None:
    assert check_sums(sealed) == []
