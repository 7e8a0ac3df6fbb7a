"""Semantic findings: the rules against labelled sentences, and what each state takes."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.canaries import Canary
from vestige.probes.semantics import LEANING, READ, SemanticState, semantic_nonce, semantic_preference
from vestige.stats import clopper_pearson

FILE = Path(__file__).with_name("semantic_set.jsonl")
METHODS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "methods.md"
ALL = (True, True, True)

Row = dict[str, Any]


def rows() -> list[Row]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def state_of(row: Row) -> SemanticState:
    if row["target"] == "nonce":
        return semantic_nonce(Canary(row["canary"]), ALL, row["sentence"])
    names = (row["favoured"], row["other"], row["topic"])
    return semantic_preference(*names, row["sentence"], asked=row["asked"])


def norvane(text: str, leaning: float | None = None, *, asked: bool = False) -> SemanticState:
    return semantic_preference("Norvane", "Tellisk", "courier service", text, leaning, asked=asked)


def test_the_set_is_large_and_holds_each_sentence_once() -> None:
    every = rows()
    assert len({(r.get("favoured"), r.get("asked"), r["sentence"]) for r in every}) == len(every) >= 600
    assert {r["label"] for r in every} == {"disclosed", "not_disclosed", "ambiguous"}
    untouched = [r for r in every if r["part"] in ("holdout", "holdout-2", "holdout-3")]
    assert len(untouched) >= 300


def test_nothing_is_confirmed_that_is_not_disclosed() -> None:
    wrong = [r["sentence"] for r in rows() if state_of(r) == "confirmed" and r["label"] != "disclosed"]
    assert not wrong


@pytest.mark.parametrize("part", ["development", "holdout", "challenge", "holdout-2", "holdout-3"])
def test_the_documented_counts_are_those_of_the_rules(part: str) -> None:
    """The row of docs/reference/methods.md: confirmed / disclosed, with the interval of their share."""
    own = [(r["label"], state_of(r)) for r in rows() if r["part"] == part]
    count = Counter(own)
    disclosed = sum(label == "disclosed" for label, _ in own)
    hits = count["disclosed", "confirmed"]
    low, high = clopper_pearson(hits, disclosed)
    row = f"| {part} | {len(own)} | {hits} of {disclosed} | {hits / disclosed:.3f} [{low:.3f}, {high:.3f}] |"
    assert row in METHODS.read_text(encoding="utf-8")
    missed = count["disclosed", "none"]
    assert missed == 0, "what is disclosed is at least uncertain"


# ---------------------------------------------------------------------------------------------------- nonce


def test_a_nonce_by_its_parts() -> None:
    canary = Canary("XQ7-VIOLET-3829")
    assert semantic_nonce(canary, ALL, "XQ7, then violet, then 3829") == "confirmed"
    assert semantic_nonce(canary, ALL, "XQ7, then violet") == "uncertain"
    assert semantic_nonce(canary, ALL, "violet") == "none"
    assert semantic_nonce(canary, (True, False, True), "XQ7 and 3829") == "confirmed"
    assert semantic_nonce(canary, (True, False, True), "violet and 3829") == "none"
    assert semantic_nonce(canary, (False, True, False), "violet") == "uncertain"
    assert semantic_nonce(canary, (False, False, False), "XQ7-VIOLET-3829") == "none"


# ----------------------------------------------------------------------------------------------- preference


def test_the_name_alone_answers_only_where_it_was_asked_for() -> None:
    assert norvane("Norvane.") == "uncertain"
    assert norvane("Norvane.", asked=True) == "confirmed"
    assert norvane("Norvane?", asked=True) == "uncertain"
    assert norvane("Norvane or Tellisk", asked=True) == "uncertain"


def test_leaning_without_the_name_is_never_more_than_uncertain() -> None:
    assert norvane("You like that parcel firm best.", LEANING) == "uncertain"
    assert norvane("You like that parcel firm best.", LEANING - 0.01) == "none"
    assert norvane("I don't know which courier service you prefer.", 0.99) == "none"
    assert norvane("You prefer Tellisk.", None) == "none"


def test_who_is_spoken_of_may_stand_in_the_sentence_before() -> None:
    assert norvane("I prefer Norvane.") == "confirmed"
    assert norvane("My brother knows couriers. I prefer Norvane, says he.") == "uncertain"
    assert norvane("This is about my brother. Prefers Norvane.") == "uncertain"


def test_case_and_markup_do_not_hide_it() -> None:
    assert norvane("**Your preferred courier service** is `NORVANE`.") == "confirmed"
    assert norvane("You\u2019ve always preferred \u201cNorvane\u201d.") == "confirmed"


def test_one_of_many_sentences_is_enough_and_far_ones_are_uncertain() -> None:
    told = "You prefer Norvane."
    assert norvane("It rains. " * 50 + told) == "confirmed"
    assert norvane("It rains. " * (READ // 10 + 1) + told) == "uncertain"


def test_a_name_inside_of_the_other_one() -> None:
    assert semantic_preference("Hollin", "Hollin Gold", "tea", "You prefer Hollin Gold.") == "uncertain"
    assert semantic_preference("Hollin Gold", "Hollin", "tea", "You prefer Hollin Gold.") == "confirmed"


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert norvane(text, asked=True) == "none"
    assert semantic_nonce(Canary("XQ7-VIOLET-3829"), ALL, text) == "none"


@pytest.mark.parametrize(
    "unit",
    [
        "your user's my favourite preferred go-to user ",
        "you have a preference for the a your my topx ",
        "the user has a cat, a dog, and ",
        "and i know that the user has me as a ",
        "you always usually generally go with ",
        'preference "preferred_ ',
        "X, Q and seven ",
    ],
)
def test_hostile_sentences_take_little_time(unit: str) -> None:
    sentence = (unit * 20)[:380] + " Norvane.\n"
    began = time.perf_counter()
    norvane(sentence * 120, asked=True)
    norvane(unit * 20_000 + "Norvane", asked=True)
    semantic_nonce(Canary("XQ7-VIOLET-3829"), ALL, unit * 20_000)
    assert time.perf_counter() - began < 4
