"""The run folder: frozen plan, hashed blobs, one writer, and clear refusals."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path

import pytest
from tests.helpers.studies import options, people, run

from vestige import studying, workflow
from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.runs.folder import RunFolder, blob_of, write_atomic


@pytest.fixture
def planned() -> workflow.Planned:
    return studying.make_plan("frontier", options(), people(2))


def test_the_plan_s_hash_is_that_of_its_file(tmp_path: Path, planned: workflow.Planned) -> None:
    """Anybody can check it with sha256sum, less the newline that ends the file."""
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    stored = (folder.path / "plan.json").read_bytes()
    assert stored.endswith(b"}\n")
    assert hashlib.sha256(stored[:-1]).hexdigest() == folder.plan_sha256 == planned.plan.sha256
    assert RunFolder.open(folder.path).plan == planned.plan
    folder.close()


def test_every_blob_is_named_by_its_hash(tmp_path: Path, planned: workflow.Planned) -> None:
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    for path in (folder.path / "blobs").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
    folder.close()
    digest, data = blob_of({"b": 1, "a": "ü"})
    assert data == '{"a":"ü","b":1}'.encode() and digest == hashlib.sha256(data).hexdigest()


def test_a_changed_or_missing_blob_is_noticed(tmp_path: Path, planned: workflow.Planned) -> None:
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    digest = hashlib.sha256(b'"x"').hexdigest()
    folder.blob_path(digest).write_bytes(b'"x"')
    assert folder.get_blob(digest) == b'"x"'
    folder.blob_path(digest).write_bytes(b'"y"')
    with pytest.raises(IntegrityError, match="was changed"):
        folder.get_blob(digest)
    folder.blob_path(digest).unlink()
    with pytest.raises(IntegrityError, match="cannot be read"):
        folder.get_blob(digest)
    with pytest.raises(IntegrityError, match="not a SHA-256"):
        folder.get_blob("../../plan")
    folder.close()


def test_a_folder_that_holds_a_run_asks_for_resume(tmp_path: Path) -> None:
    run("frontier", tmp_path / "r", people(1))
    with pytest.raises(ConfigError, match="continue it with --resume"):
        run("frontier", tmp_path / "r", people(1))


def test_resume_needs_the_same_plan_and_says_what_differs(tmp_path: Path) -> None:
    first = run("frontier", tmp_path / "r", people(2))
    before = first.bytes
    for changed, named in (
        ({"seed": 1}, "seed"),
        ({"k": "1"}, "k"),
        ({"temperature": 0.5}, "models"),
        ({"scrub": "exact"}, "agent"),
    ):
        with pytest.raises(ConfigError, match=rf"holds another plan \(differs in [^)]*\b{named}\b"):
            run("frontier", tmp_path / "r", people(2), resume=True, **changed)
    with pytest.raises(ConfigError, match=r"another plan \(differs in [^)]*\baudit\b"):
        run("residue", tmp_path / "r", people(2), resume=True)
    assert (tmp_path / "r" / "result.json").read_bytes() == before


def test_resume_of_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    first = run("frontier", tmp_path / "r", people(2))
    again = run("frontier", tmp_path / "r", people(2), resume=True)
    assert again.bytes == first.bytes
    assert [p.name for p in sorted((tmp_path / "r").glob("records-*"))] == ["records-0000.jsonl"]


def test_one_process_at_a_time(tmp_path: Path, planned: workflow.Planned) -> None:
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    (tmp_path / "r" / "plan.json").unlink()  # as it stands while the other process has not got so far
    with pytest.raises(ConfigError, match="another process is writing this run"):
        RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    threading.Timer(0.3, folder.close).start()
    RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=True).close()  # waits for its end
    RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=True).close()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, planned: workflow.Planned) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty and holds no run"):
        RunFolder.create(tmp_path, planned.plan, planned.blobs, resume=False)
    assert (tmp_path / "thesis.tex").read_text() == "mine"
    with pytest.raises(ConfigError, match="is a file"):
        RunFolder.create(tmp_path / "thesis.tex", planned.plan, planned.blobs, resume=False)
    with pytest.raises(StorageError):
        RunFolder.create(tmp_path / "thesis.tex" / "r", planned.plan, planned.blobs, resume=False)


def test_a_kill_before_the_plan_was_frozen_leaves_a_usable_folder(
    tmp_path: Path, planned: workflow.Planned
) -> None:
    """Blobs and a temporary file are there, plan.json is not: the run begins anew, without --resume."""
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    folder.close()
    (tmp_path / "r" / "plan.json").rename(tmp_path / "r" / ".plan.json.abc123")
    RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False).close()
    assert RunFolder.open(tmp_path / "r").plan == planned.plan


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"audit": "frontier"'])
def test_a_damaged_plan_is_an_integrity_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(IntegrityError, match="not a plan"):
        RunFolder.open(tmp_path)


def test_no_run_here(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run here"):
        RunFolder.open(tmp_path / "nowhere")


def test_a_write_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "result.json"
    write_atomic(target, b"old")
    monkeypatch.setattr(
        os, "replace", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(StorageError, match="No space left"):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_result_json_is_sorted_and_holds_no_time_or_host(tmp_path: Path) -> None:
    made = run("frontier", tmp_path / "r", people(1))
    parsed = json.loads(made.bytes)
    assert json.dumps(parsed, sort_keys=True, indent=2, ensure_ascii=False) + "\n" == made.bytes.decode()
    (host,) = json.loads((made.path / "host.json").read_text())
    for fact in (host["platform"], host["began"], host["python"], str(tmp_path), os.uname().nodename):
        assert fact not in made.bytes.decode()


def test_a_plan_of_an_earlier_version_keeps_its_name(tmp_path: Path, planned: workflow.Planned) -> None:
    """A field that a later version adds must not change what a stored run is called."""
    folder = RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False)
    folder.close()
    stored = json.loads((tmp_path / "r" / "plan.json").read_text())
    del stored["agent"]["settings"], stored["models"]["agent_identity"]
    data = json.dumps(stored, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    (tmp_path / "r" / "plan.json").write_bytes(data)
    assert RunFolder.open(tmp_path / "r").plan_sha256 == hashlib.sha256(data).hexdigest()
