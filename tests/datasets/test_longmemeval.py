from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige.datasets import Dataset, load
from vestige.errors import DataError

from .records import longmemeval, without_flags, written


def loaded(folder: Path, *records: dict[str, Any]) -> Dataset:
    return load(written(folder, list(records)))


def test_sessions_are_sorted_by_date_and_keep_their_ids_and_evidence(tmp_path: Path) -> None:
    data = loaded(tmp_path, longmemeval())
    (instance,) = data.instances
    assert [session.id for session in instance.sessions] == ["early", "late"]
    assert instance.evidence == ((0, 2),)
    assert "Captain Plum" in instance.sessions[0].turns[2].content
    assert (instance.expected, instance.question_date) == ("Captain Plum", "2023/06/05 (Mon) 10:00")
    assert data.notes == ("sessions sorted by date in 1 of 1 records",)
    assert (data.name, data.source, data.license) == ("longmemeval", "data.json", "MIT")


def test_without_every_date_the_order_of_the_file_stays(tmp_path: Path) -> None:
    for dates in ([None, "2023/06/01 (Thu) 21:40"], None, ["2023/06/02 (Fri) 09:15", "soon"]):
        (instance,) = loaded(tmp_path, longmemeval(haystack_dates=dates)).instances
        assert [session.id for session in instance.sessions] == ["late", "early"]
        assert instance.evidence == ((1, 2),)


def test_flags_that_are_missing_leave_the_evidence_unknown(tmp_path: Path) -> None:
    data = loaded(tmp_path, without_flags(longmemeval()))
    assert data.instances[0].evidence is None
    assert data.instances[0].answerable
    assert "no has_answer flags in 1 of 1 records: their evidence turns are unknown" in data.notes


def test_flags_that_are_all_false_say_that_there_is_no_evidence(tmp_path: Path) -> None:
    record = longmemeval()
    record["haystack_sessions"][1][2]["has_answer"] = False
    assert loaded(tmp_path, record).instances[0].evidence == ()


def test_null_flags_are_missing_flags(tmp_path: Path) -> None:
    record = without_flags(longmemeval())
    record["haystack_sessions"][0][0]["has_answer"] = None
    assert loaded(tmp_path, record).instances[0].evidence is None


def test_integer_answers_become_their_digits(tmp_path: Path) -> None:
    assert loaded(tmp_path, longmemeval(answer=3)).instances[0].expected == "3"


def test_abstention_is_read_from_the_id_or_the_type(tmp_path: Path) -> None:
    data = loaded(
        tmp_path, longmemeval("q1_abs"), longmemeval("q2", question_type="abstention"), longmemeval("abs_q3")
    )
    assert [instance.abstention for instance in data.instances] == [True, True, False]


def test_evidence_of_the_assistant_alone_is_not_answerable_from_user_turns(tmp_path: Path) -> None:
    record = longmemeval()
    record["haystack_sessions"][1][2]["has_answer"] = False
    record["haystack_sessions"][1][3]["has_answer"] = True
    unflagged = without_flags(longmemeval("q2", question_type="single-session-assistant"))
    data = loaded(tmp_path, record, unflagged, longmemeval("q3"))
    assert [instance.answerable for instance in data.instances] == [False, False, True]
    assert "2 of 3 questions ask what only the assistant said" in data.notes


def test_ids_that_are_missing_or_repeated_are_made_unique(tmp_path: Path) -> None:
    data = loaded(
        tmp_path,
        longmemeval(haystack_session_ids=None),
        longmemeval("q2", haystack_session_ids=["same", "same"]),
    )
    assert [session.id for session in data.instances[0].sessions] == ["q1_s2", "q1_s1"]
    assert sorted(session.id for session in data.instances[1].sessions) == ["same", "same#2"]


def test_equal_sessions_are_kept_once(tmp_path: Path) -> None:
    first, second = loaded(tmp_path, longmemeval(), longmemeval("q2")).instances
    pairs = zip(first.sessions[0].turns, second.sessions[0].turns, strict=True)
    assert all(turn is other for turn, other in pairs)


