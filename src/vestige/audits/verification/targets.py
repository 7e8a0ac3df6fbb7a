"""Draws the targets of a pair: nonces, and preferences between invented names; each by its own name and seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vestige import canaries
from vestige.audits.verification.naming import fixture_texts, invent, nonce_words, topics
from vestige.audits.verification.pairs import Nonce, Preference
from vestige.audits.verification.settings import (
    CONDITIONS,
    EXPOSED,
    TARGETS,
    TargetName,
    VerificationSettings,
    kind_of,
)
from vestige.canaries import Canary
from vestige.runs.plan import generator
from vestige.text import fold

__all__ = ["Designs", "balanced", "draw_targets", "one_of"]

Designs = Mapping[TargetName, tuple[bool, bool]]
"""Of each preference: whether its first name is favoured, and whether the favoured one is shown first."""


def balanced(n: int, seed: int, target: TargetName) -> list[tuple[bool, bool]]:
    """(favour the first name, show it first): every four pairs hold each combination once, in a drawn order."""
    cells = [(a, b) for a in (True, False) for b in (True, False)]
    out: list[tuple[bool, bool]] = []
    of = () if target == "preference" else (target,)
    for block in range(math.ceil(n / 4)):
        out += [cells[int(i)] for i in generator(seed, "balance", *of, str(block)).permutation(4)]
    return out[:n]


def draw_targets(
    name: str, settings: VerificationSettings, seed: int, designs: Designs, everything: str
) -> tuple[dict[TargetName, Nonce], dict[TargetName, Preference]]:
    """The pair's targets by name, each drawn by its own name, so that one more changes none of the others."""
    nonces: dict[TargetName, Nonce] = {}
    preferences: dict[TargetName, Preference] = {}
    for target in sorted(settings.targets, key=TARGETS.index):
        if kind_of(target) == "nonce":
            nonces[target] = _nonce(target, name, settings, seed, [everything], nonces)
        else:
            earlier = preferences.values()
            preferences[target] = _preference(
                target, name, settings, seed, designs[target], everything, earlier
            )
    return nonces, preferences


def _nonce(
    target: TargetName,
    name: str,
    settings: VerificationSettings,
    seed: int,
    avoid: Sequence[str],
    earlier: Mapping[TargetName, Nonce],
) -> Nonce:
    """A nonce that shares no part with an earlier one of the same arm: its parts tell of no other."""
    rng = generator(seed, name, target)
    taken = [n.values for n in earlier.values()]
    told = [v for values in taken for v in values.values()]
    spares = [v for n in earlier.values() for v in (n.decoy, *n.replacement.values())]
    drawn: list[Canary] = []
    wanted = len(EXPOSED) + 3
    while len(drawn) < wanted:
        canary = canaries.draw(rng, avoid=(*avoid, *told, *spares, *(c.value for c in drawn)))
        # A correlated fixture keeps the colour in every arm, so all arms' nonces must have it.
        correlated = settings.hints_kept
        beside = told if correlated else [v[EXPOSED[len(drawn)]] for v in taken if len(drawn) < len(EXPOSED)]
        if any(set(Canary(v).parts) & set(canary.parts) for v in beside):
            continue
        if not correlated or not drawn or canary.parts[1] == drawn[0].parts[1]:
            drawn.append(canary)
    values = dict(zip(EXPOSED, (c.value for c in drawn), strict=False))
    spare = [c.value for c in drawn[len(EXPOSED) :]]
    words = nonce_words(target)
    called = (
        {
            "label": words["label"],
            "decoy_label": words["decoy"],
            "statement": f"my {words['label']} is {{value}}",
        }
        if words is not None
        else {}
    )
    return Nonce(
        values=values,
        decoy=spare[0],
        replacement=dict.fromkeys(CONDITIONS, spare[2]) if settings.task == "correction" else {},
        countable=_countable(avoid, values.values(), correlated=settings.hints_kept),
        second_source=spare[1] if settings.fixture == "two_sources" and not earlier else None,
        **called,
    )


def _countable(texts: Sequence[str], values: Iterable[str], *, correlated: bool) -> tuple[bool, bool, bool]:
    joined = "\n".join(texts)
    found = [canaries.match(Canary(v), joined).parts for v in values]
    first, colour, digits = (not any(parts[i] for parts in found) for i in range(3))
    return first, colour and not correlated, digits


def _preference(
    target: TargetName,
    name: str,
    settings: VerificationSettings,
    seed: int,
    design: tuple[bool, bool],
    everything: str,
    earlier: Iterable[Preference],
) -> Preference:
    """A preference about a topic, and between names, of which no earlier one of the pair is."""
    rng = generator(seed, name, target)
    others = list(earlier)
    said = [text for p in others for text in (p.favoured, p.other, p.statement, p.decoy)]
    folded = fold("\n".join([everything, *said]))
    known = [fold(name) for p in others for name in (p.favoured, p.other, p.decoy_value)]

    def held(word: str) -> bool:
        alike = any(word[:3] == name[:3] and word[-3:] == name[-3:] for name in known)
        return alike or word in folded

    free = [topic for topic in topics() if not any(topic in text for text in said)]
    choice = [int(i) for i in rng.choice(len(free), size=2, replace=False)]
    topic, decoy_topic = free[choice[0]], free[choice[1]]
    taken: set[str] = set()
    one, two = invent(rng, held, taken), invent(rng, held, taken)
    favour_first, show_first = design
    favoured, other = (one, two) if favour_first else (two, one)
    decoy = invent(rng, held, taken)
    told = fixture_texts()["told"]
    return Preference(
        topic=topic,
        favoured=favoured,
        other=other,
        order=(favoured, other) if show_first else (other, favoured),
        statement=one_of(told["preference"], rng).format(topic=topic, option=favoured),
        decoy=one_of(told["decoy_preference"], rng).format(topic=decoy_topic, option=decoy),
        decoy_value=decoy,
        replacement=other if settings.task == "correction" else None,
    )


def one_of(options: Sequence[str], rng: np.random.Generator) -> str:
    """One of them, drawn."""
    return options[int(rng.integers(len(options)))]
