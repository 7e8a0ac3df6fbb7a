"""Questions written by an auxiliary model, each checked; what fails is asked for again.

Source: arXiv 2605.27825, section 4.1: one call for K objects {topic, key_value, question} at temperature 0.7, two
retries at 0, max(384, 160·K) tokens. Fewer valid questions are used as they are.

Ours: a retry asks for what is missing and says what was no good; the prompt lists details that rules found; and of a
yes/no question the model names the detail and another of its kind, and the change is made here: a small model does
not change one detail alone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from vestige.attacks.asking import ask_json, filled, one_line, prompts, prompts_version
from vestige.attacks.checks import gives_away, rejection, stands_in, trimmed
from vestige.attacks.cloze import gapped, stated
from vestige.attacks.question import Generated, Kind, Question, texts
from vestige.attacks.slots import Slot, details, subject_of
from vestige.attacks.stems import stems
from vestige.attacks.swaps import replaced
from vestige.models.base import ChatModel
from vestige.text import tokens

__all__ = ["ModelGenerator", "prompts_version"]

RETRIES = 2
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
    tried: list[str] = field(default_factory=list[str])
    """Values whose gaps the model was shown."""

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
            q.expected == question.expected and _gist(q.text) == _gist(question.text) for q in self.kept
        )

    def wanted(self, made: list[Question], count: int) -> list[Question]:
        """Those whose expected answer is not that of half of `count` questions, rounded up, already."""
        held = Counter(q.expected for q in self.kept)
        return [q for q in made if held[q.expected] < count - count // 2]

    def generated(self, questions: list[Question], attempts: int) -> Generated:
        return Generated(
            questions=tuple(questions), rejected=dict(sorted(self.refused.items())), attempts=attempts
        )


_WH = frozenset(("who", "whom", "whose", "what", "which", "when", "where", "why", "how"))


def _gist(text: str) -> frozenset[str]:
    """Its content words and question words: two questions with the same ones have the same answer."""
    return stems(text) | (_WH & set(tokens(text)))


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
                if kind == "yes_no":  # by turns a "no" and a "yes", and no more than half of either
                    made = sorted(found.wanted(made, count), key=lambda q: (q.expected == "no") != no_next)
                    if not made:
                        found.refused["no other detail"] += 1
                        continue
                if len(found.kept) < count and found.take(made, statement):
                    asked = found.kept[-1].expected
                    no_next = asked != "no"
                    spare += [q for q in made if q.expected != asked]
            if kind == "yes_no":  # the same details the other way round, before the model is asked again
                for question in spare:
                    if len(found.kept) < count and found.wanted([question], count):
                        found.take([question], statement)
        return found.generated(_spread(found.kept), attempts)

    async def _asked(
        self, statement: str, kind: Kind, count: int, attempt: int, seed: int, found: _Found
    ) -> list[Any] | None:
        """The rows of one call; a retry shows gaps alone, or tells what there is already and what was no good."""
        gaps = _gaps(statement, count, found) if attempt and kind == "recall" else []
        if gaps:
            return await self._of_gaps(gaps, attempt, seed)
        prompt = prompts()[kind]
        user = filled(
            str(prompt["user"]),
            statement=statement,
            count=str(count),
            details=_details(statement, count, found),
        )
        if attempt:
            for name, told in (("kept", [q.text for q in found.kept]), ("refused", found.bad)):
                if told and kind != "naive":
                    user += "\n" + filled(str(prompts()["again"][name]), questions=_lines(told))
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
        return _rows(value)

    async def _of_gaps(self, gaps: list[tuple[Slot, str]], attempt: int, seed: int) -> list[Any] | None:
        """A question for each gap, in their order. The model sees no value, so that it cannot give it away."""
        prompt = prompts()["gaps"]
        shown = "\n".join(f"{i}. {gap}" for i, (_, gap) in enumerate(gaps, 1))
        value = await ask_json(
            self._model,
            str(prompt["system"]),
            filled(str(prompt["user"]), gaps=shown, count=str(len(gaps))),
            _listed(("topic", "question"), len(gaps)),
            max_tokens=max(384, 160 * len(gaps)),
            seed=(seed + attempt) & 0x7FFFFFFF,
        )
        rows = None if value is None else _rows(value)
        if rows is None:
            return None
        return [_about(slot, row) for (slot, _), row in zip(gaps, rows, strict=False)]


def _rows(value: dict[str, Any]) -> list[Any] | None:
    rows = value.get("questions")
    return cast("list[Any]", rows) if isinstance(rows, list) else None


def _gaps(statement: str, count: int, found: _Found) -> list[tuple[Slot, str]]:
    """Values with the statement without them: those not asked for first, then those not shown yet."""
    plain = " ".join(statement.split())
    done = [stems(q.key_value) for q in found.kept]
    slots = sorted(
        details(plain), key=lambda s: (any(stems(s.value) <= d for d in done), found.tried.count(s.value))
    )[:count]
    found.tried += [slot.value for slot in slots]
    return [(slot, gapped(plain, slot)) for slot in slots]


def _about(slot: Slot, row: Any) -> Any:
    """The row with its gap's value; nothing where it asks why, or for a time and none is left out, or the reverse."""
    if not isinstance(row, dict):
        return row
    held = cast("dict[str, Any]", row)
    asked = one_line(held.get("question"), MAX_TEXT)
    if (slot.kind == "time") != (_TIME.search(asked) is not None) or "why" in tokens(asked):
        return None
    return {**held, "key_value": slot.value}


