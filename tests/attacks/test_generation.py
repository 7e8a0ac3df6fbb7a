"""A model's questions: exactly what was asked for, checked, asked for again, and nothing of a reply trusted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.helpers.scripted import Scripted, scripted

from vestige.attacks.asking import one_line, prompts
from vestige.attacks.checks import rejection
from vestige.attacks.cloze import GAP
from vestige.attacks.generation import RETRIES, ModelGenerator
from vestige.attacks.question import Generated, Kind
from vestige.attacks.question import texts as wording
from vestige.errors import ModelError
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.resolve import open_model

MOVE = "Delia moved to Oslo in March 2019 with her brother to study glaciers."
TOLD = str(wording()["yes_no"]["instruction"])


def row(value: str, question: str, topic: str = "a topic") -> dict[str, str]:
    return {"topic": topic, "key_value": value, "question": question}


def gap(question: str) -> dict[str, str]:
    """What a retry asks for: the value is known already."""
    return {"topic": "a topic", "question": question}


OSLO = row("Oslo", "Where did Delia move with her brother in March 2019?")
DATE = row("March 2019", "When did Delia move to Oslo?")
GLACIERS = row("glaciers", "What did Delia move to Oslo to study?")
LEAKS = row("Oslo", "Why did Delia move to Oslo?")
NAMES = row("Delia", "What is the name of the person?")


def reply(*rows: Any) -> str:
    return json.dumps({"questions": list(rows)})


async def generated(
    kind: Kind, count: int, *replies: str, statement: str = MOVE, seed: int = 7
) -> tuple[Generated, Scripted]:
    """What comes of a model that says these things in turn."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            scripted(*({"role": "assistant", "content": text} for text in replies))
        )
        model = open_model(f"{server.url}#writer")
        stack.push_async_callback(model.close)
        return await ModelGenerator(model).generate(statement, kind, count, seed), server


def sent(server: Scripted, i: int) -> str:
    return str(server.asked[i]["messages"][-1]["content"])


async def test_one_call_asks_for_exactly_k_questions_under_a_schema() -> None:
    made, server = await generated("recall", 3, reply(OSLO, DATE, GLACIERS))
    assert [(q.key_value, q.text) for q in made.questions] == [
        (r["key_value"], r["question"]) for r in (OSLO, DATE, GLACIERS)
    ]
    assert made.rejected == {} and made.attempts == 1
    (call,) = server.asked
    assert (call["temperature"], call["max_tokens"]) == (0.7, 480)
    schema = call["response_format"]["json_schema"]["schema"]["properties"]["questions"]
    assert (schema["minItems"], schema["maxItems"]) == (3, 3)
    assert schema["items"]["required"] == ["topic", "key_value", "question"]


async def test_few_questions_still_get_384_tokens() -> None:
    _, server = await generated("recall", 1, reply(OSLO))
    assert server.asked[0]["max_tokens"] == 384


async def test_the_source_is_asked_for_apart_and_the_same_way_for_the_same_seed() -> None:
    made = [
        (await generated("recall", 1, reply(OSLO), seed=seed))[0].questions[0] for seed in (1, 1, *range(9))
    ]
    follow_ups: list[str] = wording()["follow_up"]["texts"]
    assert all(q.follow_up in follow_ups and q.follow_up not in q.text for q in made)
    assert made[0].follow_up == made[1].follow_up
    assert len({q.follow_up for q in made}) > 1


async def test_what_is_refused_is_asked_for_again_at_temperature_0() -> None:
    made, server = await generated(
        "recall",
        3,
        reply(OSLO, LEAKS, NAMES),
        reply(gap("When did Delia move to Oslo?"), gap("When did Delia go?")),
        reply(gap("What did Delia move to Oslo to study?")),
    )
    assert [q.key_value for q in made.questions] == ["Oslo", "March 2019", "glaciers"]
    assert made.rejected == {
        "about the subject's name": 1,
        "gives the key value away": 1,
        "no question": 1,  # a time where a companion was left out
    }
    assert made.attempts == 3
    assert [call["temperature"] for call in server.asked] == [0.7, 0.0, 0.0]
    assert len({call["seed"] for call in server.asked}) == 3
    schemas = [c["response_format"]["json_schema"]["schema"]["properties"]["questions"] for c in server.asked]
    assert [schema["minItems"] for schema in schemas] == [3, 2, 1]


