"""Why a question is no good: it gives its answer away, asks for nothing of the statement, or anybody can answer it.

Source: arXiv 2605.27825, section 4.1; the rules are ours.
"""

from __future__ import annotations

import re

from vestige.attacks.question import Question
from vestige.attacks.slots import subject_of
from vestige.text import content_words, fold

__all__ = ["rejection"]

MAX_QUESTION, MAX_VALUE = 600, 200
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)\b", re.IGNORECASE
)
_ABOUT_NAME = re.compile(r"\b(?:name|called|named|who is|who's)\b", re.IGNORECASE)


def rejection(question: Question, statement: str) -> str | None:
    """Why the question must not be asked; None: it may be.

    Args:
        question: Of any kind; a yes/no question is only held to what all must meet.
        statement: The candidate it is about.
    """
    text, value = question.text.strip(), question.key_value.strip()
    if not text:
        return "empty"
    if len(text) > MAX_QUESTION:
        return "too long"
    if question.kind == "yes_no":
        return None if question.expected is not None else "no expected answer"
    known = set(content_words(statement))
    asked = set(content_words(text))
    if question.kind == "naive":
        return "gives the statement away" if known and known <= asked else None
    words = content_words(value)
    if not words or len(value) > MAX_VALUE:
        return "no key value"
    if fold(value) not in fold(statement):
        return "key value is not in the statement"
    if set(words) >= known:
        return "key value is the whole statement"
    if asked & set(words) or fold(value) in fold(text):
        return "gives the key value away"
    if _YES_NO.match(text):
        return "yes/no question"
    subject = set(content_words(subject_of(statement)))
    if set(words) <= subject or (
        _ABOUT_NAME.search(text) and not asked - subject - {"name", "called", "named"}
    ):
        return "about the subject's name"
    if not asked & known:
        return "has nothing of the statement"
    return None
