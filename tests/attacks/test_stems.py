"""A word is known again in another form of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.attacks.stems import stem, stems

SAME = (
    "fish fishing fished fishes",
    "paint painter painting paintings painted",
    "celebrate celebration celebrating celebrated",
    "story stories",
    "horse horses",
    "box boxes",
    "buy bought buying buys",
    "run ran running runner",
    "child children",
    "hope hoped hopeful hopes",
    "study studied studies studying",
    "wife wives",
)


@pytest.mark.parametrize("forms", SAME)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


def test_other_words_have_other_stems() -> None:
    words = re.findall(
        r"\w+",
        "fish paint horse house hope shop story store run rain child chill bring bus business dance data king",
    )
    assert len({stem(word) for word in words}) == len(words)


@given(st.text(max_size=200))
def test_any_text_has_stems_that_are_words(text: str) -> None:
    assert all(stems(text))
