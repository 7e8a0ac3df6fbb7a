from __future__ import annotations

from pathlib import Path

import pytest

from vestige.datasets import load
from vestige.datasets.formats import Format, Parsed
from vestige.datasets.instance import Instance
from vestige.datasets.loading import FORMATS, names
from vestige.errors import ConfigError, DataError
from vestige.records import Session, Turn

from .records import locomo, longmemeval, written


def test_the_format_is_seen_from_the_content(tmp_path: Path) -> None:
    assert load(written(tmp_path, [longmemeval()])).name == "longmemeval"
    assert load(str(written(tmp_path, [locomo()]))).name == "locomo"
    assert load(written(tmp_path, [longmemeval()]), format="longmemeval").name == "longmemeval"


def test_a_format_given_wrongly_names_the_field_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="field sample_id"):
        load(written(tmp_path, [longmemeval()]), format="locomo")


def test_an_unknown_format_says_what_was_expected(tmp_path: Path) -> None:
    for records in ([{"prompt": "x"}], [1, 2], ["text"], [None], {"data": []}):
        with pytest.raises(DataError) as caught:
            load(written(tmp_path, records))
        message = str(caught.value)
        assert "is of no known format" in message
        assert "haystack_sessions" in message and "sample_id" in message


def test_an_empty_list_has_no_record(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no record"):
        load(written(tmp_path, []))
    with pytest.raises(DataError, match="holds no question"):
        load(written(tmp_path, [locomo(qa=[])]))


def test_a_later_record_that_is_no_object_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"record 1: expected an object, got a list"):
        load(written(tmp_path, [longmemeval(), []]))


@pytest.mark.parametrize(
    "name", ["nothing-here", "longmemeval:xl", "synthetic:", "synthetic:x", "a\0b", "x" * 5000]
)
def test_an_unknown_name_lists_the_names(name: str) -> None:
    with pytest.raises(DataError) as caught:
        load(name)
    assert all(known in str(caught.value) for known in names())


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="no format 'csv'; expected one of longmemeval, locomo"):
        load("anything", format="csv")
    with pytest.raises(ConfigError, match="synthetic:3 and n = 4 disagree"):
        load("synthetic:3", n=4)
    for n in (0, -1, 10**7):
        with pytest.raises(ConfigError, match="expected 1 to 1,000,000"):
            load("synthetic", n=n)
    with pytest.raises(ConfigError, match="seed is -1"):
        load("synthetic:3", seed=-1)


def test_synthetic_takes_its_number_from_name_or_argument() -> None:
    assert len(load("synthetic:3").instances) == 3
    assert load("synthetic", n=3) == load("synthetic:3", n=3)
    assert len(load("synthetic").instances) == 50


def test_a_loader_can_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(records: object) -> Parsed:
        session = Session(id="s", turns=(Turn(role="user", content="I like tea."),))
        return Parsed((Instance(id="only", sessions=(session,), question="?", expected="tea"),))

    added = Format("tea", lambda first: True, read, "anything", "CC0")
    monkeypatch.setitem(FORMATS, "tea", added)
    assert load(written(tmp_path, [{"leaf": 1}]), format="tea").license == "CC0"
    assert load(written(tmp_path, [{"leaf": 1}])).name == "tea"


@pytest.mark.parametrize("empty", ["", " "])
def test_no_name_is_no_folder(empty: str) -> None:
    with pytest.raises(DataError, match=r"^no data file .*expected a path, or one of"):
        load(empty)
