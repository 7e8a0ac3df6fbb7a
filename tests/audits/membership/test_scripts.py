"""The episodes of an audit: who is asked about what, in which order, and what the agent is never told."""

from __future__ import annotations

import json

import pytest

from vestige.audits.membership.scripts import build_scripts
from vestige.audits.membership.settings import MembershipSettings
from vestige.datasets.units import Unit, UnitDataset, UnitMix, generate_units
from vestige.datasets.units.dataset import count_units
from vestige.errors import ConfigError
from vestige.runs.steps import AskAbout, Remember

DATA = generate_units(6, seed=3)


def data(**sides: tuple[int, int]) -> UnitDataset:
    """Users with so many members and non-members."""
    units = {
        user: [
            Unit(id=f"{user}:{i}", user=user, text=f"{user} keeps item {i}.", member=i < members)
            for i in range(members + others)
        ]
        for user, (members, others) in sides.items()
    }
    return UnitDataset("made", "made", "0" * 64, "none", units, count_units(units))


def asked(scripts) -> list[tuple[str, str]]:
    return [(e.instance, s.candidate) for e in scripts.episodes for s in e.steps if isinstance(s, AskAbout)]


def test_the_same_seed_asks_the_same_and_another_one_mixes_otherwise() -> None:
    one, same = (build_scripts(DATA, MembershipSettings(), 5, {}) for _ in range(2))
    assert one.episodes == same.episodes and one.fixtures == same.fixtures and one.blobs == same.blobs
    other = build_scripts(DATA, MembershipSettings(), 6, {})
    assert sorted(asked(other)) == sorted(asked(one)) and asked(other) != asked(one)


def test_every_candidate_once_in_chunks_users_by_turns() -> None:
    scripts = build_scripts(DATA, MembershipSettings(chunk=7), 5, {})
    assert sorted(asked(scripts)) == sorted((u.user, u.id) for u in DATA)
    assert all(1 <= sum(isinstance(s, AskAbout) for s in e.steps) <= 7 for e in scripts.episodes)
    assert len({e.id for e in scripts.episodes}) == len(scripts.episodes)
    # so that a run that stops early has seen all users
    assert [e.instance for e in scripts.episodes[:6]] == list(DATA.users)
    assert sorted(e.id for e in scripts.episodes if e.instance == DATA.users[0]) == [
        e.id for e in scripts.episodes if e.instance == DATA.users[0]
    ]


def test_an_early_end_has_seen_members_and_others_of_a_user() -> None:
    scripts = build_scripts(DATA, MembershipSettings(), 5, {})
    for user in DATA.users:
        labels = scripts.fixtures[user]["labels"]
        first = [c for who, c in asked(scripts) if who == user][:10]
        assert 0 < sum(labels[c][0] for c in first) < 10


def test_per_user_tests_fewer_and_stores_all() -> None:
    scripts = build_scripts(DATA, MembershipSettings(per_user=4), 5, {})
    for user in DATA.users:
        labels = [label for label, _ in scripts.fixtures[user]["labels"].values()]
        assert (sum(labels), len(labels)) == (4, 8)
        stored = json.loads(scripts.blobs[scripts.fixtures[user]["stored"]])
        assert {u["id"] for u in stored} == {u.id for u in DATA.members(user)}
        assert scripts.fixtures[user]["n_stored"] == len(stored)


def test_fewer_users_are_drawn_and_more_than_there_are_is_a_mistake() -> None:
    scripts = build_scripts(DATA, MembershipSettings(users=2), 5, {})
    assert len(scripts.fixtures) == 2 and set(scripts.fixtures) < set(DATA.users)
    with pytest.raises(ConfigError, match="--users 7: the data has 6"):
        build_scripts(DATA, MembershipSettings(users=7), 5, {})


def test_nothing_that_is_handed_to_an_agent_or_an_attacker_has_a_label() -> None:
    scripts = build_scripts(DATA, MembershipSettings(), 5, {})
    for episode in scripts.episodes:
        remember = episode.steps[0]
        assert isinstance(remember, Remember)
        for step in episode.steps:
            assert "member" not in step.model_dump_json().replace("membership", "").replace("remember", "")
    for blob in scripts.blobs.values():
        held = json.loads(blob)
        for item in held if isinstance(held, list) else [held]:
            assert set(item) <= {"id", "text", "session", "turns", "date", "metadata", "time"}, item


def test_by_equivalence_other_words_for_what_is_stored_make_a_member() -> None:
    units = [
        Unit(id="m", user="u", text="Ada owns a boat.", member=True),
        Unit(id="same", user="u", text="ada owns a BOAT", member=False),
        Unit(id="other", user="u", text="Ada owns a bike.", member=False),
    ]
    made = UnitDataset("made", "made", "0" * 64, "none", {"u": units}, count_units({"u": units}))
    for rule, label in (("exact", False), ("equivalence", True)):
        scripts = build_scripts(made, MembershipSettings(rule=rule), 5, {})
        labels = scripts.fixtures["u"]["labels"]
        assert (labels["m"][0], labels["same"][0], labels["other"][0]) == (True, label, False)


def test_users_with_one_side_alone_are_left_out_and_told() -> None:
    scripts = build_scripts(data(a=(2, 2), b=(3, 0), c=(0, 3)), MembershipSettings(), 5, {})
    assert set(scripts.fixtures) == {"a"}
    assert scripts.notes == ["2 users have members alone or non-members alone: not tested."]
    assert build_scripts(data(a=(1, 1)), MembershipSettings(), 5, {}).notes == []
    with pytest.raises(ConfigError, match="--data made: no user has both members and non-members"):
        build_scripts(data(b=(3, 0)), MembershipSettings(), 5, {})


def test_two_statements_of_one_id_are_refused_before_anything_is_asked() -> None:
    made = data(a=(1, 1))
    twice = {"a": made.units["a"], "b": [u.model_copy(update={"user": "b"}) for u in made.units["a"]]}
    spoilt = UnitDataset("made", "made", "0" * 64, "none", twice, count_units(twice))
    with pytest.raises(ConfigError, match="two statements have the id 'a:"):
        build_scripts(spoilt, MembershipSettings(), 5, {})


def test_repeats_and_question_sets_say_how_many_exchanges_to_expect() -> None:
    settings = MembershipSettings(attacks=("mrmmia", "ia", "reference"), questions=3, repeats=2)
    assert settings.sets() == ("recall", "yes_no", "naive", "absent")
    scripts = build_scripts(generate_units(1, seed=2, mix=UnitMix()), settings, 5, {})
    steps = [s for e in scripts.episodes for s in e.steps if isinstance(s, AskAbout)]
    assert {(s.repeats, s.expected) for s in steps} == {(2, 2 * (3 + 3 + 1 + 1))}
