"""The scrubber removes what folds to the value, and says honestly what it cannot see."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.errors import ConfigError
from vestige.memory.scrub import MARKER, Scrubber
from vestige.text import fold

CANARY = "XQ7-VIOLET-3829"


@pytest.mark.parametrize(
    "copy",
    [
        CANARY,
        CANARY.lower(),
        "XQ7 - VIOLET - 3829",
        "xq7_violet_3829",
        "XQ7VIOLET3829",
        "X Q 7 V-I-O-L-E-T 3 8 2 9",
        "XQ7-VIOLET-3829",
        "XQ7\n- Violet\n- 3829",
    ],
)
def test_every_copy_that_folds_to_the_value_goes(copy: str):
    assert Scrubber(CANARY)(f"token: {copy}, ok?") == "token: , ok?"
    assert Scrubber(CANARY, replacement=MARKER)(f"token: {copy}, ok?") == f"token: {MARKER}, ok?"


@pytest.mark.parametrize(
    "text", [base64.b64encode(CANARY.encode()).decode(), "XQ7-VIO", "LET-3829", "no value here"]
)
def test_encoded_and_split_copies_are_out_of_its_reach(text: str):
    assert Scrubber(CANARY)(text) is text


def test_exact_leaves_other_spellings():
    scrub = Scrubber(CANARY, "exact")
    assert scrub(f"{CANARY} and {CANARY.lower()}") == f" and {CANARY.lower()}"


def test_a_short_value_goes_only_as_a_whole_word():
    assert Scrubber("12")("12 cats in 2012, or 1-2") == " cats in 2012, or "
    assert Scrubber("Rex")("Rex met T-Rexes and rex") == " met T-Rexes and "


@pytest.mark.parametrize("value", ["", "--", "  "])
def test_a_value_without_letters_is_refused(value: str):
    with pytest.raises(ConfigError, match="no letter or digit"):
        Scrubber(value)


pieces = st.sampled_from(
    ["XQ7", "-VIOLET-", "3829", "xq7", " violet ", CANARY, CANARY.lower(), "-", " ", "a", "é", "́"]
)


@settings(deadline=None, max_examples=300)
@given(parts=st.lists(pieces | st.text(max_size=3), max_size=14))
@pytest.mark.parametrize("replacement", ["", MARKER])
def test_no_folded_copy_is_left_and_a_second_time_changes_nothing(replacement: str, parts: list[str]):
    scrub = Scrubber(CANARY, replacement=replacement)
    cleaned = scrub("".join(parts))
    assert fold(CANARY) not in fold(cleaned)
    assert scrub(cleaned) == cleaned


@settings(deadline=None, max_examples=200)
@given(text=st.text(max_size=60))
def test_a_text_without_the_value_is_handed_back_as_it_is(text: str):
    if fold(CANARY) not in fold(text):
        assert Scrubber(CANARY)(text) is text


@pytest.mark.parametrize("value", ["redacted", "acted", "dactedre", "[REDACTED]"])
def test_a_value_that_the_marker_spells_does_not_loop(value: str):
    assert MARKER in Scrubber(value, replacement=MARKER)(f"it was {value} {value}")


def test_removal_takes_linear_time_on_a_large_text():
    text = f"{CANARY} and more words, " * 20_000
    assert Scrubber(CANARY)(text) == " and more words, " * 20_000
