"""Makes the pairs of a verification: conversations, targets told in them, and what must be kept.

Every pair is made from a record of the data (a user's own conversations, or a made-up user). The target is told in a
user turn that answers none of the retained questions; the arm that never saw it gets the same turn without it.
Source: "Counterfactual Tests", sections "Specify the target" and "Build matched counterfactual episodes".
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vestige import canaries
from vestige.audits.verification.naming import fixture_texts
from vestige.audits.verification.pairs import Nonce, Pair, Preference, Retained
from vestige.audits.verification.settings import (
    CONDITIONS,
    TARGETS,
    Condition,
    TargetName,
    VerificationSettings,
    kind_of,
)
from vestige.audits.verification.targets import Designs, balanced, draw_targets, one_of
from vestige.audits.verification.telling import append, chat, correction, told_again
from vestige.canaries import Canary
from vestige.datasets.instance import Dataset, Instance
from vestige.datasets.loading import load
from vestige.datasets.synthetic.dataset import GENERATOR_VERSION
from vestige.errors import ConfigError
from vestige.records import Session, TurnRef
from vestige.runs.plan import canonical_json, generator
from vestige.text import content_words, encoded_forms, fold

__all__ = ["Material", "build_pairs", "synthetic_users"]

_PLAIN_QUESTIONS = ("single-session-user", "knowledge-update")
"""Question types that one stored fact answers: small models answer most of them, so that a lost fact shows."""


@dataclass(frozen=True)
class Material:
    """A pair with its conversations, by condition."""

    id: str
    pair: Pair
    told: dict[Condition, tuple[Session, ...]]
    """What the arm's user says before the boundary."""
    permitted: tuple[Session, ...]
    """The history without the target: what a full reset replays."""
    sibling: tuple[Session, ...]
    later: tuple[Session, ...]
    """Unrelated sessions after the boundary."""
    correction: dict[Condition, Session]
    """Of a correction: the session that states the replacement."""
    again: Session
    """The session in which the user tells the target anew."""


def synthetic_users(pairs: int, seed: int) -> Dataset:
    """Made-up users enough for `pairs` pairs and their siblings, all with questions that one fact answers."""
    n = max(8, math.ceil(2 * pairs * 25 / 15 * 1.1))
    while True:
        data = load("synthetic", n=n, seed=seed)
        plain = tuple(i for i in data.instances if i.question_type in _PLAIN_QUESTIONS)
        if len(plain) >= 2 * pairs:
            # The seed is not named: the targets are drawn from the same one.
            source = f"vestige synthetic generator {GENERATOR_VERSION}, users with a question that one fact answers"
            return data.model_copy(update={"instances": plain, "source": source})
        n *= 2


def build_pairs(
    dataset: Dataset, settings: VerificationSettings, seed: int
) -> tuple[list[Material], list[str]]:
    """The pairs and notes on how they were made.

    A record serves more than one pair only where the data has fewer records than pairs are asked for; such pairs share
    a cluster.

    Raises:
        ConfigError: The data has no usable record, or too few for the fixture asked for.
    """
    if settings.fixture == "two_sources" and settings.kind == "value":
        raise ConfigError(
            "--fixture two_sources: needs --kind source or derivations, since by value both sources are withdrawn"
        )
    if settings.correlated_policy == "prohibited" and settings.fixture != "correlated":
        raise ConfigError(
            f"--correlated-policy prohibited: a {settings.fixture} fixture has no facts that imply the target; use "
            "it with --fixture correlated"
        )
    usable = [i for i in dataset.instances if i.answerable and not i.abstention and _spots(i, settings)]
    if len(usable) < 2:
        what = "" if settings.kind == "value" else " with a session besides those that answer the question"
        raise ConfigError(
            f"--data {dataset.name}: {len(usable)} usable records{what}; a pair needs its user and another one, the "
            "sibling"
        )
    order = generator(seed, "pairs").permutation(len(usable))
    width = max(3, len(str(settings.pairs - 1)))
    preferences: list[TargetName] = [t for t in settings.targets if kind_of(t) == "preference"]
    designs: dict[TargetName, list[tuple[bool, bool]]] = {
        t: balanced(settings.pairs, seed, t) for t in preferences
    }
    reused = settings.pairs > len(usable)
    made: list[Material] = []
    for number in range(settings.pairs):
        instance = usable[int(order[number % len(usable)])]
        sibling = usable[int(order[(number + settings.pairs) % len(usable)])]
        if sibling.id == instance.id:
            sibling = usable[int(order[(number + 1) % len(usable)])]
        name = f"P{number:0{width}d}"
        design: dict[TargetName, tuple[bool, bool]] = {
            target: drawn[number] for target, drawn in designs.items()
        }
        made.append(_material(name, instance, sibling, settings, seed, design))
    notes = [f"Fixture texts version {fixture_texts()['version']}."]
    if reused:
        notes.append(
            f"{settings.pairs} pairs were made from {len(usable)} records: pairs of one record are one cluster."
        )
    return made, notes


