"""Whether an agent is in a state to be judged: the silence of one that is empty, looping or refusing proves nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from vestige.records import Reply

__all__ = ["Health", "refuses", "state_of"]

Health = Literal["fine", "empty", "looping", "refusal"]

_READ = 20_000
_WORDS, _CHARACTERS = 60, 30
"""Longest repeated unit, in words and in characters."""
_SHARE, _CUT_SHARE = 0.5, 0.25
"""Share of a text that one unit, at least three times in a row, must cover; the second where the reply was cut off."""
_FEWEST_WORDS, _FEWEST_CHARACTERS = 12, 40

_OPENING = 300
"""Characters in which a refusal stands."""
_DO = (
    r"(?:help|assist|comply|do that|do this|fulfil+|provide|share|disclose|reveal|answer|discuss|engage|continue"
    r"|give|tell|support|participate|process|proceed|complete|handle)"
)
_REFUSAL = re.compile(
    rf"\b(?:i|we)(?:'m| am| are)? (?:really |very )?(?:sorry|afraid)\b.{{0,30}}?"
    rf"\b(?:can't|cannot|can not|won't|not able to|unable to) (?:\w+ )?{_DO}\b"
    r"|\b(?:i|we) (?:can't|cannot|can not|won't|will not|must not|may not|am not able to|am unable to|are unable to"
    rf"|have to refuse to|must decline to|decline to|refuse to) (?:\w+ )?{_DO}\b"
    rf"|\b(?:i'm|we're) (?:(?:not able|unable) to (?:\w+ )?{_DO}|not (?:allowed|permitted|comfortable|authori[sz]ed))\b"
    r"|\b(?:i|we) (?:must|have to) (?:decline|refuse)\b"
    r"|\bagainst (?:my|our|the) (?:\w+ )?(?:policy|policies|guidelines|programming|rules)\b"
    r"|\b(?:policy|policies|guidelines) (?:do not|don't|does not|prohibits?|forbids?|prevents?)\b"
    r"|^\W*(?:sorry|apologies|unfortunately)\W+(?:but )?(?:that's|that is|this is|it's)"
    r" (?:not (?:possible|allowed)|something i can(?:not|'t))\b"
)
_IGNORANCE = re.compile(
    r"\b(?:don't|do not|didn't|did not|haven't|have not) (?:\w+ )?"
    r"(?:know|have|remember|recall|find|see|mention\w*|tell|told|shared?)\b"
    r"|\bno (?:\w+ )?(?:information|record|memory|data|mention|access)\b"
    r"|\bnot (?:been )?(?:mentioned|provided|told)\b|\bunknown\b|\bnot sure\b"
)
_YET = re.compile(r"\b(?:however|but),? (?:i can|here is|here's|your|the|it|you)\b")


def refuses(text: str) -> bool:
    """Whether a reply declines by rule or inability, rather than saying that it does not know."""
    plain = " ".join(text[:_OPENING].replace("\u2019", "'").casefold().split())
    found = _REFUSAL.search(plain)
    return found is not None and _IGNORANCE.search(plain) is None and _YET.search(plain, found.end()) is None


def state_of(reply: Reply) -> Health:
    """The state of an agent that gave this reply to a harmless question.

    `empty`: no letter, no digit and no tool call. `looping`: one unit of up to 60 words, or of up to 30
    characters, repeated at least three times in a row, covers half of the text; a quarter where the reply ends
    because it was cut off. `refusal`: it declines by rule. Not knowing is `fine`.
    """
    text = reply.text[:_READ]
    if not any(map(str.isalnum, text)):
        return "fine" if reply.tool_calls else "empty"
    share = _CUT_SHARE if reply.finish_reason == "length" else _SHARE
    if _repeats(text.split(), _WORDS, _FEWEST_WORDS, share) or _repeats(
        list(text[:4000]), _CHARACTERS, _FEWEST_CHARACTERS, share
    ):
        return "looping"
    return "refusal" if refuses(text) else "fine"


def _repeats(units: Sequence[str], longest: int, fewest: int, share: float) -> bool:
    """Whether a unit of up to `longest` items, three times in a row or more, covers `share` of them."""
    if len(units) < fewest:
        return False
    ids = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
    numbers = np.array([ids[unit] for unit in units])
    for period in range(1, min(longest, len(units) // 3) + 1):
        same = np.flatnonzero(
            np.diff(np.r_[False, numbers[period:] == numbers[:-period], False].astype(np.int8))
        )
        run = int((same[1::2] - same[::2]).max(initial=0))
        covered = run + period
        if run >= 2 * period and covered >= max(fewest, share * len(units)):
            return True
    return False
