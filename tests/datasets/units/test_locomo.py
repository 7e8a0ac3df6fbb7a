from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from vestige.datasets import load_units
from vestige.errors import DataError

from .records import locomo, written

PUBLISHED = {
    "conv-26": (87, 97),
    "conv-30": (92, 77),
    "conv-41": (165, 159),
    "conv-42": (128, 138),
    "conv-43": (129, 138),
    "conv-44": (129, 148),
    "conv-47": (141, 127),
    "conv-48": (145, 146),
    "conv-49": (121, 119),
    "conv-50": (131, 124),
}
"""Members and non-members by user; their sums are those that MRMMIA publishes."""

FIRST_USERS = {
    "conv-26": [5, 6, 7, 10, 13, 14, 15, 16, 18],
    "conv-30": [2, 4, 6, 9, 11, 12, 13, 15, 17],
    "conv-50": [1, 2, 3, 6, 9, 10, 11, 13, 15, 17, 20, 22, 23, 28, 29],
}
"""Sessions that are members."""


def member_sessions(data: Any, user: str) -> list[int]:
    return [int(name.removeprefix("session_")) for name in data.groups(user, member=True)]


@pytest.mark.data
def test_the_public_release_splits_into_the_published_counts(data_folder: Path) -> None:
    data = load_units(data_folder / "locomo" / "locomo10.json")
    sides = {user: (len(data.members(user)), len(data.non_members(user))) for user in data.users}
    assert sides == PUBLISHED
    assert (data.counts.users, data.counts.units) == (10, 2541)
    assert (data.counts.members, data.counts.non_members) == (1268, 1273)
    assert data.sha256 == "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
    assert len({unit.id for unit in data}) == 2541


@pytest.mark.data
def test_the_session_lists_are_those_of_one_generator_for_the_whole_file(data_folder: Path) -> None:
    data = load_units(data_folder / "locomo" / "locomo10.json")
    for user, sessions in FIRST_USERS.items():
        assert member_sessions(data, user) == sessions
    rng = random.Random(42)
    for user in data.users:
        both = {u.session for u in data.units[user] if u.session}
        shuffled = sorted(both, key=lambda name: int(name.removeprefix("session_")))
        rng.shuffle(shuffled)
        assert set(data.groups(user, member=True)) == set(shuffled[: len(shuffled) // 2])


@pytest.mark.data
def test_a_second_reading_and_a_part_of_the_users_split_alike(data_folder: Path) -> None:
    path = data_folder / "locomo" / "locomo10.json"
    whole, again, part = load_units(path), load_units(path), load_units(path, n=3)
    assert dict(whole.units) == dict(again.units)
    assert part.users == whole.users[:3]
    assert all(part.units[user] == whole.units[user] for user in part.users)
    assert part.sha256 == whole.sha256
    assert dict(load_units(path, seed=43).units) != dict(whole.units)


def test_a_session_is_never_divided(tmp_path: Path) -> None:
    data = load_units(written(tmp_path, [locomo("a"), locomo("b", sessions=5), locomo("c", sessions=1)]))
    for user in data.users:
        members, others = (set(data.groups(user, member=side)) for side in (True, False))
        assert not members & others
    assert [len(data.groups(user, member=True)) for user in data.users] == [2, 2, 0]
    assert [len(data.groups(user, member=False)) for user in data.users] == [2, 3, 1]
    assert data.counts.one_sided_users == 1
    assert any("members alone" in note for note in data.notes)


def test_units_keep_speaker_session_and_evidence_in_the_order_of_sessions(tmp_path: Path) -> None:
    units = load_units(written(tmp_path, [locomo(sessions=2)])).units["conv-1"]
    assert [u.session for u in units] == ["session_1", "session_1", "session_2", "session_2"]
    assert [u.subject for u in units] == ["Ada", "Ben", "Ada", "Ben"]
    assert units[0].sources == ("D1:1",)
    assert units[1].sources == ("D1:2", "D1:3")
    assert {u.kind for u in units} == {"plain"}


def test_blank_observations_are_left_out_and_said(tmp_path: Path) -> None:
    sample = locomo(sessions=2)
    sample["observation"]["session_1_observation"]["Ada"].append(["  ", "D1:9"])
    data = load_units(written(tmp_path, [sample]))
    assert data.counts.units == 4
    assert any("1 observations without text" in note for note in data.notes)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"session_1_observation": {"Ada": [[3, "D1:1"]]}}, "session_1_observation.Ada[0][0]"),
        ({"session_1_observation": {"Ada": [["x y", 3]]}}, "session_1_observation.Ada[0][1]"),
        ({"session_1_observation": {"Ada": [["x y", [3]]]}}, "session_1_observation.Ada[0][1][0]"),
        ({"session_1_observation": {"Ada": ["x y"]}}, "session_1_observation.Ada[0]"),
        ({"session_1_observation": {"Ada": [[]]}}, "session_1_observation.Ada[0]"),
        ({"session_1_observation": []}, "session_1_observation"),
        ({"session_1_observation": {"Ada": [["y" * 4001, "D1:1"]]}}, "session_1_observation.Ada[0][0]"),
        (
            {"session_1_observation": {}, "session_01_observation": {}},
            "field observation: expected one entry",
        ),
        ([], "field observation"),
    ],
)
def test_a_malformed_observation_names_record_and_field(tmp_path: Path, change: Any, field: str) -> None:
    with pytest.raises(DataError) as caught:
        load_units(written(tmp_path, [locomo("fine"), locomo("bad", observation=change)]))
    message = str(caught.value)
    assert field in message and "record 1 (id bad)" in message and "data.json" in message
    assert "\n" not in message


def test_a_sample_id_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="an id that no earlier record has"):
        load_units(written(tmp_path, [locomo(), locomo()]))
