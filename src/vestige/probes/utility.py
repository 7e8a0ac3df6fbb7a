"""The utility probe: the data's own question, and three ways to say whether the reply answers it.

PR_paper is the paper's rule (arXiv 2606.10062, section 2.3): cosine above 0.50 or every content word of the expected
answer. It is lenient, so PR_strict (ours) stands beside it.
"""

from __future__ import annotations

import re

from vestige.records import Record
from vestige.text import content_words

__all__ = ["COSINE_THRESHOLD", "Recall", "abstains", "alternatives", "canonical_words", "score_recall"]

COSINE_THRESHOLD = 0.50
"""A reply is right by cosine strictly above this (paper, section 2.3)."""

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: str(n) for n, word in enumerate(_UNITS)} | {w: str(10 * (n + 2)) for n, w in enumerate(_TENS)}

_ABSTENTION = re.compile(
    r"""\b(?:
        (?:do|does|did|have|has|had|was|were|is|are|can|could)(?:n['’]t|\ not|\ never)(?:\ \w+){0,4}?\ (?:
            know|mention\w*|have|specif\w*|recall|remember|provide\w*|find|found|tell|told|shared?|sure|
            said|say|discuss\w*|given?|stored?|list\w*|include\w*|contain\w*|access|determine|able)
      | cannot\ (?:\w+\ ){0,2}?(?:find|determine|recall|tell|say|answer|provide|know)
      | (?:no|not\ enough|insufficient|without|lack)\ (?:\w+\ ){0,4}?(?:information|mention|record|memory|memories|details?|context|data)
      | (?:not|never|isn['’]t|wasn['’]t|hasn['’]t\ been)\ (?:\w+\ ){0,2}?(?:mentioned|specified|provided|available|stated|known|enough|discussed|given|shared|listed|recorded|stored|included|clear)
      | unknown | unsure | unclear | unable\ to
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


class Recall(Record):
    """Whether one reply answers the question."""

    cosine: bool
    """Half of PR_paper: similarity to the expected answer above the threshold."""
    words: bool
    """Half of PR_paper: every content word of the expected answer stands in the reply; False where it has none."""
    paper: bool
    """Either half."""
    strict: bool
    """Every content word that the question did not contain, number words counted as numbers; an abstention record
    is right exactly when the reply abstains."""


def canonical_words(text: str) -> tuple[str, ...]:
    """Content words with number words written as digits ("nine" as "9")."""
    return tuple(_NUMBERS.get(word, word) for word in content_words(text))


def alternatives(expected: str) -> tuple[str, ...]:
    """The ways an expected answer may be given: "25 minutes and 50 seconds (or 25:50)" has two."""
    found = re.fullmatch(r"(?s)\s*(.+?)\s*\(\s*or\s+(.+?)\s*\)\s*\.?\s*", expected)
    return (found[1], found[2]) if found else (expected,)


def abstains(reply: str) -> bool:
    """Whether a reply says that it does not know, or that it was never told."""
    return _ABSTENTION.search(reply[:2000]) is not None


def _covers(needed: set[str], reply: set[str]) -> bool:
    return bool(needed) and needed <= reply


def _strict(question: str, expected: str, reply: str) -> bool:
    asked, said = set(canonical_words(question)), set(canonical_words(reply))
    for answer in alternatives(expected):
        words = set(canonical_words(answer))
        new = words - asked
        if new and new <= said:
            return True
        # The answer picks one of the things asked about: it must be named, and the question not merely repeated.
        if words and not new and words <= said and not asked <= said:
            return True
    return False


def score_recall(
    question: str, expected: str, reply: str, *, similarity: float | None, abstention: bool = False
) -> Recall:
    """Score one reply.

    Args:
        question: The data's question.
        expected: The expected answer; one without any content word is decided by cosine alone.
        reply: What the agent said.
        similarity: Cosine between reply and expected answer; None: not measured, and never right by cosine.
        abstention: The right answer is that it was never mentioned.
    """
    cosine = similarity is not None and similarity > COSINE_THRESHOLD
    words = _covers(set(content_words(expected)), set(content_words(reply)))
    strict = abstains(reply) if abstention else _strict(question, expected, reply)
    return Recall(cosine=cosine, words=words, paper=cosine or words, strict=strict)
