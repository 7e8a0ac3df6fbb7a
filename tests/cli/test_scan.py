"""`vestige scan`: what it says, what it never says, and what it ends with."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vestige.cli.main import app

VALUE = "XQ7-VIOLET-3829"
OTHER = "AAA-CORAL-0001"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store").mkdir()
    (tmp_path / "values").write_text(f"token\t{VALUE}\n\n", encoding="utf-8")
    return tmp_path


def scan(*argv: str) -> Any:
    done = CliRunner().invoke(app, ["scan", *argv])
    assert VALUE not in done.output
    assert "Traceback" not in done.output
    return done


def store(text: str, name: str = "notes.txt") -> None:
    Path("store", name).write_text(text, encoding="utf-8")


def test_before_and_after_a_deletion(elsewhere: Path) -> None:
    with closing(sqlite3.connect("store/m.db", isolation_level=None)) as db:
        db.executescript("PRAGMA secure_delete=OFF; CREATE TABLE notes (text TEXT);")
        db.executemany("INSERT INTO notes VALUES (?)", [(f"the token is {VALUE}",), ("else",)])
        before = scan("store", "--canary-file", "values", "--out", "before.json")
        assert before.exit_code == 0
        assert "live (row of notes)" in before.stderr
        db.execute("DELETE FROM notes WHERE rowid = 1")
        deleted = scan(
            "store", "--canary-file", "values", "--control", "before.json", "--fail-on", "old_version"
        )
        assert deleted.exit_code == 0
        assert "dead bytes (unallocated space on a live page of notes)" in deleted.stderr
        failing = scan(
            "store", "--canary-file", "values", "--control", "before.json", "--fail-on", "dead_bytes"
        )
        assert failing.exit_code == 1
        db.execute("VACUUM")
    after = scan("store", "--canary-file", "values", "--control", "before.json", "--fail-on", "part")
    assert after.exit_code == 0
    assert "store/m.db: SQLite database" in after.stderr
    assert "secure_delete: not told by the file" in after.stderr
    assert "none of 1 value found in what was read: 1 file" in after.stderr
    assert "clean" not in after.stderr


def test_nothing_found_without_a_control() -> None:
    store("other words")
    done = scan("store", "--canary", OTHER)
    assert done.exit_code == 3
    assert "not assessable: no control" in done.stderr
    assert "store/notes.txt: text, 11 bytes, read as bytes" in done.stderr


def test_what_was_not_read_keeps_it_from_passing() -> None:
    store(VALUE)
    scan("store", "--canary-file", "values", "--out", "before.json")
    store("other words")
    Path("store/x.parquet").write_bytes(b"PAR1" + bytes(100))
    for more in ((), ("--fail-on", "live_row")):
        done = scan("store", "--canary-file", "values", "--control", "before.json", *more)
        assert done.exit_code == 3
        assert "not computable: Parquet" in done.stderr


def test_a_grade_that_cannot_be_told_counts_as_the_nearest() -> None:
    Path("store/x.bin").write_bytes(b"\x00\x01" + VALUE.encode())
    assert scan("store", "--canary-file", "values", "--fail-on", "live_row").exit_code == 1


def test_parts() -> None:
    store("XQ7-VIOLET- is what is left")
    assert scan("store", "--canary-file", "values").exit_code == 0
    assert scan("store", "--canary-file", "values", "--fail-on", "part").exit_code == 1


def test_json_is_the_result() -> None:
    Path("store/old.gz").write_bytes(gzip.compress(f"{VALUE} {VALUE}".encode()))
    done = scan("store", "--canary-file", "values", "--json")
    result = json.loads(done.stdout)
    assert result["schema_name"] == "vestige.scan/1"
    assert result["sightings"][0]["whole"] == 2
    assert result["files"][0]["hits"][0]["inside"] == ["gzip"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("store",), "give --canary VALUE or --canary-file FILE"),
        (("nowhere", "--canary", OTHER), "there is no such file or folder"),
        (("store", "--canary", "short"), "expected at least 6"),
        (("store", "--canary-file", "nowhere"), "cannot be read"),
        (("store", "--canary-file", "twice"), "stands twice"),
        (("store", "--canary-file", "shown"), "a label holds a value"),
        (("store", "--canary-file", "binary"), "not UTF-8 at byte 1"),
        (("store", "--canary", OTHER, "--control", "values"), "not the result of a scan"),
        (("store", "--canary", OTHER, "--control", "before.json"), "other values"),
    ],
)
def test_mistakes_are_one_line(argv: tuple[str, ...], words: str) -> None:
    store("words")
    Path("twice").write_text(f"a\t{OTHER}\na\t{VALUE}\n", encoding="utf-8")
    Path("shown").write_text(f"of {OTHER}\t{OTHER}\n", encoding="utf-8")
    Path("binary").write_bytes(b"a\xff\xff")
    scan("store", "--canary-file", "values", "--out", "before.json")
    done = scan(*argv)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert OTHER not in done.stderr
