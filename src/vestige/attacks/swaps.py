"""A statement with one detail changed to another of its kind, for questions whose right answer is no. Rules. Ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from vestige.attacks.checks import stands_in
from vestige.attacks.question import texts
from vestige.attacks.slots import Slot, slots
from vestige.attacks.stems import listed, stem, stems
from vestige.text import content_words

__all__ = ["replaced", "swapped"]

_TO_PLACE = re.compile(
    r"\b(?:in|at|from|near|visit\w*|around|(?:mov|travel)\w*\ to|(?:trip|went|going|flew)\ to)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_][\w'’-]*")


def swapped(statement: str, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Statements that differ from the given one in one slot, each with its new value, the most natural changes first.

    Args:
        statement: In one line.
        rng: Draws the new values.
    """
    known = stems(statement)
    made: list[tuple[int, int, str, str]] = []
    for slot in slots(statement):
        found = _other(slot, statement, known, rng)
        if found is not None:
            rank, value, detail = found
            text = _put(statement, slot, value)
            if stands_in(detail, text) and not stands_in(detail, statement):
                made.append((rank, slot.start, text, detail))
    for _, _, text, value in sorted(made, key=lambda m: (m[0], m[1])):
        yield text, value


def _other(
    slot: Slot, statement: str, known: frozenset[str], rng: np.random.Generator
) -> tuple[int, str, str] | None:
    """How natural the change is (0 best), the new value, and the word of it that is new."""
    for word in reversed(list(_WORD.finditer(slot.value))):
        kind = _kind_of(word.group())
        if kind is None:
            continue
        new = _drawn(texts()["swap"][kind], known, rng)
        if new is None:
            return None
        if _plural(word.group()) and stem(word.group().lower()) in {
            stem(w.lower()) for w in texts()["swap"][kind]
        }:
            new = _pluralised(new)
        owned = re.search(r"['’]s?$", word.group())
        tail = owned.group() if owned else ""
        return 0, slot.value[: word.start()] + new + tail + slot.value[word.end() :], new
    digits = re.search(r"\d+", slot.value)
    if digits is not None:
        other = str(int(digits.group()[:9]) + int(rng.integers(2, 9)))
        value = slot.value[: digits.start()] + other + slot.value[digits.end() :]
        return 0, value, value
    if slot.kind == "name":
        before = statement[: slot.start]
        group = "title" if before[-1:] in "\"'“‘" else "town" if _TO_PLACE.search(before) else "name"
        new = _drawn(texts()["swap_other"][group], known, rng)
        return None if new is None else (3 if slot.value.isupper() else 1, new, new)
    head = slot.value.rsplit(" ", 1)[-1].lower()
    if slot.kind in ("time", "number") or slot.weak or head in listed("weak"):
        return None
    group = (
        "doing"
        if head.endswith("ing")
        else "done"
        if head.endswith("ed")
        else "things"
        if _plural(head)
        else "thing"
    )
    if slot.kind == "word" and group == "thing":  # it may be of any part of speech
        return None
    new = _drawn(texts()["swap_other"][group], known, rng)
    return None if new is None else (2 if slot.kind == "thing" else 4, new, new)


@cache
def _kinds() -> dict[str, str]:
    """The list that a word, in lower case and in the singular or as it stands, is on first."""
    out: dict[str, str] = {}
    for kind, words in texts()["swap"].items():
        for word in words:
            out.setdefault(word.lower(), kind)
            out.setdefault(_pluralised(word.lower()), kind)
    return out


def _kind_of(word: str) -> str | None:
    said = word.lower().removesuffix("'s").removesuffix("’s")
    kind = None if said in listed("weak") else _kinds().get(said)
    return None if kind in ("weekday", "month") and word.islower() else kind


def _drawn(words: list[str], known: frozenset[str], rng: np.random.Generator) -> str | None:
    fresh = [word for word in words if not {stem(w) for w in content_words(word)} & known]
    return fresh[int(rng.integers(len(fresh)))] if fresh else None


def _plural(word: str) -> bool:
    said = word.lower()
    return said.endswith("s") and not said.endswith(("ss", "us", "is", "'s", "’s"))


def _pluralised(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _put(statement: str, slot: Slot, value: str) -> str:
    """The statement with the slot's value replaced, and the article before it as the new one wants it."""
    before = statement[: slot.start]
    vowel = value[:1].lower() in "aeiou" and bool(value)
    before = re.sub(r"\b([Aa])n?(\s+)$", lambda m: m[1] + ("n" if vowel else "") + m[2], before)
    return before + value + statement[slot.stop :]


def replaced(text: str, detail: str, other: str) -> str | None:
    """The text with a detail changed wherever it stands, and the article before it as the new one wants it.

    None where the detail does not stand in the text as it is written, in any case.
    """
    found = list(re.finditer(rf"(?<!\w){re.escape(detail)}(?!\w)", text, re.IGNORECASE)) if detail else []
    for match in reversed(found):
        slot = Slot("word", match.start(), match.end(), match.group())
        text = _put(text, slot, other)
    return text if found else None
