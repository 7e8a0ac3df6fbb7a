"""Questions by rules: never the value, always out of the statement, different things first."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.attacks.statements import STATEMENTS, texts

from vestige.attacks.checks import gives_away, rejection, stands_in
from vestige.attacks.cloze import GAP, RuleGenerator
from vestige.attacks.question import Kind, Question
from vestige.attacks.question import texts as wording
from vestige.attacks.slots import slots, subject_of
from vestige.datasets.units import generate_units
from vestige.text import fold

RULES = RuleGenerator()


async def asked(statement: str, kind: Kind = "recall", count: int = 5, seed: int = 1) -> tuple[Question, ...]:
    return (await RULES.generate(statement, kind, count, seed)).questions


@settings(deadline=None, max_examples=200)
@given(statement=texts, count=st.integers(1, 16), seed=st.integers(0, 2**31 - 1))
@example(statement="Delia's fish-fishing fished fishes for Fish; fish!", count=8, seed=0)
@example(statement="Ilka wrote \"{gap}\" and '{ask}' under {statement} on 4 May", count=8, seed=0)
async def test_no_question_shows_its_value(statement: str, count: int, seed: int) -> None:
    for kind in ("recall", "yes_no", "naive"):
        made = (await RULES.generate(statement, kind, count, seed)).questions
        assert len(made) <= (1 if kind == "naive" else count)
        assert len({q.text for q in made}) == len(made)
        for question in made:
            assert rejection(question, statement) is None
            if kind == "recall":
                assert stands_in(question.key_value, statement)
                assert not gives_away(question.key_value, question.text)
                assert GAP in question.text and question.follow_up not in question.text


async def test_the_same_seed_asks_the_same_and_another_one_does_not() -> None:
    for kind in ("recall", "yes_no"):
        first, again, other = [[await asked(s, kind, seed=seed) for s in STATEMENTS] for seed in (3, 3, 4)]
        assert first == again
        assert first != other


async def test_different_kinds_of_value_come_first() -> None:
    statement = "Malik Bramow bought three lanterns for $227.13 at the harbour market on 18 September."
    values = [q.key_value for q in await asked(statement, count=4)]
    assert values == ["18 September", "three", "harbour market", "lanterns"]


async def test_one_value_is_asked_for_in_other_frames() -> None:
    made = await asked("Malik loves horses.", count=3)
    assert [q.key_value for q in made] == ["horses"] * 3
    assert len({q.text for q in made}) == 3


async def test_nothing_is_asked_of_a_statement_without_values() -> None:
    made = await RULES.generate("Malik.", "recall", 5, 1)
    assert made.questions == ()


async def test_every_mention_of_a_value_is_left_out() -> None:
    (question, *_) = [
        q for q in await asked("Delia went fishing and caught a fish.", count=8) if q.key_value == "fishing"
    ]
    assert "fish" not in question.text


async def test_a_long_statement_is_asked_about_by_the_sentence() -> None:
    filler = "Nothing else was said that day. " * 30
    made = await asked(f"{filler}Delia adopted a hamster called Pirol. {filler}", count=3)
    assert "Pirol" in {q.key_value for q in made}
    assert all(len(q.text) < 300 for q in made)


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        ("Ilka Selshaw's flatmate sings.", "Ilka Selshaw"),
        ("Teaching yoga has helped Delia make friends.", "Delia"),
        ("The team won in Oslo.", ""),
        ("J.R. Kellsen inspires Delia.", "J.R. Kellsen"),
        ("In Oslo, Delia met Thea.", "Delia"),
        ("my sister is a nurse", ""),
        ("", ""),
    ],
)
def test_whom_a_statement_is_about(statement: str, subject: str) -> None:
    assert subject_of(statement) == subject


@given(texts)
def test_slots_are_spans_that_do_not_overlap(statement: str) -> None:
    found = slots(statement)
    assert all(statement[s.start : s.stop] == s.value and s.value.strip() for s in found)
    ordered = sorted(found, key=lambda s: s.start)
    assert all(a.stop <= b.start for a, b in pairwise(ordered))


def test_the_slots_of_a_long_statement_are_limited() -> None:
    assert len(slots("word " * 800)) == 1
    assert len(slots(" ".join(f"the w{i:03}x" for i in range(400)))) == 64


# ---------------------------------------------------------------------------------------------------- yes or no


async def test_half_of_the_yes_no_questions_change_one_detail() -> None:
    told = str(wording()["yes_no"]["instruction"])
    for statement in STATEMENTS[:-1]:
        made = await asked(statement, "yes_no", count=5)
        assert [q.expected for q in made].count("no") == 2
        assert all(q.text.endswith(told) for q in made)
        for question in made:
            if question.expected == "no":
                assert fold(question.key_value) in fold(question.text)
                assert not stands_in(question.key_value, statement)


async def test_a_detail_becomes_another_of_its_kind() -> None:
    statement = "Delia attended a pottery workshop last weekend and felt proud of her blue bowl."
    pools = wording()["swap"]
    changed = {
        q.key_value for seed in range(12) for q in await asked(statement, "yes_no", 8, seed) if q.key_value
    }
    known = {word for pool in ("pastime", "event", "unit", "mood", "color") for word in pools[pool]}
    assert changed <= known | set(wording()["swap_other"]["thing"])
    assert len(changed & known) > 4


async def test_articles_follow_the_new_word() -> None:
    statement = "Delia is a nurse."
    made = [q for seed in range(30) for q in await asked(statement, "yes_no", 2, seed) if q.expected == "no"]
    assert {("an" if q.key_value[0] in "aeiou" else "a") + f" {q.key_value}?" in q.text for q in made} == {
        True
    }
    assert any(q.key_value[0] in "aeiou" for q in made)


# --------------------------------------------------------------------------------------------------- the broad question


async def test_the_broad_question_names_the_subject_and_no_number() -> None:
    (question,) = await asked(STATEMENTS[3], "naive")
    assert question.text == "How do you know about Malik Bramow and harbour market?"


async def test_statements_of_every_generated_kind_have_questions() -> None:
    data = generate_units(3, seed=5)
    made = [
        len(await asked(unit.text, seed=i)) for units in data.units.values() for i, unit in enumerate(units)
    ]
    assert min(made) >= 1
    assert sum(n == 5 for n in made) / len(made) >= 0.97
