"""The candidate in other words, for an attacker who holds no more (MRMMIA_s).

Source: arXiv 2605.27825, appendix D: temperature 0.3; entities, numbers and polarity are kept, questions are rejected,
and on failure the original stands. The rules are ours; they read English.
"""

from __future__ import annotations

import re

import numpy as np

from vestige.attacks.asking import ask_json, filled, one_line, prompts, prompts_version
from vestige.attacks.question import texts, texts_version
from vestige.attacks.slots import subject_of
from vestige.attacks.stems import irregular_forms, stems
from vestige.datasets.units import normalised
from vestige.models.base import ChatModel
from vestige.records import Record
from vestige.text import STOP_WORDS, content_words, covers, sentences, tokens

__all__ = ["ModelParaphraser", "Paraphrase", "RuleParaphraser", "lost"]


class Paraphrase(Record):
    """A statement in other words, or as it was."""

    text: str
    unchanged: bool = False
    """It is the statement itself: nothing was found that keeps what it must."""
    reason: str | None = None
    """Why it is unchanged."""


LONGEST, SHORTEST = 3.0, 1 / 3
"""Words of a paraphrase, as a multiple of the statement's."""
_DENIES = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_CAPITALISED = re.compile(r"\b[A-Z][\w'’-]*")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SCHEMA = {
    "type": "object",
    "properties": {"paraphrase": {"type": "string"}},
    "required": ["paraphrase"],
    "additionalProperties": False,
}


def _entities(text: str) -> set[str]:
    """Tokens of names and numbers. A word that begins a sentence is a name where it is whom the text is about."""
    begins = {tokens(sentence)[0] for sentence in sentences(text) if tokens(sentence)}
    names = {t for word in _CAPITALISED.findall(text) for t in tokens(word) if t not in STOP_WORDS}
    first = begins - set(tokens(subject_of(text)))
    inside = {t for word in _CAPITALISED.findall(text[1:]) for t in tokens(word)}
    numbers = {t for t in tokens(text) if t[0].isdecimal()}
    return {n for n in names if n not in first or n in inside} | numbers


def lost(statement: str, paraphrase: str) -> str | None:
    """What a paraphrase loses or adds that it must not; None: it may stand for the statement."""
    if not paraphrase:
        return "no paraphrase"
    if "?" in paraphrase and "?" not in statement:
        return "a question"
    if normalised(paraphrase) == normalised(statement):
        return "the same words"
    words, new = len(tokens(statement)), len(tokens(paraphrase))
    if not SHORTEST * words <= new <= LONGEST * words:
        return "too short or too long"
    held = _entities(statement)
    if any(not covers([entity], paraphrase) for entity in held):
        return "a name or number is lost"
    if any(not covers([entity], statement) for entity in _entities(paraphrase)):
        return "a name or number is new"
    if bool(_DENIES.search(statement)) != bool(_DENIES.search(paraphrase)):
        return "says the opposite"
    if not stems(statement) & stems(paraphrase):
        return "has nothing of the statement"
    return None


