"""Other words, the same names, numbers and polarity; else the statement itself, marked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attacks.statements import texts
from tests.helpers.scripted import scripted

from vestige.attacks.cloze import RuleGenerator
from vestige.attacks.interviewer import AttackInterviewer
from vestige.attacks.paraphrase import ModelParaphraser, Paraphrase, RuleParaphraser, lost
from vestige.attacks.scorers import RuleMemoryScorer, RuleResponseScorer, Vectors
from vestige.datasets.units import normalised
from vestige.models.hashing import HashingEmbedder
from vestige.models.resolve import open_model
from vestige.text import tokens

MOVE = "Delia Falhurst moved to Oslo in March 2019 with her two brothers."


@pytest.mark.parametrize(
    "said",
    [
        "In March 2019, Delia Falhurst went to live in Oslo together with her two brothers.",
        "Delia Falhurst and her 2 brothers moved to Oslo in March 2019.",
    ],
)
def test_other_words_may_stand_for_the_statement(said: str) -> None:
    assert lost(MOVE, said) is None


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "no paraphrase"),
        ("Did Delia Falhurst move to Oslo in March 2019 with her two brothers?", "a question"),
        ("delia falhurst moved to oslo in march 2019 with her two brothers", "the same words"),
        ("She moved to Oslo in March 2019 with her two brothers.", "a name or number is lost"),
        ("Delia Falhurst moved to Oslo in March with her two brothers.", "a name or number is lost"),
        ("Delia Falhurst moved to Norway in March 2019 with her two brothers.", "a name or number is lost"),
        ("Delia Falhurst and Theo moved to Oslo in March 2019 with two brothers.", "a name or number is new"),
        ("Delia Falhurst moved to Oslo in March 2019 with her 5 brothers.", "a name or number is new"),
        ("Delia Falhurst never moved to Oslo in March 2019 with her two brothers.", "says the opposite"),
        ("Delia Falhurst, Oslo.", "too short or too long"),
        (MOVE + " And so on." * 30, "too short or too long"),
    ],
)
def test_what_must_be_kept_is_told(said: str, reason: str) -> None:
    assert lost(MOVE, said) == reason


def test_a_capital_at_the_beginning_is_no_name() -> None:
    assert lost("The team won in Oslo.", "Our team was the winner in Oslo.") is None
    assert lost("Delia has won.", "Somebody has won.") == "a name or number is lost"


# ------------------------------------------------------------------------------------------------------- by rules


@settings(deadline=None)
@given(statement=texts, seed=st.integers(0, 2**31 - 1))
async def test_rules_keep_what_must_be_kept_or_leave_the_statement(statement: str, seed: int) -> None:
    made = await RuleParaphraser().paraphrase(statement, seed)
    assert made == await RuleParaphraser().paraphrase(statement, seed)
    if made.unchanged:
        assert made.text == statement and made.reason
    else:
        assert lost(statement, made.text) is None and made.reason is None
        assert normalised(made.text) != normalised(statement)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Delia's sister is a nurse.", "The sister of Delia is a nurse."),
        (
            "Ilka Selshaw's old friend Bruno Langner sings.",
            "The old friend of Ilka Selshaw, Bruno Langner, sings.",
        ),
        ("Malik bought a lantern last week.", "Last week, Malik purchased a lantern."),
        ("Gunnar purchased a kettle.", "Gunnar bought a kettle."),
    ],
)
async def test_rules_that_apply(statement: str, said: str) -> None:
    assert await RuleParaphraser().paraphrase(statement, 1) == Paraphrase(text=said)


async def test_where_no_rule_applies_the_statement_stands_and_is_marked() -> None:
    made = await RuleParaphraser().paraphrase("Malik loves horses dearly since 2019", 1)
    again = await RuleParaphraser().paraphrase("Quentin sleeps.", 1)
    assert made.unchanged is False
    assert again == Paraphrase(text="Quentin sleeps.", unchanged=True, reason="no rule applies")


async def test_no_word_is_changed_twice() -> None:
    for seed in range(20):
        made = await RuleParaphraser().paraphrase("Delia bought a kettle and purchased a lamp.", seed)
        assert sorted(set(tokens(made.text)) & {"bought", "purchased"}) in (
            ["bought"],
            ["purchased"],
            ["bought", "purchased"],
        )
        assert made.text != "Delia bought a kettle and purchased a lamp."


# ---------------------------------------------------------------------------------------------------- by a model


async def by_model(text: str, statement: str = MOVE) -> tuple[Paraphrase, dict[str, object]]:
    async with scripted({"role": "assistant", "content": text}) as server:
        model = open_model(f"{server.url}#writer")
        try:
            made = await ModelParaphraser(model).paraphrase(statement, 5)
        finally:
            await model.close()
        return made, server.asked[0]


async def test_a_model_is_asked_once_at_temperature_0_3() -> None:
    said = "In March 2019, Delia Falhurst and her two brothers went to live in Oslo."
    made, call = await by_model(json.dumps({"paraphrase": said}))
    assert made == Paraphrase(text=said)
    assert call["temperature"] == 0.3 and call["seed"] == 5
    assert "response_format" in call


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I would rather not.", "no paraphrase"),
        ('{"paraphrase": 7}', "no paraphrase"),
        ('{"paraphrase": "\\ud800"}', "no paraphrase"),
        (json.dumps({"paraphrase": MOVE}), "the same words"),
        (
            json.dumps({"paraphrase": "Did Delia Falhurst move to Oslo in March 2019 with two brothers?"}),
            "a question",
        ),
        (json.dumps({"paraphrase": "x" * 100_000}), "no paraphrase"),
    ],
)
async def test_a_bad_reply_leaves_the_original_marked(text: str, reason: str) -> None:
    made, _ = await by_model(text)
    assert made == Paraphrase(text=MOVE, unchanged=True, reason=reason)


async def test_the_statements_own_question_mark_is_no_question() -> None:
    statement = "Delia likes the song 'Why Me?' very much."
    made, _ = await by_model(json.dumps({"paraphrase": "Delia is fond of the song 'Why Me?'."}), statement)
    assert not made.unchanged


# ----------------------------------------------------------------------------------------------- in an interview


@pytest.mark.parametrize("statement", ["Delia's sister is a nurse.", "Quentin sleeps badly."])
async def test_an_interview_records_what_was_told_and_whether_it_is_other_words(statement: str) -> None:
    vectors = Vectors(HashingEmbedder())
    interviewer = AttackInterviewer(
        ("recall", "similar"),
        count=2,
        follow_up=True,
        generator=RuleGenerator(),
        responses=RuleResponseScorer(vectors),
        memory=RuleMemoryScorer(vectors),
        paraphraser=RuleParaphraser(),
    )
    interview = await interviewer.questions({"id": "u1", "text": statement}, 3)
    made = interview.record["paraphrase"]
    assert made["unchanged"] is (statement == "Quentin sleeps badly.")
    told = {q.id.partition("-")[0]: q.about["told"] for q in interview.questions}
    assert told == {"recall": statement, "similar": made["text"]}
