"""Granularity: how a turn becomes units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.errors import ConfigError
from vestige.memory.chunk import parse_granularity

TURN = "I moved to Oslo. My flat has 3 rooms! Any tips?"


def test_a_turn_a_sentence_and_n_tokens():
    assert parse_granularity("turn").cut(f"  {TURN}\n") == [TURN]
    assert parse_granularity("sentence").cut(TURN) == [
        "I moved to Oslo.",
        "My flat has 3 rooms!",
        "Any tips?",
    ]
    assert parse_granularity("tokens:4").cut(TURN) == [
        "I moved to Oslo.",
        "My flat has 3",
        "rooms! Any tips?",
    ]


@pytest.mark.parametrize("name", ["turn", "sentence", "tokens:1"])
def test_nothing_alphanumeric_makes_no_unit(name: str):
    assert parse_granularity(name).cut(" … !? ") == []


@pytest.mark.parametrize(
    "name", ["", "Turn", "tokens", "tokens:0", "tokens:-3", "tokens:1.5", "words:4", "tokens:٣"]
)
def test_anything_else_is_one_clear_line(name: str):
    with pytest.raises(ConfigError, match=r"write turn, sentence or tokens:N") as caught:
        parse_granularity(name)
    assert "\n" not in str(caught.value)


@given(text=st.text(), n=st.integers(1, 9))
def test_no_word_is_lost_or_doubled(text: str, n: int):
    words = " ".join(parse_granularity(f"tokens:{n}").cut(text)).split()
    assert [w for w in words if any(map(str.isalnum, w))] == [
        w for w in text.split() if any(map(str.isalnum, w))
    ]


@pytest.mark.parametrize("name", ["turn", "sentence", "tokens:64"])
def test_its_name_reads_back(name: str):
    assert str(parse_granularity(name)) == name