_TIME = re.compile(
    r"\b(?:when|(?:what|which) (?:time|day|date|month|year|week|weekend)|how long)\b", re.IGNORECASE
)


def _details(statement: str, count: int, found: _Found) -> str:
    """What can be asked for: a small model copies a detail better than it finds one."""
    plain = " ".join(statement.split())
    done = [stems(q.key_value) for q in found.kept]
    fresh = [s for s in details(plain) if not any(stems(s.value) <= asked for asked in done)][: count + 1]
    return _lines([s.value for s in fresh]) or "any"


def _lines(texts_: list[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(texts_))


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
    return _item(_FIELDS[kind]) if kind == "naive" else _listed(_FIELDS[kind], count)


def _item(fields: tuple[str, ...]) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in fields}
    return {
        "type": "object",
        "properties": properties,
        "required": list(fields),
        "additionalProperties": False,
    }


def _listed(fields: tuple[str, ...], count: int) -> dict[str, Any]:
    item = _item(fields)
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
            value = _asked_for(said["key_value"].rstrip(".!?"), said["question"], statement)
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


_REASON = re.compile(r"\b(?:why|how)\b", re.IGNORECASE)


def _asked_for(value: str, asked: str, statement: str) -> str:
    """The value that the question asks for: the model's, without what the question says already.

    Where the question gives the model's value away and leaves out one detail of the statement alone, it asks for that
    one: the model put two questions' values the wrong way round.
    """
    value = trimmed(value, asked)
    if not gives_away(value, asked) or _REASON.search(asked):
        return value
    left_out = [s.value for s in details(" ".join(statement.split())) if not gives_away(s.value, asked)]
    return left_out[0] if len(left_out) == 1 else value


def _both_ways(detail: str, other: str, asked: str, statement: str) -> list[Question]:
    """With another detail, which is wrong, and as it is, which is right; the model's question, else the statement's."""
    told = str(texts()["yes_no"]["instruction"])
    plain = " ".join(statement.split())
    wordings: list[str] = texts()["yes_no"]["wordings"]
    made = [Question(kind="yes_no", text=f"{asked} {told}", expected="yes")]
    made += [stated(wording, plain, "") for wording in wordings]
    if other and not stands_in(other, statement):
        changed = replaced(asked, detail, other)
        if changed is not None:
            made.append(Question(kind="yes_no", key_value=other, text=f"{changed} {told}", expected="no"))
        whole = replaced(plain, detail, other)
        if whole is not None:
            made.append(stated(wordings[0], whole, other))
    return made
