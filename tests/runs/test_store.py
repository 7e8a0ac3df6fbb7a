"""The record store keeps what was written past torn lines, full disks and second writers."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from vestige.errors import IntegrityError, StorageError
from vestige.runs.store import RecordWriter, read_attempts, read_counted, read_lines


def written(folder: Path, *lines: tuple[str, str, int, Any]) -> Path:
    writer = RecordWriter(folder)
    for kind, episode, attempt, body in lines:
        writer.write(kind, episode, attempt, body=body)
    writer.close()
    return writer.path


def test_a_line_comes_back_as_it_was_written(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path)
    body = {
        "reply": {"text": "line\nbreak \u2028 ü \x00 </script>"},
        "vector": b"\x00\xff",
        "bad": float("nan"),
    }
    writer.write("exchange", "e/S0", 2, step=7, probe="p", repeat=1, labels={"k": 3, "tau": None}, body=body)
    writer.sync()
    writer.close()
    (line,) = read_lines(tmp_path)
    assert (line.kind, line.episode, line.attempt, line.step) == ("exchange", "e/S0", 2, 7)
    assert (line.probe, line.repeat, line.labels) == ("p", 1, {"k": 3, "tau": None})
    assert line.body == {"reply": {"text": body["reply"]["text"]}, "vector": "AP8=", "bad": None}
    assert writer.path.read_bytes().count(b"\n") == 1


def test_the_torn_last_line_of_each_file_is_ignored(tmp_path: Path) -> None:
    for episode in ("a", "b"):
        path = written(tmp_path, ("episode_begin", episode, 1, None), ("exchange", episode, 1, {"x": 1}))
        whole = path.read_bytes()
        path.write_bytes(whole[:-9])
    assert [(line.kind, line.episode) for line in read_lines(tmp_path)] == [
        ("episode_begin", "a"),
        ("episode_begin", "b"),
    ]


def test_a_whole_last_line_without_its_newline_does_not_count(tmp_path: Path) -> None:
    """The newline is the seal: what stands before it may be a number that was cut in the middle."""
    path = written(tmp_path, ("episode_begin", "a", 1, None), ("episode_end", "a", 1, {"status": "done"}))
    path.write_bytes(path.read_bytes()[:-1])
    assert read_attempts(tmp_path).done == {}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (b'{"kind": "exchange", "epi\n', "not a record: not JSON: control character"),
        (b"\xff\xfe\n", "not a record: not JSON"),
        (b"\n", "not a record: not JSON: EOF while parsing a value$"),
        (b"[]\n", "not a record: input should be a valid dictionary or instance of Line"),
        (
            b'{"schema_version":1,"kind":"x","episode":"e","attempt":1,"extra":1}\n',
            "a field that is not known$",
        ),
        (
            b'{"schema_version":1,"kind":"x","episode":"e","attempt":"XQ7"}\n',
            "field attempt: input should be",
        ),
        (b'{"schema_version":1,"kind":"x","episode":"e"}\n', "not a record: field attempt: field required$"),
        (b'{"schema_version":9,"kind":"x","episode":"e","attempt":1}\n', "schema 9 is newer"),
    ],
)
def test_a_bad_line_that_is_not_the_torn_last_is_named(tmp_path: Path, damage: bytes, says: str) -> None:
    written(tmp_path, ("episode_begin", "a", 1, None))
    path = written(tmp_path, *[("exchange", "a", 1, {"n": n}) for n in range(3)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[2])
    with pytest.raises(IntegrityError, match=rf"^records-0001\.jsonl:2: .*{says}"):
        list(read_lines(tmp_path))


def test_a_bad_line_s_content_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path, ("episode_begin", "a", 1, None))
    path.write_bytes(b'{"kind": "XQ7-VIOLET-3829", \n' + path.read_bytes())
    with pytest.raises(IntegrityError) as caught:
        list(read_lines(tmp_path))
    assert "XQ7" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        {"schema_version": 1, "kind": "x", "episode": "e", "attempt": 1, "XQ7-VIOLET-3829": 1},
        {"schema_version": 1, "kind": "x", "episode": "e", "attempt": 1, "labels": {"XQ7-VIOLET-3829": []}},
        {"schema_version": 1, "kind": "x", "episode": "e", "attempt": "XQ7-VIOLET-3829"},
    ],
)
def test_neither_a_value_nor_a_key_that_is_no_field_is_told(tmp_path: Path, line: dict[str, object]) -> None:
    (tmp_path / "records-0000.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(IntegrityError, match=r"^records-0000\.jsonl:1: not a record: ") as caught:
        list(read_lines(tmp_path))
    assert "XQ7" not in str(caught.value)


def test_a_writer_never_writes_into_a_file_that_is_there(tmp_path: Path) -> None:
    first = RecordWriter(tmp_path)
    second = RecordWriter(tmp_path)
    (tmp_path / "records-0002.jsonl").write_bytes(b"")
    third = RecordWriter(tmp_path)
    for number, writer in enumerate((first, second, third)):
        writer.write("note", f"e{number}", 1)
        writer.close()
    assert [w.path.name for w in (first, second, third)] == [
        "records-0000.jsonl",
        "records-0001.jsonl",
        "records-0003.jsonl",
    ]
    assert [line.episode for line in read_lines(tmp_path)] == ["e0", "e1", "e2"]
    assert first.path.stat().st_mode & 0o777 == 0o600  # prompts and canaries are for the owner alone


def said(text: str) -> dict[str, Any]:
    return {"reply": {"text": text}, "measures": {}}


def test_an_exchange_that_holds_no_reply_is_named_and_not_told(tmp_path: Path) -> None:
    written(
        tmp_path,
        ("exchange", "a", 1, said("fine")),
        ("exchange", "b", 1, {"reply": {"text": ["XQ7-VIOLET-3829"]}}),
        ("episode_end", "b", 1, {"status": "done"}),
    )
    with pytest.raises(IntegrityError) as caught:
        list(read_counted(tmp_path, read_attempts(tmp_path), frozenset({"exchange"})))
    assert str(caught.value) == (
        "records-0000.jsonl:2: not the record of an exchange: field reply.text: input should be a valid string"
    )


def test_the_first_completed_attempt_counts_and_no_other(tmp_path: Path) -> None:
    written(
        tmp_path,
        ("episode_begin", "a", 1, None),
        ("exchange", "a", 1, said("half")),
        ("episode_begin", "b", 1, None),
        ("episode_end", "b", 1, {"status": "failed", "reason": "AgentError: ask"}),
    )
    written(
        tmp_path,
        ("superseded", "a", 1, None),
        ("episode_begin", "a", 2, None),
        ("exchange", "a", 2, said("whole")),
        ("episode_end", "a", 2, {"status": "done"}),
        ("episode_begin", "a", 3, None),
        ("exchange", "a", 3, said("again")),
        ("episode_end", "a", 3, {"status": "done"}),
        ("episode_begin", "c", 1, None),
        ("episode_end", "c", 1, {"status": "failed", "reason": "once"}),
        ("episode_begin", "c", 2, None),
        ("exchange", "c", 2, said("c")),
        ("episode_end", "c", 2, {"status": "done"}),
    )
    attempts = read_attempts(tmp_path)
    assert attempts.done == {"a": 2, "c": 2}
    assert attempts.failed == {"b": "AgentError: ask"}
    assert attempts.begun == {"a": 3, "b": 1, "c": 2}
    counted = read_counted(tmp_path, attempts, frozenset({"exchange"}))
    assert [line.body["reply"]["text"] for line in counted] == ["whole", "c"]


def test_a_full_disk_stops_the_writer_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes 40 bytes more, then none: the line is torn, the ones before stay, and nothing follows it."""
    writer = RecordWriter(tmp_path)
    writer.write("note", "a", 1, body="kept")
    room = 40
    real = os.write

    def full(fd: int, data: memoryview) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken, room = min(room, len(data)), room - min(room, len(data))
        return real(fd, data[:taken])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(
        StorageError, match=r"No space left on device; free some space and continue with --resume"
    ):
        writer.write("note", "b", 1, body="lost")
    monkeypatch.undo()
    with pytest.raises(StorageError, match="could not be written before"):
        writer.write("note", "c", 1)
    writer.close()
    assert [line.episode for line in read_lines(tmp_path)] == ["a"]
    assert writer.path.read_bytes().endswith(b"\n") is False
    assert StorageError.exit_code == 5


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may take less than it is given, without an error."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    writer = RecordWriter(tmp_path)
    writer.write("note", "a", 1, body="x" * 100)
    monkeypatch.undo()
    writer.close()
    (line,) = read_lines(tmp_path)
    assert line.body == "x" * 100


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*records-0000\.jsonl"):
        RecordWriter(tmp_path / "absent")


