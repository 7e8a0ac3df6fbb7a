"""Questions by rules alone: gaps in the statement, true or false statements, the broad question. No model. Ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from vestige.attacks.checks import gives_away, rejection, trimmed
from vestige.attacks.question import Generated, Kind, Question, texts, texts_version
from vestige.attacks.slots import Slot, details, slots, subject_of
from vestige.attacks.stems import stem, stems
from vestige.attacks.swaps import swapped
from vestige.text import content_words, sentences

__all__ = ["RuleGenerator", "gapped", "stated"]

GAP = "_____"
MAX_SHOWN = 400
"""Characters of a statement that a question shows; of a longer one, the sentence asked about."""
_BESIDE = 180
"""Characters shown on either side of what is asked for, in a sentence that is longer still."""


class RuleGenerator:
    """Makes the same questions for the same statement and seed, at no cost."""

    @property
    def name(self) -> str:
        """With the version of its texts."""
        return f"rules, texts {texts_version()}"

    async def generate(self, statement: str, kind: Kind, count: int, seed: int) -> Generated:
        """At most `count` questions; see `QuestionGenerator`."""
        rng = np.random.default_rng(seed)
        plain = " ".join(statement.split())
        match kind:
            case "recall":
                made = _recall(plain, rng)
            case "yes_no":
                made = _yes_no(plain, count, rng)
            case "naive":
                made = _naive(plain)
                count = 1
        kept: dict[str, Question] = {}
        refused: Counter[str] = Counter()
        for question in made:
            if len(kept) == count:
                break
            reason = "asked already" if question.text in kept else rejection(question, statement)
            if reason is None:
                kept[question.text] = question
            else:
                refused[reason] += 1
        questions = list(kept.values())
        if kind == "yes_no":
            questions = [questions[int(i)] for i in rng.permutation(len(questions))]
        return Generated(questions=tuple(questions), rejected=dict(sorted(refused.items())))


def _recall(statement: str, rng: np.random.Generator) -> Iterator[Question]:
    """A gap for each slot, different kinds first; then the same gaps in other frames."""
    ordered = details(statement)
    follow_ups: list[str] = texts()["follow_up"]["texts"]
    cloze = texts()["cloze"]
    topic = _topic(statement)
    for frame in cloze["frames"]:
        for slot in ordered:
            yield Question(
                kind="recall",
                topic=topic,
                key_value=slot.value,
                text=str(frame).format(gap=gapped(statement, slot), ask=cloze["ask"][slot.kind]),
                follow_up=follow_ups[int(rng.integers(len(follow_ups)))],
            )


def gapped(statement: str, slot: Slot) -> str:
    """The statement, or the part of it around the slot, with the slot and its words in any form left out."""
    before, after = _around(statement, slot)
    hidden = stems(slot.value)
    left, right = (
        re.sub(r"[^\W_]+(?:['’-][^\W_]+)*", lambda m: _hidden(m, hidden), t) for t in (before, after)
    )
    subject = subject_of(statement)
    if not stems(subject) <= stems(before + after):
        left = f"{subject}: {left}"
    whole = re.sub(rf"{GAP}(?:[\s,'’-]*{GAP})+", GAP, f"{left}{GAP}{right}")
    return whole.replace('"', "'")


def _hidden(word: re.Match[str], hidden: frozenset[str]) -> str:
    return GAP if any(stem(w) in hidden for w in content_words(word.group())) else word.group()


def _around(statement: str, slot: Slot) -> tuple[str, str]:
    """What is shown before and after the slot."""
    start, stop = 0, len(statement)
    if stop > MAX_SHOWN:
        at = 0
        for sentence in sentences(statement):
            at = statement.find(sentence, at)
            if at <= slot.start and slot.stop <= at + len(sentence):
                start, stop = at, at + len(sentence)
                break
            at += len(sentence)
    before, after = statement[start : slot.start], statement[slot.stop : stop]
    if len(before) > _BESIDE and stop - start > MAX_SHOWN:
        before = "… " + before[-_BESIDE:].partition(" ")[2]
    if len(after) > _BESIDE and stop - start > MAX_SHOWN:
        after = after[:_BESIDE].rpartition(" ")[0] + " …"
    return before, after


def _yes_no(statement: str, count: int, rng: np.random.Generator) -> Iterator[Question]:
    """By turns a true one and one with a detail changed; where no more details can be changed, more true ones.

    True and changed ones are worded alike, so that the wording does not tell which is which.
    """
    wordings: list[str] = texts()["yes_no"]["wordings"]
    changed = list(swapped(statement, rng))
    wanted_no = min(len(changed), count // 2)
    first = int(rng.integers(len(wordings)))
    for i in range(len(wordings)):
        wording = wordings[(first + i) % len(wordings)]
        if i < wanted_no:
            yield stated(wording, *changed[i])
        yield stated(wording, statement, "")
    for i in range(wanted_no, len(changed)):
        yield stated(wordings[(first + i) % len(wordings)], *changed[i])


def stated(wording: str, statement: str, changed: str) -> Question:
    """Whether the statement, in which a detail may be changed, is true."""
    said = _within(statement).rstrip(".!? ")
    text = f"{wording.replace('{statement}', said)} {texts()['yes_no']['instruction']}"
    return Question(kind="yes_no", key_value=changed, text=text, expected="no" if changed else "yes")


def _within(statement: str) -> str:
    """As it stands inside of a sentence: a capital that is no name's goes."""
    subject = subject_of(statement)
    first = statement.split(" ", 1)[0]
    named = subject and statement.startswith(subject.split()[0])
    if named or first in ("I", "I'm", "I've", "I'd", "I'll") or first[1:] != first[1:].lower():
        return statement
    return statement[:1].lower() + statement[1:]


def _naive(statement: str) -> Iterator[Question]:
    """About the subject and one thing; about the subject alone where that would say most of the statement."""
    wording = str(texts()["naive"]["text"])
    for topic in dict.fromkeys((_topic(statement), subject_of(statement))):
        if topic:
            yield Question(kind="naive", topic=topic, text=wording.format(topic=topic))


def _topic(statement: str) -> str:
    """The subject and one thing that is said of it; neither a time, a number nor a name, where it has others."""
    subject = subject_of(statement)
    found = slots(statement)
    strong = [s for s in found if not s.weak] or found
    thing = next((s.value for s in strong if s.kind in ("thing", "word")), "")
    if not thing and not subject:
        thing = next((s.value for s in found), "")
    thing = trimmed(thing, subject) if thing and gives_away(thing, subject) else thing
    return " and ".join(part for part in (subject, thing) if part)
