"""A scan finds a value wherever it stands, says what it read, and never says more than that."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import os
import pickle
import random
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.channels.storage import Limits, ScanResult, control_of, scan_storage
from vestige.channels.storage.forms import forms_of
from vestige.errors import ConfigError, DataError

VALUE = "XQ7-VIOLET-3829"
VALUES = {"token": VALUE}
NOTE = f"my private session token is {VALUE}, so there"
BYTES = NOTE.encode()


def scanned(folder: Path, values: dict[str, str] = VALUES, **more: object) -> ScanResult:
    result = scan_storage([folder], values, **more)  # type: ignore[arg-type]
    assert VALUE not in result.model_dump_json()
    return result


def written(tmp_path: Path, name: str, data: bytes) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


def kinds(result: ScanResult) -> set[tuple[str, str | None, str, tuple[str, ...]]]:
    return {(h.form, h.grade, h.place, h.inside) for f in result.files for h in f.hits}


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("note.txt")
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
    return out.getvalue()


def tarred(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("inner.gz")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("notes.txt", BYTES, ("utf-8", "live_row", "text", ())),
        ("store.bin", b"\x00\x01" + BYTES, ("utf-8", None, "bytes", ())),
        ("agent.log", b"\x00" + BYTES, ("utf-8", "live_row", "log", ())),
        ("notes.bak", BYTES, ("utf-8", "old_version", "older version, by its name", ())),
        ("notes.json", base64.b64encode(b"a" + BYTES), ("base64", "live_row", "text", ())),
        ("wide.bin", NOTE.encode("utf-16-le"), ("utf-16", None, "bytes", ())),
        ("notes.gz", gzip.compress(BYTES), ("utf-8", None, "bytes", ("gzip",))),
        ("pickled", pickle.dumps({"z": zlib.compress(BYTES * 9)}), ("utf-8", None, "bytes", ("zlib",))),
        ("all.zip", zipped(BYTES), ("utf-8", None, "bytes", ("zip member",))),
        ("all.tgz", tarred(gzip.compress(BYTES)), ("utf-8", None, "bytes", ("gzip", "gzip"))),
    ],
)
def test_a_value_is_found(tmp_path: Path, name: str, data: bytes, kind: object) -> None:
    result = scanned(written(tmp_path, name, data))
    assert kinds(result) == {kind}
    assert result.outcome == "found"
    assert result.sightings[0].whole == sum(h.count for h in result.files[0].hits) > 0
    assert result.files[0].bytes == len(data)


@pytest.mark.parametrize(
    "data", [BYTES, NOTE.encode("utf-16-le"), b"\x00" + NOTE.encode("utf-16-be") + b"\x00"]
)
def test_one_occurrence_counts_once(tmp_path: Path, data: bytes) -> None:
    result = scanned(written(tmp_path, "notes.bin", data * 5))
    assert result.sightings[0].whole == 5


def test_a_database_with_its_wal(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "m.db", isolation_level=None)) as db:
        db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA secure_delete=OFF; CREATE TABLE notes (text TEXT, blob BLOB);"
        )
        db.execute(
            "INSERT INTO notes VALUES (?, ?)",
            (NOTE, zlib.compress(BYTES + os.urandom(30_000).hex().encode())),
        )
        before = scanned(folder)
        assert kinds(before) >= {
            ("utf-8", "live_row", "row of notes (WAL)", ()),
            ("utf-8", "live_row", "row on several pages of notes", ("zlib",)),
        }
        assert before.sightings[0].nearest == "live_row"
        assert [f.not_computable for f in before.files if f.not_computable] == []
        db.execute("DELETE FROM notes")
        after = scanned(folder, control=before)
    assert after.sightings[0].nearest == "old_version"
    assert after.outcome == "found"
    main = next(f for f in before.files if f.file == "store/m.db")
    assert main.format == "SQLite database"
    assert main.settings["last written by"] == f"SQLite {sqlite3.sqlite_version}"
    assert main.settings["secure_delete"] == "not told by the file"
    assert {f.format for f in before.files} >= {"SQLite database", "SQLite WAL"}


def test_dead_bytes_in_a_database(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "m.db", isolation_level=None)) as db:
        db.executescript("PRAGMA secure_delete=OFF; CREATE TABLE notes (text TEXT);")
        db.executemany("INSERT INTO notes VALUES (?)", [(NOTE,), ("something else",)])
        control = scanned(folder)
        db.execute("DELETE FROM notes WHERE text = ?", (NOTE,))
        assert scanned(folder, control=control).sightings[0].nearest == "dead_bytes"
        db.execute("VACUUM")
        result = scanned(folder, control=control)
    assert result.outcome == "nothing_found"
    assert result.reasons == ()
    assert [f.file for f in result.files] == ["store/m.db"]


# --- nothing found is never more than that ---


def test_without_a_control_nothing_is_said(tmp_path: Path) -> None:
    folder = written(tmp_path, "notes.txt", b"other words")
    result = scanned(folder)
    assert result.outcome == "unassessable"
    assert "no control" in result.reasons[0]


def test_a_control_that_did_not_see_a_value(tmp_path: Path) -> None:
    values = {**VALUES, "other": "AAA-CORAL-0001"}
    folder = written(tmp_path, "notes.txt", BYTES)
    control = scanned(folder, values)
    (folder / "notes.txt").write_bytes(b"other words")
    result = scanned(folder, values, control=control)
    assert result.outcome == "unassessable"
    assert result.reasons == ("the control did not see 1 of 2 values: other",)
    assert result.control is not None
    assert (result.control.seen, result.control.unseen) == (("token",), ("other",))


def test_a_control_of_other_values_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, "notes.txt", BYTES)
    for values in ({"token": "XQ7-VIOLET-3820"}, {"other": VALUE}, {**VALUES, "more": "more than this"}):
        with pytest.raises(ConfigError, match="other values"):
            scanned(folder, VALUES, control=scan_storage([folder], values))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("noise.bin", random.Random(3).randbytes(300_000), "look compressed or encrypted"),
        ("table.parquet", b"PAR1" + bytes(400) + b"PAR1", "Parquet"),
        ("frag.lance", bytes(400) + b"LANC", "Lance"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(90), "7-Zip"),
        ("000012.sst", bytes(400) + bytes.fromhex("f7cff485b741e288"), "RocksDB"),
        (
            "cut.gz",
            gzip.compress(random.Random(1).randbytes(90_000))[:50_000],
            "gzip at offset 0: ends early",
        ),
        ("broken.db", b"SQLite format 3\x00" + bytes(200), "SQLite"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    folder = written(tmp_path, "notes.txt", BYTES)
    control = scanned(folder)
    written(tmp_path, "notes.txt", b"other words")
    assert scanned(folder, control=control).outcome == "nothing_found"
    written(tmp_path, name, data)
    result = scanned(folder, control=control)
    assert result.outcome == "unassessable"
    assert any(words in problem for f in result.files for problem in f.not_computable)
    assert f"store/{name}" in result.reasons[0]


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    data = bytearray(zipped(b"nothing"))
    data[6] |= 1
    result = scanned(written(tmp_path, "x.zip", bytes(data)))
    assert any("encrypted" in words for words in result.files[0].not_computable)


def test_links_and_pipes_are_listed(tmp_path: Path) -> None:
    folder = written(tmp_path, "notes.txt", b"words")
    (tmp_path / "outside").write_bytes(BYTES)
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "inner-link").symlink_to(folder / "notes.txt")
    os.mkfifo(folder / "pipe")
    result = scanned(folder)
    listed = {f.file: f.not_computable for f in result.files}
    assert listed["store/link"] == ("a link is not followed",)
    assert "pipe" in listed["store/pipe"][0]
    assert "store/inner-link" not in listed


def test_a_name_that_holds_a_value_is_not_shown(tmp_path: Path) -> None:
    folder = written(tmp_path, f"{VALUE.lower()}.txt", b"words")
    result = scanned(folder)
    assert result.outcome == "found"
    assert result.files[0].hits[0].place == "the file's name"
    assert VALUE.lower() not in result.model_dump_json()


def test_parts_where_the_whole_is_gone(tmp_path: Path) -> None:
    folder = written(tmp_path, "notes.txt", b"it began with XQ7-VIOLET- and ended")
    result = scanned(folder)
    assert result.outcome == "parts_found"
    assert (result.sightings[0].whole, result.sightings[0].parts) == (0, 1)
    written(tmp_path, "notes.txt", BYTES)
    assert not any(h.form == "part" for f in scanned(folder).files for h in f.hits)


def test_nothing_to_read(tmp_path: Path) -> None:
    assert "no file was read" in scanned(tmp_path).reasons
    with pytest.raises(ConfigError, match="no such file"):
        scan_storage([tmp_path / "missing"], VALUES)
    with pytest.raises(ConfigError, match="no value"):
        scan_storage([tmp_path], {})
    with pytest.raises(DataError, match="at least 6"):
        scan_storage([tmp_path], {"a": "12345"})


def test_a_result_is_read_back(tmp_path: Path) -> None:
    folder = written(tmp_path, "notes.txt", BYTES)
    (tmp_path / "before.json").write_text(scanned(folder).model_dump_json())
    assert control_of(tmp_path / "before.json") == scanned(folder)
    (tmp_path / "before.json").write_text(json.dumps({"files": VALUE}))
    with pytest.raises(DataError) as raised:
        control_of(tmp_path / "before.json")
    assert VALUE not in str(raised.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        control_of(tmp_path / "nowhere.json")


# --- hostile files ---


def test_a_bomb_is_bounded_and_named(tmp_path: Path) -> None:
    inner = gzip.compress(bytes(30 << 20) + BYTES)
    folder = written(tmp_path, "bomb.gz", gzip.compress(inner))
    result = scanned(folder, limits=Limits(unpacked=1 << 20))
    assert any("unpack" in words for words in result.files[0].not_computable)
    assert scanned(folder).outcome == "found"


def test_streams_within_streams_end(tmp_path: Path) -> None:
    data = BYTES
    for _ in range(9):
        data = gzip.compress(data)
    result = scanned(written(tmp_path, "deep.gz", data))
    assert result.files[0].not_computable == ("streams within more than 4 streams",)


def test_many_beginnings_end(tmp_path: Path) -> None:
    folder = written(tmp_path, "many.bin", b"x\x9c" * 60_000 + BYTES)
    result = scanned(folder, limits=Limits(starts=1000))
    assert result.outcome == "found"
    assert any("more than 1,000 places" in words for words in result.files[0].not_computable)


def a_database(change: Callable[[bytearray], None]) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(
            "PRAGMA page_size=512; CREATE TABLE notes (text TEXT); CREATE INDEX i ON notes (text);"
        )
        db.executemany("INSERT INTO notes VALUES (?)", [(NOTE * (i % 30),) for i in range(40)])
        data = bytearray(db.serialize())
    change(data)
    return bytes(data)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_of_every_kind(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever the damage: no crash, no hang, every byte read; and what stands there as it is, is found."""
    whole = {
        "m.db": lambda: a_database(lambda _: None),
        "m.gz": lambda: gzip.compress(BYTES * 40, mtime=0),
        "m.zip": lambda: zipped(BYTES * 40),
        "m.tgz": lambda: tarred(gzip.compress(BYTES, mtime=0)),
        "m.pkl": lambda: pickle.dumps([zlib.compress(BYTES * 40), NOTE]),
        "m.bin": lambda: data.draw(st.binary(max_size=200)),
    }
    name = data.draw(st.sampled_from(sorted(whole)))
    content = bytearray(whole[name]())
    for _ in range(data.draw(st.integers(0, 6))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / name).write_bytes(content)
    result = scan_storage([folder], VALUES)
    assert result.files[0].bytes == len(content)
    low = bytes(content).lower()
    plain = any(f.pattern in (low if f.any_case else content) for f in forms_of(VALUE))
    assert result.sightings[0].whole > 0 or not plain
    assert result.outcome in ("found", "parts_found", "unassessable")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_stream_is_never_silent(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    packed = {
        "m.gz": gzip.compress(BYTES, mtime=0),
        "m.bz2": bz2.compress(BYTES),
        "m.zip": zipped(BYTES),
    }
    name = data.draw(st.sampled_from(sorted(packed)))
    content = packed[name]
    end = content.rfind(b"PK\x01\x02") if name == "m.zip" else len(content)
    cut = data.draw(st.integers(31 if name == "m.zip" else 11, end - 12))
    folder = tmp_path_factory.mktemp("cut")
    (folder / name).write_bytes(content[:cut])
    result = scan_storage([folder], VALUES)
    assert result.files[0].not_computable