def test_a_line_is_one_json_object(tmp_path: Path) -> None:
    path = written(tmp_path, ("note", "a", 1, "a\r\nb"), ("note", "b", 1, None))
    assert [json.loads(line)["episode"] for line in path.read_text("utf-8").split("\n")[:-1]] == ["a", "b"]


def test_what_stands_after_an_attempt_s_end_is_refused(tmp_path: Path) -> None:
    """Whoever reads a long run holds no more than what is under way; a late line is none of ours, twice or not."""
    done = {"status": "done"}
    written(tmp_path, ("a", "e", 1, {}), ("episode_end", "e", 1, done), ("b", "e", 1, {}), ("a", "f", 1, {}))
    attempts = read_attempts(tmp_path)
    with pytest.raises(
        IntegrityError, match=r"0000\.jsonl:3: the record of e, step -1, stands there twice, or"
    ):
        list(read_counted(tmp_path, attempts, frozenset({"a", "b"})))
    read = read_counted(tmp_path, attempts, frozenset({"a", "episode_end"}))
    assert [line.kind for line in read] == ["a", "episode_end"]


def test_a_record_that_stands_there_twice_is_not_counted_twice(tmp_path: Path) -> None:
    from tests.helpers.studies import people, run

    from vestige import workflow
    from vestige.errors import IntegrityError
    from vestige.runs.folder import RunFolder

    run("frontier", tmp_path / "r", people(1))
    records = tmp_path / "r" / "records-0000.jsonl"
    records.write_bytes(records.read_bytes() * 2)
    with pytest.raises(IntegrityError, match="stands there twice"):
        workflow.score(RunFolder.open(tmp_path / "r"))
