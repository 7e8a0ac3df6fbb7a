"""Questions written by an auxiliary model, each checked; what fails is asked for again.

Source: arXiv 2605.27825, section 4.1: one call for K objects {topic, key_value, question} at temperature 0.7, two retries
at 0, max(384, 160·K) tokens. Fewer valid questions are used as they are.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import numpy as np

from vestige.attacks.asking import ask_json, filled, prompts, prompts_version
from vestige.attacks.checks import rejection
from vestige.attacks.question import Generated, Kind, Question, texts
from vestige.models.base import ChatModel

__all__ = ["ModelGenerator", "prompts_version"]

RETRIES = 2
_TEXT = {"type": "string"}


class ModelGenerator:
    """Writes questions by a model with JSON-schema output.

    Args:
        model: The auxiliary model.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """With the version of its prompts."""
        return f"{self._model.name}, prompts {prompts_version()}"

    async def generate(self, statement: str, kind: Kind, count: int, seed: int) -> Generated:
        """At most `count` valid questions; see `QuestionGenerator`."""
        if kind == "naive":
            return await self._naive(statement, seed)
        kept: dict[str, Question] = {}
        refused: Counter[str] = Counter()
        attempts = 0
        for attempt in range(1 + RETRIES):
            attempts += 1
            wanted = count - len(kept)
            found = await self._asked(statement, kind, count, attempt, seed)
            if found is None:
                refused["no list of questions"] += 1
                continue
            for question in found[: 2 * count]:
                reason = "asked already" if question.text in kept else rejection(question, statement)
                if reason is None and wanted > 0:
                    kept[question.text] = question
                    wanted -= 1
                elif reason is not None:
                    refused[reason] += 1
            if wanted <= 0:
                break
        questions = tuple(kept.values())
        return Generated(questions=questions, rejected=dict(sorted(refused.items())), attempts=attempts)

    async def _asked(
        self, statement: str, kind: Kind, count: int, attempt: int, seed: int
    ) -> list[Question] | None:
        prompt = prompts()[kind]
        value = await ask_json(
            self._model,
            str(prompt["system"]),
            filled(str(prompt["user"]), statement=statement, count=str(count)),
            _schema(kind, count),
            temperature=0.0 if attempt else 0.7,
            max_tokens=max(384, 160 * count),
            # A retry at temperature 0 is another call only under another seed.
            seed=(seed + attempt) & 0x7FFFFFFF,
        )
        rows = None if value is None else value.get("questions")
        if not isinstance(rows, list):
            return None
        follow_ups: list[str] = texts()["follow_up"]["texts"]
        follow_up = follow_ups[int(np.random.default_rng(seed).integers(len(follow_ups)))]
        return [q for row in cast("list[Any]", rows) if (q := _question(row, kind, follow_up)) is not None]

    async def _naive(self, statement: str, seed: int) -> Generated:
        prompt = prompts()["naive"]
        schema = {"type": "object", "properties": {"topic": _TEXT}, "required": ["topic"]}
        refused: Counter[str] = Counter()
        for attempt in range(1 + RETRIES):
            value = await ask_json(
                self._model,
                str(prompt["system"]),
                filled(str(prompt["user"]), statement=statement),
                schema,
                temperature=0.0 if attempt else 0.7,
                max_tokens=40,
                seed=(seed + attempt) & 0x7FFFFFFF,
            )
            topic = None if value is None else value.get("topic")
            if not isinstance(topic, str) or not topic.strip():
                refused["no topic"] += 1
                continue
            said = " ".join(topic.split())[:200].rstrip(".?!")
            question = Question(
                kind="naive", topic=said, text=str(texts()["naive"]["text"]).format(topic=said)
            )
            reason = rejection(question, statement)
            if reason is None:
                return Generated(
                    questions=(question,), rejected=dict(sorted(refused.items())), attempts=attempt + 1
                )
            refused[reason] += 1
        return Generated(questions=(), rejected=dict(sorted(refused.items())), attempts=1 + RETRIES)


def _schema(kind: Kind, count: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"topic": _TEXT, "key_value": _TEXT, "question": _TEXT}
    if kind == "yes_no":
        fields = {"question": _TEXT, "expected": {"type": "string", "enum": ["yes", "no"]}, "changed": _TEXT}
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    questions = {"type": "array", "items": item, "minItems": count, "maxItems": count}
    return {
        "type": "object",
        "properties": {"questions": questions},
        "required": ["questions"],
        "additionalProperties": False,
    }


def _question(row: Any, kind: Kind, follow_up: str) -> Question | None:
    if not isinstance(row, dict):
        return None
    held = cast("dict[str, Any]", row)
    text = held.get("question")
    if not isinstance(text, str):
        return None
    asked = " ".join(text.split())
    if kind == "yes_no":
        expected, changed = held.get("expected"), held.get("changed")
        if expected not in ("yes", "no"):
            return None
        told = str(prompts()["yes_no"]["instruction"])
        return Question(
            kind="yes_no",
            key_value=changed if isinstance(changed, str) else "",
            text=f"{asked} {told}",
            expected=expected,
        )
    topic, value = held.get("topic"), held.get("key_value")
    return Question(
        kind="recall",
        topic=topic[:200] if isinstance(topic, str) else "",
        key_value=" ".join(value.split()) if isinstance(value, str) else "",
        text=asked,
        follow_up=follow_up,
    )
