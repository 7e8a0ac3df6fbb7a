from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestige
from vestige.datasets import UnitDataset, load_units
from vestige.datasets.units import UNIT_FORMATS, normalised, unit_names
from vestige.datasets.units.split import Splitter
from vestige.errors import ConfigError, DataError

from .records import locomo, msc, perltqa, unit_file, written


def test_it_is_reached_like_load() -> None:
    assert vestige.datasets.load_units is load_units
    assert "load_units" in vestige.datasets.__all__
    assert isinstance(load_units("synthetic:1"), UnitDataset)


def test_the_layout_is_seen_from_the_content(tmp_path: Path) -> None:
    for records, name in (
        ([locomo()], "locomo"),
        (perltqa("Ada"), "perltqa"),
        (msc(), "msc"),
        (unit_file(metadata=None), "units"),
    ):
        assert load_units(written(tmp_path, records), extractor="extractive").name == name


def test_names_are_the_public_files_and_the_generator() -> None:
    assert unit_names() == ("locomo", "synthetic", "synthetic:N")
    assert set(UNIT_FORMATS) == {"units", "locomo", "perltqa", "msc"}


@pytest.mark.parametrize("records", [[{"prompt": "x"}], [1], ["x"], {"data": []}, {"users": []}, [{}]])
def test_an_unknown_layout_says_what_was_expected(tmp_path: Path, records: object) -> None:
    with pytest.raises(DataError) as caught:
        load_units(written(tmp_path, records))
    assert "expected" in str(caught.value) and "data.json" in str(caught.value)


def test_an_empty_file_and_one_without_units_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no record"):
        load_units(written(tmp_path, []))
    with pytest.raises(DataError, match="holds no unit"):
        load_units(written(tmp_path, [locomo(observation={})]))


def test_wrong_arguments_say_what_was_expected(tmp_path: Path) -> None:
    path = written(tmp_path, [locomo()])
    with pytest.raises(ConfigError, match="expected one of units, locomo"):
        load_units(path, format="csv")
    with pytest.raises(ConfigError, match="mix is for synthetic"):
        load_units(path, mix=vestige.datasets.units.UnitMix())
    for name in ("absent.json", "", "a\0b"):
        with pytest.raises(DataError, match="expected a path, or one of locomo, synthetic"):
            load_units(name)


def test_a_file_over_the_limit_and_one_that_is_not_utf_8_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, [locomo()])
    path.write_bytes(path.read_bytes().replace(b"windmill", b"w\xffndmill"))
    with pytest.raises(DataError, match="is not UTF-8"):
        load_units(path)
    monkeypatch.setenv("VESTIGE_MAX_DATA_BYTES", "100")
    with pytest.raises(DataError, match="more than the limit"):
        load_units(path)


@pytest.mark.parametrize("name", ["\ud800", " ", "x" * 201])
def test_a_key_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    sample = locomo()
    sample["observation"]["session_1_observation"] = {name: [["x y", "D1:1"]]}
    for records in (
        [sample],
        perltqa("Ada") | {name: {}},
        {"users": {"a": {"members": [], "non_members": []}, name: {}}},
    ):
        with pytest.raises(DataError, match="names of 1 to 200 characters") as caught:
            load_units(written(tmp_path, records), extractor="extractive")
        str(caught.value).encode()


def test_normalised_is_case_space_and_punctuation_blind() -> None:
    assert normalised("  Ada's  GOAT,\tPlum! ") == "adas goat plum"
    assert normalised("ＡＤＡ owns a goat.") == normalised("Ada owns a goat")
    assert normalised("now here") != normalised("nowhere")
    assert normalised(" !!  ? ") == "!! ?"


@given(st.text(max_size=60))
def test_normalised_is_idempotent_on_words(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


@given(st.lists(st.text(max_size=4), unique=True, max_size=30), st.integers(0, 99))
def test_a_split_takes_half_of_the_groups_rounded_down(groups: list[str], seed: int) -> None:
    members = Splitter(seed).members([*groups, *groups])
    assert len(members) == len(groups) // 2
    assert members <= set(groups)
    assert Splitter(seed).members(groups) == members
