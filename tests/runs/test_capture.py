from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vestige.errors import StorageError
from vestige.runs.capture import captured


def test_what_is_printed_goes_into_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "agent.log"
    print("before")
    with captured(log) as terminal:
        print("by the agent")
        print("as an error", file=sys.stderr)
        os.write(1, b"by a C library\n")
        subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
        print("to whoever runs it", file=terminal)
    print("after")
    shown = capfd.readouterr()
    assert shown.out == "before\nafter\n"
    assert shown.err == "to whoever runs it\n"
    assert set(log.read_text().splitlines()) == {
        "by the agent",
        "as an error",
        "by a C library",
        "by a child",
    }
    assert log.stat().st_mode & 0o077 == 0


def test_nothing_printed_leaves_nothing(tmp_path: Path) -> None:
    with captured(tmp_path / "agent.log"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_exception_brings_the_streams_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), captured(tmp_path / "agent.log"):
        print("lost?")
        raise RuntimeError
    print("here again")
    assert capfd.readouterr().out == "here again\n"
    assert (tmp_path / "agent.log").read_text() == "lost?\n"


def test_a_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"), captured(tmp_path / "none" / "agent.log"):
        pass
