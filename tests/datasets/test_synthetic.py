from __future__ import annotations

import collections
import datetime
import re
import time
from pathlib import Path

import pytest

from vestige.datasets import Instance
from vestige.datasets.synthetic import Generated, generate, generate_with_templates
from vestige.datasets.synthetic.compose import words
from vestige.datasets.synthetic.grammar import load_grammar
from vestige.datasets.synthetic.values import KINDS, MONTHS
from vestige.text import content_words


@pytest.fixture(scope="module")
def made() -> list[Generated]:
    return generate_with_templates(300, seed=11)


@pytest.fixture(scope="module")
def instances(made: list[Generated]) -> list[Instance]:
    return [one.instance for one in made]


def evidence_texts(instance: Instance) -> list[str]:
    return [instance.sessions[s].turns[t].content for s, t in instance.evidence or ()]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    assert generate(20, seed=3).model_dump_json() == generate(20, seed=3).model_dump_json()
    assert generate(20, seed=3).sha256 != generate(20, seed=4).sha256


def test_an_instance_does_not_depend_on_how_many_there_are() -> None:
    few, many = generate(7, seed=5).instances, generate(60, seed=5).instances
    assert few == many[:7]


def test_the_bytes_of_this_generator_version_are_fixed() -> None:
    """A change of wording or draws changes what a seed means: raise GENERATOR_VERSION with it."""
    data = generate(30, seed=0)
    assert data.source == "vestige synthetic generator 1, n = 30, seed = 0"
    assert data.sha256 == "b72cb68b1eebce602744772059c569404cb63c6660a4cdc7c1e7a22a5341dceb"


def test_no_template_is_above_two_percent_of_the_turns() -> None:
    for n, seed in ((50, 0), (50, 1), (50, 2), (120, 3)):
        used: collections.Counter[str] = collections.Counter()
        turns = 0
        for one in generate_with_templates(n, seed):
            for session, templates in zip(one.instance.sessions, one.templates, strict=True):
                assert len(session.turns) == len(templates)
                turns += len(session.turns)
                for ids in templates:
                    used.update(set(ids))
        (template, count), *_ = used.most_common(1)
        assert count <= 0.02 * turns, (template, count, turns)


def test_templates_are_really_in_the_turns_they_are_counted_for(made: list[Generated]) -> None:
    grammar = load_grammar()
    texts: dict[str, str] = {t.id: t.text for group in grammar.phrases.values() for t in group}
    chats = [chat for topic in grammar.topics for chat in topic.chats] + list(grammar.chats)
    for chat in chats:
        texts |= {t.id: t.text for t in (chat.user, *chat.replies)}
    for topic in grammar.topics:
        for slot in topic.slots:
            texts |= {t.id: t.text for t in (*slot.tell, *slot.update, *slot.other)}
        for occasion in (*topic.events, *topic.purchases):
            texts |= {t.id: t.text for t in occasion.tell}
    for one in made[:80]:
        for session, templates in zip(one.instance.sessions, one.templates, strict=True):
            for turn, ids in zip(session.turns, templates, strict=True):
                assert ids
                for template in ids:
                    for piece in re.split(r"\{\w+\}", texts[template]):
                        assert piece.casefold() in turn.content.casefold()


def test_no_two_users_are_alike(instances: list[Instance]) -> None:
    talks = {tuple(turn.content for s in instance.sessions for turn in s.turns) for instance in instances}
    assert len(talks) == len(instances)
    told = [set(evidence_texts(instance)) for instance in instances]
    assert len(set().union(*told)) == sum(len(texts) for texts in told)


def test_sizes_are_those_of_the_oracle_file(instances: list[Instance]) -> None:
    for instance in instances:
        assert 2 <= len(instance.sessions) <= 5
        for session in instance.sessions:
            assert len(session.turns) in (8, 10, 12, 14)
            assert [turn.role for turn in session.turns[:2]] == ["user", "assistant"]
            assert all(
                turn.role != other.role for turn, other in zip(session.turns, session.turns[1:], strict=False)
            )
            assert len({turn.content for turn in session.turns[::2]}) == len(session.turns[::2])


