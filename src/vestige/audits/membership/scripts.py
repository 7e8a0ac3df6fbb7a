"""The episodes of a membership audit: store a user's members, then ask about candidates, members and others alike.

Episodes hold a few candidates each and stand in an order in which users and labels are mixed, so that a run that stops
early has seen some of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vestige.audits.membership.settings import MembershipSettings
from vestige.datasets.units import Unit, UnitDataset
from vestige.errors import ConfigError
from vestige.records import JsonScalar, MemoryUnit, Session, Turn
from vestige.runs import steps as s
from vestige.runs.folder import blob_of
from vestige.runs.plan import Probe, generator

__all__ = ["PROBE", "Scripts", "build_scripts"]

PROBE = "membership"
"""Id of the probe that says how a question is put."""


@dataclass
class Scripts:
    """What a plan takes up."""

    episodes: list[s.Episode] = field(default_factory=list[s.Episode])
    fixtures: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    probes: dict[str, Probe] = field(default_factory=dict[str, Probe])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    notes: list[str] = field(default_factory=list[str])


def build_scripts(
    data: UnitDataset, settings: MembershipSettings, seed: int, knobs: dict[str, JsonScalar]
) -> Scripts:
    """Every user's episodes, opened with `knobs`.

    A user with members alone, or non-members alone, is left out, and a note says how many there are.

    Raises:
        ConfigError: No user has both members and non-members, or two candidates have one id.
    """
    scripts = Scripts()
    scripts.probes[PROBE] = Probe(id=PROBE, kind="membership", text="", max_tokens=settings.max_tokens)
    queues: list[list[s.Episode]] = []
    one_sided = 0
    ids: set[str] = set()
    for user in _users(data, settings, seed):
        members, others = _sides(data.units[user], settings)
        if not members or not others:
            one_sided += 1
            continue
        tested = _tested(user, members, others, settings, seed)
        for unit, _ in tested:
            if unit.id in ids:
                raise ConfigError(
                    f"--data {data.name}: two statements have the id {unit.id[:60]!r}; give each its own"
                )
            ids.add(unit.id)
        queues.append(_episodes(user, members, tested, settings, knobs, scripts))
    if not queues:
        raise ConfigError(f"--data {data.name}: no user has both members and non-members to be tested")
    if one_sided:
        scripts.notes.append(
            f"{one_sided} user{'s have' if one_sided > 1 else ' has'} members alone or non-members alone: not tested."
        )
    for number in range(max(map(len, queues))):  # in turns, so that an early end leaves no user out
        scripts.episodes += [queue[number] for queue in queues if number < len(queue)]
    return scripts


def _users(data: UnitDataset, settings: MembershipSettings, seed: int) -> list[str]:
    """The users that are tested, in the data's order."""
    names = list(data.units)
    if settings.users is None:
        return names
    if settings.users > len(names):
        raise ConfigError(f"--users {settings.users}: the data has {len(names)}; ask for at most that many")
    picked = generator(seed, "users").choice(len(names), size=settings.users, replace=False)
    return [names[i] for i in sorted(int(p) for p in picked)]


def _sides(units: Sequence[Unit], settings: MembershipSettings) -> tuple[list[Unit], list[Unit]]:
    members = [u for u in units if u.member]
    others = [u for u in units if not u.member]
    return members, others


def _tested(
    user: str, members: Sequence[Unit], others: Sequence[Unit], settings: MembershipSettings, seed: int
) -> list[tuple[Unit, bool]]:
    """Candidates with their labels, mixed."""
    from vestige.datasets.units import normalised

    stored = {normalised(u.text) for u in members}
    rng = generator(seed, "tested", user)
    out: list[tuple[Unit, bool]] = []
    for side, label in ((members, True), (others, False)):
        n = len(side) if settings.per_user is None else min(settings.per_user, len(side))
        picked = sorted(int(i) for i in rng.choice(len(side), size=n, replace=False))
        for unit in (side[i] for i in picked):
            same = settings.rule == "equivalence" and normalised(unit.text) in stored
            out.append((unit, label or same))
    return [out[int(i)] for i in rng.permutation(len(out))]


def _episodes(
    user: str,
    members: Sequence[Unit],
    tested: Sequence[tuple[Unit, bool]],
    settings: MembershipSettings,
    knobs: dict[str, JsonScalar],
    scripts: Scripts,
) -> list[s.Episode]:
    stored = _blob(
        scripts, [MemoryUnit(id=u.id, text=u.text, session=u.session).model_dump() for u in members]
    )
    told = _blob(scripts, _conversation(members).model_dump(mode="json"))
    asked = _blob(scripts, [{"id": u.id, "text": u.text} for u, _ in tested])
    scripts.fixtures[user] = {
        "candidates": asked,
        "stored": stored,
        "n_stored": len(members),
        "labels": {u.id: [label, u.kind] for u, label in tested},
    }
    width = len(str(max(1, (len(tested) - 1) // settings.chunk)))
    out: list[s.Episode] = []
    for number, start in enumerate(range(0, len(tested), settings.chunk)):
        about = [
            s.AskAbout(
                candidate=unit.id,
                units=asked,
                interviewer=PROBE,
                probe=PROBE,
                repeats=settings.repeats,
                expected=settings.exchanges() * settings.repeats,
            )
            for unit, _ in tested[start : start + settings.chunk]
        ]
        out.append(
            s.Episode(
                id=f"{user}/{number:0{width}d}",
                instance=user,
                knobs=knobs,
                labels={"user": user},
                steps=(s.Remember(units=stored, otherwise=told), s.Settle(), *about),
            )
        )
    return out


def _conversation(members: Sequence[Unit]) -> Session:
    """For an agent that stores nothing directly: the statements as its user's turns, each acknowledged."""
    turns: list[Turn] = []
    for unit in members:
        turns += [Turn(role="user", content=unit.text), Turn(role="assistant", content="Noted.")]
    return Session(id="told", turns=tuple(turns))


def _blob(scripts: Scripts, value: Any) -> str:
    digest, data = blob_of(value)
    scripts.blobs[digest] = data
    return digest