class ModelParaphraser:
    """By an auxiliary model, checked."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """With the version of its prompts."""
        return f"{self._model.name}, prompts {prompts_version()}"

    async def paraphrase(self, statement: str, seed: int) -> Paraphrase:
        """One paraphrase; see `Paraphraser`.

        Raises:
            ModelError: The model failed.
        """
        prompt = prompts()["paraphrase"]
        value = await ask_json(
            self._model,
            str(prompt["system"]),
            filled(str(prompt["user"]), statement=statement),
            _SCHEMA,
            temperature=0.3,
            max_tokens=max(160, min(1_024, len(statement) // 2)),
            seed=seed,
        )
        text = "" if value is None else one_line(value.get("paraphrase"), int(LONGEST * len(statement)) + 200)
        reason = lost(statement, text)
        if reason is not None:
            return Paraphrase(text=statement, unchanged=True, reason=reason)
        return Paraphrase(text=text)


class RuleParaphraser:
    """By swaps of words, by putting a time at the end at the beginning, and by "the Y of X" for "X's Y"."""

    @property
    def name(self) -> str:
        """With the version of its texts."""
        return f"rules, texts {texts_version()}"

    async def paraphrase(self, statement: str, seed: int) -> Paraphrase:
        """One paraphrase; the same for the same statement and seed."""
        rng = np.random.default_rng(seed)
        text = _unowned(_moved(_swapped(" ".join(statement.split()), rng)))
        reason = lost(statement, text)
        if reason is not None:
            reason = "no rule applies" if reason == "the same words" else reason
            return Paraphrase(text=statement, unchanged=True, reason=reason)
        return Paraphrase(text=text)


MOST_SWAPS = 3


def _swapped(text: str, rng: np.random.Generator) -> str:
    """Up to three pairs of words, no word being changed twice; the seed draws which."""
    pairs: list[list[str]] = texts()["paraphrase"]["words"]
    found = [(old, new) for old, new in pairs if _whole(old).search(text)]
    # More words say more surely what they mean.
    order = sorted(rng.permutation(len(found)).tolist(), key=lambda i: -len(found[i][0].split()))
    changed: list[str] = []
    for i in order:
        old, new = found[i]
        place = _whole(old).search(text)
        if (
            len(changed) < MOST_SWAPS
            and place is not None
            and not set(old.split()) & set(" ".join(changed).split())
        ):
            text = text[: place.start()] + new + text[place.end() :]
            changed.append(f"{old} {new}")
    return text


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’-]){re.escape(words)}(?![\w'’-])")


_LAST_TIME = re.compile(
    r"^(?P<rest>[^,;:.!?]+?)(?<!\bis)(?<!\bwas)(?<!\bare)\ (?P<time>"
    r"(?:last|next|this)\ (?:week|weekend|month|year|summer|winter|spring|fall|night)"
    r"|yesterday|today|tomorrow|recently|(?:a\ few|several|two|three)\ (?:days|weeks|months|years)\ ago"
    rf"|(?:in|on)\ (?:\d{{1,2}}\ )?(?:{_MONTHS})(?:\ \d{{1,2}})?(?:,?\ \d{{4}})?|in\ (?:19|20)\d\d)\.?$",
    re.VERBOSE,
)


def _moved(text: str) -> str:
    found = _LAST_TIME.match(text)
    if found is None:
        return text
    time, rest = found["time"], found["rest"]
    first = rest.split(" ", 1)[0]
    named = bool(subject_of(text)) and rest.startswith(subject_of(text).split()[0])
    if not named and not first.startswith("I") and content_words(first) == ():
        rest = rest[0].lower() + rest[1:]
    return f"{time[0].upper()}{time[1:]}, {rest}."


_NAMED = r"[A-Z][\w-]*(?:\ [A-Z][\w-]*){0,2}"
_VERB = re.compile(r"(?:is|was|are|were|has|had|can|will|[a-z]{2,}ed)\b")
_OWNER = rf"^(?P<who>{_NAMED})['’]s\ (?P<what>[a-z-]+(?:\ [a-z-]+){{0,2}})\ "
_OWNED_NAME = re.compile(rf"{_OWNER}(?P<name>{_NAMED})\ (?P<rest>[a-z].*)$", re.VERBOSE | re.DOTALL)
_OWNED = re.compile(rf"^(?P<who>{_NAMED})['’]s\ (?P<rest>[a-z].*)$", re.VERBOSE | re.DOTALL)


def _unowned(text: str) -> str:
    """What is owned first ("The sister of Ann is a nurse"), where a verb or a name follows it."""
    named = _OWNED_NAME.match(text)
    if named is not None:
        return f"The {named['what']} of {named['who']}, {named['name']}, {named['rest']}"
    found = _OWNED.match(text)
    if found is None:
        return text
    words = found["rest"].split(" ")
    for i in range(1, min(4, len(words))):
        if _VERB.match(words[i]) or words[i] in irregular_forms():
            return f"The {' '.join(words[:i])} of {found['who']} {' '.join(words[i:])}"
    return text
