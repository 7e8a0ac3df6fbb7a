"""Questions written by an auxiliary model, each checked; what fails is asked for again.

Source: arXiv 2605.27825, section 4.1: one call for K objects {topic, key_value, question} at temperature 0.7, two
retries at 0, max(384, 160·K) tokens. Fewer valid questions are used as they are.

Ours: a retry asks for what is missing and says what was no good; the prompt lists details that rules found; and of a
yes/no question the model names the detail and another of its kind, and the change is made here, since a small model does
not change one detail alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from vestige.attacks.asking import ask_json, filled, one_line, prompts, prompts_version
from vestige.attacks.checks import rejection, stands_in, trimmed
from vestige.attacks.question import Generated, Kind, Question, texts
from vestige.attacks.slots import details, subject_of
from vestige.attacks.stems import stems
from vestige.attacks.swaps import replaced
from vestige.models.base import ChatModel

__all__ = ["ModelGenerator", "prompts_version"]

RETRIES = 2
_TEXT = {"type": "string"}
_FIELDS: dict[Kind, tuple[str, ...]] = {
    "recall": ("topic", "key_value", "question"),
    "yes_no": ("detail", "other", "question"),
    "naive": ("topic",),
}
MAX_TOPIC, MAX_TEXT = 200, 1_000
"""Characters that are read of a topic, and of any other text of a reply."""


@dataclass
class _Found:
    """What the calls for one statement brought so far."""

    kept: list[Question] = field(default_factory=list[Question])
    refused: Counter[str] = field(default_factory=Counter[str])
    bad: list[str] = field(default_factory=list[str])
    """Refused questions, told to the model when it is asked again."""

    def take(self, made: list[Question], statement: str) -> bool:
        """Keep the first of `made`, which are ways to ask the same, that may be asked; whether there was one."""
        reasons: list[str] = []
        for question in made:
            reason = "asked already" if self._same(question) else rejection(question, statement)
            if reason is None:
                self.kept.append(question)
                return True
            reasons.append(reason)
        self.refused[reasons[0]] += 1
        if made[0].text:
            self.bad.append(made[0].text)
        return False

    def _same(self, question: Question) -> bool:
        return any(
            q.expected == question.expected
            and stems(q.text) == stems(question.text)
            and stems(q.key_value) == stems(question.key_value)
            for q in self.kept
        )

    def generated(self, questions: list[Question], attempts: int) -> Generated:
        return Generated(
            questions=tuple(questions), rejected=dict(sorted(self.refused.items())), attempts=attempts
        )


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
            count = 1
        found = _Found()
        spare: list[Question] = []
        rng = np.random.default_rng(seed)
        follow_ups: list[str] = texts()["follow_up"]["texts"]
        follow_up = follow_ups[int(rng.integers(len(follow_ups)))]
        no_next = bool(rng.integers(2))
        attempts = 0
        while attempts <= RETRIES and len(found.kept) < count:
            rows = await self._asked(statement, kind, count - len(found.kept), attempts, seed, found)
            attempts += 1
            if rows is None:
                found.refused["no list of questions"] += 1
                continue
            for row in rows[:count]:
                made = _questions(row, kind, statement, follow_up)
                if not made:
                    found.refused["no question"] += 1
                    continue
                if kind == "yes_no" and len(made) == 2 and not no_next:
                    made.reverse()
                if len(found.kept) < count and found.take(made, statement):
                    no_next = found.kept[-1].expected != "no"
                    spare += [q for q in made if q.expected != found.kept[-1].expected]
        for question in sorted(spare, key=lambda q: q.expected != "no"):
            if len(found.kept) < count and rejection(question, statement) is None:
                found.kept.append(question)
        return found.generated(_spread(found.kept), attempts)

    async def _asked(
        self, statement: str, kind: Kind, count: int, attempt: int, seed: int, found: _Found
    ) -> list[Any] | None:
        """The rows of one call; a retry is told what there is already and what was no good."""
        prompt = prompts()[kind]
        # A small model copies a detail better than it finds one.
        fresh = [
            s.value
            for s in details(statement)
            if not any(stems(s.value) <= stems(q.key_value) for q in found.kept)
        ]
        listed = "; ".join(fresh[: 2 * count]) or "any"
        user = filled(str(prompt["user"]), statement=statement, count=str(count), details=listed)
        if attempt:
            for name, told in (("kept", [q.text for q in found.kept]), ("refused", found.bad)):
                if told and kind != "naive":
                    lines = "\n".join(f"- {line}" for line in dict.fromkeys(told))
                    user += "\n" + filled(str(prompts()["again"][name]), questions=lines)
        value = await ask_json(
            self._model,
            str(prompt["system"]),
            user,
            _schema(kind, count),
            temperature=0.0 if attempt else 0.7,
            max_tokens=60 if kind == "naive" else max(384, 160 * count),
            # Another seed is another call, also where nothing else changed.
            seed=(seed + attempt) & 0x7FFFFFFF,
        )
        if value is None or kind == "naive":
            return None if value is None else [value]
        rows = value.get("questions")
        return cast("list[Any]", rows) if isinstance(rows, list) else None


def _spread(questions: list[Question]) -> list[Question]:
    """Different values first, so that the first few questions ask for different things."""
    first: list[Question] = []
    later: list[Question] = []
    seen: set[frozenset[str]] = set()
    for question in questions:
        value = stems(question.key_value)
        (later if question.kind == "recall" and value in seen else first).append(question)
        seen.add(value)
    return first + later


def _schema(kind: Kind, count: int) -> dict[str, Any]:
    fields = dict.fromkeys(_FIELDS[kind], _TEXT)
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    if kind == "naive":
        return item
    questions = {"type": "array", "items": item, "minItems": count, "maxItems": count}
    return {
        "type": "object",
        "properties": {"questions": questions},
        "required": ["questions"],
        "additionalProperties": False,
    }


def _questions(row: Any, kind: Kind, statement: str, follow_up: str) -> list[Question]:
    """The questions that a row can be read as, the first one preferred; none where it cannot be read."""
    if not isinstance(row, dict):
        return []
    held = cast("dict[str, Any]", row)
    said = {name: one_line(held.get(name), MAX_TEXT) for name in _FIELDS[kind]}
    if not all(said[name] for name in _FIELDS[kind] if name != "other"):
        return []
    match kind:
        case "recall":
            value = trimmed(said["key_value"].rstrip(".!?"), said["question"])
            topic = said["topic"][:MAX_TOPIC]
            question = Question(
                kind=kind, topic=topic, key_value=value, text=said["question"], follow_up=follow_up
            )
            return [question]
        case "yes_no":
            return _both_ways(said["detail"], said["other"], said["question"], statement)
        case "naive":
            topic = said["topic"].rstrip(".?! ")[:MAX_TOPIC]
            subject = subject_of(statement)
            if subject and not stems(subject) & stems(topic):
                topic = f"{subject} and {topic[:1].lower()}{topic[1:]}"
            return [Question(kind=kind, topic=topic, text=str(texts()["naive"]["text"]).format(topic=topic))]


def _both_ways(detail: str, other: str, asked: str, statement: str) -> list[Question]:
    """With another detail, which is wrong, and as it is, which is right."""
    told = str(texts()["yes_no"]["instruction"])
    right = Question(kind="yes_no", text=f"{asked} {told}", expected="yes")
    changed = replaced(asked, detail, other)
    if changed is None or not other or stands_in(other, statement):
        return [right]
    return [Question(kind="yes_no", key_value=other, text=f"{changed} {told}", expected="no"), right]
