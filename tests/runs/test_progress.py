"""Progress is plain lines where there is no terminal, and nothing when asked for nothing."""

from __future__ import annotations

import pytest

from vestige.runs import progress as module
from vestige.runs.engine import Event
from vestige.runs.progress import progress

DONE = Event("exchange", "e")


def test_plain_lines_say_where_the_run_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(float(t) for t in range(0, 1000, 30))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with progress("frontier x", 8, done=2) as tell:
        for _ in range(3):
            tell(DONE)
        tell(Event("episode_failed", "001/S0", "AgentError: ask"))
        for _ in range(3):
            tell(DONE)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "frontier x: 6 exchanges to go, 2 done before"
    assert lines[1] == "frontier x: 3 of 8 exchanges, about 2 min 30 s left"  # 30 s for one, five to go
    assert "frontier x: episode 001/S0 failed: AgentError: ask" in lines
    assert lines[-1].startswith("frontier x: 8 of 8 exchanges in ")


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("x", 2, quiet=True) as tell:
        tell(DONE)
        tell(Event("episode_failed", "e", "why"))
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_through(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="as it was"), progress("x", 2):
        raise RuntimeError("as it was")


def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with progress("frontier x", 4) as tell:
        for _ in range(4):
            tell(DONE)
        tell(Event("episode_failed", "e", "why"))
    err = capsys.readouterr().err
    assert "4/4" in err and "1 episodes failed" in err