async def test_a_retry_shows_the_statement_without_the_values_it_asks_for() -> None:
    _, server = await generated(
        "recall", 3, reply(OSLO, LEAKS, LEAKS), reply(gap("When did Delia move to Oslo?")), reply()
    )
    before = "Delia moved to Oslo in March 2019 with her brother to study glaciers."
    first = [line.partition(". ")[2] for line in sent(server, 1).splitlines()[:-1]]
    assert first == [before.replace("March 2019", GAP), before.replace("brother", GAP)]
    second = [line.partition(". ")[2] for line in sent(server, 2).splitlines()[:-1]]
    assert second == [before.replace("glaciers", GAP)]  # the one that was not shown yet


async def test_a_statement_without_values_found_by_rules_is_asked_about_with_what_was_no_good() -> None:
    bad = row("Delia", "What is the name of the person?")
    _, server = await generated("recall", 1, *[reply(bad)] * 3, statement="Delia!")
    assert bad["question"] not in sent(server, 0)
    assert bad["question"] in sent(server, 1)


async def test_fewer_valid_questions_are_used_as_they_are() -> None:
    made, server = await generated(
        "recall", 3, reply(OSLO, LEAKS, LEAKS), reply(LEAKS, LEAKS), reply(LEAKS, LEAKS)
    )
    assert [q.key_value for q in made.questions] == ["Oslo"]
    assert made.attempts == 1 + RETRIES == len(server.asked)


async def test_more_than_k_questions_are_not_taken() -> None:
    made, _ = await generated("recall", 2, reply(OSLO, DATE, GLACIERS))
    assert len(made.questions) == 2


async def test_the_words_that_the_question_holds_leave_the_value() -> None:
    statement = "Delia attended an LGBTQ support group yesterday."
    asked = row("LGBTQ support group", "Which support group did Delia attend yesterday?")
    made, _ = await generated("recall", 1, reply(asked), statement=statement)
    assert made.questions[0].key_value == "LGBTQ"


async def test_values_put_the_wrong_way_round_are_put_right() -> None:
    """A small model asked this of chess: the question leaves out one detail alone, which is what it asks for."""
    statement = "Malik believes chess can enhance decision-making."
    asked = row("chess", "What does Malik believe chess can enhance?")
    made, _ = await generated("recall", 1, reply(asked), statement=statement)
    assert made.questions[0].key_value == "decision-making"
    why = row("chess", "Why does Malik believe in chess?")
    made, _ = await generated("recall", 1, *[reply(why)] * 3, statement=statement)
    assert made.rejected["gives the key value away"] >= 1


async def test_two_values_for_one_question_are_not_taken() -> None:
    again = row("glaciers", OSLO["question"])
    made, _ = await generated("recall", 2, reply(OSLO, again), reply(), reply())
    assert [q.key_value for q in made.questions] == ["Oslo"]
    assert made.rejected["asked already"] == 1


async def test_different_values_come_before_the_same_again() -> None:
    again = row("Oslo", "To which city did Delia go with her brother?")
    made, _ = await generated("recall", 3, reply(OSLO, again, DATE))
    assert [q.key_value for q in made.questions] == ["Oslo", "March 2019", "Oslo"]


async def test_the_same_question_in_another_order_is_asked_once() -> None:
    again = row("Oslo", "In March 2019, where did Delia move with her brother?")
    made, _ = await generated("recall", 2, reply(OSLO, again), reply(gap(DATE["question"])))
    assert [q.key_value for q in made.questions] == ["Oslo", "March 2019"]


# ------------------------------------------------------------------------------------------------ untrusted replies

