"""The removal ledger's layers: what was looked at in each channel and tier for one target of one pair, and found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vestige.agents.protocol import CHANNELS
from vestige.audits.findings import Finding
from vestige.audits.verification.results import ChannelState, VerificationResult
from vestige.audits.verification.settings import GRADES, TargetName
from vestige.audits.verification.tally import AFTER
from vestige.audits.verification.traces import Trace

__all__ = ["LayerEntry", "Layers", "LedgerState", "Seen"]

LedgerState = Literal["observed", "not_observed", "blocked", "out_of_scope"]


@dataclass(frozen=True)
class LayerEntry:
    """One channel or tier, of one target in one pair."""

    layer: str
    """A channel, or `tier NAME`."""
    state: LedgerState
    """Observed: it was looked at after the removal. Not observed: there was nothing in it to be looked at. Blocked: it
    could not be looked at. Out of scope: no claim is about it, or the agent declares not to have it."""
    reason: str
    looked: Mapping[str, int]
    """Items looked at, by phase after the boundary; artifacts, of a tier."""
    found: Mapping[str, int]
    """Confirmed sightings of the target by phase; of a tier, artifacts that tell it."""
    uncertain: int
    """Sightings that no rule and no person has decided."""
    nearest: str
    """The nearest grade of what was found; empty: nothing was."""
    control: int
    """The same count for exposed_unchanged of this pair; of a tier, for this arm before the removal."""


_Place = tuple[str, str]
"""Pair and channel."""


def _by_phase() -> defaultdict[str, int]:
    return defaultdict(int)


@dataclass
class _Sighted:
    found: dict[str, int] = field(default_factory=_by_phase)
    uncertain: int = 0
    grade: int = len(GRADES)


@dataclass
class Seen:
    """Findings by pair and channel."""

    looked: dict[_Place, dict[str, int]]
    """Items looked at in exposed_removed after the boundary, by phase."""
    sighted: dict[tuple[str, str, str], _Sighted]
    """By pair, channel and target."""
    controls: dict[tuple[str, str, str], int]
    """Confirmed sightings in exposed_unchanged."""
    reintroduced: dict[tuple[str, str], Literal["used_again", "not_used_again"]]
    """By pair and target."""

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Seen:
        """Sort the findings in."""
        seen = cls(defaultdict(_by_phase), defaultdict(_Sighted), defaultdict(int), {})
        for finding in findings:
            condition = finding.labels.get("condition")
            kind = finding.kind.partition(":")[0]
            if condition == "exposed_removed" and kind == "observed":
                seen._observed(finding)
            elif condition == "exposed_removed" and kind == "reintroduced":
                seen._again(finding)
            elif kind == "sighting" and not finding.values.get("foreign"):
                seen._sighting(finding, str(condition))
        return seen

    def _observed(self, finding: Finding) -> None:
        for name, count in finding.values.items():
            phase, _, channel = name.partition(":")
            if phase in AFTER and channel in CHANNELS:
                self.looked[finding.instance, channel][phase] += int(count or 0)

    def _again(self, finding: Finding) -> None:
        key = (finding.instance, str(finding.values.get("target")))
        used = finding.values.get("outcome") == "success" and self.reintroduced.get(key) != "not_used_again"
        self.reintroduced[key] = "used_again" if used else "not_used_again"

    def _sighting(self, finding: Finding, condition: str) -> None:
        values, phase = finding.values, str(finding.labels.get("phase"))
        key = (finding.instance, str(values.get("channel")), str(values.get("target")))
        if phase not in AFTER:
            return
        if condition == "exposed_unchanged":
            own = finding.labels.get("complete") is True and finding.labels.get("who", "user") == "user"
            self.controls[key] += own and values.get("state") == "confirmed"
        elif condition == "exposed_removed":
            sighted = self.sighted[key]
            if values.get("state") == "confirmed":
                sighted.found[phase] += 1
                grade = values.get("grade")
                sighted.grade = min(sighted.grade, GRADES.index(grade) if grade in GRADES else len(GRADES))  # pyright: ignore[reportArgumentType]
            else:
                sighted.uncertain += values.get("state") == "uncertain"


class Layers:
    """Makes the rows of a target's layers.

    Args:
        result: For the channels of its claims, and the tiers that the agent declares.
        seen: What was seen where.
        traces: By pair, for the tiers that the agent showed.
    """

    def __init__(self, result: VerificationResult, seen: Seen, traces: Mapping[str, Iterable[Trace]]) -> None:
        self._seen = seen
        self._states: dict[str, tuple[str, ChannelState]] = {
            c.channel: (claim.claim, c) for claim in result.claims for c in claim.channels
        }
        told: Any = result.agent_description.get("tiers", [])
        declared = {str(t) for t in told} if isinstance(told, list) else set[str]()
        self._tiers = sorted(declared | {tier for of in traces.values() for t in of for tier in t.tiers})

    def of(self, pair: str, target: TargetName, trace: Trace | None) -> Iterator[LayerEntry]:
        """A row for every channel and every tier."""
        for channel in CHANNELS:
            yield self._channel(pair, target, channel, trace)
        for tier in self._tiers:
            yield _tier(tier, target, trace)

    def _channel(self, pair: str, target: TargetName, channel: str, trace: Trace | None) -> LayerEntry:
        looked = {p: n for p, n in self._seen.looked.get((pair, channel), {}).items() if n}
        sighted = self._seen.sighted.get((pair, channel, target), _Sighted())
        control = self._seen.controls.get((pair, channel, target), 0)
        state, reason = self._state(channel, looked, sighted, control, trace)
        return LayerEntry(
            layer=channel,
            state=state,
            reason=reason,
            looked=looked,
            found={phase: sighted.found.get(phase, 0) for phase in {**looked, **sighted.found}},
            uncertain=sighted.uncertain,
            nearest=GRADES[sighted.grade] if sighted.grade < len(GRADES) else "",
            control=control,
        )

    def _state(
        self, channel: str, looked: Mapping[str, int], sighted: _Sighted, control: int, trace: Trace | None
    ) -> tuple[LedgerState, str]:
        claim, state = self._states.get(channel, ("", None))
        seen = _sum(sighted.found)
        told = f"shows the target {_times(seen)}" if seen else "does not show the target"
        if state is None:
            return (
                ("observed", f"in no claim of this plan; {told}")
                if seen
                else (
                    "out_of_scope",
                    "in no claim of this plan",
                )
            )
        if not seen:
            if state.state == "absent":
                return "out_of_scope", f"the agent declares not to have it: {state.reason}"
            if trace is None or not trace.counted:
                return "blocked", _lost(trace)
            if state.state == "unavailable":
                return "blocked", state.reason
            if not looked:
                return "not_observed", "nothing stood in it in this episode after the removal"
        proof = (
            f"exposed_unchanged shows it {_times(control)}"
            if control
            else "exposed_unchanged of this pair does not show it either"
        )
        return "observed", f"claim {claim}: {told}; {proof}"


def _tier(tier: str, target: TargetName, trace: Trace | None) -> LayerEntry:
    state: LedgerState = "blocked"
    looked: dict[str, int] = {}
    found: dict[str, int] = {}
    control = 0
    if trace is None or not (phases := [p for p in AFTER if p in trace.inspected]):
        cut_off = trace is None or not trace.counted
        reason = _lost(trace) if cut_off else "the agent showed no artifacts after the removal"
    else:
        held = trace.holding.get(target, {}).get(tier, {})
        count = trace.tiers.get(tier, {})
        looked = {p: count.get(p, 0) for p in phases}
        found = {p: held.get(p, 0) for p in phases}
        control = held.get("before", 0)
        if _sum(looked) or count.get("before"):
            state = "observed"
            now = phases[-1]
            reason = (
                f"{found[now]} of {looked[now]} artifacts tell the target at the last look; before, {control}"
            )
        else:
            state, reason = "not_observed", "no artifact of it was shown in this episode"
    return LayerEntry(f"tier {tier}", state, reason, looked, found, 0, "", control)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _sum(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def _lost(trace: Trace | None) -> str:
    if trace is None:
        return "the episode was not run, or was cut off"
    return (
        f"the pair was not completed ({trace.end or 'another of its episodes failed'}): silence says nothing"
    )