def test_dates_rise_and_the_question_comes_last(instances: list[Instance]) -> None:
    for instance in instances:
        dates = [session.date or "" for session in instance.sessions] + [instance.question_date or ""]
        assert dates == sorted(dates)
        for date in dates:
            when = time.strptime(date, "%Y/%m/%d (%a) %H:%M")
            assert time.strftime("%a", when) in date


def test_evidence_holds_the_answer_and_no_other_turn_does(instances: list[Instance]) -> None:
    for instance in instances:
        if instance.abstention:
            assert instance.evidence == ()
            continue
        assert instance.evidence
        texts = evidence_texts(instance)
        assert all(instance.sessions[s].turns[t].role == "user" for s, t in instance.evidence)
        if instance.question_type in ("single-session-user", "knowledge-update"):
            assert instance.expected in texts[-1]
        elif " and " in instance.expected and instance.question_type == "multi-session":
            assert all(
                part in text for part, text in zip(instance.expected.split(" and "), texts, strict=True)
            )
        wanted = words(instance.expected)
        for s, session in enumerate(instance.sessions):
            for t, turn in enumerate(session.turns):
                if (s, t) not in instance.evidence:
                    assert not wanted <= words(turn.content)


def test_an_update_is_told_after_what_it_replaces(instances: list[Instance]) -> None:
    updates = [instance for instance in instances if instance.question_type == "knowledge-update"]
    assert len(updates) > 50
    for instance in updates:
        (before, _), (after, _) = instance.evidence or ()
        assert before < after
        assert instance.expected not in evidence_texts(instance)[0]


def test_sums_are_the_sums_of_what_was_paid(instances: list[Instance]) -> None:
    totals = [i for i in instances if i.question_type == "multi-session" and i.expected.startswith("$")]
    assert len(totals) > 10
    for instance in totals:
        paid = [int(found) for text in evidence_texts(instance) for found in re.findall(r"\$(\d+)", text)]
        assert len(paid) == 2
        assert instance.expected == f"${sum(paid)}"


def told_on(text: str, year: int) -> datetime.date:
    (found,) = re.findall(rf"\b(\d+) ({'|'.join(MONTHS)})\b", text, re.IGNORECASE)
    return datetime.date(year, MONTHS.index(found[1]) + 1, int(found[0]))


def test_orders_and_gaps_follow_from_the_dates_in_the_turns(instances: list[Instance]) -> None:
    temporal = [instance for instance in instances if instance.question_type == "temporal-reasoning"]
    assert len(temporal) > 30
    for instance in temporal:
        year = int((instance.question_date or "")[:4])
        (first, early), (second, late) = sorted((told_on(t, year), t) for t in evidence_texts(instance))
        assert second < datetime.date.fromisoformat((instance.sessions[0].date or "")[:10].replace("/", "-"))
        if instance.expected.isdigit():
            assert (second - first).days == int(instance.expected)
        else:
            wants_late = re.search(r"later|recent", instance.question) is not None
            assert instance.expected in (late if wants_late else early)
            assert instance.expected not in (early if wants_late else late)


def test_the_mix_of_types_and_the_share_of_abstention() -> None:
    kinds = collections.Counter(i.question_type for i in generate(100, seed=1).instances)
    assert kinds == {
        "single-session-user": 32,
        "knowledge-update": 28,
        "multi-session": 20,
        "temporal-reasoning": 16,
        "abstention": 4,
    }
    abstains = [i.abstention for i in generate(100, seed=1).instances]
    assert all(sum(abstains[:n]) <= 0.04 * n for n in range(1, 101))


