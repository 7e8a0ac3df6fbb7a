"""The candidate in other words, for an attacker who holds no more (MRMMIA_s).

Source: arXiv 2605.27825, appendix D: temperature 0.3; entities, numbers and polarity are kept, questions are rejected,
and on failure the original stands.
"""

from __future__ import annotations

import re

from vestige.attacks.asking import ask_json, filled, prompts, prompts_version
from vestige.datasets.units import normalised
from vestige.models.base import ChatModel
from vestige.text import fold

__all__ = ["ModelParaphraser", "RuleParaphraser", "keeps"]

_DENIES = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|\w+n['’]t)\b", re.IGNORECASE)
_NAMES = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'’-]*")
_SCHEMA = {"type": "object", "properties": {"paraphrase": {"type": "string"}}, "required": ["paraphrase"]}
LONGEST = 1_000


def keeps(statement: str, paraphrase: str) -> bool:
    """Whether names, numbers and polarity are the statement's, and it is other words and no question."""
    if not paraphrase or len(paraphrase) > LONGEST or "?" in paraphrase:
        return False
    if normalised(paraphrase) == normalised(statement):
        return False
    folded = fold(paraphrase)
    kept = [*re.findall(r"\d[\d.,:]*\d|\d", statement), *_NAMES.findall(statement)]
    if any(fold(word.removesuffix("'s").removesuffix("’s")) not in folded for word in kept):
        return False
    return bool(_DENIES.search(statement)) == bool(_DENIES.search(paraphrase))


class ModelParaphraser:
    """By an auxiliary model, checked."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """With the version of its prompts."""
        return f"{self._model.name}, prompts {prompts_version()}"

    async def paraphrase(self, statement: str, seed: int) -> str:
        """One paraphrase; the statement itself where the model wrote none that keeps what it must."""
        prompt = prompts()["paraphrase"]
        value = await ask_json(
            self._model,
            str(prompt["system"]),
            filled(str(prompt["user"]), statement=statement),
            _SCHEMA,
            temperature=0.3,
            max_tokens=160,
            seed=seed,
        )
        said = None if value is None else value.get("paraphrase")
        text = " ".join(said.split()) if isinstance(said, str) else ""
        return text if keeps(statement, text) else statement


_SWAPS = (
    ("is planning to", "plans to"),
    ("enjoys", "likes"),
    ("likes", "enjoys"),
    ("loves", "is very fond of"),
    ("recently", "not long ago"),
    ("bought", "purchased"),
    ("started", "began"),
    ("wants to", "would like to"),
    ("mentions", "says"),
    ("believes", "is convinced"),
    ("finds", "considers"),
    ("is excited about", "looks forward to"),
    ("has been", "was"),
    ("because", "since"),
    ("favourite", "preferred"),
    ("favorite", "preferred"),
    ("lives in", "has a home in"),
    ("works as", "has a job as"),
    ("children", "kids"),
    ("big", "large"),
    ("helps", "assists"),
    ("got", "received"),
)


class RuleParaphraser:
    """By a few swaps of words; where none fits, the statement is told as something that was heard."""

    @property
    def name(self) -> str:
        """As plans and reports call it."""
        return "rules"

    async def paraphrase(self, statement: str, seed: int) -> str:
        """One paraphrase."""
        text = statement
        for old, new in _SWAPS:
            text = re.sub(rf"\b{re.escape(old)}\b", new, text, count=1)
            if text != statement and keeps(statement, text):
                return text
            text = statement
        said = f"It is the case that {statement.strip().rstrip('.')}."
        return said if keeps(statement, said) else statement
