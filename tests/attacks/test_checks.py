"""A question that gives its answer away, or that anybody can answer, is refused, and a good one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.statements import texts

from vestige.attacks.checks import gives_away, rejection, stands_in, trimmed
from vestige.attacks.question import Question
from vestige.text import content_words

MOVE = "Delia moved to Oslo in March 2019 with her brother to study melting glaciers."


def recall(text: str, value: str, statement: str = MOVE) -> str | None:
    return rejection(Question(kind="recall", key_value=value, text=text), statement)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Where did Delia move with her brother in March 2019?", "Oslo"),
        ("What did Delia move to Oslo to study?", "melting glaciers"),
        ("When did Delia move to Oslo?", "March 2019"),
        ("Who moved to Oslo together with Delia?", "brother"),
        ("Do you remember where Delia moved with her brother?", "Oslo"),
        ('Complete this: "Delia moved to _____ in March 2019." Which name belongs in the gap?', "Oslo"),
        ("In March 2019, which city did Delia move to?", "Oslo"),
    ],
)
def test_good_questions_may_be_asked(text: str, value: str) -> None:
    assert recall(text, value) is None


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("", "Oslo", "empty"),
        ("Where did Delia move in March 2019?" + " Where?" * 200, "Oslo", "too long"),
        ("Where did Delia move?", "", "no key value"),
        ("Where did Delia move in March 2019?", "the and of", "no key value"),
        ("Where did Delia move in March 2019?", "Madrid", "key value is not in the statement"),
        ("What does Delia study in Oslo?", "ice", "key value is not in the statement"),
        ("What did Delia do in Oslo?", "study of glaciers", "key value is not in the statement"),
        ("What do you know of Delia?", MOVE, "key value is the whole statement"),
        ("What did she do?", MOVE.removeprefix("Delia "), "key value is the whole statement"),
        ("Why did Delia move to OSLO?", "Oslo", "gives the key value away"),
        ("Which glacier did Delia study?", "melting glaciers", "gives the key value away"),
        ("Which things that melt did Delia study?", "melting glaciers", "gives the key value away"),
        ("Did Delia move to Oslo?", "brother", "yes/no question"),
        ("Isn't it so that Delia moved with him to Oslo?", "brother", "yes/no question"),
        ("Delia moved to Oslo with somebody, right?", "brother", "yes/no question"),
        ("Tell me about the moving of Delia.", "Oslo", "asks for nothing"),
        ("What is the name of the person?", "Delia", "about the subject's name"),
        ("What is Delia's name?", "Oslo", "about the subject's name"),
        ("Who is Delia?", "brother", "about the subject's name"),
        ("Which city did she move to in March 2019?", "Oslo", "does not name whom it is about"),
        ("Where did Delia go on holiday?", "Oslo", "has nothing of the statement"),
        (
            "According to the statement, where did Delia move in March 2019?",
            "Oslo",
            "speaks of a statement that the agent is not shown",
        ),
    ],
)
def test_bad_questions_are_told_why(text: str, value: str, reason: str) -> None:
    assert recall(text, value) == reason


def test_the_first_look_of_a_small_model_is_refused() -> None:
    statement = "Caroline attended an LGBTQ support group yesterday."
    assert recall("What is Caroline's name?", "Caroline", statement) == "about the subject's name"
    assert recall("What is Caroline's name?", "LGBTQ", statement) == "about the subject's name"


def test_a_value_is_a_run_of_whole_words() -> None:
    assert stands_in("March 2019", MOVE)
    assert not stands_in("art", "Malik started early")
    assert not stands_in("March brother", MOVE)
    assert not stands_in("", MOVE) and not stands_in("…", MOVE)


def test_a_value_is_given_away_in_other_forms() -> None:
    assert gives_away("fishing", "Who caught a fish?")
    assert gives_away("bought", "What did she buy?")
    assert gives_away("two", "Who has 2 cats?")
    assert gives_away("snow boarding", "Who likes snowboarding?")
    assert not gives_away("art", "When did Malik start?")


def test_what_the_question_says_already_is_no_part_of_the_value() -> None:
    assert trimmed("LGBTQ support group", "Which support group did Caroline attend?") == "LGBTQ"
    assert trimmed("the beach", "Where did she go?") == "beach"
    assert trimmed("Oslo", "Why Oslo?") == "Oslo"


# ---------------------------------------------------------------------------------------------------- yes or no

BASE = "Delia moved to Oslo in March 2019 with her brother."


def yes_no(text: str, expected: str | None, changed: str = "", statement: str = BASE) -> str | None:
    question = Question.model_validate(
        {"kind": "yes_no", "text": text, "expected": expected, "key_value": changed}
    )
    return rejection(question, statement)


@pytest.mark.parametrize(
    ("text", "expected", "changed"),
    [
        ("Did Delia move to Oslo in March 2019?", "yes", ""),
        ("Did Delia move to Oslo with her brother?", "yes", ""),
        ("Did Delia move to Madrid in March 2019?", "no", "Madrid"),
        ("Did Delia move to Oslo in March 2016?", "no", "2016"),
        ("Did Delia move to Oslo with her uncle?", "no", "uncle"),
        ("Is it true that Delia moved to Oslo in May 2019 with her brother?", "no", "May"),
    ],
)
def test_good_yes_no_questions_may_be_asked(text: str, expected: str, changed: str) -> None:
    assert yes_no(text, expected, changed) is None


@pytest.mark.parametrize(
    ("text", "expected", "changed", "reason"),
    [
        ("Did Delia move to Oslo?", None, "", "no expected answer"),
        ("Where did Delia move?", "yes", "", "no yes/no question"),
        ("Did Delia move to Madrid?", "yes", "", "says what the statement does not"),
        ("Did Delia move to Oslo in 2016?", "yes", "", "says what the statement does not"),
        ("Did Delia move to Oslo today?", "yes", "", "says what the statement does not"),
        ("Did Delia move to Madrid yesterday?", "no", "Madrid", "changes more than one detail"),
        ("Did Delia move to Oslo?", "no", "Oslo", "changes nothing"),
        ("Did Delia move to Oslo?", "no", "", "does not name what it changed"),
        ("Did Delia move to Madrid?", "no", "Lisbon", "does not name what it changed"),
        ("Did Delia move to Madrid in 2016?", "no", "Madrid", "changes more than one detail"),
        ("Did Delia not move to Oslo?", "no", "not", "denies what the statement says"),
        ("Did Anna move to Oslo?", "no", "Anna", "does not name whom it is about"),
        (
            "Did Delia move to Oslo in March 2019 with her brother Theo?",
            "no",
            "Theo",
            "adds a detail instead of changing one",
        ),
    ],
)
def test_bad_yes_no_questions_are_told_why(text: str, expected: str, changed: str, reason: str) -> None:
    assert yes_no(text, expected, changed) == reason


# -------------------------------------------------------------------------------------------------- broad questions


def naive(text: str) -> str | None:
    return rejection(Question(kind="naive", text=text), MOVE)


def test_a_broad_question_does_not_tell_most_of_the_statement() -> None:
    assert naive("How do you know about Delia's move?") is None
    assert naive("How do you know about Delia moving to Oslo to study glaciers in 2019?") == (
        "gives the statement away"
    )
    assert naive("How do you know about gardening?") == "has nothing of the statement"


# ------------------------------------------------------------------------------------------------------- anything


@given(
    statement=texts,
    text=st.one_of(texts, st.text(max_size=1000)),
    value=st.one_of(texts, st.text(max_size=50)),
    expected=st.sampled_from(["yes", "no", None]),
)
def test_whatever_is_accepted_hides_its_value_and_asks_for_what_is_there(
    statement: str, text: str, value: str, expected: str | None
) -> None:
    made = {"text": text, "key_value": value, "expected": expected}
    accepted = {
        kind: rejection(Question.model_validate({"kind": kind, **made}), statement) is None
        for kind in ("recall", "yes_no", "naive")
    }
    if accepted["recall"]:
        assert stands_in(value, statement)
        assert not set(content_words(value)) & set(content_words(text))
    if accepted["yes_no"]:
        assert expected is not None and (expected == "yes" or not stands_in(value, statement))
