"""Replies and retrieved units judged by an auxiliary model, at temperature 0 and on the ladder 0, 0.33, 0.67, 1.

Source: arXiv 2605.27825, section 4.2. Output that cannot be read scores 0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal

from vestige.attacks.asking import ask_json, filled, prompts, prompts_version
from vestige.attacks.cutoffs import LADDER
from vestige.attacks.question import Question
from vestige.attacks.scorers import MemoryMeasure, ResponseMeasure, answer_of
from vestige.datasets.units import normalised
from vestige.models.base import ChatModel

__all__ = ["ModelMemoryScorer", "ModelResponseScorer"]

KEPT = 4_096
"""Judged pairs of a statement and a unit that are remembered."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number", "enum": list(LADDER)}},
    "required": ["score"],
    "additionalProperties": False,
}


def _snapped(value: dict[str, Any] | None) -> float | None:
    score = None if value is None else value.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None  # a score out of range was meant for another scale, and its place on ours is not known
    return min(LADDER, key=lambda step: (abs(step - score), step))


class ModelResponseScorer:
    """M_r by a model. Yes/no answers are read by rules: they are one word."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """With the version of its prompts."""
        return f"{self._model.name}, prompts {prompts_version()}"

    async def score(self, statement: str, question: Question, reply: str) -> ResponseMeasure:
        """Judge one reply; see `ResponseScorer`."""
        if question.kind == "yes_no":
            said = answer_of(reply)
            agrees: Literal[1, 0, -1] = 1 if said == question.expected else -1 if said == "unknown" else 0
            return ResponseMeasure(agrees=agrees)
        if not reply.strip():
            return ResponseMeasure(score=0.0)
        system = prompts()["response" if question.kind == "recall" else "response_naive"]["system"]
        user = filled(
            str(prompts()["response"]["user"]),
            statement=statement,
            question=question.text,
            key=question.key_value or "(the whole statement)",
            reply=reply,
        )
        score = _snapped(await ask_json(self._model, str(system), user, _SCHEMA, max_tokens=20))
        return ResponseMeasure(score=score or 0.0, valid=score is not None)


class ModelMemoryScorer:
    """M_m by a model; a unit that equals the statement needs none, and a pair is judged once."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()

    @property
    def name(self) -> str:
        """With the version of its prompts."""
        return f"{self._model.name}, prompts {prompts_version()}"

    async def score(self, statement: str, units: Sequence[str]) -> list[MemoryMeasure]:
        """Judge units; see `MemoryScorer`."""
        return [await self._one(statement, unit) for unit in units]

    async def _one(self, statement: str, unit: str) -> MemoryMeasure:
        exact, same = unit == statement, normalised(unit) == normalised(statement)
        if same:
            return MemoryMeasure(score=1.0, exact=exact, normalised=True)
        pair = (statement, unit)
        if pair not in self._known:
            prompt = prompts()["memory"]
            user = filled(str(prompt["user"]), statement=statement, note=unit)
            value = _snapped(await ask_json(self._model, str(prompt["system"]), user, _SCHEMA, max_tokens=20))
            self._known[pair] = value or 0.0
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return MemoryMeasure(score=self._known[pair])
