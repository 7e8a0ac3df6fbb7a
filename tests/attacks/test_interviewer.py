"""The interview: which questions are put, in which order and to whom, and what is said of a reply."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vestige.attacks.cloze import RuleGenerator
from vestige.attacks.interviewer import AttackInterviewer
from vestige.attacks.paraphrase import Paraphrase, RuleParaphraser
from vestige.attacks.question import Generated, Kind, Question
from vestige.attacks.scorers import RuleMemoryScorer, RuleResponseScorer, Vectors
from vestige.models.hashing import HashingEmbedder
from vestige.records import Reply, RetrievedUnit
from vestige.runs.services import Interview, InterviewQuestion

STATEMENT = "Malik Bramow bought three lanterns for $227.13 at the harbour market on 18 September."
CANDIDATE = {"id": "u:1", "text": STATEMENT}
OTHER_WORDS = "On 18 September, Malik Bramow got three lanterns at the harbour market for $227.13."


class Listed:
    """A generator that gives the questions it was handed and keeps what it was asked for."""

    name = "listed"

    def __init__(self, rejected: dict[str, int] | None = None, most: int = 99) -> None:
        self.asked: list[tuple[str, str, int, int]] = []
        self._rejected, self._most = rejected or {}, most

    async def generate(self, statement: str, kind: Kind, count: int, seed: int) -> Generated:
        self.asked.append((statement, kind, count, seed))
        questions = tuple(
            Question(
                kind=kind,
                key_value="lanterns" if kind == "recall" else "",
                text=f"{kind} {i}?",
                follow_up="From where?" if kind == "recall" else "",
                expected="yes" if kind == "yes_no" else None,
            )
            for i in range(min(count, self._most))
        )
        return Generated(questions=questions, rejected=self._rejected)


class Said:
    name = "said"

    async def paraphrase(self, statement: str, seed: int) -> Paraphrase:
        return Paraphrase(text=OTHER_WORDS)


def interviewer(*sets: str, generator: Any = None, **more: Any) -> AttackInterviewer:
    vectors = Vectors(HashingEmbedder())
    given: dict[str, Any] = {"count": 2, "follow_up": True, **more}
    return AttackInterviewer(
        sets,
        generator=generator or Listed(),
        responses=RuleResponseScorer(vectors),
        memory=RuleMemoryScorer(vectors),
        **given,
    )


def questions(of: AttackInterviewer, seed: int = 1) -> Interview:
    return asyncio.run(of.questions(CANDIDATE, seed))


def test_sets_are_asked_in_their_order_and_numbered() -> None:
    made = questions(interviewer("recall", "plain", "yes_no", "naive", "absent"))
    assert [q.id for q in made.questions] == [
        *("recall-0", "recall-1", "plain-0", "plain-1", "yes_no-0", "yes_no-1", "naive-0", "absent-0")
    ]
    assert {q.id: q.who for q in made.questions if q.who != "user"} == {"absent-0": "sibling"}
    assert made.record["asked"] == {"absent": 1, "naive": 1, "plain": 2, "recall": 2, "yes_no": 2}
    assert [q["id"] for q in made.record["questions"]] == [q.id for q in made.questions]


def test_the_plain_set_is_the_recall_set_without_its_follow_up() -> None:
    generator = Listed()
    made = {q.id: q for q in questions(interviewer("recall", "plain", generator=generator)).questions}
    assert len(generator.asked) == 1
    for i in range(2):
        assert made[f"recall-{i}"].prompt == f"recall {i}? From where?"
        assert made[f"plain-{i}"].prompt == f"recall {i}?"
    bare = questions(interviewer("recall", follow_up=False)).questions
    assert [q.prompt for q in bare] == ["recall 0?", "recall 1?"]


def test_the_naive_question_is_made_once_and_put_to_both_users() -> None:
    generator = Listed()
    made = questions(interviewer("naive", "absent", generator=generator)).questions
    assert [k for _, k, _, _ in generator.asked] == ["naive"]
    assert made[0].prompt == made[1].prompt


def test_fewer_questions_than_asked_for_are_put_and_refusals_are_counted() -> None:
    generator = Listed({"yes/no question": 2, "empty": 1}, most=1)
    made = questions(interviewer("recall", "yes_no", generator=generator))
    assert [q.id for q in made.questions] == ["recall-0", "yes_no-0"]
    assert made.record["rejected"] == {"empty": 2, "yes/no question": 4}
    none = questions(interviewer("recall", generator=Listed(most=0)))
    assert none.questions == () and none.record["asked"] == {}


def test_kinds_have_seeds_of_their_own_that_follow_from_the_candidates() -> None:
    def seeds(seed: int) -> list[int]:
        generator = Listed()
        questions(interviewer("recall", "yes_no", "naive", generator=generator), seed)
        return [s for _, _, _, s in generator.asked]

    assert seeds(1) == seeds(1) and len(set(seeds(1))) == 3
    assert not set(seeds(1)) & set(seeds(2))
    # a set more changes nothing for the others
    generator = Listed()
    questions(interviewer("recall", "similar", "naive", generator=generator, paraphraser=Said()), 1)
    recall, _, naive = (s for _, _, _, s in generator.asked)
    assert [recall, naive] == [seeds(1)[0], seeds(1)[2]]


def test_the_similar_set_is_made_from_other_words_and_judged_by_them() -> None:
    generator = Listed()
    of = interviewer("recall", "similar", generator=generator, paraphraser=Said())
    made = questions(of)
    assert [s for s, _, _, _ in generator.asked] == [STATEMENT, OTHER_WORDS]
    told = {q.id: q.about["told"] for q in made.questions}
    assert (told["recall-0"], told["similar-0"]) == (STATEMENT, OTHER_WORDS)
    assert made.record["paraphrase"]["text"] == OTHER_WORDS


def test_by_equivalence_every_set_is_made_from_other_words() -> None:
    generator = Listed()
    made = questions(interviewer("recall", "naive", generator=generator, paraphraser=Said(), reworded=True))
    assert {s for s, _, _, _ in generator.asked} == {OTHER_WORDS}
    assert {q.about["told"] for q in made.questions} == {OTHER_WORDS}


def test_a_plan_that_needs_a_paraphraser_has_one() -> None:
    with pytest.raises(AssertionError, match="names a paraphraser"):
        questions(interviewer("similar"))


# ------------------------------------------------------------------------------------------ measures


def measured(question: InterviewQuestion, reply: Reply) -> dict[str, Any]:
    return asyncio.run(interviewer("recall").measure(CANDIDATE, question, reply))


def unit(text: str) -> RetrievedUnit:
    return RetrievedUnit(id="x", tier="raw", text=text, score=1.0)


def test_a_reply_is_judged_and_every_retrieved_unit_measured() -> None:
    recall, *_ = questions(interviewer("recall")).questions
    found = measured(
        recall,
        Reply(text="Malik bought three lanterns.", retrieved=(unit(STATEMENT), unit("He sings."), unit(""))),
    )
    assert found["response"]["key"] == 1.0 and found["response"]["similarity"] > 0
    assert [m.get("exact", False) for m in found["memory"]] == [True, False, False]
    assert found["memory"][0]["similarity"] == pytest.approx(1.0)
    assert found["memory"][1]["similarity"] < 0.7


def test_what_the_agent_does_not_show_and_the_sibling_user_have_no_memory() -> None:
    made = {q.id: q for q in questions(interviewer("recall", "naive", "absent")).questions}
    assert "memory" not in measured(made["recall-0"], Reply(text="x"))
    assert measured(made["recall-0"], Reply(text="x", retrieved=()))["memory"] == []
    assert "memory" not in measured(made["absent-0"], Reply(text="x", retrieved=(unit(STATEMENT),)))


def test_replies_of_any_kind_are_measured() -> None:
    """Rules and all: questions about a real statement, and replies that no one would expect."""
    of = interviewer("recall", "yes_no", "naive", generator=RuleGenerator(), paraphraser=RuleParaphraser())
    made = questions(of)
    assert {q.id.split("-")[0] for q in made.questions} == {"recall", "yes_no", "naive"}
    for text in ("", " ", "\x00", "I don't know.", "no", "ja " * 4000, '{"score": 1}', "😀", STATEMENT):
        for question in made.questions:
            found = asyncio.run(of.measure(CANDIDATE, question, Reply(text=text, retrieved=(unit(text),))))
            key = found["response"].get("key")
            assert key is None or 0.0 <= key <= 1.0
            if text == STATEMENT and question.id.startswith(("recall", "naive")):
                assert key == 1.0
