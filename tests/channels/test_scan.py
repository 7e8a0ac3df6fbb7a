"""A byte scan: what is a log, what is an old version, what are dead bytes."""

from __future__ import annotations

import pytest

from vestige.channels import scan
from vestige.errors import IntegrityError

BODY = {
    "files": ["memory.sqlite", "memory.sqlite-wal", "agent.log"],
    "hits": [
        {"file": "memory.sqlite", "needle": "nonce:verbatim", "count": 2},
        {"file": "memory.sqlite", "needle": "nonce:lower", "count": 1},
        {"file": "memory.sqlite-wal", "needle": "nonce:verbatim", "count": 3},
        {"file": "agent.log", "needle": "foreign:sham_removal", "count": 1},
    ],
}


def test_bytes_without_a_live_row_are_residue() -> None:
    assert [(o.channel, o.grade, o.items, o.found) for o in scan(BODY, live=False)] == [
        ("storage", "dead_bytes", 1, {"nonce:lower": 1, "nonce:verbatim": 2}),
        ("storage", "old_version", 1, {"nonce:verbatim": 3}),
        ("logs", "live_row", 1, {"foreign:sham_removal": 1}),
    ]


def test_bytes_of_a_live_row_are_that_row() -> None:
    assert [(o.channel, o.grade, o.items, o.found) for o in scan(BODY, live=True)] == [
        ("storage", "live_row", 2, {"nonce:lower": 1, "nonce:verbatim": 5}),
        ("logs", "live_row", 1, {"foreign:sham_removal": 1}),
    ]


def test_a_clean_file_was_looked_at_and_no_file_was_not() -> None:
    (clean,) = scan({"files": ["a.db"], "hits": []}, live=False)
    assert (clean.items, clean.found) == (1, {})
    assert scan({"files": [], "hits": []}, live=False) == ()


@pytest.mark.parametrize("body", [{}, {"files": ["a"]}, {"files": ["a"], "hits": [{"file": "a"}]}])
def test_another_record_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(IntegrityError, match="not the record of a scan"):
        scan(body, live=False)