def _turns(instance: Instance) -> list[TurnRef]:
    return canaries.candidate_turns(
        instance.sessions, instance.evidence, instance.expected, instance.question
    )[0]


def _spots(instance: Instance, settings: VerificationSettings) -> list[TurnRef]:
    """Turns in which the target can be told; where its whole session goes, only sessions that answer nothing kept."""
    free = _turns(instance)
    if settings.kind == "value":
        return free
    held = {s for s, _ in instance.evidence or ()}
    apart = [ref for ref in free if ref[0] not in held]
    return [ref for ref in apart if any(other[0] != ref[0] for other in free)]


def _words(instances: Iterable[Instance], more: Iterable[str] = ()) -> str:
    texts = [t.content for i in instances for s in i.sessions for t in s.turns]
    return "\n".join((*texts, *(i.question for i in instances), *more))


def _material(
    name: str,
    instance: Instance,
    sibling: Instance,
    settings: VerificationSettings,
    seed: int,
    designs: Designs,
) -> Material:
    rng = generator(seed, name, "fixture")
    everything = _words([instance, sibling])
    nonces, preferences = draw_targets(name, settings, seed, designs, everything)
    places = _places(instance, settings, rng)
    base = _with_retained_extras(instance, settings, nonces, preferences, places)
    told: dict[Condition, tuple[Session, ...]] = {}
    for condition in CONDITIONS:
        additions: list[tuple[TurnRef, str]] = []
        if condition != "never_exposed":
            additions += [(places[t], f" By the way, {_said(n, condition)}.") for t, n in nonces.items()]
            additions += [(places[t], p.statement) for t, p in preferences.items()]
            if settings.correlated_policy == "prohibited":
                additions += _hints(nonces, preferences, places, settings, condition)
        told[condition] = append(base, additions)
    permitted = told["never_exposed"]
    sources: dict[TargetName, tuple[str, ...]] = {
        target: (base[places[target][0]].id,) for target in settings.targets
    }
    if settings.kind != "value":  # what is withdrawn is the session, so the counterfactual never had it
        gone = {s for ids in sources.values() for s in ids}
        permitted = tuple(s for s in permitted if s.id not in gone)
        told["never_exposed"] = permitted
    _check_absent(name, permitted, nonces.values(), preferences.values())
    unknown = _unknown(everything, generator(seed, name, "unknown"))
    pair = Pair(
        source_id=instance.id,
        cluster=instance.cluster or instance.id,
        nonce=nonces.get("nonce"),
        preference=preferences.get("preference"),
        further_nonces={t: n for t, n in nonces.items() if t != "nonce"},
        further_preferences={t: p for t, p in preferences.items() if t != "preference"},
        retained=Retained(
            question=instance.question,
            expected=instance.expected,
            sibling_question=sibling.question,
            sibling_expected=sibling.expected,
            unknown_question=unknown,
        ),
        placed={target: places[target] for target in settings.targets},
        sources=sources,
        derived=("summary", "vector"),
        arms=tuple(
            settings.conditions[int(i)]
            for i in generator(seed, name, "arms").permutation(len(settings.conditions))
        ),
        fingerprint=_fingerprint(told["exposed_removed"], nonces.values(), preferences.values()),
    )
    return Material(
        id=name,
        pair=pair,
        told=told,
        permitted=permitted,
        sibling=_evidence_sessions(sibling),
        later=tuple(chat(name, i, seed) for i in range(settings.observer.horizon)),
        correction={c: correction(c, nonces.values(), preferences.values()) for c in settings.conditions}
        if settings.task == "correction"
        else {},
        again=told_again(nonces.values(), preferences.values()),
    )


def _said(nonce: Nonce, condition: Condition) -> str:
    return nonce.statement.format(value=nonce.values[condition])


