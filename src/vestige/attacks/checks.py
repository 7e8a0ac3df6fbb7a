"""Why a question is no good: it gives its answer away, asks for nothing of the statement, or anybody can answer it.

Source: arXiv 2605.27825, section 4.1; the rules are ours. They read English.
"""

from __future__ import annotations

import re
from functools import cache

from vestige.attacks.question import Question, texts
from vestige.attacks.slots import subject_of
from vestige.attacks.stems import stem, stems
from vestige.text import content_words, covers, fold, tokens

__all__ = ["gives_away", "invented", "rejection", "stands_in", "trimmed"]

MAX_QUESTION, MAX_VALUE = 700, 200
"""Characters."""
MAX_WORDS = 8
"""Content words of a value: an answer is concise."""
MAX_CHANGED = 4
"""Content words of the one detail that a question changes."""
_SPLIT = 5
"""Characters from which on a value is looked for with its spaces left out ("snow boarding" in "snowboarding")."""

_AUXILIARY = (
    r"(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must)"
    r"(?:n['’]t)?"
)
_YES_NO = re.compile(rf"^\W*{_AUXILIARY}\b", re.IGNORECASE)
_WH = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"^\W*(?!from what you )(?:(?:to|for|with|from|in|at|on|by)\s+)?(?:who|whom|whose|what|which|when|where|why|how)\b",
    re.IGNORECASE,
)
_RECALLED = re.compile(
    r"^\W*(?:do|can|could|would)\s+you\s+(?:please\s+|still\s+)?(?:know|remember|recall|tell|say|name)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:name|called|named|who is|who['’]s)\b", re.IGNORECASE)
_ASKS_NAME = frozenset(stem(word) for word in ("name", "called", "person", "statement", "subject", "full"))
_DENIES = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_ATTRIBUTED = frozenset({"statement", "text", "sentence", "passage"})


def stands_in(value: str, text: str) -> bool:
    """Whether the words of `value` stand in `text`, whole, in order and together; False where it has none."""
    words, held = tokens(value), tokens(text)
    return bool(words) and any(held[i : i + len(words)] == words for i in range(len(held) - len(words) + 1))


def gives_away(value: str, text: str) -> bool:
    """Whether `text` holds a content word of `value`, in whatever form, or the value with its spaces left out."""
    known = stems(text)
    if any(stem(word) in known or covers([word], text) for word in content_words(value)):
        return True
    whole = fold(value)
    return len(whole) >= _SPLIT and whole in fold(text)


def trimmed(value: str, question: str) -> str:
    """`value` without the words at its ends that the question holds: these are not what is asked for.

    "LGBTQ support group" for "Which support group …?" is "LGBTQ". The value itself where nothing would be left.
    """
    words = value.split()
    start, stop = 0, len(words)
    while start < stop and not _asked_for(words[start], question):
        start += 1
    while stop > start and not _asked_for(words[stop - 1], question):
        stop -= 1
    return " ".join(words[start:stop]).strip(" ,;:") or value


def _asked_for(word: str, question: str) -> bool:
    return bool(content_words(word)) and not gives_away(word, question)


def rejection(question: Question, statement: str) -> str | None:
    """Why the question must not be asked; None: it may be.

    Args:
        question: Of any kind.
        statement: The candidate it is about.
    """
    text = question.text.strip()
    if not text:
        return "empty"
    if len(text) > MAX_QUESTION:
        return "too long"
    match question.kind:
        case "recall":
            return _recall(question, text, statement)
        case "yes_no":
            return _yes_no(question, statement)
        case "naive":
            return _naive(text, statement)


def _recall(question: Question, text: str, statement: str) -> str | None:
    value = question.key_value.strip()
    known, subject, words = stems(statement), stems(subject_of(statement)), stems(value)
    if not words:
        return "no key value"
    if not stands_in(value, statement):
        return "key value is not in the statement"
    if words >= known - subject:
        return "key value is the whole statement"
    if len(value) > MAX_VALUE or len(content_words(value)) > MAX_WORDS:
        return "key value is not concise"
    if words <= subject:
        return "about the subject's name"
    if gives_away(value, text):
        return "gives the key value away"
    if _YES_NO.match(text) and not _RECALLED.match(text):
        return "yes/no question"
    if not _WH.search(text):
        return "yes/no question" if text.endswith("?") else "asks for nothing"
    asked = stems(text)
    if _NAME.search(text) and not (asked & known) - subject - _ASKS_NAME:
        return "about the subject's name"
    if set(tokens(text)) & _ATTRIBUTED - set(tokens(statement)):
        return "speaks of a statement that the agent is not shown"
    if subject and not asked & subject:
        return "does not name whom it is about"
    context = known - subject - words
    if not asked & (context or known):
        return "has nothing of the statement"
    return None


def _naive(text: str, statement: str) -> str | None:
    """The broad question may name what the statement is about, and no more than half of what it says of it."""
    asked, known = stems(text), stems(statement) - stems(subject_of(statement))
    if not asked & stems(statement):
        return "has nothing of the statement"
    if 2 * len(known & asked) > len(known):
        return "gives the statement away"
    return None


@cache
def _frame() -> frozenset[str]:
    """What the wording of a yes/no question adds to the statement."""
    wordings: list[str] = texts()["yes_no"]["wordings"]
    return stems(" ".join(wordings).replace("{statement}", " "))


def invented(question: str, statement: str) -> list[str]:
    """The content words of a yes/no question that are not the statement's, in their order."""
    known = stems(statement) | _frame()
    return [w for w in content_words(question) if stem(w) not in known and not covers([w], statement)]


def _yes_no(question: Question, statement: str) -> str | None:
    """A "yes" says nothing that the statement does not; a "no" changes one detail of it and nothing else."""
    if question.expected is None:
        return "no expected answer"
    asked = question.text.strip().removesuffix(str(texts()["yes_no"]["instruction"])).strip()
    if bool(_DENIES.search(asked)) != bool(_DENIES.search(statement)):
        return "denies what the statement says"
    if _ASKS.match(asked):
        return "no yes/no question"
    subject = stems(subject_of(statement))
    if subject and not stems(asked) & subject:
        return "does not name whom it is about"
    known = stems(statement) - subject
    missing = known - stems(asked)
    alone = question.expected == "no" and len(known) == 1  # then that word is what was changed
    if known and not known & stems(asked) and not alone:
        return "has nothing of the statement"
    extra = invented(asked, statement)
    if question.expected == "yes":
        return "says what the statement does not" if extra else None
    changed = question.key_value
    detail = content_words(changed)
    if not detail or not stands_in(changed, asked):
        return "does not name what it changed"
    if len(detail) > MAX_CHANGED:
        return "changes more than one detail"
    if not set(detail) & set(extra):
        return "changes nothing"
    if set(extra) - set(detail):
        return "changes more than one detail"
    return None if missing else "adds a detail instead of changing one"
