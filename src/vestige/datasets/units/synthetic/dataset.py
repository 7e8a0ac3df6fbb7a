"""Puts generated users together and hands them out one at a time, so that their number costs no memory.

Every draw comes from a SeedSequence that is named by seed, user and purpose, so a user is the same whatever the number
of users around it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from vestige.datasets.units.dataset import UnitDataset, count_units
from vestige.datasets.units.synthetic.facts import Fact, Pool, person
from vestige.datasets.units.synthetic.hard import RELATIONS, chain, near_duplicate
from vestige.datasets.units.synthetic.knowledge import Knowledge
from vestige.datasets.units.synthetic.mix import MAX_UNITS, UnitMix
from vestige.datasets.units.unit import Unit, UnitKind
from vestige.errors import ConfigError

__all__ = ["DEFAULT_USERS", "GENERATOR_VERSION", "MAX_USERS", "SyntheticUnits", "generate_units"]

GENERATOR_VERSION = 1
"""Changes whenever the same seed gives other units."""
DEFAULT_USERS = 20
MAX_USERS = 1_000_000
_KEPT = 2
"""Users that stay in memory."""


def _rng(seed: int, *name: str | int) -> np.random.Generator:
    digest = hashlib.sha256("\x1f".join(map(str, ("units", GENERATOR_VERSION, *name))).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(digest[:16], "big")]))


class _Draft:
    """A unit before it has its place, its id and so the ids of others."""

    def __init__(
        self, text: str, member: bool, kind: UnitKind = "plain", related: Sequence[_Draft] = ()
    ) -> None:
        self.text = text
        self.member = member
        self.kind: UnitKind = kind
        self.related = tuple(related)


class _User:
    """The units of one user, kind by kind."""

    def __init__(self, seed: int, index: int, size: int, mix: UnitMix) -> None:
        self.rng = _rng(seed, index, "units")
        self.pool = Pool(person(_rng(seed, index, "name")), self.rng)
        self.mix = mix
        self.size = size
        self.drafts: list[_Draft] = []

    def written(self) -> list[_Draft]:
        """All units in an order that says nothing."""
        mix, members = self.mix, self.size // 2
        others = self.size - members
        known = {True: int(mix.common_knowledge * members), False: int(mix.common_knowledge * others)}
        n_inferable = int(mix.inferable * others)
        n_near = int(mix.near_duplicate * others)
        # Chains stand first: what they need is fixed, and plain facts fill what is left of either side.
        self._chains(n_inferable)
        knowledge = Knowledge(self.pool, mix.hardness)
        for member, count in known.items():
            self.drafts += [_Draft(knowledge.told(), member, "common_knowledge") for _ in range(count)]
        left = {
            member: size - sum(d.member == member for d in self.drafts)
            for member, size in ((True, members), (False, others - n_near))
        }
        facts = [self.pool.fact() for _ in range(sum(left.values()))]
        facts = [facts[int(i)] for i in self.rng.permutation(len(facts))]
        drafts = [_Draft(fact.text, i < left[True]) for i, fact in enumerate(facts)]
        self.drafts += drafts
        self._near_duplicates(n_near, list(zip(drafts, facts, strict=True))[: left[True]])
        return [self.drafts[int(i)] for i in self.rng.permutation(len(self.drafts))]

    def _chains(self, count: int) -> None:
        relations = [RELATIONS[int(i)] for i in self.rng.permutation(len(RELATIONS))]
        for _ in range(count):
            # One chain for either side with as many links, so that the wording of a premise is no sign of a member.
            steps = 1 if self.rng.random() < self.mix.hardness else 2
            told, other = (chain(self.pool, relations.pop(), steps=steps) for _ in range(2))
            premises = [_Draft(text, True) for text in told.premises]
            self.drafts += premises
            self.drafts.append(_Draft(told.conclusion, False, "inferable", premises))
            self.drafts += [_Draft(text, False) for text in other.premises]

    def _near_duplicates(self, count: int, members: list[tuple[_Draft, Fact]]) -> None:
        order = [members[int(i)] for i in self.rng.permutation(len(members))]
        for i in range(count):
            draft, fact = order[i % len(order)]
            text = near_duplicate(fact, self.pool, self.rng, self.mix.hardness)
            self.drafts.append(_Draft(text, False, "near_duplicate", [draft]))


class SyntheticUnits(Mapping[str, Sequence[Unit]]):
    """The users of a generated data set; one is made when it is asked for, and the last two are kept.

    Args:
        users: How many.
        seed: Of every draw.
        mix: What each user is made of.
        total: Units in all, spread as evenly as can be; None: `mix.units` of each user.
    """

    def __init__(self, users: int, *, seed: int, mix: UnitMix, total: int | None = None) -> None:
        self._users = users
        self._seed = seed
        self._mix = mix
        self._size, self._more = divmod(total, users) if total is not None else (mix.units, 0)
        self._made = lru_cache(maxsize=_KEPT)(self._user)

    def __len__(self) -> int:
        return self._users

    def __iter__(self) -> Iterator[str]:
        return (f"synthetic-{index:05d}" for index in range(self._users))

    def __getitem__(self, user: str) -> Sequence[Unit]:
        digits = user.removeprefix("synthetic-")
        index = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else self._users
        if index >= self._users or user != f"synthetic-{index:05d}":
            raise KeyError(user)
        return self._made(index)

    def _user(self, index: int) -> tuple[Unit, ...]:
        size = self._size + (index < self._more)
        written = _User(self._seed, index, size, self._mix)
        drafts = written.written()
        user = f"synthetic-{index:05d}"
        ids = {id(draft): f"{user}-{place:03d}" for place, draft in enumerate(drafts)}
        return tuple(
            Unit(
                id=ids[id(draft)],
                user=user,
                text=draft.text,
                member=draft.member,
                kind=draft.kind,
                subject=written.pool.name,
                related=tuple(ids[id(other)] for other in draft.related),
            )
            for draft in drafts
        )


def generate_units(
    users: int = DEFAULT_USERS, *, seed: int = 42, mix: UnitMix | None = None, total: int | None = None
) -> UnitDataset:
    """A data set of made-up users, half of whose statements are members.

    Members and plain non-members are drawn alike and free of near-duplicates: no two of a user tell the same of the
    same person or share half of their content words. The other non-members are hard, as `mix` says, and each unit
    records its kind and which members it rests on. User i depends on the seed, the mix, its size and i alone.

    Args:
        users: How many.
        seed: Of every draw.
        mix: Units of each user, shares of the kinds, hardness.
        total: Units in all instead of `mix.units` of each user: 16,605 of 140 users are as many as PerLTQA has.

    Raises:
        ConfigError: An argument is out of range.
    """
    mix = mix or UnitMix()
    if not 1 <= users <= MAX_USERS:
        raise ConfigError(f"users is {users}; expected 1 to {MAX_USERS:,} synthetic users")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected a whole number from 0")
    if total is not None and not 2 * users <= total <= MAX_UNITS * users:
        raise ConfigError(f"total is {total}; expected 2 to {MAX_UNITS} units for each of {users} users")
    units = SyntheticUnits(users, seed=seed, mix=mix, total=total)
    digest = hashlib.sha256()

    class _Hashed(Mapping[str, Sequence[Unit]]):
        """Counting and hashing are one pass over the users."""

        def __len__(self) -> int:
            return len(units)

        def __iter__(self) -> Iterator[str]:
            return iter(units)

        def __getitem__(self, user: str) -> Sequence[Unit]:
            for unit in units[user]:
                line = json.dumps(unit.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
                digest.update(line.encode() + b"\n")
            return units[user]

    counts = count_units(_Hashed())
    size = f"{total} units" if total is not None else f"{mix.units} units each"
    shares = ", ".join(f"{name} = {value:g}" for name, value in mix.model_dump().items() if name != "units")
    return UnitDataset(
        name="synthetic",
        source=f"vestige unit generator {GENERATOR_VERSION}, {users} users, {size}, seed = {seed}, {shares}",
        sha256=digest.hexdigest(),
        license="Apache-2.0",
        units=units,
        counts=counts,
    )
