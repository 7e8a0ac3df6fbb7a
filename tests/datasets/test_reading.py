from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from vestige.datasets import reading
from vestige.datasets.reading import RecordFile
from vestige.errors import ConfigError, DataError


def read(path: Path) -> list[object]:
    return [node.value for node in RecordFile(path)]


def put(folder: Path, content: bytes | str) -> Path:
    path = folder / "data.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"a": 1}, {"b": "é"}]', [{"a": 1}, {"b": "é"}]),
        (" \n[ ]\n", []),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": {\n "b": [1, 2]}}', [{"a": {"b": [1, 2]}}]),
        ('\ufeff[{"a": 1}]', [{"a": 1}]),
        ('[1, 2.5, null, true, "x"]', [1, 2.5, None, True, "x"]),
    ],
)
def test_lists_and_lines_of_records_are_read(tmp_path: Path, content: str, expected: list[object]) -> None:
    assert read(put(tmp_path, content)) == expected


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_records_are_the_same_however_the_file_is_cut_into_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(reading, "_CHUNK_BYTES", chunk)
    records = [{"text": "żółw é 🐢" * 5, "n": 12345}, 678901, {"list": [[], {}, "]"]}]
    path = put(tmp_path, json.dumps(records, ensure_ascii=False, indent=1))
    file = RecordFile(path)
    assert [node.value for node in file] == records
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("hello", "starts with 'h'"),
        ('[{"a": 1} {"b": 2}]', "expected ',' or ']'"),
        ('[{"a": 1}', "the end of the file"),
        ('[{"a": 1},', "record 1"),
        ('[{"a": 1}] []', "something follows"),
        ('[{"a": tru}]', "record 0: not JSON at character 7"),
        (b'[{"a": "\xff"}]', "not UTF-8: byte 0xff near byte 8"),
        (b'[{"a": "\xc3', "not UTF-8"),
        ('[{"a": ' + "[" * 200_000, "record 0: nested too deep"),
        ('[{"a": ' + "9" * 5000 + "}]", "record 0"),
    ],
)
def test_what_is_no_file_of_records_is_refused_in_one_line(
    tmp_path: Path, content: bytes | str, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, content))
    assert message in str(caught.value)
    assert "data.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_size_limit_is_named_and_can_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "[1, 2, 3]")
    monkeypatch.setenv("VESTIGE_MAX_DATA_BYTES", "8")
    with pytest.raises(DataError, match="9 bytes, more than the limit of 8; set VESTIGE_MAX_DATA_BYTES"):
        read(path)
    monkeypatch.setenv("VESTIGE_MAX_DATA_BYTES", "9")
    assert read(path) == [1, 2, 3]
    for wrong in ("", "0", "-1", "lots", "١"):
        monkeypatch.setenv("VESTIGE_MAX_DATA_BYTES", wrong)
        with pytest.raises(ConfigError, match="positive number of bytes"):
            read(path)


def test_a_record_without_end_is_given_up_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_CHUNK_BYTES", 1000)
    monkeypatch.setattr(reading, "MAX_RECORD_CHARS", 5000)
    path = put(tmp_path, '[{"a": oops' + " " * 100_000 + "}]")
    with pytest.raises(DataError, match="record 0: not JSON at character 7"):
        read(path)


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        RecordFile(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        RecordFile(tmp_path / "absent.json")
