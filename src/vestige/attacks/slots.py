"""The values of a statement that a question can ask for, found by rules; no model, no grammar. Ours; English.

A slot is a span of the statement: a number or date, a name that is not the subject's, a thing, a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from vestige.text import content_words

__all__ = ["Slot", "SlotKind", "slots", "subject_of"]

SlotKind = Literal["number", "name", "thing", "word"]
"""A number or date; a name; what stands after an article, a possessive or a preposition; any other telling word."""
MAX_STATEMENT = 4_000
"""Characters of a statement that are read."""

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun"
    r"|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_UNIT = r"(?:\ ?(?:%|percent|years?|months?|weeks?|days?|hours?|minutes?|km|miles?))?"
_NUMBER = re.compile(
    rf"(?:{_DAY}\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}})?|{_MONTH}\ {_DAY}(?:,?\ \d{{4}})?|{_MONTH}\ \d{{4}}"
    rf"|[$€£]?\d[\d.,:/-]*\d{_UNIT}|[$€£]?\d+{_UNIT})",
    re.VERBOSE,
)
_CAPITALISED = re.compile(r"\b[A-Z][\w'’-]*(?:\ (?:of\ |the\ )?[A-Z][\w'’-]*)*", re.VERBOSE)
_AFTER = (
    r"a|an|the|her|his|their|my|your|our|its|some|new|own|of|for|with|about|in|at|from|near|on|during|into|through|by"
    r"|called|named|like|as"
)
_THING = re.compile(
    rf"\b(?:{_AFTER})\ (?!(?:a|an|the|her|his|their|my|your|our|its|some)\ )([\w'’-]+(?:\ [\w'’-]+){{0,2}})",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W_][\w'’-]*")
_SUBJECT = re.compile(r"\s*[A-Z][\w'’-]*(?:\ [A-Z][\w'’-]*){0,3}")


@dataclass(frozen=True)
class Slot:
    """A span of the statement."""

    kind: SlotKind
    start: int
    stop: int
    value: str


def subject_of(statement: str) -> str:
    """The capitalised words that the statement begins with; empty where it begins otherwise."""
    found = _SUBJECT.match(statement)
    return "" if found is None else found.group().strip().removesuffix("'s").removesuffix("’s")


def slots(statement: str) -> list[Slot]:
    """The slots, the most telling kinds first, none overlapping an earlier one and none being the subject."""
    text = statement[:MAX_STATEMENT]
    subject = subject_of(text)
    taken = [(0, len(subject))] if subject else []
    out: list[Slot] = []
    for kind, start, stop in _candidates(text):
        while stop > start and not text[stop - 1].isalnum() and text[stop - 1] not in "%":
            stop -= 1
        value = text[start:stop]
        asked = [w for w in content_words(value) if w not in content_words(subject)]
        if not asked or any(start < b and a < stop for a, b in taken):
            continue
        taken.append((start, stop))
        out.append(Slot(kind, start, stop, value))
    return out


def _candidates(text: str) -> Iterator[tuple[SlotKind, int, int]]:
    for found in _NUMBER.finditer(text):
        yield "number", found.start(), found.end()
    for found in _CAPITALISED.finditer(text):
        if found.start() > 0 and found.group() not in ("I", "I'm", "I've"):
            yield "name", found.start(), found.end()
    for found in _THING.finditer(text):
        start, stop = _trimmed(text, found.start(1), found.end(1))
        if stop > start:
            yield "thing", start, stop
    # The verb stands first, and tells least.
    words = [m for m in _WORD.finditer(text) if content_words(m.group()) and not m.group().endswith("ly")]
    for found in sorted(words[2:], key=lambda m: (-len(m.group()), m.start())) + words[:2]:
        yield "word", found.start(), found.end()


_BREAK = re.compile(
    r"\b(?:and|or|but|for|with|that|who|which|to|in|on|at|of|from|by|as|is|was|are|were|has|have|had|will|because|when"
    r"|while|despite|during|after|before|since|last|next)\b"
)


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """Up to the first word that begins another phrase."""
    found = _BREAK.search(text, start, stop)
    if found is not None:
        stop = found.start()
    while stop > start and text[stop - 1] == " ":
        stop -= 1
    return start, stop
