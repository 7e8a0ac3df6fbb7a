"""Non-members that are hard to tell from members: near-duplicates of one, and what follows from several."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from vestige.datasets.synthetic.values import KINDS, Random, pick, yes
from vestige.datasets.units.synthetic.facts import Fact, Pool, worded, wordings

__all__ = ["RELATIONS", "Chain", "chain", "near_duplicate"]

RELATIONS = (
    *("accountant", "apprentice", "aunt", "barber", "boss", "bridesmaid", "caretaker"),
    *("chess partner", "cleaner", "dance partner", "driving instructor", "florist", "former tenant"),
    *("gardener", "godfather", "godmother", "goddaughter", "great-uncle", "house sitter"),
    *("interpreter", "lodger", "landlady", "lawyer", "mentor", "mother-in-law", "notary", "osteopath"),
    *("painter", "personal trainer", "pharmacist", "roommate from college", "stepfather"),
    *("stepmother", "swimming coach", "tailor", "therapist", "uncle", "veterinarian", "yoga teacher"),
    *("optician", "business partner", "carpenter", "chauffeur", "godson", "locksmith"),
)
"""Whom a user has one of: a user's chains use each once, so that a conclusion is about one person alone."""

_FIRST = ("{who} is {of}'s {r}.", "{of}'s {r} is {who}.", "{of} has {who} as {r}.")
_KIN = ("sister", "brother", "husband", "wife", "daughter", "son", "cousin", "twin")
_SECOND = ("{who} is the {r} of {of}.", "The {r} of {of} is {who}.")
_DRAWS = 24
"""Values tried for a near-duplicate at hardness 1; the nearest is taken."""


def near_duplicate(fact: Fact, pool: Pool, rng: Random, hardness: float) -> str:
    """A statement of the same thing about the same person, with another value.

    With the chance `hardness` it has the member's own wording, else another one of the same fact where there is one.
    The value is the nearest, by its letters, of 1 + 23 · `hardness` drawn.
    """
    own = fact.who == pool.name
    template = fact.template
    if not yes(rng, hardness):
        others = [t for t in wordings(fact.slot.topic, fact.slot.key, own) if t.id != template.id]
        template = pick(rng, others) if others else template
    drawn = [_unused(fact, pool, rng) for _ in range(1 + round((_DRAWS - 1) * hardness))]
    near = max(drawn, key=lambda value: SequenceMatcher(None, fact.value, value, autojunk=False).ratio())
    pool.values.add(near)
    return worded(template, fact.who, near)


def _unused(fact: Fact, pool: Pool, rng: Random) -> str:
    while (value := KINDS[fact.slot.kind](rng)) in pool.values:
        pass
    return value


@dataclass(frozen=True, slots=True)
class Chain:
    """Statements from which another one follows."""

    premises: tuple[str, ...]
    conclusion: str


def chain(pool: Pool, relation: str, *, steps: int) -> Chain:
    """What follows by a relation: B is A's tailor, B parks on 12C, so A's tailor parks on 12C.

    With two steps there is somebody between: C is the sister of B, and the conclusion is about the sister of A's
    tailor.

    Args:
        pool: Of the user, who is A.
        relation: One of `RELATIONS`, used once in this pool.
        steps: 1 or 2.

    Raises:
        ValueError: The pool has no more facts.
    """
    rng = pool.rng
    b, first = _link(pool, _FIRST, relation, pool.name)
    premises, last, described = [first], b, f"{pool.name}'s {relation}"
    if steps == 2:
        kin = pick(rng, _KIN)
        last, second = _link(pool, _SECOND, kin, b)
        premises.append(second)
        described = f"the {kin} of {described}"
    fact = pool.about(last)
    return Chain((*premises, fact.text), worded(fact.template, described, fact.value))


def _link(pool: Pool, wordings: tuple[str, ...], relation: str, of: str) -> tuple[str, str]:
    """Somebody new, and the statement that says what they are to whom."""
    while True:
        who = pool.stranger()
        text = pick(pool.rng, wordings).format(who=who, r=relation, of=of)
        if pool.admit(text):  # not where names happen to agree with those of another statement
            return who, text