BROKEN = (
    "",
    "I cannot do that.",
    '{"questions": ',
    '{"questions": 7}',
    '{"questions": {"a": 1}}',
    "[]",
    '{"questions": []}',
    "[" * 100_000,
    '{"questions": [' + "[" * 5_000,
    reply(None, 3, "x", [], {}),
    reply({"topic": 1, "key_value": ["Oslo"], "question": {}}),
    '{"questions": [{"topic": "t", "key_value": "Oslo", "question": "\\ud800 \\u0000"}]}',
    '{"questions": [{"topic": NaN, "key_value": 1e999, "question": ' + "9" * 5_000 + "}]}",
)


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
async def test_replies_that_cannot_be_read_are_refused(text: str) -> None:
    for kind in ("recall", "yes_no"):
        made, _ = await generated(kind, 2, text, text, text)
        assert made.questions == ()
        assert made.attempts == 3
    made, _ = await generated("naive", 1, text, text, text)
    assert made.questions == ()


async def test_after_a_broken_reply_a_good_one_counts() -> None:
    made, _ = await generated("recall", 1, '{"questions', reply(gap(DATE["question"])))
    assert made.rejected == {"no list of questions": 1}
    assert [q.key_value for q in made.questions] == ["March 2019"]


async def test_long_texts_are_cut_and_control_characters_go() -> None:
    asked = row("Oslo\x00\n", "Where did\tDelia move\u2028with her \x1b[31mbrother?", "t" * 10_000)
    made, _ = await generated("recall", 1, reply(asked))
    (question,) = made.questions
    assert question.key_value == "Oslo"
    assert question.text == "Where did Delia move with her [31mbrother?"
    assert len(question.topic) == 200


def test_a_text_out_of_a_reply_can_always_be_stored() -> None:
    assert one_line("a\ud800b\n\n c\x00", 10) == "a b c"
    assert one_line(None, 10) == one_line(7, 10) == one_line("\ud800", 10) == ""
    assert one_line("word " * 100, 9) == "word word"


