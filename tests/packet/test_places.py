"""Where a packet is, and what is said where it is not; torn records are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packet.made import Scored, json_of, scored, write_run
from tests.packet.test_check import rewrite
from typer.testing import CliRunner

from vestige.cli.main import app
from vestige.errors import ConfigError
from vestige.packet.check import check
from vestige.packet.diff import diff
from vestige.packet.encrypt import decrypt
from vestige.packet.keys import keygen
from vestige.packet.sign import sign
from vestige.runs.store import read_lines, torn_lines


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with its packet, and a ZIP beside it."""
    made = scored(tmp_path / "run", pairs=1)
    made.seal(tmp_path / "run" / "packet", zip=True)
    return tmp_path / "run"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    keygen("sign", tmp_path / "signer")
    keygen("encrypt", tmp_path / "reader")
    return tmp_path / "signer"


def test_a_run_s_folder_stands_for_its_packet(run: Path, key: Path) -> None:
    report = check(run)
    assert report.ok and report.packet == str(run / "packet")
    assert report.root == check(run / "packet").root
    assert diff(run, run / "packet").judgement == "no_difference"
    signed = sign(run, key)
    assert check(run, trusted_key=key.with_name("signer.pub")).signed_by == signed
    done = CliRunner().invoke(app, ["packet", "check", str(run)])
    assert done.exit_code == 0 and f"{run / 'packet'}" in done.output.replace("\n", "")


def test_a_run_without_a_packet_is_told_how_to_get_one(tmp_path: Path, key: Path) -> None:
    folder = write_run(tmp_path / "run", pairs=1).path
    for act in (lambda: check(folder), lambda: sign(folder, key), lambda: diff(folder, folder)):
        with pytest.raises(ConfigError, match=r"holds a run and no packet; .*vestige packet seal"):
            act()


def test_only_a_packet_s_folder_is_signed_or_opened(run: Path, key: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cases = {
        run / "packet.zip": "unpack the ZIP",
        empty: "no packet here",
        tmp_path / "none": "no packet here",
    }
    for path, words in cases.items():
        for act in (lambda p=path: sign(p, key), lambda p=path: decrypt(p, key.with_name("reader"))):
            with pytest.raises(ConfigError, match=words) as caught:
                act()
            assert "\n" not in str(caught.value)
        for command, option in (("sign", "--key"), ("decrypt", "--identity")):
            name = "signer" if command == "sign" else "reader"
            done = CliRunner().invoke(app, ["packet", command, str(path), option, str(key.with_name(name))])
            assert done.exit_code == 2 and len(done.output.strip().splitlines()) == 1
    assert list(empty.iterdir()) == []


# ------------------------------------------------------------------------------------------------ torn lines


def test_a_run_that_was_killed_while_it_wrote_says_so_in_its_packet(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", pairs=1)
    with (folder.path / "records-0000.jsonl").open("ab") as file:
        file.write(b'{"schema_version": 1, "kind": "exch')
    packet = Scored(folder).seal(tmp_path / "packet")
    report = check(packet)
    assert report.ok, report.problems
    assert [(n.file, n.what) for n in report.notes] == [
        ("restricted/records-0000.jsonl", "its last line is torn: 35 bytes are not read")
    ]
    excluded = [x["what"] for x in json_of(packet, "packet.json")["excluded"]]
    assert "the torn last line of records-0000.jsonl, 35 bytes" in excluded
    done = CliRunner().invoke(app, ["packet", "check", str(packet)])
    assert done.exit_code == 0
    assert "note: restricted/records-0000.jsonl: its last line is torn: 35 bytes are not read" in done.output


def test_a_line_that_was_torn_after_sealing_differs(run: Path, tmp_path: Path) -> None:
    """The last line says that the pair was completed, or, with one more behind it, nothing that a finding reads."""
    assert not check(run).notes
    for extra in (b"", b'{"schema_version":1,"kind":"call_end","episode":"","attempt":0,"body":{}}\n'):
        folder = write_run(tmp_path / f"other{len(extra)}", pairs=1)
        with (folder.path / "records-0000.jsonl").open("ab") as file:
            file.write(extra)
        packet = Scored(folder).seal(tmp_path / f"packet{len(extra)}")
        assert check(packet).ok
        rewrite(packet, "restricted/records-0000.jsonl", lambda data: data[:-2])
        report = check(packet)
        assert not report.ok and report.levels["observations"] == "wrong"
        assert "public/packet.json" in {p.file for p in report.problems}
        assert any("is torn" in n.what for n in report.notes)


@pytest.mark.parametrize("rest", [0, 1, 100, 70_000, 200_000])
def test_torn_lines_are_measured(tmp_path: Path, rest: int) -> None:
    folder = write_run(tmp_path / "run", pairs=1).path
    whole = len(list(read_lines(folder)))
    with (folder / "records-0000.jsonl").open("ab") as file:
        file.write(b"x" * rest)
    (folder / "records-0001.jsonl").write_bytes(b"y" * rest)
    wanted = [(f"records-000{n}.jsonl", rest) for n in (0, 1)] if rest else []
    assert torn_lines(folder) == wanted
    assert len(list(read_lines(folder))) == whole
