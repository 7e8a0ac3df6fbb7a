"""Findings are written as they come and read again as a stream, with the bytes of a list that was sorted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.audits.findings import Finding, write_findings
from vestige.errors import IntegrityError
from vestige.runs.folder import RunFolder
from vestige.runs.plan import canonical_json


def at(path: Path) -> RunFolder:
    return cast("RunFolder", SimpleNamespace(path=path))


def finding(episode: str, step: int, kind: str = "candidate", **values: Any) -> Finding:
    return Finding(
        episode=episode, instance="u", step=step, kind=kind, labels={"repeat": step}, values=values
    )


found = st.builds(
    finding,
    st.sampled_from(["a/1", "a/10", "a/2", "b/1"]),
    st.integers(-1, 3),
    st.sampled_from(["candidate", "remembered"]),
    x=st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5) | st.booleans() | st.none(),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(found, max_size=12))
def test_the_file_is_the_sorted_list_and_reads_back_as_it(tmp_path: Path, given_: list[Finding]) -> None:
    stored = write_findings(at(tmp_path), iter(given_))
    ordered = sorted(given_, key=lambda f: f.key)  # what has one key stays in the order it came in
    lines = [canonical_json(f.model_dump(mode="json")) + b"\n" for f in ordered]
    assert stored.path.read_bytes() == b"".join(lines)
    assert list(stored) == ordered == list(stored)
    assert len(stored) == len(given_)
    assert all(f in stored for f in given_) and finding("elsewhere", 9) not in stored


def test_a_scoring_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write_findings(at(tmp_path), [finding("a", 1)])
    before = (tmp_path / "findings.jsonl").read_bytes()

    def failing() -> Iterator[Finding]:
        yield finding("a", 2)
        raise KeyError("reply")

    with pytest.raises(KeyError):
        write_findings(at(tmp_path), failing())
    assert [p.name for p in tmp_path.iterdir()] == ["findings.jsonl"]
    assert (tmp_path / "findings.jsonl").read_bytes() == before


def test_a_finding_that_was_changed_on_disk_is_told_with_its_line(tmp_path: Path) -> None:
    stored = write_findings(at(tmp_path), [finding("a", 1), finding("a", 2)])
    lines = stored.path.read_bytes().splitlines(keepends=True)
    stored.path.write_bytes(lines[0] + b'{"episode": 3}\n')
    with pytest.raises(IntegrityError, match=r"findings\.jsonl:2: not a finding"):
        list(stored)
