from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.datasets.kbench import KBENCH_CHANNELS, KBenchCell, load_kbench
from vestige.errors import DataError

NAMES = tuple(KBENCH_CHANNELS)


def row(number: int, *leaks: str, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "query_id": f"pii-{number:03}",
        "answer": "...",
        "halted_reason": "final_answer",
        "raw_full": "",
        "summary_error": None,
        "leakage": [{"channel": name, "cer": int(name in leaks)} for name in NAMES],
    }
    return made | changes


def cell(folder: Path, *rows: dict[str, Any]) -> KBenchCell:
    path = folder / "cell.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return load_kbench(path)


def test_channels_are_counted_and_a_query_counts_once_in_the_union(tmp_path: Path) -> None:
    found = cell(tmp_path, row(1, "Z_CoT", "Z_answer"), row(2, "Z_answer"), row(3), row(4, "Z_summary"))
    assert (found.name, found.n, found.union, found.unfinished) == ("cell", 4, 3, 0)
    assert list(found.counts) == list(NAMES)
    assert found.counts == dict.fromkeys(NAMES, 0) | {"Z_CoT": 1, "Z_answer": 2, "Z_summary": 1}
    assert set(found.observed.values()) == {4}


@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=12))
def test_the_union_lies_between_the_largest_channel_and_the_sum(
    tmp_path_factory: pytest.TempPathFactory, leaks: list[set[str]]
) -> None:
    found = cell(tmp_path_factory.mktemp("kbench"), *(row(i, *names) for i, names in enumerate(leaks)))
    assert max(found.counts.values()) <= found.union <= min(found.n, sum(found.counts.values()))
    assert found.union == sum(1 for names in leaks if names)


def test_silence_of_a_collapsed_agent_is_told_apart(tmp_path: Path) -> None:
    found = cell(
        tmp_path,
        row(1, halted_reason="parse_error"),
        row(2, halted_reason="max_iters"),
        row(3, halted_reason=None),
        row(4, summary_error="timeout"),
        row(5, "Z_summary", summary_error="cut short"),
    )
    assert found.unfinished == 3
    assert (found.observed["Z_summary"], found.observed["Z_answer"]) == (4, 5)
    assert found.counts["Z_summary"] == found.union == 1


LISTED = row(1)["leakage"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"leakage": LISTED[:-1]}, "a list without Z_summary"),
        ({"leakage": [*LISTED, LISTED[0]]}, "Z_CoT again"),
        ({"leakage": [*LISTED[:-1], {"channel": "Z_log", "cer": 0}]}, "got 'Z_log'"),
        ({"leakage": [*LISTED[:-1], {"channel": "Z_summary", "cer": 0.5}]}, "expected 0 or 1, got 0.5"),
        ({"leakage": [*LISTED[:-1], {"channel": "Z_summary"}]}, "expected 0 or 1, got None"),
        ({"leakage": [*LISTED[:-1], {"channel": "Z_summary", "cer": True}]}, "expected 0 or 1, got True"),
        ({"leakage": None}, "expected a list"),
        ({"query_id": " "}, "query_id: expected text"),
        ({"query_id": "pii-000"}, "one row a query"),
    ],
)
def test_a_row_of_another_layout_is_refused_by_name(tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        cell(tmp_path, row(0), row(1, **changes))
    assert "cell.jsonl, record 1" in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "nothing", '{"query_id": "a"'])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "cell.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"cell\.jsonl"):
        load_kbench(path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts", "union"),
    [
        # K-Bench's own smoke run prints 0.75, 1.00 and OR(all) 1.00 for the first
        ("demo_forget", {"Z_tool_wide": 6, "Z_summary": 8}, 8),
        ("demo_retain", {"Z_answer": 3}, 3),
        ("none_forget", {"Z_CoT": 4, "Z_tool_wide": 8, "Z_answer": 8, "Z_summary": 8}, 8),
        ("none_retain", {"Z_answer": 3}, 3),
    ],
)
def test_the_public_cells_have_their_known_counts(
    data_folder: Path, name: str, counts: dict[str, int], union: int
) -> None:
    found = load_kbench(data_folder / "kbench" / f"smoke_P_{name}_seed0.jsonl")
    assert (found.n, found.union, found.unfinished) == (8, union, 0)
    assert found.counts == dict.fromkeys(NAMES, 0) | counts
