"""PR as the paper says it, PR_strict as a careful person would: the values that are known."""

from __future__ import annotations

import pytest

from vestige.models.embedders import MiniLM
from vestige.probes.utility import COSINE_THRESHOLD, alternatives, score_recall

RUN = "What was my personal best time in the charity 5K run?"
WAKE = "What time do I wake up on Tuesdays and Thursdays?"


@pytest.mark.parametrize("expected", ["", "the", "a", "It is.", "  \n", "—"])
@pytest.mark.parametrize("reply", ["", "the", "Anything at all.", "It is."])
def test_an_answer_without_content_words_is_decided_by_cosine_alone(expected: str, reply: str) -> None:
    """A rule that asks for every word of nothing is true of every reply: it must not pass one."""
    far = score_recall("What is it?", expected, reply, similarity=0.2)
    assert not far.words and not far.paper and not far.strict
    near = score_recall("What is it?", expected, reply, similarity=0.6)
    assert near.cosine and near.paper and not near.words


@pytest.mark.parametrize(
    ("expected", "reply", "words"),
    [
        ("43", "You own 43 records.", True),
        ("43", "You own 430 records.", False),
        ("43", "You own 4, maybe 3.", False),
        ("6:45 AM", "You get up at 6:45 AM.", True),
        ("6:45 AM", "You get up at 7:45 AM.", False),
        ("6:45 AM", "You get up at 6:45 PM.", False),
        ("three", "You have three cats.", True),
        ("three", "You have two cats.", False),
        ("a blue bicycle", "It was blue, your bicycle.", True),
        ("a blue bicycle", "It was a bicycle.", False),
    ],
)
def test_numbers_and_times_have_content_words(expected: str, reply: str, words: bool) -> None:
    found = score_recall("What is it?", expected, reply, similarity=0.0)
    assert (found.words, found.paper) == (words, words)


@pytest.mark.parametrize(
    ("similarity", "right"), [(0.5, False), (0.500001, True), (0.49, False), (1.0, True), (None, False)]
)
def test_the_threshold_is_strict(similarity: float | None, right: bool) -> None:
    assert COSINE_THRESHOLD == 0.50
    assert score_recall(RUN, "25:50", "No such words.", similarity=similarity).paper is right


def test_a_wrong_time_in_the_right_words_is_not_strictly_right() -> None:
    found = score_recall(
        RUN, "25 minutes and 50 seconds (or 25:50)", "27 minutes and 12 seconds", similarity=0.79
    )
    assert found.paper and found.cosine and not found.words and not found.strict


@pytest.mark.parametrize("reply", ["25:50", "It was 25 minutes and 50 seconds.", "You ran it in 25:50!"])
def test_either_way_of_giving_the_answer_is_strictly_right(reply: str) -> None:
    assert score_recall(RUN, "25 minutes and 50 seconds (or 25:50)", reply, similarity=0.0).strict


@pytest.mark.parametrize(
    ("expected", "ways"),
    [
        ("25 minutes and 50 seconds (or 25:50)", ("25 minutes and 50 seconds", "25:50")),
        ("two (or three).", ("two", "three")),
        ("black or white", ("black or white",)),
        ("(or so)", ("(or so)",)),
        ("Tea (in the morning)", ("Tea (in the morning)",)),
    ],
)
def test_alternatives(expected: str, ways: tuple[str, ...]) -> None:
    assert alternatives(expected) == ways


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (RUN, "25:50"),
        (WAKE, "6:45 AM"),
        ("Do I like tea or coffee?", "tea"),
        ("Which task did I do first, fixing the fence or buying the cows?", "fixing the fence"),
        ("Is my bicycle blue?", "Yes, it is blue."),
    ],
)
def test_a_reply_that_only_repeats_the_question_is_not_strictly_right(question: str, expected: str) -> None:
    for reply in (question, question.rstrip("?") + ".", "You asked: " + question):
        assert not score_recall(question, expected, reply, similarity=0.9).strict


@pytest.mark.parametrize(
    ("question", "expected", "reply", "strict"),
    [
        ("Do I like tea or coffee?", "tea", "You like tea.", True),
        ("Do I like tea or coffee?", "tea", "You like coffee.", False),
        (
            "Which did I do first, fixing the fence or buying the cows?",
            "fixing the fence",
            "Fixing the fence.",
            True,
        ),
        ("How many dozen eggs do we have?", "20", "You have twenty dozen.", True),
        ("How many dozen eggs do we have?", "20", "You have 30 dozen.", False),
        ("Did I ever go to Rome?", "No", "No, you never went.", True),
        ("Did I ever go to Rome?", "No", "I have no record of that.", False),
        ("What is my dog's name?", "Rex", "Rex.", True),
        ("What is my dog's name?", "Rex", "Rexy", False),
        ("Where did I park?", "Level 2, near the lift", "Near the lift on level 2", True),
        ("Where did I park?", "Level 2, near the lift", "On level 2", False),
    ],
)
def test_strict_as_a_careful_person_reads_it(question: str, expected: str, reply: str, strict: bool) -> None:
    assert score_recall(question, expected, reply, similarity=0.0).strict is strict


def test_an_abstention_record_is_not_right_by_repeating_its_answer_s_words() -> None:
    question = "What is my hamster's name?"
    expected = "You did not mention this information. You mentioned your cat Luna but not your hamster."
    assert score_recall(question, expected, "I don't know.", similarity=0.3, abstention=True).strict
    assert not score_recall(
        question, expected, "Your hamster is called Luna.", similarity=0.7, abstention=True
    ).strict


@pytest.mark.model("minilm")
async def test_the_paper_s_rule_with_its_own_embedder() -> None:
    """27:12 for 25:50: another time, in the same form, is near enough for the paper's threshold."""
    embedder = MiniLM()
    expected = "25 minutes and 50 seconds (or 25:50)"
    for reply, strict in (("27 minutes and 12 seconds", False), ("25 minutes and 50 seconds", True)):
        vectors = await embedder.embed([reply, expected])
        similarity = float(vectors[0] @ vectors[1])
        found = score_recall(RUN, expected, reply, similarity=similarity)
        assert similarity > 0.59 and found.paper and found.strict is strict
    own = await embedder.embed(["27:12", "25:50"])
    assert float(own[0] @ own[1]) == pytest.approx(0.59, abs=0.06)
    await embedder.close()


def test_the_number_of_a_list_item_is_not_an_answer_to_how_many() -> None:
    question = "How many albums have I bought?"
    listing = "You bought:\n1. Amber Hours\n2. Northern Kites\n3. Paper Moons\n4. Low Tide"
    assert not score_recall(question, "3", listing, similarity=0.1).strict
    assert score_recall(question, "3", listing, similarity=0.1).words  # the paper's rule is lenient
    assert score_recall(question, "3", "You bought these:\n1. Amber Hours\nIn all 3.", similarity=0.1).strict
