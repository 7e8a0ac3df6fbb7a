"""The utility probe: the data's own question, and three ways to say whether the reply answers it.

PR_paper is the paper's rule (arXiv 2606.10062, section 2.3): cosine above 0.50 or every content word of the expected
answer. It is lenient, so PR_strict (ours) stands beside it.
"""

from __future__ import annotations

import re

from vestige.probes.abstention import abstains
from vestige.records import Record
from vestige.text import content_words, covers

__all__ = ["COSINE_THRESHOLD", "Recall", "abstains", "alternatives", "score_recall"]

COSINE_THRESHOLD = 0.50
"""A reply is right by cosine strictly above this (paper, section 2.3)."""

_LIST_NUMBER = re.compile(r"(?m)^\s*(?:[-*]\s+)?\(?\d{1,3}[.)]\s+")
"""The number of a list item: "3." before the third title answers no question of how many."""

_NEGATIONS = frozenset({"no", "not", "never", "none", "nothing"})


class Recall(Record):
    """Whether one reply answers the question."""

    cosine: bool
    """Half of PR_paper: similarity to the expected answer above the threshold."""
    words: bool
    """Half of PR_paper: every content word of the expected answer stands in the reply; False where it has none."""
    paper: bool
    """Either half."""
    strict: bool
    """Every content word that the question did not contain, number words counted as numbers and the numbers of
    list items not counted; an abstention record is right exactly when the reply abstains."""


def alternatives(expected: str) -> tuple[str, ...]:
    """The ways an expected answer may be given: "25 minutes and 50 seconds (or 25:50)" has two."""
    found = re.fullmatch(r"(?s)\s*(.+?)\s*\(\s*or\s+(.+?)\s*\)\s*\.?\s*", expected)
    return (found[1], found[2]) if found else (expected,)


def _strict(question: str, expected: str, reply: str) -> bool:
    asked = set(content_words(question))
    reply = _LIST_NUMBER.sub("", reply)
    for answer in alternatives(expected):
        words = set(content_words(answer))
        new = words - asked
        if new <= _NEGATIONS and abstains(reply):
            continue  # "I have no record" does not say "no"
        if new and covers(new, reply):
            return True
        # The answer picks one of the things asked about: it must be named, and the question not merely repeated.
        if words and not new and covers(words, reply) and not covers(asked, reply):
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
    needed = set(content_words(expected))
    words = bool(needed) and needed <= set(content_words(reply))
    strict = abstains(reply) if abstention else _strict(question, expected, reply)
    return Recall(cosine=cosine, words=words, paper=cosine or words, strict=strict)
