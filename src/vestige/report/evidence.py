"""The exchanges behind the numbers: what was asked, what came back, and what the agent had before it.

Secrets are masked before anything is cut, and everything is neutralised, so that what this module hands on
needs nothing but escaping. Exchanges that differ in k alone and brought the same reply are shown once, with
all their k; a retrieved unit's text is shown once for its instance and referred to afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vestige.records import Record, RetrievedUnit
from vestige.report.glossary import KIND_WORDS, MODE_ORDER, PROBE_ORDER
from vestige.report.safe import Clipped, clip, neutralise, one_line
from vestige.text import fold, mask

__all__ = ["EvidenceGroup", "Exchange", "LeakExchange", "Mask", "Unit", "collect", "masker"]

REPLY_LIMIT = 1500
PROMPT_LIMIT = 700
HOLDER_LIMIT = 500
UNIT_LIMIT = 160
ROW_LIMIT = 220
FULL_PER_GROUP = 25
SCAN_LIMIT = 200_000
"""A retrieved unit longer than this is searched for the secret in its first characters alone."""


class LeakExchange(Record):
    """One probe with its reply, as the run's records hold it: unmasked, uncut."""

    audit: Literal["frontier", "residue"]
    instance: str
    S: int
    k: int
    mode: str | None = None
    """The deletion mode; None before any deletion."""
    probe_kind: str
    """`direct`, `indirect`, `jailbreak`, or `recall` for the question that PR scores."""
    prompt: str
    reply: str
    retrieved: tuple[RetrievedUnit, ...] = ()
    """What stood before the model, best first."""
    canary: str
    """The planted secret; masked wherever it is shown unless the report is told otherwise."""
    kind: Literal["leak", "normalised", "partial", "recall"] = "leak"
    levers: str = ""
    """Names the memory-design knobs beyond S and k, where a run sweeps them."""
    expected: str | None = None
    """The expected answer of a recall question."""


@dataclass(frozen=True)
class Unit:
    """A retrieved unit as it is shown."""

    anchor: str
    """Names the unit in the document; the same for every exchange of the instance that retrieved it."""
    tier: str
    score: float
    holds: bool
    """The secret stands in it, in any writing."""
    text: Clipped | None
    """None: shown before, under the same anchor."""


@dataclass(frozen=True)
class Exchange:
    """An exchange as it is shown: masked, neutralised, cut."""

    instance: str
    ks: tuple[int, ...]
    prompt: Clipped
    reply: Clipped
    units: tuple[Unit, ...]
    expected: str | None = None

    @property
    def holding(self) -> int:
        """How many of the retrieved units hold the secret."""
        return sum(unit.holds for unit in self.units)


@dataclass(frozen=True)
class EvidenceGroup:
    """The exchanges of one audit, level, deletion mode and probe kind."""

    audit: str
    S: int
    mode: str | None
    probe_kind: str
    kind: str
    levers: str
    exchanges: tuple[Exchange, ...]
    """Shown in full."""
    rows: tuple[Exchange, ...] = field(default=())
    """The rest: reply excerpts alone."""
    n_exchanges: int = 0
    """Before merging over k."""
    n_instances: int = 0

    @property
    def what(self) -> str:
        """What the exchanges of this group show, in words."""
        return KIND_WORDS.get(self.kind, self.kind)


Mask = Callable[[str], str]


def masker(secrets: Iterable[str], *, show: bool = False) -> Mask:
    """A function that masks the secrets in a text and neutralises it; it remembers repeated texts."""
    known = sorted({secret for secret in secrets if secret})
    seen: dict[str, str] = {}

    def masked(text: str) -> str:
        if text not in seen:
            result = neutralise(text if show or not known else mask(text, known))
            if len(text) > 4000:
                return result
            seen[text] = result
        return seen[text]

    return masked


def collect(exchanges: Sequence[LeakExchange], masked: Mask) -> tuple[EvidenceGroup, ...]:
    """Group, merge over k and cut the exchanges; the order of the input does not matter."""
    groups: defaultdict[tuple[object, ...], list[LeakExchange]] = defaultdict(list)
    for exchange in exchanges:
        groups[_group_key(exchange)].append(exchange)
    shown = _Shown(masked)
    return tuple(_group(groups[key], shown) for key in sorted(groups, key=repr_key))