def test_abstention_asks_what_was_told_of_others_alone(instances: list[Instance]) -> None:
    for instance in instances:
        if instance.abstention:
            somebody = instance.expected.rsplit(" ", 1)[1].rstrip(".")
            assert any(somebody in turn.content for s in instance.sessions for turn in s.turns)


def test_the_question_does_not_give_the_answer_away(instances: list[Instance]) -> None:
    for instance in instances:
        if not instance.abstention:
            assert content_words(instance.expected)
            assert not set(content_words(instance.expected)) & set(content_words(instance.question))


def test_an_agent_without_memory_has_no_answer_right_by_words(instances: list[Instance]) -> None:
    replies = ("I don't know.", "I have no information about that.", "You never told me.")
    for instance in instances:
        for reply in (*replies, instance.question):
            assert not set(content_words(instance.expected)) <= set(content_words(reply))


def test_values_can_hardly_be_guessed(instances: list[Instance]) -> None:
    answers = collections.Counter(instance.expected for instance in instances if not instance.abstention)
    assert answers.most_common(1)[0][1] <= 0.03 * len(instances)


def test_others_have_facts_of_the_same_kind(made: list[Generated]) -> None:
    near = 0
    asked = [one for one in made if one.instance.question_type in ("single-session-user", "knowledge-update")]
    for one in asked:
        ids = {t for session in one.templates for turn in session for t in turn}
        told = {t.rsplit(".", 2)[0] for t in ids if ".tell." in t or ".update." in t}
        near += any(t.rsplit(".", 2)[0] in told for t in ids if ".other." in t)
    assert near > 0.6 * len(asked)


def test_every_wording_of_the_grammar_is_sound() -> None:
    grammar = load_grammar()
    ids: set[str] = set()
    for topic in grammar.topics:
        assert len(topic.chats) >= 8 and len(topic.slots) >= 5
        for slot in topic.slots:
            assert slot.kind in KINDS
            assert all(t.text.count("{v}") == 1 for t in (*slot.tell, *slot.update, *slot.other))
            assert all("{who}" in t.text for t in slot.other)
            assert all(question.endswith("?") and "{" not in question for question in slot.ask)
            ids |= {t.id for t in (*slot.tell, *slot.update, *slot.other)}
        for occasion in (*topic.events, *topic.purchases):
            wanted = "{date}" if occasion in topic.events else "{amount}"
            assert len(occasion.tell) >= 4 and occasion.kind in KINDS
            assert all("{v}" in t.text and wanted in t.text for t in occasion.tell)
    assert len(ids) > 500


def test_every_fact_is_told_in_the_first_person_and_in_one_sentence() -> None:
    told = [
        template
        for topic in load_grammar().topics
        for source in (*topic.slots, *topic.events, *topic.purchases)
        for template in (*source.tell, *getattr(source, "update", ()))
    ]
    for template in told:
        assert re.search(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Ww]e|us|[Oo]ur)\b", template.text), template
        assert template.text.format(v="x", date="x", amount="x").count(". ") == 0, template


@pytest.mark.slow
def test_a_thousand_users_take_seconds() -> None:
    start = time.process_time()
    generate(1000)
    assert time.process_time() - start < 10


@pytest.mark.model("minilm")
async def test_an_agent_without_memory_has_no_answer_right_by_cosine(instances: list[Instance]) -> None:
    import numpy as np

    from vestige.models.resolve import open_embedder

    embedder = open_embedder("minilm")
    texts = [instance.expected for instance in instances] + ["I don't know.", "It was not mentioned."]
    vectors = np.asarray(await embedder.embed(texts))
    await embedder.close()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (vectors[:-2] @ vectors[-2:].T > 0.5).mean(axis=0).max() <= 0.05


def test_data_files_come_with_the_package() -> None:
    import vestige.datasets.synthetic as package

    assert package.__file__ is not None
    folder = Path(package.__file__).parent
    assert (folder / "words.toml").is_file()
    assert len(list((folder / "topics").glob("*.toml"))) == len(load_grammar().topics) + 1
