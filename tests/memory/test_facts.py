"""A summary reply, as models really write them, becomes clean facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.memory.facts import MAX_CHARS, MAX_FACTS, parse_facts, parse_sentence


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        (
            "The user has 2 cats.\nThe user lives in Oslo.",
            ("The user has 2 cats.", "The user lives in Oslo."),
        ),
        ("The user has 2 cats. The user lives in Oslo.", ("The user has 2 cats.", "The user lives in Oslo.")),
        (
            "Sure! Here are the facts:\n\n- **The user** has `2` cats.\n* The user runs.",
            ("The user has 2 cats.", "The user runs."),
        ),
        (
            "1. The user is 43.\n2) The user is tall.\n(3) The user sings.",
            ("The user is 43.", "The user is tall.", "The user sings."),
        ),
        (
            "## Personal facts\n- The user has a dog.\n- The user has a dog.",
            ("Personal facts", "The user has a dog."),
        ),
        ("Key facts: The user wakes at 6:45 AM.", ("The user wakes at 6:45 AM.",)),
        ("Here is my time: 25:50.", ("25:50.",)),
        ("The user's time is 27:12: a record.", ("The user's time is 27:12: a record.",)),
        ("2023 was a good year for the user.", ("2023 was a good year for the user.",)),
        ('"The user likes tea."', ("The user likes tea.",)),
        ("The user has 2 cats. Do you have any tips?", ("The user has 2 cats.",)),
        ("None.", ()),
        ("No personal facts are mentioned.", ()),
        ("", ()),
        ("---\n<facts>\n</facts>\nPreferences:", ()),
    ],
)
def test_dressing_goes_and_facts_stay(reply: str, facts: tuple[str, ...]):
    assert parse_facts(reply) == facts


def test_a_reply_cut_off_by_its_limit_loses_its_half_fact():
    assert parse_facts("The user has a dog.\nThe user has a c", complete=False) == ("The user has a dog.",)
    assert parse_facts("The user has a very lo", complete=False) == ("The user has a very lo",)


def test_number_and_length_are_capped():
    looping = "\n".join(f"The user has {i} cats." for i in range(1000))
    assert len(parse_facts(looping)) == MAX_FACTS
    assert all(len(fact) <= MAX_CHARS for fact in parse_facts("word " * 5000))


def test_one_sentence_is_the_first_that_says_something():
    assert parse_sentence("Here is the summary:\nThe user likes tea. The user runs.") == (
        "The user likes tea.",
    )
    assert parse_sentence("None") == ()


@given(st.text())
def test_any_reply_gives_clean_lines(reply: str):
    facts = parse_facts(reply)
    assert len(set(facts)) == len(facts) <= MAX_FACTS
    for fact in facts:
        assert fact == fact.strip() and len(fact) <= MAX_CHARS and any(map(str.isalnum, fact))
