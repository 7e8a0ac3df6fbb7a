"""What a generated user's memory can hold: the generator's facts, told in the third person and by name.

Every fact is a wording of `datasets/synthetic/topics` with an arbitrary value, either of the user or of somebody the
user knows. Two facts are near-duplicates where they tell the same of the same person, or share half of their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from vestige.datasets.synthetic.grammar import Slot, Template, load_grammar
from vestige.datasets.synthetic.values import KINDS, Random, pick
from vestige.text import content_words

__all__ = ["NEAR", "Fact", "Pool", "drawn_value", "overlap", "person", "worded", "wordings", "words_of"]

T = TypeVar("T")

NEAR = 0.5
"""Share of common content words (of all, names left out) from which on two statements are near-duplicates."""

_FIRST_PERSON = re.compile(r"\b(?:I|me|mine|myself|we|us|our|ours|you|your)\b", re.IGNORECASE)
_MY = re.compile(r"\bmy\b", re.IGNORECASE)
_KIN = (
    *("best friend", "classmate", "colleague", "cousin", "flatmate", "neighbour", "old friend", "teammate"),
    *("nephew", "niece", "penfriend", "running partner", "choir friend", "former flatmate"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement with what it was made of."""

    text: str
    who: str
    """Whom it is about: the user, or somebody the user knows, as the text writes it."""
    slot: Slot
    template: Template
    value: str


def person(rng: Random) -> str:
    """A given name with an invented surname."""
    return KINDS["person"](rng)


def _third(text: str) -> str | None:
    """A wording with `{who}` for its speaker, or None where that would need another verb."""
    if _FIRST_PERSON.search(text) or not _MY.search(text):
        return None
    told = _MY.sub("{who}'s", text, count=1)
    return _MY.sub("their", told)


@cache
def wordings(topic: str, key: str, own: bool) -> tuple[Template, ...]:
    """The wordings of a slot in the third person, with `{who}` and `{v}`: of the user, or of somebody else."""
    slot = _slots()[topic, key]
    if own:
        return tuple(Template(t.id, told) for t in slot.tell if (told := _third(t.text)) is not None)
    return tuple(t for t in slot.other if not _FIRST_PERSON.search(t.text) and not _MY.search(t.text))


@cache
def _slots() -> dict[tuple[str, str], Slot]:
    return {(slot.topic, slot.key): slot for topic in load_grammar().topics for slot in topic.slots}


def worded(template: Template, who: str, value: str) -> str:
    """The statement, its first letter large."""
    text = template.text.format(who=who, v=value)
    return text[0].upper() + text[1:]


def drawn_value(slot: Slot, rng: Random, taken: set[str]) -> str:
    """A value of the slot that is not taken, and now is."""
    while (value := KINDS[slot.kind](rng)) in taken:
        pass
    taken.add(value)
    return value


def words_of(text: str, names: Sequence[str]) -> frozenset[str]:
    """The content words of a statement without those of the names in it that all of a user's statements share."""
    return frozenset(content_words(text)) - {word for name in names for word in content_words(name)}


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Share of common words in all words of the two."""
    return len(a & b) / len(a | b) if a or b else 0.0


class Pool:
    """The facts of one user, handed out one at a time and never two near-duplicates.

    Args:
        name: The user's.
        rng: Draws everything.
    """

    def __init__(self, name: str, rng: Random) -> None:
        self.name = name
        self.rng = rng
        self.values: set[str] = {name}
        """Values and names that stand in a statement already; nothing has the same value twice."""
        self._said: list[frozenset[str]] = []
        self._openings = self._shuffled()
        self._others = self._foreign()

    def fact(self) -> Fact:
        """One more fact, of the user or of somebody the user knows.

        Raises:
            ValueError: There are no more.
        """
        for slot, template, own in self._openings:
            value = drawn_value(slot, self.rng, self.values)
            who = self.name if own else self._acquaintance()
            text = worded(template, who, value)
            if self.admit(text):
                return Fact(text, who, slot, template, value)
        raise ValueError(f"no more than {len(self._said)} statements of one user are free of near-duplicates")

    def stranger(self) -> str:
        """The full name of somebody who was not named before."""
        while (name := person(self.rng)) in self.values:
            pass
        self.values.add(name)
        return name

    def about(self, who: str) -> Fact:
        """One more fact of a given person.

        Raises:
            ValueError: There are no more.
        """
        for slot, template in self._others:
            value = drawn_value(slot, self.rng, self.values)
            text = worded(template, who, value)
            if self.admit(text):
                return Fact(text, who, slot, template, value)
        raise ValueError(f"no more than {len(self._said)} statements of one user are free of near-duplicates")

    def admit(self, text: str) -> bool:
        """Whether a statement is no near-duplicate of one handed out; if so it counts as handed out."""
        said = words_of(text, (self.name,))
        if any(overlap(said, other) >= NEAR for other in self._said):
            return False
        self._said.append(said)
        return True

    def _acquaintance(self) -> str:
        return f"{self.name}'s {pick(self.rng, _KIN)} {self.stranger()}"

    def _shuffled(self) -> Iterator[tuple[Slot, Template, bool]]:
        """Every slot once of the user, and half of its wordings of somebody else: the other half is for chains."""
        found = [
            (slot, pick(self.rng, known), own)
            for own in (True, False)
            for (topic, key), slot in _slots().items()
            if (known := wordings(topic, key, own)[: None if own else 1])
        ]
        return self._mixed(found)

    def _foreign(self) -> Iterator[tuple[Slot, Template]]:
        found = [
            (slot, template)
            for (topic, key), slot in _slots().items()
            for template in wordings(topic, key, False)[1:]
            if template.text.startswith("{who} ")
        ]
        return self._mixed(found)

    def _mixed(self, found: list[T]) -> Iterator[T]:
        # An iterator over a list: a generator of this object would be a circle that stays in memory for a while.
        return iter([found[int(i)] for i in self.rng.permutation(len(found))])
