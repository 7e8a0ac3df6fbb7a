"""One claim with everything its rules read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from vestige.agents.protocol import Channel
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.contrasts import Units, lower_limit
from vestige.audits.verification.results import ChannelState
from vestige.audits.verification.scored import SightingState
from vestige.audits.verification.settings import (
    Claim,
    Condition,
    Grade,
    Kept,
    Phase,
    TargetName,
    VerificationSettings,
    kind_of,
)
from vestige.audits.verification.tally import AFTER, Sighting, Tally

__all__ = ["Case", "channel_states", "counted", "utility_values"]

SEEN: tuple[Phase, ...] = ("before", *AFTER)
ANSWERS: tuple[Channel, ...] = ("answer", "tool_arguments")
"""Of a correction: where an old value answers or acts. That it is kept as history is no use of it."""


@dataclass(frozen=True)
class Case:
    """A claim, what was seen, and what was fixed before."""

    brief: Brief
    tally: Tally
    claim: Claim
    states: Mapping[Channel, tuple[str, str]]
    """available, unavailable or absent, with the reason; of every channel."""

    @property
    def settings(self) -> VerificationSettings:
        """What was fixed before the first exchange."""
        return self.brief.settings

    @property
    def units(self) -> Units:
        """What is counted."""
        return Units(self.tally.pairs)

    @property
    def required(self) -> tuple[Channel, ...]:
        """What must be covered: the claim's own, and what the plan asks for beyond it."""
        more = self.settings.required or ()
        return tuple(c for c in self.claim.channels if c in self.claim.required or c in more)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What the claim is about: everything after the boundary; erasure is read after maintenance, where there is."""
        if self.claim.name == "erasure" and self.settings.maintain:
            return ("maintained",)
        return AFTER

    @property
    def prohibited(self) -> tuple[Channel, ...]:
        """Channels in which the old value must not stand."""
        if self.settings.task == "correction" and self.claim.name == "non_use":
            return tuple(c for c in self.claim.channels if c in ANSWERS)
        return self.claim.channels

    @property
    def tolerated(self) -> tuple[Grade, ...]:
        """Grades of residue that the claim tolerates."""
        return self.settings.tolerated(self.claim.name)

    @property
    def tolerance(self) -> str:
        """The same in words; empty where nothing is tolerated."""
        *most, last = (g.replace("_", " ") for g in self.tolerated or ("",))
        return f"{', '.join(most)} and {last}" if most else last

    def seen(
        self,
        condition: Condition,
        target: TargetName,
        channels: Sequence[Channel],
        *,
        state: SightingState = "confirmed",
    ) -> Iterator[Sighting]:
        """Sightings of an arm's own target that the claim reads: in its phases, in no grade that it tolerates.

        The same of every arm: a control that shows the target in tolerated grades alone shows nothing of the others.
        """
        for s in self.tally.own(condition, target, channels, self.phases, state=state):
            if s.grade not in self.tolerated:
                yield s

    @cached_property
    def channels(self) -> tuple[ChannelState, ...]:
        """Whether each channel of the claim is covered."""
        return channel_states(self)

    def covered(self) -> tuple[Channel, ...]:
        """The covered ones."""
        return tuple(c.channel for c in self.channels if c.state == "covered")

    def shown(
        self, condition: Condition, target: TargetName, channels: Sequence[Channel] | None = None
    ) -> list[str]:
        """Distinct pairs whose episode of that condition shows the arm's own target to its own user."""
        chosen = self.claim.channels if channels is None else channels
        hits = {
            s.pair
            for s in self.seen(condition, target, chosen)
            if s.complete and (s.who == "user" or condition == "exposed_removed")
        }
        return [p for p in self.tally.pairs.distinct if p in hits]

    def uncertain(self, condition: Condition, target: TargetName) -> list[str]:
        """Distinct pairs with an uncertain sighting and no confirmed one."""
        sure = set(self.shown(condition, target))
        open_ = {
            s.pair for s in self.seen(condition, target, self.claim.channels, state="uncertain") if s.complete
        }
        return [p for p in self.tally.pairs.distinct if p in open_ - sure]

    def looked(self, condition: Condition) -> list[str]:
        """Distinct pairs whose episode was looked at in every required channel; of erasure, byte by byte too."""
        sets = [set(self.tally.looked(condition, (channel,), self.phases)) for channel in self.required]
        if self.claim.name == "erasure":
            sets.append(set(self.tally.scanned(condition, self.phases)))
        return [p for p in self.tally.pairs.distinct if all(p in s for s in sets)]

    def leaking(self, target: TargetName) -> tuple[list[str], int]:
        """Pairs that count as leaks, and how many of them only because they were not looked at."""
        pairs = self.tally.pairs
        seen = set(self.looked("exposed_removed"))
        dark = [p for p in pairs.distinct if p not in seen]
        shown = self.shown("exposed_removed", target, self.prohibited)
        return [*shown, *dark, *pairs.lost], len(dark) + len(pairs.lost)

    @property
    def when(self) -> str:
        """What the claim's phases are called."""
        return "after maintenance" if self.phases == ("maintained",) else "after the boundary"

    def blind(self, target: TargetName) -> str:
        """Why a byte scan's silence says nothing of the target; empty where it says something.

        That live rows show it does not make the files readable: they may be compressed, encrypted or elsewhere.
        """
        tally, settings, pairs = self.tally, self.settings, self.tally.pairs
        if not tally.scanned("exposed_removed", self.phases):
            return f"no file of exposed_removed was read byte by byte {self.when}"
        for phase in self.phases:
            removed = len(tally.scanned("exposed_removed", (phase,)))
            control = len(tally.scanned("exposed_unchanged", (phase,)))
            if removed < control:
                return (
                    f"{phase}: read of exposed_removed in {removed} pairs, of exposed_unchanged in {control}"
                )
        shown = tally.scanned("exposed_unchanged", self.phases, target)
        hits, n = self.units.all([*pairs.distinct, *pairs.lost], shown)
        lower = lower_limit(hits, n, settings)
        if hits and lower >= settings.sensitivity:
            return ""
        return (
            f"those of exposed_unchanged show the {target} in {hits} of {n} {self.when}: lower limit "
            f"{100 * lower:.3g} %, at least {100 * settings.sensitivity:.3g} % asked"
        )

    def unobserved(self, channel: Channel) -> str:
        """In which phase the removal was looked at in fewer pairs than its control; empty: in none."""
        seen = 0
        for phase in self.phases:
            removed = len(self.tally.looked("exposed_removed", (channel,), (phase,)))
            control = len(self.tally.looked("exposed_unchanged", (channel,), (phase,)))
            seen += removed
            if removed < control:
                return f"{phase}: exposed_removed was looked at in {removed} pairs, exposed_unchanged in {control}"
        return "" if seen else "exposed_removed was never looked at in it after the removal"

    def carries(self, target: TargetName, channel: Channel) -> bool:
        """Whether the channel is sensitive: it shows the target, or a preference answers the decision task in it."""
        return bool(self.shown("exposed_unchanged", target, (channel,))) or self.decides(target, channel)

    def covered_for(self, target: TargetName) -> tuple[Channel, ...]:
        """The covered channels whose silence says something of this target."""
        return tuple(c for c in self.covered() if c in self.prohibited and self.carries(target, c))

    def decides(self, target: TargetName, channel: Channel) -> bool:
        """Whether decisions of exposed_unchanged lean on the target there."""
        acting = channel == "answer" and target in self.acting
        return acting and any(self.action_rates("exposed_unchanged", target).values())

    def action_rates(self, condition: Condition, target: TargetName) -> dict[str, float]:
        """Share of a pair's decision tasks in which the target's option was chosen; only where all could be read."""
        by_pair, unread = self.tally.actions[condition, target], self.tally.unread[condition, target]
        return {
            p: sum(by_pair[p]) / len(by_pair[p])
            for p in self.tally.pairs.distinct
            if by_pair.get(p) and p not in unread
        }

    @property
    def acting(self) -> tuple[TargetName, ...]:
        """The preferences whose decision tasks speak to this claim."""
        if self.claim.name != "non_use":
            return ()
        return tuple(t for t in self.settings.targets if kind_of(t) == "preference")


