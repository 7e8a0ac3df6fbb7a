"""Membership units of many users, with what is needed to name and to count them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vestige.datasets.units.unit import Unit, normalised
from vestige.records import Record

__all__ = ["UnitCounts", "UnitDataset", "count_units", "without_shared"]


class UnitCounts(Record):
    """How many there are of what."""

    users: int
    units: int
    members: int
    non_members: int
    shared_members: int
    """Members whose normalised text a non-member of the same user has too."""
    shared_non_members: int
    """Non-members whose normalised text a member of the same user has too: their label is wrong under any rule but
    that of exact text."""
    one_sided_users: int
    """Users without members, or without non-members: nothing can be told of them."""
    member_kinds: dict[str, int]
    """Members by kind."""
    non_member_kinds: dict[str, int]
    """Non-members by kind."""


@dataclass(frozen=True)
class UnitDataset:
    """Candidate statements by user; see `vestige.datasets.load_units`."""

    name: str
    """`locomo`, `perltqa`, `msc`, `synthetic`, …"""
    source: str
    """The file's name (never its folder), or the generator with its parameters."""
    sha256: str
    """Of the file's bytes, or of the canonical JSON of generated units."""
    license: str
    units: Mapping[str, Sequence[Unit]]
    """A user's units, in the data's order. Generated users are made when they are asked for, so go through this once,
    user by user, where there are many."""
    counts: UnitCounts
    notes: tuple[str, ...] = ()
    """What a reader of the report must know: records left out, statements refused, and why."""
    per_user: int | None = None
    """Members, and non-members, that the source tests of each user; None: all. All members are stored either way."""
    dropped: int = 0
    """Units left out because they stood on both sides."""

    @property
    def users(self) -> tuple[str, ...]:
        """The users, in the data's order."""
        return tuple(self.units)

    def __iter__(self) -> Iterator[Unit]:
        """All units, user by user."""
        for user in self.units:
            yield from self.units[user]

    def members(self, user: str) -> tuple[Unit, ...]:
        """What belongs into a user's memory."""
        return tuple(u for u in self.units[user] if u.member)

    def non_members(self, user: str) -> tuple[Unit, ...]:
        """What does not."""
        return tuple(u for u in self.units[user] if not u.member)

    def groups(self, user: str, *, member: bool) -> tuple[str, ...]:
        """The groups (sessions, events) of one side of a user, each once, in the data's order."""
        return tuple(
            dict.fromkeys(u.group for u in self.units[user] if u.member == member and u.group is not None)
        )


def count_units(units: Mapping[str, Sequence[Unit]]) -> UnitCounts:
    """Count, one user at a time."""
    kinds: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    shared: Counter[bool] = Counter()
    users = one_sided = 0
    for user in units:
        listed = units[user]
        users += 1
        one_sided += len({u.member for u in listed}) < 2
        for unit in listed:
            kinds[unit.member][unit.kind] += 1
        shared.update(unit.member for unit in _shared(listed))
    members, others = kinds[True].total(), kinds[False].total()
    return UnitCounts(
        users=users,
        units=members + others,
        members=members,
        non_members=others,
        shared_members=shared[True],
        shared_non_members=shared[False],
        one_sided_users=one_sided,
        member_kinds=dict(sorted(kinds[True].items())),
        non_member_kinds=dict(sorted(kinds[False].items())),
    )


def without_shared(data: UnitDataset) -> UnitDataset:
    """The data without the units that stand on both sides of a user, members and non-members alike."""
    dropped = data.counts.shared_members + data.counts.shared_non_members
    if not dropped:
        return data
    kept: dict[str, Sequence[Unit]] = {}
    for user in data.units:
        shared = {u.id for u in _shared(data.units[user])}
        kept[user] = tuple(u for u in data.units[user] if u.id not in shared)
    note = f"{dropped} units that stand on both sides of a user after normalisation are left out"
    return replace(
        data, units=kept, counts=count_units(kept), notes=(*data.notes, note), dropped=data.dropped + dropped
    )


def _shared(units: Sequence[Unit]) -> list[Unit]:
    texts = [normalised(u.text) for u in units]
    sides: dict[bool, set[str]] = {True: set(), False: set()}
    for unit, text in zip(units, texts, strict=True):
        sides[unit.member].add(text)
    both = sides[True] & sides[False]
    return [unit for unit, text in zip(units, texts, strict=True) if text in both]
