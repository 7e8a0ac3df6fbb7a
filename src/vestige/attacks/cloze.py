"""Questions by rules alone: gaps in the statement, true or false statements, the broad question. No model. Ours."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from vestige.attacks.checks import rejection
from vestige.attacks.question import Generated, Kind, Question, texts, texts_version
from vestige.attacks.slots import Slot, SlotKind, slots, subject_of
from vestige.text import content_words, fold

__all__ = ["RuleGenerator"]

GAP = "_____"
ORDER: tuple[SlotKind, ...] = ("number", "name", "thing", "word")


class RuleGenerator:
    """Makes the same questions for the same statement and seed, at no cost."""

    @property
    def name(self) -> str:
        """With the version of its texts."""
        return f"rules, texts {texts_version()}"

    async def generate(self, statement: str, kind: Kind, count: int, seed: int) -> Generated:
        """At most `count` questions; see `QuestionGenerator`."""
        rng = np.random.default_rng(seed)
        match kind:
            case "recall":
                made = _recall(statement, rng)
            case "yes_no":
                made = _yes_no(statement, count, rng)
            case "naive":
                made = [
                    Question(kind="naive", topic=(t := _topic(statement)), text=_filled("naive", topic=t))
                ]
        kept: dict[str, Question] = {}
        refused: Counter[str] = Counter()
        for question in made:
            reason = "asked already" if question.text in kept else rejection(question, statement)
            if reason is None:
                kept[question.text] = question
            else:
                refused[reason] += 1
        return Generated(questions=tuple(kept.values())[:count], rejected=dict(sorted(refused.items())))


def _filled(place: str, **values: str) -> str:
    return str(texts()[place]["text"]).format(**values)


def _recall(statement: str, rng: np.random.Generator) -> list[Question]:
    """A gap for each slot, different kinds first, so that a few questions ask for different things."""
    by_kind: dict[SlotKind, list[Slot]] = {kind: [] for kind in ORDER}
    topic = _topic(statement)
    for slot in slots(statement):
        by_kind[slot.kind].append(slot)
    ordered: list[Slot] = []
    while any(by_kind.values()):
        ordered += [by_kind[kind].pop(0) for kind in ORDER if by_kind[kind]]
    follow_ups: list[str] = texts()["follow_up"]["texts"]
    return [
        Question(
            kind="recall",
            topic=topic,
            key_value=slot.value,
            text=str(texts()["cloze"][slot.kind]).format(gap=_gapped(statement, slot)),
            follow_up=follow_ups[int(rng.integers(len(follow_ups)))],
        )
        for slot in ordered
    ]


def _gapped(statement: str, slot: Slot) -> str:
    """The statement with the slot, and every other mention of its words, left out."""
    whole = statement[: slot.start] + GAP + statement[slot.stop :]
    for word in sorted(set(re.findall(r"[^\W_]+", slot.value)), key=len, reverse=True):
        if content_words(word):
            whole = re.sub(rf"(?<!\w){re.escape(word)}(?:'s|’s|s)?(?!\w)", GAP, whole, flags=re.IGNORECASE)
    text = re.sub(rf"{GAP}(?:\W*{GAP})+", GAP, " ".join(whole.split()))
    return text.replace('"', "'")


def _yes_no(statement: str, count: int, rng: np.random.Generator) -> list[Question]:
    """Half of them true, half with one detail changed; more true ones cannot be made of one statement by rules."""
    made = [_stated(statement, "yes", "")]
    for slot in slots(statement):
        other = _swapped(slot, statement, rng)
        if other is not None:
            changed = statement[: slot.start] + other + statement[slot.stop :]
            made.append(_stated(changed, "no", other))
    reworded = [
        _stated(f"{lead} {_lowered(statement)}", "yes", "")
        for lead in ("you remember that", "somebody told you that", "you know that", "it was said that")
    ]
    yes = [made[0], *reworded]
    no = made[1:]
    wanted_no = min(len(no), count // 2)
    chosen = yes[: count - wanted_no] + no[:wanted_no]
    return [chosen[int(i)] for i in rng.permutation(len(chosen))]


def _stated(statement: str, expected: str, changed: str) -> Question:
    said = " ".join(statement.split()).rstrip(".!? ")
    text = str(texts()["yes_no"]["text"]).replace("{statement}", said)
    return Question(
        kind="yes_no", key_value=changed, text=text, expected="yes" if expected == "yes" else "no"
    )


def _lowered(statement: str) -> str:
    """Without the capital of its beginning, where that is no name."""
    subject = subject_of(statement)
    first = statement.split(" ", 1)[0]
    return statement if subject and first.lower() not in _COMMON else statement[:1].lower() + statement[1:]


_COMMON = frozenset("the a an my his her their our your this that these those it he she they we you".split())  # noqa: SIM905


def _swapped(slot: Slot, statement: str, rng: np.random.Generator) -> str | None:
    """Another value of the slot's kind that the statement does not hold."""
    if slot.kind == "number":
        digits = re.search(r"\d+", slot.value)
        if digits is None:
            return None
        number = int(digits.group()[:9])
        other = number + int(rng.integers(2, 9))
        return slot.value[: digits.start()] + str(other) + slot.value[digits.end() :]
    pool: list[str] = texts()["swap"][slot.kind]
    fresh = [word for word in pool if fold(word) not in fold(statement)]
    return fresh[int(rng.integers(len(fresh)))] if fresh else None


def _topic(statement: str) -> str:
    """The subject and the first thing that is said of it; neither a number nor a name."""
    subject = subject_of(statement)
    thing = next((s.value for s in slots(statement) if s.kind in ("thing", "word")), "")
    return " and ".join(part for part in (subject, thing) if part) or "this"