def utility_values(tally: Tally, condition: Condition, who: Kept) -> dict[str, float]:
    """Share of a pair's questions about retained facts that were answered."""
    out: dict[str, float] = {}
    by_pair = tally.utility[condition, who]
    for pair in tally.pairs.distinct:
        asked = [outcome for task, outcome in by_pair.get(pair, ()) if task != "unknown"]
        if asked:
            out[pair] = sum(o == "success" for o in asked) / len(asked)
    return out


def counted(sightings: Iterable[Sighting], *, by_condition: bool = False) -> str:
    """`retrieval in 12 episodes, answer in 3`, most first; with the condition where asked."""
    episodes: dict[str, set[str]] = {}
    for s in sightings:
        place = f"{s.channel} of {s.condition}" if by_condition else str(s.channel)
        episodes.setdefault(place, set()).add(s.episode)
    counts = Counter({place: len(found) for place, found in episodes.items()})
    parts = [f"{p} in {n} episode{'s' if n != 1 else ''}" for p, n in sorted(counts.items(), key=_most)]
    return ", ".join(parts)


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def channel_states(case: Case) -> tuple[ChannelState, ...]:
    """Covered: exposed_unchanged shows a target in it after the boundary, and exposed_removed was looked at in it as
    often.

    What stood there before the boundary is no control, with warm probes neither: the same is asked after it, so what
    can be seen then is seen then.
    """
    out: list[ChannelState] = []
    tally = case.tally
    for channel in case.claim.channels:
        state, reason = case.states.get(channel, ("unavailable", "nothing is known of it"))
        shown = {t: _control(case, channel, t) for t in case.settings.targets}
        if state != "available":
            # What was seen in it all the same is counted; that it can be seen reliably is not known.
            out.append(
                ChannelState(
                    channel=channel, state="absent" if state == "absent" else "unavailable", reason=reason
                )
            )
            continue
        n = len(tally.looked("exposed_unchanged", (channel,), case.phases))
        says = "; ".join(f"{t} in {after} of {n} episodes" + _before(b) for t, (after, b) in shown.items())
        items = tally.count(channel)
        if any(after for after, _ in shown.values()):
            gap = case.unobserved(channel)
            reason = f"exposed_unchanged shows the {says}" + (f"; {gap}" if gap else "")
            state = "unobserved_after" if gap else "covered"
            out.append(ChannelState(channel=channel, state=state, reason=reason))
        elif items == 0:
            why = "nothing ever stood in it after the boundary"
            out.append(ChannelState(channel=channel, state="not_sensitive", reason=why))
        else:
            why = "observed, and exposed_unchanged never shows a target in it: its silence after a removal says nothing"
            if any(before for _, before in shown.values()):
                why += f" (it shows the {says})"
            out.append(ChannelState(channel=channel, state="not_sensitive", reason=why))
    return tuple(out)


def _before(count: int) -> str:
    return f" ({count} before the boundary)" if count else ""


def _control(case: Case, channel: Channel, target: TargetName) -> tuple[int, int]:
    """Distinct pairs in which exposed_unchanged shows the target in the channel, after and before the boundary."""
    distinct = set(case.tally.pairs.distinct)
    found = [
        s
        for s in case.tally.own("exposed_unchanged", target, (channel,), SEEN)
        if s.complete and s.who == "user" and s.pair in distinct and s.grade not in case.tolerated
    ]
    after = {s.pair for s in found if s.phase in case.phases}
    return len(after), len({s.pair for s in found if s.phase == "before"})
