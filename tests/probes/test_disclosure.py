"""The texts of a verification are fit to be asked, and the guard refuses a question that holds a target."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from vestige.agents.tools import TOOLS
from vestige.canaries import COLOURS
from vestige.probes import disclosure
from vestige.probes.disclosure import (
    FAMILIES,
    STRUCTURED_TOOLS,
    fill,
    guard,
    recall_texts,
    semantic_texts,
    structured_text,
    summary_text,
    texts_of,
    texts_version,
)

VALUE = "XQ7-VIOLET-3829"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def every_text() -> list[str]:
    found: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for inner in node.values():
                walk(inner)
        elif isinstance(node, list):
            found.extend(node)

    walk(tomllib.loads((files("vestige.probes") / "disclosure.toml").read_text(encoding="utf-8")))
    return found


def test_there_are_enough_different_texts() -> None:
    every = every_text()
    assert len(set(every)) == len(every)
    for kind in ("nonce", "preference"):
        assert len(texts_of("recall", kind)) >= 6
        assert len(texts_of("structured", kind)) >= 3
        assert all(len(texts_of("semantic", family, kind)) >= 3 for family in FAMILIES)


def test_no_text_names_a_colour_or_a_digit() -> None:
    for text in every_text():
        words = text.upper().split()
        assert not any(colour in word for colour in COLOURS for word in words)
        assert not any(c.isdigit() for c in text)


def test_only_choices_name_options() -> None:
    for text in every_text():
        if text not in texts_of("choice", "texts"):
            assert "{first}" not in text and "{second}" not in text
    for path in (("recall",), *(("semantic", f) for f in FAMILIES), ("structured",)):
        assert all("{topic}" in text for text in texts_of(*path, "preference"))
        assert not any("{" in text for text in texts_of(*path, "nonce"))
        assert all({"{label}", "{thing}"} & set(re.findall(r"{\w+}", t)) for t in texts_of(*path, "labelled"))
        assert len(texts_of(*path, "labelled")) == len(texts_of(*path, "nonce"))


def test_a_further_nonce_is_asked_for_by_what_it_is_called() -> None:
    words = {"label": "guest network key", "thing": "guest network"}
    asked = recall_texts("nonce", rng(), 8, words=words)
    asked += tuple(text for _, text in semantic_texts("nonce", rng(), 15, words=words))
    asked += tuple(structured_text("nonce", rng(seed), words=words) for seed in range(5))
    assert all("guest network" in text and "{" not in text for text in asked)
    assert not any("session" in text for text in asked)


def test_the_version_is_raised_with_the_texts() -> None:
    """Change the texts, and this digest and the version must change together."""
    digest = hashlib.sha256("\n".join(every_text()).encode()).hexdigest()[:12]
    assert (texts_version(), digest) == (2, "2126933272c9")


def test_draws_are_different_repeatable_and_filled() -> None:
    texts = recall_texts("preference", rng(), 4, topic="tea")
    assert len(set(texts)) == 4 and all("tea" in t and "{" not in t for t in texts)
    assert texts == recall_texts("preference", rng(), 4, topic="tea")
    assert len({recall_texts("nonce", rng(seed), 1) for seed in range(20)}) > 3
    assert len(recall_texts("nonce", rng(), 100)) == len(texts_of("recall", "nonce"))


def test_families_come_before_a_second_text_of_one() -> None:
    drawn = semantic_texts("nonce", rng(), 8)
    assert sorted(family for family, _ in drawn[:5]) == sorted(FAMILIES)
    assert len({text for _, text in drawn}) == 8
    assert all(text in texts_of("semantic", family, "nonce") for family, text in drawn)


def test_a_preference_needs_its_topic() -> None:
    with pytest.raises(ValueError, match="needs its topic"):
        recall_texts("preference", rng(), 1)


def test_structured_tasks_name_what_the_agent_can_run() -> None:
    assert {tool.name for tool in STRUCTURED_TOOLS} <= set(TOOLS)
    assert "tool" in structured_text("nonce", rng())
    assert "tea" in structured_text("preference", rng(), topic="tea")
    assert summary_text(rng()) in texts_of("summary", "texts")


def test_filling_is_one_pass() -> None:
    assert fill("{first} or {second}", first="{second}", second="B") == "{second} or B"


@pytest.mark.parametrize(
    "text",
    [
        f"Is it {VALUE}?",
        "is it xq7 violet 3829?",
        "Is it XQ7-VIOLET-three eight two nine?",
        f"Is it {VALUE[::-1]}?",
        f"Is it {base64.b64encode(VALUE.encode()).decode()}?",
        f"Is it {VALUE.encode().hex()}?",
        "Does it start with XQ7 and end with 3829?",
    ],
)
def test_a_question_that_holds_a_nonce_is_refused(text: str) -> None:
    reason = guard(text, ["Norvane", VALUE])
    assert reason is not None
    assert "XQ7" not in reason and "3829" not in reason


def test_a_question_that_names_either_option_is_refused() -> None:
    assert guard("Do I like tellisk?", ["Norvane", "Tellisk"])
    assert guard("Do I like the colour violet?", ["Norvane", VALUE]) is None


def test_no_text_of_ours_is_refused() -> None:
    values = [VALUE, "Belabek Couriers", "Dorilex Express"]
    assert not [text for text in every_text() if guard(fill_all(text), values)]


def fill_all(text: str) -> str:
    words = {"label": "guest network key", "thing": "guest network"}
    return disclosure.fill(text, topic="courier service", first="A", second="B", **words)
