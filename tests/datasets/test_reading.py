from __future__ import annotations

import hashlib
import json
import sys
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


@pytest.mark.parametrize("digits", [641, 6000])
def test_an_integer_that_is_too_long_is_named_by_its_field(tmp_path: Path, digits: int) -> None:
    path = tmp_path / "long.json"
    path.write_text('[{"fine": 1, "answer": -' + "7" * digits + "}]")
    (record,) = RecordFile(path)
    assert record.get("fine").value == 1
    with pytest.raises(DataError) as caught:
        record.get("answer").text_or_digits()
    assert str(caught.value) == (
        f"{path}, record 0, field answer: expected text, or an integer of at most 640 digits, "
        f"got an integer of {digits:,} digits"
    )
    with pytest.raises(DataError, match="expected an object, got an integer of"):
        record.get("answer").keys()


def test_the_longest_integer_is_read_whatever_python_is_told(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text('[{"answer": -' + "7" * 640 + "}]")
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        (record,) = RecordFile(path)
        assert record.get("answer").text_or_digits() == "-" + "7" * 640
    finally:
        sys.set_int_max_str_digits(before)
