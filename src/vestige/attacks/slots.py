"""The values of a statement that a question can ask for, found by rules; no model, no grammar. Ours; English.

A slot is a span of the statement: a time, a number, a name that is not the subject's, a thing, a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from vestige.attacks.stems import irregular_forms, listed, stems
from vestige.text import content_words

__all__ = ["Slot", "SlotKind", "details", "slots", "subject_of"]

SlotKind = Literal["time", "number", "name", "thing", "word"]
"""A date or another time; a number; a name; an object or place of a few words; another telling word."""
MAX_STATEMENT = 4_000
"""Characters of a statement that are read."""
MAX_THING = 3
"""Words of a thing."""
MAX_SLOTS = 64
"""Of a statement."""

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun"
    r"|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_SPELLED = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|forty|fifty"
    r"|hundred|thousand|dozen)"
)
_PERIOD = r"(?:days?|weeks?|weekends?|months?|years?|decades?|hours?|minutes?|nights?)"
_TIME = re.compile(
    rf"\b(?:{_DAY}\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}})?|{_MONTH}\ {_DAY}(?:,?\ \d{{4}})?|{_MONTH},?\ \d{{4}}"
    r"|(?:in|since|on|until|by|last|next|this|early|late)"
    rf"\ (?:a\ )?(?P<bare>{_MONTH}(?:,?\ \d{{4}})?|{_WEEKDAY}s?|(?:19|20)\d\d)"
    r"|\d{1,2}:\d\d(?:\ ?[ap]\.?m\b\.?)?|\d{1,2}\ ?[ap]\.?m\b"
    r"|(?:last|next|this|past|previous|every)\ (?:week(?:end)?|month|year|summer|winter|spring|fall|autumn|night"
    rf"|morning|evening|{_WEEKDAY})"
    rf"|(?:a\ few|a\ couple\ of|several|a|an|{_SPELLED}|\d+)\ {_PERIOD}\ ago"
    r"|yesterday|today|tomorrow|tonight)(?!\w)",
    re.VERBOSE,
)
_NUMBER = re.compile(
    rf"(?<!\w)(?<!\d[.,:/-])(?:[$€£]?\d(?:[\d.,:/-]*\d)?\ ?(?:%|percent|km|kg|miles?|{_PERIOD}|dollars|euros)?"
    rf"|{_SPELLED}(?:-\w+)?(?:\ {_PERIOD})?)(?!\w|[.,:/-]\d)",
    re.VERBOSE,
)
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]|(?<!\w)['‘]([A-Z][^'‘’]{1,60})['’](?!\w)")
_NAME = r"(?:(?:[A-Z]\.)+|[A-Z][\w'’-]*)"
_CAPITALISED = re.compile(rf"\b{_NAME}(?:\ (?:of\ |the\ )?{_NAME})*", re.VERBOSE)
_NUMBERED = re.compile(r"(?<=[a-z,]\ )[A-Z]\w+(?:\ [A-Z]\w+)*\ \d+(?!\w|[.,:/]\d)", re.VERBOSE)
_WORD = re.compile(r"[^\W_][\w'’-]*")
_NAME_RUN = re.compile(rf"{_NAME}(?:\ {_NAME}){{0,3}}", re.VERBOSE)
_STARTS = frozenset(
    ("In", "On", "At", "For", "After", "Before", "During", "Since", "When", "While", "With", "From")
)
_SELF = frozenset(("I", "I'm", "I've", "I'd", "I'll", "I’m", "I’ve", "I’d", "I’ll"))


@dataclass(frozen=True)
class Slot:
    """A span of the statement."""

    kind: SlotKind
    start: int
    stop: int
    value: str
    weak: bool = False
    """Anybody could fill it in, or it says nothing alone."""


def _unowned(name: str) -> str:
    return re.sub(r"['’]s?$", "", name)


def _subject_span(text: str) -> tuple[int, int]:
    """The name the statement begins with; the first name, where it begins with a word like "Teaching" or "After"."""
    leads = _gerund(text) or text.split(" ", 1)[0] in _STARTS
    for found in _NAME_RUN.finditer(text):
        first = found.group().split()[0]
        alone = " " not in found.group()
        common = first in _SELF or first.lower() in listed("weak") or not content_words(first)
        if first in _STARTS or (alone and common):
            continue
        if alone and found.start() == 0 and first.endswith("ing") and len(first) > 5:
            continue
        if found.start() and not leads:
            break
        return found.start(), found.start() + len(_unowned(found.group()))
    return 0, 0


def _gerund(text: str) -> bool:
    return re.match(r"[A-Z][a-z]{3,}ing\b", text) is not None


def subject_of(statement: str) -> str:
    """Whom the statement names first, where that is whom it is about; else empty."""
    start, stop = _subject_span(statement[:MAX_STATEMENT].lstrip())
    return statement[:MAX_STATEMENT].lstrip()[start:stop]


def slots(statement: str) -> list[Slot]:
    """The slots, the most telling kinds first: none overlaps or repeats an earlier one, and none is the subject."""
    text = statement[:MAX_STATEMENT]
    shift = len(text) - len(text.lstrip())
    start, stop = _subject_span(text.lstrip())
    subject = stems(text[shift + start : shift + stop])
    taken = [(shift + start, shift + stop)] if stop else []
    out: list[Slot] = []
    seen: set[frozenset[str]] = set()
    for kind, begin, end, weak in _candidates(text, (shift + start, shift + stop)):
        while end > begin and not text[end - 1].isalnum() and text[end - 1] != "%":
            end -= 1
        value = text[begin:end]
        asked = stems(value)
        if len(out) == MAX_SLOTS:
            break
        part = kind == "word" and value[0].isdecimal()  # of a number that is no slot
        if (
            part
            or not asked
            or asked & subject
            or asked in seen
            or any(begin < b and a < end for a, b in taken)
        ):
            continue
        taken.append((begin, end))
        seen.add(asked)
        out.append(Slot(kind, begin, end, value, weak))
    return out


def details(statement: str) -> list[Slot]:
    """The slots to ask for, different kinds first; weak ones only where there is no other."""
    found = slots(statement)
    strong = [s for s in found if not s.weak] or found
    by_kind: dict[SlotKind, list[Slot]] = {kind: [s for s in strong if s.kind == kind] for kind in _KINDS}
    ordered: list[Slot] = []
    while any(by_kind.values()):
        ordered += [by_kind[kind].pop(0) for kind in _KINDS if by_kind[kind]]
    return ordered


_KINDS: tuple[SlotKind, ...] = get_args(SlotKind)


def _candidates(text: str, subject: tuple[int, int]) -> Iterator[tuple[SlotKind, int, int, bool]]:
    for found in _TIME.finditer(text):
        yield "time", found.start("bare") if found.group("bare") else found.start(), found.end(), False
    for found in _NUMBERED.finditer(text):
        yield "name", found.start(), found.end(), False
    for found in _NUMBER.finditer(text):
        yield "number", found.start(), found.end(), False
    for found in _QUOTED.finditer(text):
        group = 1 if found.group(1) is not None else 2
        yield "name", found.start(group), found.end(group), False
    for found in _CAPITALISED.finditer(text):
        before = text[: found.start()].rstrip(" \"'“‘(")
        begins = not before or before[-1] in ".!?:"
        if (
            found.group() in _SELF
            or not content_words(found.group())
            or (begins and " " not in found.group())
        ):
            continue
        yield "name", found.start(), found.start() + len(_unowned(found.group())), False
    things: list[tuple[int, int]] = []
    words: list[tuple[bool, int, int]] = []
    for run, cued, verb_first in _runs(text, subject):
        if verb_first:
            # A verb is easily guessed from its subject and object.
            told = len(run) > 1 or not text[subject[1] : run[0].start()].strip()
            words.append((told or _weak(run[0]), run[0].start(), run[0].end()))
            run = run[1:]
        run, rest = _phrase(text, run)
        words += [(_weak(w), w.start(), w.end()) for w in rest]
        while run and _weak(run[0]):
            words.append((True, run[0].start(), run[0].end()))
            run = run[1:]
        while run and _weak(run[-1]):
            words.append((True, run[-1].start(), run[-1].end()))
            run = run[:-1]
        if run and (cued or verb_first) and len(run) <= MAX_THING:
            things.append((run[0].start(), run[-1].end()))
        else:
            words += [(_weak(w), w.start(), w.end()) for w in run]
    for start, stop in things:
        yield "thing", start, stop, False
    # The longest tell most; weak ones are asked for only where there is nothing else.
    for weak, start, stop in sorted(words, key=lambda w: (w[0], w[1] - w[2], w[1])):
        yield "word", start, stop, weak


def _weak(word: re.Match[str]) -> bool:
    said = word.group().lower()
    return said in listed("weak") or said.endswith("ly")


def _runs(text: str, subject: tuple[int, int]) -> Iterator[tuple[list[re.Match[str]], bool, bool]]:
    """Neighbouring words that nothing divides; whether a cue stands before them; whether a verb begins them."""
    run: list[re.Match[str]] = []
    cued = verb_first = False
    end = 0
    for word in _WORD.finditer(text):
        said = word.group().lower()
        named = word.start() < subject[1] and word.end() > subject[0]
        if run and (
            named or said in listed("breaks") or not content_words(said) or text[end : word.start()] != " "
        ):
            yield run, cued, verb_first
            run, cued, verb_first = [], False, False
        end = word.end()
        if named:
            # A verb follows a name, and what is owned follows its possessive.
            cued = word.group() != _unowned(word.group())
            verb_first = not cued and word.start() == subject[0]
        elif said in listed("breaks") or not content_words(said):
            cued, verb_first = said in listed("cues"), said == "to"
        else:
            run.append(word)
    if run:
        yield run, cued, verb_first


def _phrase(text: str, run: list[re.Match[str]]) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Up to where a verb seems to begin, and what is left: after a plural, at a past form, before its own object."""
    stop = len(run)
    for i, word in enumerate(run):
        said = word.group().lower()
        if i and (said.endswith("ed") or said in irregular_forms()):
            stop = i
            break
        if said.endswith("s") and not said.endswith(("ss", "us", "is", "'s", "’s")) and i + 1 < len(run):
            stop = i + 1
            break
    if stop == len(run) > 1 and run[-1].group().lower().endswith("s"):
        following = _WORD.search(text, run[-1].end())
        if following is not None and following.group().lower() in _OBJECTS:
            stop -= 1
    return run[:stop], run[stop:]


_OBJECTS = frozenset(
    ("her", "his", "their", "him", "them", "us", "me", "it", "my", "your", "our", "a", "an", "the")
)
