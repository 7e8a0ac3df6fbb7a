from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige.datasets import Dataset, load
from vestige.datasets.locomo import NOT_MENTIONED
from vestige.errors import DataError

from .records import locomo, written


def loaded(folder: Path, *records: dict[str, Any]) -> Dataset:
    return load(written(folder, list(records)))


def test_sessions_come_by_number_with_roles_names_dates_and_captions(tmp_path: Path) -> None:
    instance = loaded(tmp_path, locomo()).instances[0]
    assert [session.id for session in instance.sessions] == ["conv-1_session_2", "conv-1_session_10"]
    assert instance.sessions[0].date == "1:56 pm on 8 May, 2023"
    turns = instance.sessions[1].turns
    assert [(turn.role, turn.speaker) for turn in turns] == [("assistant", "Ben"), ("user", "Ada")]
    assert turns[1].content == "Lovely. [shares a photo: a goat on a roof]"


def test_one_instance_a_question_sharing_the_sessions(tmp_path: Path) -> None:
    data = loaded(tmp_path, locomo(), locomo("conv-2"))
    assert len(data.instances) == 10
    assert len({id(instance.sessions) for instance in data.instances}) == 2
    assert [instance.cluster for instance in data.instances[::5]] == ["conv-1", "conv-2"]
    assert len({instance.id for instance in data.instances}) == 10


def test_answers_evidence_and_types(tmp_path: Path) -> None:
    paint, since, goat, trap, why = loaded(tmp_path, locomo()).instances
    assert (paint.expected, paint.evidence, paint.question_type) == ("windmills", ((0, 0),), "single-hop")
    assert (since.expected, since.evidence) == ("2021", ((0, 0), (0, 2)))
    assert (goat.evidence, goat.answerable) == (((1, 0),), False)
    assert (trap.abstention, trap.expected, trap.answerable) == (True, NOT_MENTIONED, True)
    assert (why.evidence, why.answerable) == (None, True)


def test_a_trap_never_lends_its_answer_even_where_an_answer_is_given(tmp_path: Path) -> None:
    record = locomo()
    record["qa"][3]["answer"] = "a goat"
    assert loaded(tmp_path, record).instances[3].expected == NOT_MENTIONED


@pytest.mark.parametrize(
    ("evidence", "expected", "noted"),
    [
        (["D2:1"], ((0, 0),), False),
        (["D2:01"], ((0, 0),), False),
        (["D2:1 D10:2"], ((0, 0), (1, 1)), False),
        (["D2:1, D10:2", "D2:3"], ((0, 0), (0, 2), (1, 1)), False),
        (["D2:1-3"], ((0, 0), (0, 1), (0, 2)), False),
        (["D2:1-D2:3"], ((0, 0), (0, 1), (0, 2)), False),
        (["D:2:3"], ((0, 2),), False),
        (["D2:1", "D2:99"], ((0, 0),), True),
        (["D2:1", "D"], ((0, 0),), True),
        (["D77:1"], None, True),
        (["", "nonsense"], None, True),
        ([], None, False),
        (None, None, False),
    ],
)
def test_dirty_evidence_is_read_or_noted_and_never_guessed(
    tmp_path: Path, evidence: list[str] | None, expected: object, noted: bool
) -> None:
    question = {"question": "?", "answer": "x", "evidence": evidence, "category": 1}
    data = loaded(tmp_path, locomo(qa=[question]))
    assert data.instances[0].evidence == expected
    assert any("evidence strings" in note for note in data.notes) == noted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("qa", 0, "answer", None), "field qa[0].answer: expected text or an integer, got null"),
        (("qa", 0, "category", 6), "field qa[0].category: expected an integer from 1 to 5, got 6"),
        (("qa", 0, "category", True), "field qa[0].category: expected an integer from 1 to 5, got True"),
        (("qa", 0, "evidence", [1]), "field qa[0].evidence[0]: expected text, got an integer"),
        (("qa", 0, "evidence", "D2:1"), "field qa[0].evidence: expected a list, got text"),
        (("conversation", "speaker_b", "Ada"), "field conversation.speaker_b: expected a name other than"),
        (("conversation", "session_2", {}), "field conversation.session_2: expected a list, got an object"),
        (
            ("conversation", "session_2", 0, "speaker", "Eve"),
            "session_2[0].speaker: expected one of the two speakers",
        ),
        (("conversation", "session_02", []), "field conversation: expected one list for each session number"),
        (("sample_id", None), "field sample_id: expected text or an integer, got null"),
    ],
)
def test_a_malformed_sample_names_record_and_field(
    tmp_path: Path, change: tuple[Any, ...], message: str
) -> None:
    record: Any = locomo()
    place = record
    for key in change[:-2]:
        place = place[key]
    place[change[-2]] = change[-1]
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, record)
    assert message in str(caught.value)
    assert "record 0" in str(caught.value)


def test_a_conversation_without_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least one session_N with a turn"):
        loaded(tmp_path, locomo(conversation={"speaker_a": "Ada", "speaker_b": "Ben"}))


@pytest.mark.data
def test_the_public_release_has_its_known_numbers(data_folder: Path) -> None:
    data = load(data_folder / "locomo" / "locomo10.json")
    conversations = {instance.cluster: instance.sessions for instance in data.instances}
    assert len(conversations) == 10
    assert sum(len(sessions) for sessions in conversations.values()) == 272
    assert sum(len(s.turns) for sessions in conversations.values() for s in sessions) == 5882
    assert len(data.instances) == 1986
    assert sum(instance.abstention for instance in data.instances) == 446
    assert len({id(instance.sessions) for instance in data.instances}) == 10
    assert sum(instance.evidence is None for instance in data.instances) == 4
    assert data.sha256 == "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
