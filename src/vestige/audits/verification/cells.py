"""The matrix conditions × channels × targets, and what the run says of usefulness and collapse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from vestige.agents.protocol import CHANNELS, Channel
from vestige.audits.verification.contrasts import bound_of, proportion
from vestige.audits.verification.results import ChannelCell, Collapse, Proportion, UtilityRow
from vestige.audits.verification.settings import (
    GRADES,
    PHASES,
    Condition,
    Kept,
    TargetName,
    VerificationSettings,
)
from vestige.audits.verification.tally import AFTER, Sighting, Tally

__all__ = ["cells_of", "collapse_of", "utility_of"]


def cells_of(
    tally: Tally, settings: VerificationSettings, states: Mapping[Channel, tuple[str, str]]
) -> tuple[ChannelCell, ...]:
    """A cell for every channel, condition and target; an episode that was not looked at there is no trial."""
    distinct = set(tally.pairs.distinct)
    by: dict[tuple[Channel, Condition, TargetName], list[Sighting]] = {}
    for s in tally.sightings:
        if s.complete and s.pair in distinct:
            by.setdefault((s.channel, s.condition, s.target), []).append(s)
    out: list[ChannelCell] = []
    for channel in CHANNELS:
        visible = states.get(channel, ("unavailable", ""))[0] == "available"
        for condition in settings.conditions:
            looked = set(tally.looked(condition, (channel,), AFTER))
            for target in settings.targets:
                found = by.get((channel, condition, target), [])
                # What was seen without being counted as looked at was looked at.
                shown = {s.pair for s in found if s.phase in AFTER and not s.foreign}
                n = len(looked | shown) if visible or found else 0
                out.append(_cell(channel, condition, target, found, n, settings))
    return tuple(out)


def _cell(
    channel: Channel,
    condition: Condition,
    target: TargetName,
    found: list[Sighting],
    n: int,
    settings: VerificationSettings,
) -> ChannelCell:
    sure = [s for s in found if s.state == "confirmed" and not s.foreign and s.phase != "reintroduced"]
    after = [s for s in sure if s.phase in AFTER]
    events = {s.pair for s in after}
    open_ = {s.pair for s in found if s.state == "uncertain" and not s.foreign and s.phase in AFTER} - events
    foreign = {s.pair for s in found if s.foreign and s.state == "confirmed" and s.phase != "reintroduced"}
    nearest: dict[str, int] = {}
    for s in after:
        rank = GRADES.index(s.grade)
        nearest[s.pair] = min(rank, nearest.get(s.pair, rank))
    grades = Counter(GRADES[rank] for rank in nearest.values())
    return ChannelCell(
        channel=channel,
        condition=condition,
        target=target,
        episodes=bound_of(min(len(events), n), n, settings),
        uncertain=len(open_),
        foreign=len(foreign),
        grades={g: grades[g] for g in GRADES if grades[g]},
        forms=_episodes((s.form, s.pair) for s in after),
        phases=cast("Any", {p: c for p in PHASES if (c := len({s.pair for s in sure if s.phase == p}))}),
    )


def _episodes(found: Iterable[tuple[str, str]]) -> dict[str, int]:
    pairs: dict[str, set[str]] = {}
    for name, pair in found:
        pairs.setdefault(name, set()).add(pair)
    return {name: len(pairs[name]) for name in sorted(pairs)}


def utility_of(tally: Tally, settings: VerificationSettings) -> tuple[UtilityRow, ...]:
    """How questions about retained facts, and about what was never told, were answered."""
    rows: list[UtilityRow] = []
    for condition in settings.conditions:
        kept: tuple[Kept, ...] = ("user", "sibling")
        for who in (*kept, "second_source") if settings.fixture == "two_sources" else kept:
            by_pair = tally.utility[condition, who]
            outcomes = Counter(o for p in tally.pairs.distinct for _, o in by_pair.get(p, ()))
            n = outcomes.total()

            def share(name: str, outcomes: Counter[str] = outcomes, n: int = n) -> Proportion:
                return proportion(outcomes[name], n, settings.alpha)

            rows.append(
                UtilityRow(
                    condition=condition,
                    who=who,
                    success=share("success"),
                    justified_abstention=share("justified_abstention"),
                    unsupported_refusal=share("unsupported_refusal"),
                    tool_error=share("tool_error"),
                    wrong=share("wrong"),
                )
            )
    return tuple(rows)


def collapse_of(tally: Tally, settings: VerificationSettings) -> tuple[Collapse, ...]:
    """Replies to harmless questions that were none."""
    out: list[Collapse] = []
    for condition in settings.conditions:
        states = tally.health[condition]
        n = states.total()
        ill = n - states["fine"]
        replies = proportion(ill, n, settings.alpha)
        out.append(
            Collapse(condition=condition, replies=replies, collapsed=n > 0 and ill / n >= settings.collapse)
        )
    return tuple(out)