def repr_key(key: tuple[object, ...]) -> tuple[tuple[int, object], ...]:
    """A sort key in which None stands before everything."""
    return tuple((0, "") if part is None else (1, part) for part in key)


def _rank(order: Sequence[str], name: str | None) -> int | None:
    if name is None:
        return None
    return order.index(name) if name in order else len(order)


def _group_key(exchange: LeakExchange) -> tuple[object, ...]:
    return (
        tuple(KIND_WORDS).index(exchange.kind),
        exchange.audit,
        exchange.levers,
        exchange.S,
        _rank(MODE_ORDER, exchange.mode),
        exchange.mode,
        _rank(PROBE_ORDER, exchange.probe_kind),
        exchange.probe_kind,
    )


class _Shown:
    """Turns units into what is shown, each text once an instance."""

    def __init__(self, masked: Mask) -> None:
        self.masked = masked
        self._anchors: dict[tuple[str, str, str], str] = {}

    def unit(self, instance: str, unit: RetrievedUnit, canary: str) -> Unit:
        text = self.masked(unit.text)
        key = (instance, unit.tier, text)
        known = self._anchors.get(key)
        anchor = known or f"u{len(self._anchors) + 1}"
        self._anchors[key] = anchor
        holds = canary != "" and fold(canary) in fold(unit.text[:SCAN_LIMIT])
        shown = None
        if known is None:
            limit = HOLDER_LIMIT if holds else UNIT_LIMIT
            shown = clip(text, limit, self.position(text, canary) if holds else None, whole=len(unit.text))
        return Unit(anchor, one_line(unit.tier), unit.score, holds, shown)

    def position(self, text: str, canary: str) -> int | None:
        """Where the secret, masked or not, stands in a text that `masked` returned."""
        place = text.find(self.masked(canary))
        return place if place >= 0 else None


def _group(members: list[LeakExchange], shown: _Shown) -> EvidenceGroup:
    merged: defaultdict[tuple[str, str, str, str], list[LeakExchange]] = defaultdict(list)
    for exchange in sorted(members, key=_order):
        merged[exchange.instance, exchange.prompt, exchange.reply, exchange.canary].append(exchange)
    ordered = list(merged.values())
    first = members[0]
    return EvidenceGroup(
        audit=first.audit,
        S=first.S,
        mode=one_line(first.mode) if first.mode is not None else None,
        probe_kind=one_line(first.probe_kind),
        kind=first.kind,
        levers=one_line(first.levers),
        exchanges=tuple(_full(same, shown) for same in ordered[:FULL_PER_GROUP]),
        rows=tuple(_row(same, shown) for same in ordered[FULL_PER_GROUP:]),
        n_exchanges=len(members),
        n_instances=len({exchange.instance for exchange in members}),
    )


def _order(exchange: LeakExchange) -> tuple[object, ...]:
    units = tuple((unit.id, unit.text, unit.score) for unit in exchange.retrieved)
    return exchange.instance, exchange.k, exchange.prompt, exchange.reply, units


def _full(same: list[LeakExchange], shown: _Shown) -> Exchange:
    widest = max(same, key=lambda e: (len(e.retrieved), e.k))
    reply = shown.masked(widest.reply)
    return Exchange(
        instance=one_line(shown.masked(widest.instance)),
        ks=tuple(sorted({exchange.k for exchange in same})),
        prompt=clip(shown.masked(widest.prompt), PROMPT_LIMIT, whole=len(widest.prompt)),
        reply=clip(reply, REPLY_LIMIT, shown.position(reply, widest.canary), whole=len(widest.reply)),
        units=tuple(shown.unit(widest.instance, unit, widest.canary) for unit in widest.retrieved),
        expected=None if widest.expected is None else clip(shown.masked(widest.expected), PROMPT_LIMIT),
    )


def _row(same: list[LeakExchange], shown: _Shown) -> Exchange:
    reply = one_line(shown.masked(same[0].reply))
    return Exchange(
        instance=one_line(shown.masked(same[0].instance)),
        ks=tuple(sorted({exchange.k for exchange in same})),
        prompt=Clipped("", len(same[0].prompt), True),
        reply=clip(reply, ROW_LIMIT, shown.position(reply, same[0].canary), whole=len(same[0].reply)),
        units=(),
    )