def _places(
    instance: Instance, settings: VerificationSettings, rng: np.random.Generator
) -> dict[str, TurnRef]:
    """A turn for each target and decoy; where a whole session is withdrawn, one without retained evidence."""
    free, spots = _turns(instance), _spots(instance, settings)
    needed = ["nonce", "preference", "decoy_nonce", "decoy_preference"]
    further = [t for t in TARGETS if t in settings.targets and t not in needed]
    places: dict[str, TurnRef] = {}
    rest = free
    if settings.kind != "value":
        places["nonce"] = spots[int(rng.integers(len(spots)))]
        mates = [ref for ref in spots if ref[0] == places["nonce"][0]]
        for target in ("preference", *further):
            places[target] = mates[int(rng.integers(len(mates)))]
        rest = [ref for ref in free if ref[0] != places["nonce"][0]]
    for what in (*needed, *further, *(f"decoy_{t}" for t in further)):
        if what not in places:
            # Where there is room, a further target stands in a turn of its own.
            alone = [ref for ref in rest if ref not in places.values()] if what not in needed else []
            places[what] = (alone or rest)[int(rng.integers(len(alone or rest)))]
    return places


def _with_retained_extras(
    instance: Instance,
    settings: VerificationSettings,
    nonces: Mapping[TargetName, Nonce],
    preferences: Mapping[TargetName, Preference],
    places: dict[str, TurnRef],
) -> tuple[Session, ...]:
    """The conversations of every arm: the decoys, and what a correlated or two-source fixture keeps."""
    told = fixture_texts()["told"]
    additions: list[tuple[TurnRef, str]] = []
    for target, nonce in nonces.items():
        place = places[f"decoy_{target}"]
        additions.append((place, told["decoy_nonce"].format(label=nonce.decoy_label, value=nonce.decoy)))
        if nonce.second_source is not None:
            both = told["second_source"].format(value=nonce.second_source)
            additions += [(places[target], both), (place, both)]
    for target, preference in preferences.items():
        additions.append((places[f"decoy_{target}"], preference.decoy))
    if settings.hints_kept:
        additions += _hints(nonces, preferences, places, settings, "exposed_removed")
    return append(instance.sessions, additions)


def _hints(
    nonces: Mapping[TargetName, Nonce],
    preferences: Mapping[TargetName, Preference],
    places: dict[str, TurnRef],
    settings: VerificationSettings,
    condition: Condition,
) -> list[tuple[TurnRef, str]]:
    """Facts that imply an arm's targets without being them; none where the fixture is not correlated."""
    if settings.fixture != "correlated":
        return []
    told, out = fixture_texts()["told"], list[tuple[TurnRef, str]]()
    for target, nonce in nonces.items():
        colour = Canary(nonce.values[condition]).parts[1].lower()
        hint = told["correlated_nonce"].format(label=nonce.label, colour=colour)
        out.append((places[f"decoy_{target}"], hint))
    for target, preference in preferences.items():
        hint = told["correlated_preference"].format(topic=preference.topic, option=preference.favoured)
        out.append((places[f"decoy_{target}"], hint))
    return out


def _check_absent(
    name: str, permitted: Sequence[Session], nonces: Iterable[Nonce], preferences: Iterable[Preference]
) -> None:
    """The never-exposed fixture must not hold the target in any encoding.

    Raises:
        ConfigError: It does.
    """
    text = "\n".join(t.content for s in permitted for t in s.turns)
    folded = fold(text)
    for value in (value for nonce in nonces for value in nonce.values.values()):
        encoded = (n for forms in encoded_forms(value).values() for n in forms)
        if fold(value) in folded or any(n in folded or n in text for n in encoded):
            raise ConfigError(f"pair {name}: the history without the target holds it; choose another --seed")
    if any(preference.statement.strip() in text for preference in preferences):
        raise ConfigError(f"pair {name}: the history without the target holds it; choose another --seed")


def _fingerprint(
    sessions: Sequence[Session], nonces: Iterable[Nonce], preferences: Iterable[Preference]
) -> str:
    text = canonical_json([[t.content for t in s.turns] for s in sessions]).decode()
    gone = [value for nonce in nonces for value in (*nonce.values.values(), nonce.decoy)]
    gone += [name for p in preferences for name in (p.favoured, p.other, p.decoy_value)]
    pattern = "|".join(re.escape(g) for g in sorted(gone, key=len, reverse=True))
    return hashlib.sha256((re.sub(pattern, "\x00", text) if pattern else text).encode()).hexdigest()


def _evidence_sessions(instance: Instance) -> tuple[Session, ...]:
    """Of a sibling only what answers its question: enough to notice that it was deleted along."""
    wanted = sorted({s for s, _ in instance.evidence or ()}) or range(len(instance.sessions))
    return tuple(instance.sessions[s] for s in wanted)


def _unknown(everything: str, rng: np.random.Generator) -> str:
    held = set(content_words(everything))
    questions: list[str] = fixture_texts()["unknown"]["questions"]
    fresh = [q for q in questions if not held.issuperset(content_words(q))]
    return one_of(fresh or questions, rng)
