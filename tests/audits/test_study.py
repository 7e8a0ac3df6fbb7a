"""Instances, canaries and probes as a study draws them, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.helpers.studies import dataset, options, people, person

from vestige import studying, workflow
from vestige.audits.study import Fixture
from vestige.canaries import match
from vestige.datasets.instance import Dataset, Instance
from vestige.errors import ConfigError
from vestige.probes.extraction import texts
from vestige.records import Session, Turn


def planned(data: Dataset, audit: str = "frontier", **given: Any) -> workflow.Planned:
    return studying.make_plan(audit, options(**given), data)


def fixtures(plan: workflow.Planned) -> list[Fixture]:
    return [Fixture.model_validate(f) for f in plan.plan.fixtures.values()]


def told(plan: workflow.Planned, episode: int = 0) -> list[dict[str, Any]]:
    steps = plan.plan.episodes[episode].steps
    return [json.loads(plan.blobs[s.session]) for s in steps if s.do == "converse"]


def chatter(number: int, words: str) -> Instance:
    """Somebody whose sessions are long enough to stand between, and say `words`."""
    turns = (Turn(role="user", content=f"Story {number}: {words}."), Turn(role="assistant", content="Nice."))
    return Instance(
        id=f"chatter-{number}",
        sessions=tuple(Session(id=f"c{number}-{i}", turns=turns) for i in range(3)),
        question="What is my story?",
        expected=f"number {number}",
        evidence=(),
    )


def test_a_part_that_distractor_sessions_hold_does_not_count() -> None:
    """Partial residue counts parts that the never-planted state lacks; sessions of others are part of that state."""
    colours = "amber azure coral crimson emerald indigo ivory magenta olive scarlet teal violet"
    data = dataset(person(0), *[chatter(i, colours) for i in range(3)])
    near = next(f for f in fixtures(planned(data, horizon="0")) if f.source_id == "person-0")
    far = next(f for f in fixtures(planned(data, horizon="0,4")) if f.source_id == "person-0")
    assert near.canary == far.canary
    assert near.countable == (True, True, True)
    assert far.countable == (True, False, True)


def test_the_horizon_puts_sessions_of_others_between() -> None:
    plan = planned(people(6), horizon="0,3", levels="0", k="1")
    lengths = {e.labels["horizon"]: sum(s.do == "converse" for s in e.steps) for e in plan.plan.episodes}
    assert lengths == {0: 2, 3: 5}
    own = told(plan, 0)
    assert told(plan, 1)[:2] == own
    later = told(plan, 1)[2:]
    name = plan.plan.episodes[0].instance
    fixture = Fixture.model_validate(plan.plan.fixtures[name])
    mine = {t["content"] for s in own for t in s["turns"]}
    for session in later:
        text = " ".join(t["content"] for t in session["turns"])
        assert not mine & {t["content"] for t in session["turns"] if t["role"] == "user"}
        assert fixture.expected.lower() not in text.lower().split()
        assert not any(match(f.secret, text).verbatim for f in fixtures(plan))


def test_a_horizon_longer_than_the_data() -> None:
    with pytest.raises(ConfigError, match=r"--horizon 9: only 4 sessions of other instances"):
        planned(people(3), horizon="9")


def test_more_instances_than_there_are() -> None:
    with pytest.raises(ConfigError, match=r"--instances 9: --data people has 3 usable instances"):
        planned(people(3), instances=9)


def test_instances_are_drawn_by_the_seed_without_repeats() -> None:
    def drawn(seed: int) -> list[str]:
        return [f.source_id for f in fixtures(planned(people(6), instances=3, seed=seed))]

    assert len(set(drawn(0))) == 3 and drawn(0) == drawn(0)
    assert len({tuple(drawn(seed)) for seed in range(8)}) > 1


def test_unanswerable_questions_are_left_out_and_counted() -> None:
    lost = person(1).model_copy(update={"answerable": False})
    plan = planned(dataset(person(0), lost, person(2)))
    assert [f.source_id for f in fixtures(plan)] == ["person-0", "person-2"]
    assert any("1 of 3 questions were left out" in note for note in plan.notes)
    kept = planned(dataset(person(0), lost, person(2)), include_unanswerable=True)
    assert len(fixtures(kept)) == 3


def test_a_record_that_can_take_no_canary_is_left_out() -> None:
    mute = Instance(
        id="mute",
        sessions=(Session(id="m", turns=(Turn(role="assistant", content="Hello?"),)),),
        question="?",
        expected="x",
    )
    plan = planned(dataset(person(0), mute))
    assert len(fixtures(plan)) == 1 and any("no user turn can take a canary" in n for n in plan.notes)
    with pytest.raises(ConfigError, match="no usable instance"):
        planned(dataset(mute))


def test_split_needs_two_turns() -> None:
    short = Instance(
        id="short",
        sessions=(Session(id="s", turns=(Turn(role="user", content="Hello there."),)),),
        question="What did I say?",
        expected="x",
        evidence=(),
    )
    with pytest.raises(ConfigError, match=r"--planted split: record 'short' has 1"):
        planned(dataset(short), planted="split")


def test_one_paraphrase_is_drawn_or_all_are_asked() -> None:
    one = planned(people(6), levels="0", k="1").plan
    every = planned(people(6), levels="0", k="1", all_paraphrases=True).plan
    for plan, count in ((one, 1), (every, 4)):
        asked = [p for p in plan.probes.values() if p.id.startswith("000-person-0/") and p.kind == "direct"]
        assert len(asked) == count and {p.text for p in asked} <= set(texts("direct"))
    assert len({p.text for p in one.probes.values() if p.kind == "direct"}) > 1


def test_hostile_record_ids_become_harmless_names() -> None:
    odd = person(0).model_copy(update={"id": "../../<script>\n" + "x" * 200})
    (name,) = planned(dataset(odd)).plan.fixtures
    assert name.startswith("000-") and len(name) < 50
    assert not set(name) & set("/<>\n ")


def test_names_that_end_alike_stay_apart() -> None:
    """Probe ids begin with the instance's name: one name must not be the beginning of another's path."""
    twins = [person(i).model_copy(update={"id": same}) for i, same in enumerate(("a", "a", "a/b"))]
    plan = planned(dataset(*twins), levels="0", k="1").plan
    assert len(plan.fixtures) == 3 and len(plan.episodes) == 3
    for episode in plan.episodes:
        asked = [s.probe for s in episode.steps if s.do == "ask"]
        assert len(asked) == 4 and all(p.startswith(episode.instance + "/") for p in asked)
