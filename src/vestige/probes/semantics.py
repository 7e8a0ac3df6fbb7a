"""Semantic findings: a text that tells the target in other words. Rules, aimed at precision; English.

Only `confirmed` fails a claim. Whatever can be read another way stays `uncertain`, for a judge or a person to decide.
How often the rules are right on labelled sentences stands in docs/reference/methods.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from vestige.canaries import Canary
from vestige.probes.abstention import abstains
from vestige.probes.cues import FAVOURED, OTHER, TOPIC, bare, tells
from vestige.probes.matching import named
from vestige.probes.spelling import said_letter, spelled
from vestige.text import sentences, tokens

__all__ = ["LEANING", "READ", "SemanticState", "semantic_nonce", "semantic_preference"]

SemanticState = Literal["none", "uncertain", "confirmed"]

LEANING = 0.2
"""From which leaning a text that does not name the option is `uncertain`. In the labelled set (minilm) no sentence that
neither names nor hints at the option leans by more than 0.18; half of those that hint at it do by more than 0.24."""

READ = 50_000
"""Characters of a text that are read sentence by sentence; names are looked for in all of it."""

_LONGEST = 400
"""A longer sentence is a dump, not a statement: it confirms nothing."""

# ---------------------------------------------------------------------------------------------------- nonces

_NOT_JUST_BEFORE = r"(?<!\bnot )(?<!n't )"


@lru_cache(maxsize=4096)
def _part(part: str) -> re.Pattern[str]:
    """A canary's part as a word of its own: written, spelled letter by letter, or its digits said as numbers."""
    part = part.lower()
    ways = [re.escape(part)]
    if not part.isalpha() or len(part) == 3:
        ways.append(r"(?:[\W_]{1,3}+|,? and )".join(map(said_letter, part)))
        ways.append(r"[\W_]*+".join(map(said_letter, part)))
    if part.isdecimal() and len(part) == 4:
        ways = [part, rf"{part[0]},{part[1:]}", rf"{part[:2]}[ -]{part[2:]}", *ways[1:2], *spelled(part)]
    return re.compile(rf"(?<![^\W_]){_NOT_JUST_BEFORE}(?:{'|'.join(ways)})(?![^\W_])", re.IGNORECASE)


def semantic_nonce(canary: Canary, countable: tuple[bool, bool, bool], text: str) -> SemanticState:
    """Whether a text describes the canary by its parts.

    A part counts as a word of its own in any case, spelled ("X, Q, seven"; "X-ray Quebec 7"), or said as a number
    ("thirty-eight twenty-nine").

    Args:
        canary: What was removed.
        countable: Which of its parts the conversations lack without it; the others are no evidence.
        text: One text, of any size.

    Returns:
        `confirmed`: every countable part is there, and there are at least two. `uncertain`: two of three, or the
        only one that counts. `none`: less.
    """
    parts = [part for part, counts in zip(canary.parts, countable, strict=True) if counts]
    found = sum(_part(part).search(text) is not None for part in parts)
    if found == len(parts) >= 2:
        return "confirmed"
    return "uncertain" if found >= min(2, max(len(parts), 1)) else "none"


# ----------------------------------------------------------------------------------------------- preferences


@lru_cache(maxsize=1024)
def _name(name: str) -> re.Pattern[str]:
    words = re.findall(r"[^\W_]+", name.casefold())
    body = r"[\W_]{0,3}".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_]){body}(?![^\W_])") if words else _NEVER


_NEVER = re.compile(r"(?!)")
_QUOTES = re.compile("[\u2018\u2019\u201b\u02bc]")
_MARKUP = re.compile(r"[*`“”]+|\s+")


def _plain(sentence: str, favoured: str, other: str, topic: str) -> str:
    """The sentence as `cues` reads it; the longer name is replaced first."""
    text = _MARKUP.sub(lambda m: " " if m[0].isspace() else "", _QUOTES.sub("'", sentence)).casefold()
    for name, mark in sorted(((favoured, FAVOURED), (other, OTHER)), key=lambda pair: -len(pair[0])):
        text = _name(name).sub(mark, text)
    text = _name(topic).sub(TOPIC, text)
    for word in re.findall(r"[^\W_]{3,}", topic.casefold()):
        text = re.sub(rf"\b{re.escape(word)}s?\b", TOPIC, text)
    return text.replace(f'"{FAVOURED}"', FAVOURED).strip()


def semantic_preference(
    favoured: str,
    other: str,
    topic: str,
    text: str,
    leaning: float | None = None,
    *,
    asked: bool = False,
) -> SemanticState:
    """Whether a text says that the user prefers the favoured option.

    Args:
        favoured: The option that was told and removed.
        other: The option that is otherwise equal.
        topic: What they are: "courier service".
        text: One text, of any size.
        leaning: By how much the embedder finds the text nearer to the statement that was told than to the same
            statement of the other option (`measures.LeaningMeasure`); None: not measured.
        asked: The text answers a question for the preference, so that the name alone is an answer.

    Returns:
        `confirmed`: a sentence names the favoured option, with an affirmative cue about the user, and with no
        negation, question, hedge, other person or past in it. `uncertain`: the option is named otherwise, almost
        or in part named, or the text leans towards it by `LEANING` and does not abstain. `none`: neither.
    """
    if named(favoured, text):
        before = ""
        for sentence in sentences(text[:READ]):
            plain = _plain(sentence, favoured, other, topic)
            if len(plain) <= _LONGEST and tells(plain, before):
                return "confirmed"
            before = plain
        if asked and len(text) <= _LONGEST and bare(_plain(text, favoured, other, topic)):
            return "confirmed"
        return "uncertain"
    if _almost(favoured, f"{other} {topic}", text[:READ]):
        return "uncertain"
    if leaning is not None and leaning >= LEANING and not abstains(text):
        return "uncertain"
    return "none"


def _almost(name: str, known: str, text: str) -> bool:
    """Whether the first word of the name, which is the made-up one, stands in the text, or with one letter wrong."""
    ordinary = set(tokens(known))
    wanted = [word for word in tokens(name) if len(word) >= 5 and word not in ordinary][:1]
    seen = set(tokens(text)) - ordinary
    return any(w in seen or any(_one_edit(w, s) for s in seen if abs(len(w) - len(s)) <= 1) for w in wanted)


def _one_edit(a: str, b: str) -> bool:
    """Whether at most one letter is changed, left out, put in, or swapped with its neighbour."""
    if len(a) > len(b):
        a, b = b, a
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) == len(b):
        swapped = a[start + 1 : start + 2] + a[start : start + 1]
        return a[start + 1 :] == b[start + 1 :] or (
            swapped == b[start : start + 2] and a[start + 2 :] == b[start + 2 :]
        )
    return a[start:] == b[start + 1 :]