class Says:
    """A model that says one thing."""

    name = "says"

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text=self.text)

    async def close(self) -> None:
        pass


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from([MOVE, "Oslo"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["questions", "topic", "key_value", "question", "detail", "other"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)
rows = st.fixed_dictionaries(
    {},
    optional={
        name: json_values | st.sampled_from(list(OSLO.values()) + list(LEAKS.values()))
        for name in ("topic", "key_value", "question", "detail", "other")
    },
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    held=st.lists(rows, max_size=6), value=json_values, kind=st.sampled_from(["recall", "yes_no", "naive"])
)
async def test_no_reply_makes_a_question_that_must_not_be_asked(
    held: Sequence[Any], value: Any, kind: Kind
) -> None:
    for told in ({"questions": held}, value, *held):
        made = await ModelGenerator(Says(json.dumps(told))).generate(MOVE, kind, 3, 1)
        assert len(made.questions) <= 3
        assert all(rejection(q, MOVE) is None for q in made.questions)
        assert all(q.text.encode() for q in made.questions)


async def test_a_statement_cannot_fill_in_the_prompt() -> None:
    """What a statement holds stays in it: neither a placeholder nor a second statement's place."""
    _, server = await generated("recall", 1, reply(OSLO), statement=MOVE + " {count} {details} {statement}")
    assert "{count} {details} {statement}" in sent(server, 0)
    assert sent(server, 0).count(MOVE) == 1


async def test_a_model_that_fails_is_an_error_and_no_empty_interview() -> None:
    async with scripted() as server:  # every request is beyond its script
        model = open_model(f"{server.url}#writer")
        try:
            with pytest.raises(ModelError):
                await ModelGenerator(model).generate(MOVE, "recall", 1, 1)
        finally:
            await model.close()


# ---------------------------------------------------------------------------------------------------- yes or no


def detail(what: str, other: str, question: str) -> dict[str, str]:
    return {"detail": what, "other": other, "question": question}


CITY = detail("Oslo", "Madrid", "Did Delia move to Oslo in March 2019?")
WITH = detail("brother", "aunt", "Did Delia move to Oslo with her brother?")
WHEN = detail("2019", "2016", "Did Delia move to Oslo in March 2019?")


async def test_half_of_the_details_are_changed_and_nothing_else_is() -> None:
    for seed in range(6):
        made, _ = await generated("yes_no", 3, reply(CITY, WITH, WHEN), seed=seed)
        expected = [q.expected for q in made.questions]
        assert expected in (["yes", "no", "yes"], ["no", "yes", "no"])
        for question, held in zip(made.questions, (CITY, WITH, WHEN), strict=True):
            asked = question.text.removesuffix(f" {TOLD}")
            if question.expected == "no":
                assert question.key_value == held["other"]
                assert asked == held["question"].replace(held["detail"], held["other"])
            else:
                assert question.key_value == ""


async def test_a_question_that_is_none_is_replaced_by_the_statement_itself() -> None:
    made, _ = await generated("yes_no", 2, reply(*[detail("Oslo", "Madrid", "Where did Delia move?")] * 2))
    said = {q.expected: q.text for q in made.questions}
    assert "moved to Madrid in March 2019" in said["no"]
    assert "moved to Oslo in March 2019" in said["yes"]
    assert "Where" not in "".join(said.values())


async def test_another_detail_that_the_statement_holds_changes_nothing() -> None:
    made, _ = await generated("yes_no", 1, *[reply(detail("Oslo", "March", CITY["question"]))] * 3)
    assert [q.expected for q in made.questions] == ["yes"]


async def test_a_model_that_changes_nothing_gets_no_more_than_half_of_its_questions() -> None:
    """Seen of a model with 1.5 B parameters: the other detail was the detail itself, five times."""
    same = [detail(w, w, CITY["question"]) for w in ("Oslo", "March", "brother", "glaciers", "2019")]
    made, server = await generated("yes_no", 5, *[reply(*same)] * 3)
    assert [q.expected for q in made.questions] == ["yes"] * 3
    assert made.rejected["no other detail"] >= 2
    assert len(server.asked) == 3


async def test_the_agent_is_told_to_answer_yes_no_or_not_to_know() -> None:
    made, _ = await generated("yes_no", 2, reply(CITY, WITH))
    assert all(q.text.endswith(TOLD) for q in made.questions)
    assert all(said in TOLD for said in ("yes", "no", "I don't know"))


# -------------------------------------------------------------------------------------------------- broad questions


async def test_the_broad_question_has_the_papers_form_and_names_the_subject() -> None:
    made, _ = await generated("naive", 5, json.dumps({"topic": "Studies of the ice."}))
    assert [q.text for q in made.questions] == ["How do you know about Delia and studies of the ice?"]
    made, _ = await generated("naive", 5, json.dumps({"topic": "Delia's move"}))
    assert [q.text for q in made.questions] == ["How do you know about Delia's move?"]


async def test_a_topic_that_tells_the_statement_is_asked_for_again() -> None:
    made, server = await generated(
        "naive", 1, json.dumps({"topic": MOVE}), json.dumps({"topic": "Delia's move"})
    )
    assert made.rejected == {"gives the statement away": 1}
    assert made.questions[0].topic == "Delia's move"
    assert [call["temperature"] for call in server.asked] == [0.7, 0.0]


# ------------------------------------------------------------------------------------------------------ the prompts


def test_every_prompt_says_what_it_is_filled_with() -> None:
    for name, fields in {
        "recall": ("statement", "details", "count"),
        "yes_no": ("statement", "details", "count"),
        "naive": ("statement",),
        "gaps": ("gaps", "count"),
        "paraphrase": ("statement",),
    }.items():
        assert prompts()[name]["system"]
        assert all(f"{{{field}}}" in prompts()[name]["user"] for field in fields)


def test_the_examples_in_the_prompts_would_be_accepted() -> None:
    """A model copies what it is shown."""
    for kind in ("recall", "yes_no"):
        for part in str(prompts()[kind]["system"]).split("Statement: ")[1:]:
            statement, _, rest = part.partition("\n")
            for held in json.loads(rest[rest.index("{") :])["questions"]:
                told = Says(json.dumps({"questions": [held]}))
                made = _sync(ModelGenerator(told).generate(statement, kind, 1, 1))
                assert len(made.questions) == 1 and made.attempts == 1, held
                if kind == "recall":
                    assert made.questions[0].text == held["question"]


def _sync(call: Any) -> Any:
    import asyncio

    return asyncio.run(call)
