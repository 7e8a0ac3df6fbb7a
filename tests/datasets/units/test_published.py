from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige.datasets import load_units
from vestige.datasets.units import UnitMix, write_units
from vestige.errors import DataError, StorageError

from .records import locomo, unit, unit_file, written


def test_the_published_layout_is_seen_and_read(tmp_path: Path) -> None:
    data = load_units(written(tmp_path, unit_file()))
    assert (data.name, data.license, data.users) == ("perltqa", "CC BY-NC 4.0", ("7",))
    assert [(u.id, u.member, u.group) for u in data.units["7"]] == [
        ("m1", True, "1_0_0"),
        ("m2", True, "1_0_0"),
        ("n1", False, "1_1_0"),
        ("n2", False, None),
    ]
    assert data.units["7"][3].topic == "goats"
    assert data.units["7"][0].sources == ("1_0_0#3",)


def test_what_stands_on_both_sides_is_counted_and_left_out_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, unit_file())
    kept, dropped = load_units(path), load_units(path, drop_duplicates=True)
    assert (kept.counts.shared_members, kept.counts.shared_non_members, kept.dropped) == (1, 1, 0)
    assert (kept.counts.members, kept.counts.non_members) == (2, 2)
    assert any("equal a member" in note for note in kept.notes)
    assert [u.id for u in dropped] == ["m2", "n1"]
    assert (dropped.counts.shared_members, dropped.dropped) == (0, 2)


def test_the_same_text_of_two_users_is_no_duplicate(tmp_path: Path) -> None:
    users = {
        "a": {"members": [unit("Ada owns a goat.")], "non_members": [unit("Ada owns a cow.")]},
        "b": {"members": [unit("Ada owns a cow.")], "non_members": [unit("Ada owns a goat.")]},
    }
    data = load_units(written(tmp_path, unit_file(users=users)), drop_duplicates=True)
    assert data.counts.units == 4


def test_a_bare_file_needs_content_alone_and_repeated_ids_are_numbered(tmp_path: Path) -> None:
    users = {"a": {"members": [{"content": "one two"}], "non_members": [{"content": "three", "id": "x"}]}}
    users["b"] = {"members": [{"content": "four", "id": "x"}], "non_members": []}
    data = load_units(written(tmp_path, {"users": users}))
    assert [u.id for u in data] == ["a:0", "x", "x~2"]
    assert data.name == "units"
    assert any("1 units have an id" in note for note in data.notes)


def test_a_name_that_is_no_name_is_not_taken_over(tmp_path: Path) -> None:
    metadata = {"dataset_name": "<script>alert(1)</script>"}
    assert load_units(written(tmp_path, unit_file(metadata=metadata))).name == "units"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"content": 3}, "members[0].content: expected text, got an integer"),
        ({"content": " "}, "members[0].content"),
        ({"is_member": False}, "members[0].is_member: expected true"),
        ({"is_member": "yes"}, "members[0].is_member: expected true or false"),
        ({"user_id": 8}, "members[0].user_id: expected '7'"),
        ({"kind": "odd"}, "members[0].kind: expected one of plain"),
        ({"sources": "x"}, "members[0].sources: expected a list"),
        ({"id": ["x"]}, "members[0].id"),
    ],
)
def test_a_malformed_unit_names_user_list_and_field(tmp_path: Path, change: Any, expected: str) -> None:
    whole = unit_file()
    whole["users"]["7"]["members"][0] |= change
    with pytest.raises(DataError) as caught:
        load_units(written(tmp_path, whole))
    assert f"record 0, field users.7.{expected}" in str(caught.value)


def test_a_user_without_a_side_is_malformed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"field users\.a\.non_members: expected a list, got null"):
        load_units(written(tmp_path, {"users": {"a": {"members": []}}}), format="units")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    for data in (
        load_units("synthetic:3", mix=UnitMix(units=30)),
        load_units(written(tmp_path, [locomo()])),
        load_units(written(tmp_path, unit_file())),
    ):
        target = tmp_path / "units.json"
        write_units(data, target)
        again = load_units(target)
        assert again.name == data.name
        assert again.counts == data.counts
        by_id = {u.id: u for u in again}
        for unit_ in data:
            assert by_id[unit_.id] == unit_


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    data = load_units(written(tmp_path, unit_file()))
    with pytest.raises(StorageError, match="cannot be written"):
        write_units(data, tmp_path / "absent" / "units.json")
