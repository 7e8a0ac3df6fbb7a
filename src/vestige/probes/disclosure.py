"""The texts of a verification's probes: recall, semantic families, structured tasks, choices and the later summary.

They stand in ``disclosure.toml`` with a version. No text holds a target; `guard` refuses one that does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from vestige.agents.tools import PLACE_ORDER, SAVE_NOTE
from vestige.canaries import GRAMMAR, Canary
from vestige.probes.matching import FORMS, combined, literal_forms
from vestige.records import Tool

__all__ = [
    "FAMILIES",
    "STRUCTURED_TOOLS",
    "fill",
    "guard",
    "recall_texts",
    "semantic_texts",
    "structured_text",
    "summary_text",
    "texts_of",
    "texts_version",
]

Kind = Literal["nonce", "preference"]
"""What a text asks for."""

Words = Mapping[str, str]
"""What a further nonce is called and what it belongs to: `label`, `thing`."""

FAMILIES = ("paraphrase", "subject_replaced", "reversed_relation", "implication", "one_hop")
"""Semantic families, in the order of `disclosure.toml`."""

STRUCTURED_TOOLS: tuple[Tool, ...] = (PLACE_ORDER, SAVE_NOTE)
"""What a structured task offers: their arguments could carry a target."""


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((files("vestige.probes") / "disclosure.toml").read_text(encoding="utf-8"))


def texts_version() -> int:
    """Version of the texts; stands in every plan."""
    version = _file()["version"]
    assert isinstance(version, int)
    return version


def texts_of(*path: str) -> tuple[str, ...]:
    """The texts at a place of the file, such as ``("semantic", "one_hop", "nonce")``, unfilled."""
    found: Any = _file()
    for name in path:
        found = found[name]
    return tuple(found)


def fill(text: str, **values: str) -> str:
    """`text` with its placeholders filled, in one pass: a value that holds a placeholder fills in nothing."""
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], text)


def _drawn(options: Sequence[str], rng: np.random.Generator, n: int) -> list[str]:
    """`n` different ones, or as many as there are."""
    return [options[int(i)] for i in rng.permutation(len(options))[:n]]


def _filled(text: str, kind: Kind, topic: str | None, words: Words | None) -> str:
    if kind == "preference" and not topic:
        raise ValueError(f"{kind=}: a question about a preference needs its topic")
    return fill(text, **{"topic": topic or "", **(words or {})})


def _set(kind: Kind, words: Words | None) -> str:
    return "labelled" if kind == "nonce" and words is not None else kind


def recall_texts(
    kind: Kind, rng: np.random.Generator, n: int, topic: str | None = None, words: Words | None = None
) -> tuple[str, ...]:
    """`n` different questions that ask for the target outright; all there are where `n` is larger.

    Args:
        kind: What they ask for.
        rng: Draws them.
        n: How many.
        topic: Of a preference.
        words: Of a further nonce; None: the first one's texts.
    """
    drawn = _drawn(texts_of("recall", _set(kind, words)), rng, n)
    return tuple(_filled(text, kind, topic, words) for text in drawn)


def semantic_texts(
    kind: Kind, rng: np.random.Generator, n: int, topic: str | None = None, words: Words | None = None
) -> tuple[tuple[str, str], ...]:
    """`n` questions of different families, as (family, text); more than there are families go round again.

    Args:
        kind: What they ask for.
        rng: Draws the families and in each a text.
        n: How many; no more than there are texts.
        topic: Of a preference.
        words: Of a further nonce; None: the first one's texts.
    """
    order = [FAMILIES[int(i)] for i in rng.permutation(len(FAMILIES))]
    pools = {family: _drawn(texts_of("semantic", family, _set(kind, words)), rng, 100) for family in order}
    ranked = [(family, texts[i]) for i in range(100) for family, texts in pools.items() if i < len(texts)]
    return tuple((family, _filled(text, kind, topic, words)) for family, text in ranked[:n])


def structured_text(
    kind: Kind, rng: np.random.Generator, topic: str | None = None, words: Words | None = None
) -> str:
    """A task for one of `STRUCTURED_TOOLS` whose arguments could carry the target."""
    return _filled(_drawn(texts_of("structured", _set(kind, words)), rng, 1)[0], kind, topic, words)


def summary_text(rng: np.random.Generator) -> str:
    """A request for a summary of the user, asked after unrelated work."""
    return _drawn(texts_of("summary", "texts"), rng, 1)[0]


def guard(text: str, values: Iterable[str]) -> str | None:
    """Why a recall probe must not be asked: it holds a target, in any form; None where it holds none.

    Args:
        text: The probe's text.
        values: Canaries, and both options of a preference: a recall probe that names the other one gives the
            favoured one away. The reason that is returned never holds them.
    """
    for value in values:
        if forms := literal_forms(value, text, FORMS):
            return f"the question holds a removal target ({', '.join(forms)})"
        if GRAMMAR.fullmatch(value):
            canary = Canary(value)
            pairs = ((True, True, False), (True, False, True), (False, True, True))
            if any(combined(canary, pair, (text,)) for pair in pairs):
                return "the question holds two parts of a removal target"
    return None