def test_empty_sessions_are_left_out_and_evidence_stays_aligned(tmp_path: Path) -> None:
    record = longmemeval()
    record["haystack_sessions"].insert(0, [])
    record["haystack_session_ids"].insert(0, "nothing")
    record["haystack_dates"].insert(0, "2023/05/01 (Mon) 10:00")
    data = loaded(tmp_path, record)
    assert [session.id for session in data.instances[0].sessions] == ["early", "late"]
    assert data.instances[0].evidence == ((0, 2),)
    assert "1 sessions without a turn left out" in data.notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": None}, "field answer: expected text or an integer, got null"),
        ({"answer": True}, "field answer: expected text or an integer, got a boolean"),
        ({"answer": 2.5}, "field answer: expected text or an integer, got a number"),
        ({"question": ""}, "field question: expected text, got an empty text"),
        ({"question": ["?"]}, "field question: expected text, got a list"),
        (
            {"question": "\ud800"},
            "field question: expected text in valid Unicode, got text with a lone surrogate",
        ),
        ({"haystack_sessions": None}, "field haystack_sessions: expected a list, got null"),
        (
            {"haystack_sessions": [[], []]},
            "field haystack_sessions: expected at least one session with a turn",
        ),
        ({"haystack_sessions": ["x", "y"]}, "field haystack_sessions[0]: expected a list, got text"),
        (
            {"haystack_sessions": [[1], []]},
            "field haystack_sessions[0][0]: expected an object, got an integer",
        ),
        (
            {"haystack_dates": ["x"]},
            "field haystack_dates: expected one entry for each of the 2 sessions, got 1 entries",
        ),
        ({"haystack_dates": [1, 2]}, "field haystack_dates[0]: expected text, got an integer"),
        (
            {"haystack_session_ids": [1, {}]},
            "field haystack_session_ids[1]: expected text or an integer, got an object",
        ),
        ({"question_date": 7}, "field question_date: expected text, got an integer"),
    ],
)
def test_a_malformed_record_names_file_record_and_field(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, longmemeval("good"), longmemeval("bad", **changes))
    assert str(caught.value).startswith(f"{tmp_path / 'data.json'}, record 1 (id bad), {message}")


def test_roles_flags_and_contents_are_checked_turn_by_turn(tmp_path: Path) -> None:
    for key, value, message in (
        ("role", "system", "[1][2].role: expected 'user' or 'assistant', got 'system'"),
        ("content", None, "[1][2].content: expected text, got null"),
        ("has_answer", "yes", "[1][2].has_answer: expected true or false, got text"),
    ):
        record = longmemeval()
        record["haystack_sessions"][1][2][key] = value
        with pytest.raises(DataError) as caught:
            loaded(tmp_path, record)
        assert f"field haystack_sessions{message}" in str(caught.value)


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="field question_id: expected an id that no earlier record has, got 'q1'"
    ):
        loaded(tmp_path, longmemeval(), longmemeval())


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    one, many = written(tmp_path, longmemeval(), "a.json"), written(tmp_path, longmemeval("q2"), "b.json")
    path = tmp_path / "data.jsonl"
    path.write_text(one.read_text() + "\n\n" + many.read_text() + "\n")
    assert [instance.id for instance in load(path).instances] == ["q1", "q2"]


@pytest.mark.data
def test_the_real_sample_is_read_as_a_person_would(data_folder: Path) -> None:
    data = load(data_folder / "longmemeval" / "sample_12.json")
    by_id = {instance.id: instance for instance in data.instances}
    assert len(by_id) == 12
    assert sum(instance.abstention for instance in data.instances) == 2
    assert by_id["bf659f65"].expected == "3"
    assert by_id["6a1eabeb"].evidence == ((0, 4), (1, 0))
    assert by_id["157a136e"].evidence is None
    assert not by_id["51b23612"].answerable
    for instance in data.instances:
        dates = [session.date or "" for session in instance.sessions]
        assert dates == sorted(dates)
    assert any("10 of 12" in note for note in data.notes)


@pytest.mark.data
def test_the_verbatim_records_have_their_evidence(data_folder: Path) -> None:
    first, second = load(data_folder / "longmemeval" / "verbatim_2.json").instances
    assert "25:50" in first.sessions[1].turns[0].content
    assert first.evidence is not None and first.evidence[1] == (1, 0)
    assert second.abstention and second.answerable and second.evidence == ((0, 0),)
