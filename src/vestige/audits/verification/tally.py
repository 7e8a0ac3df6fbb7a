"""Findings as a conclusion reads them: by pair and condition, the distinct pairs told from the lost ones.

The unit is the pair. Pairs with one fingerprint are one observation, of which the first counts. A pair that was
planned and not completed is *lost*, and a lost pair is counted at its worst wherever that could change a verdict: it
may have crashed because of what it was about to show.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, cast

from pydantic import ValidationError

from vestige.agents.protocol import CHANNELS, Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.scored import SightingState
from vestige.audits.verification.settings import (
    CONDITIONS,
    PHASES,
    TARGETS,
    Condition,
    Grade,
    Kept,
    Phase,
    TargetName,
)
from vestige.errors import IntegrityError, complaint
from vestige.records import JsonScalar, Record

__all__ = ["AFTER", "NOT_RUN", "Pairs", "Sighting", "Tally"]

AFTER: tuple[Phase, ...] = ("after", "delayed", "restarted", "maintained")
"""What claims are about: everything from the boundary on, until the target is told anew."""

NOT_RUN = "not run"
"""Reason of an exclusion that nobody began: it cannot have depended on what was seen."""

Who = Literal["user", "sibling"]


class Sighting(Record):
    """One `sighting` finding, checked."""

    pair: str
    episode: str
    condition: Condition
    phase: Phase
    channel: Channel
    target: TargetName
    grade: Grade
    form: str
    state: SightingState
    foreign: str = ""
    who: Who = "user"
    complete: bool = True

    @property
    def after(self) -> bool:
        """Seen after the boundary."""
        return self.phase in AFTER


class _Labels(Record):
    condition: Condition
    phase: Phase = "after"
    who: Who = "user"
    complete: bool = True
    target: TargetName | None = None


@dataclass(frozen=True)
class Pairs:
    """Which pairs count."""

    distinct: tuple[str, ...]
    """Complete, and the first with their fingerprint."""
    duplicates: int
    """Complete, and the same observation as an earlier one."""
    lost: tuple[str, ...]
    """Planned and not completed; the names of those that the brief does not even list begin with `missing-`."""
    planned: int
    cluster: dict[str, str]
    """Of every distinct and lost pair."""

    @property
    def n(self) -> int:
        """Distinct observations."""
        return len(self.distinct)

    @property
    def clustered(self) -> bool:
        """Whether any cluster holds several pairs."""
        return len(set(self.cluster.values())) < len(self.cluster)

    def labels(self, pairs: Iterable[str]) -> list[str] | None:
        """Cluster of each pair; None where all are independent."""
        return [self.cluster[p] for p in pairs] if self.clustered else None

    @classmethod
    def of(cls, brief: Brief) -> Pairs:
        """Read them from the brief."""
        first: dict[str, str] = {}
        duplicates = 0
        open_pairs: list[str] = []
        for name in sorted(brief.pairs):
            pair = brief.pairs[name]
            if not pair.complete:
                open_pairs.append(name)
            elif pair.fingerprint in first:
                duplicates += 1
            else:
                first[pair.fingerprint] = name
        planned = max(brief.settings.pairs, len(brief.pairs))
        if brief.settings.observer.stopping == "mixture":
            # A sequence may stop at any time, but what was begun and failed is not what was never begun.
            begun = {x.episode.partition("/")[0] for x in brief.exclusions if x.reason != NOT_RUN}
            lost = [name for name in open_pairs if name in begun]
        else:
            lost = open_pairs + [f"missing-{i}" for i in range(planned - len(brief.pairs))]
        distinct = tuple(sorted(first.values()))
        cluster = {p: brief.pairs[p].cluster if p in brief.pairs else p for p in (*distinct, *lost)}
        return cls(distinct, duplicates, tuple(lost), planned, cluster)


@dataclass
class Tally:
    """All findings of a run, by what they are about. Values of pairs that do not count are left out of everything
    but `sightings`: what was seen was seen, whether or not its pair was completed.
    """

    pairs: Pairs
    sightings: list[Sighting] = field(default_factory=list[Sighting])
    by_arm: dict[tuple[Condition, TargetName], list[Sighting]] = field(
        default_factory=lambda: defaultdict(list[Sighting])
    )
    """The sightings of an arm's own target."""
    actions: dict[tuple[Condition, TargetName], dict[str, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """1: the preference's option was chosen, one value a readable decision task after the boundary."""
    choices: dict[tuple[Condition, TargetName], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """How decision tasks ended: favoured, other, or none, where no choice could be read."""
    unread: dict[tuple[Condition, TargetName], set[str]] = field(
        default_factory=lambda: defaultdict(set[str])
    )
    """Pairs of which a choice could not be read; they might have gone either way."""
    utility: dict[tuple[Condition, Kept], dict[str, list[tuple[str, str]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """(task, outcome) of each question."""
    health: dict[Condition, Counter[str]] = field(default_factory=lambda: {c: Counter() for c in CONDITIONS})
    items: dict[Condition, dict[str, Counter[tuple[Phase, Channel]]]] = field(
        default_factory=lambda: {c: {} for c in CONDITIONS}
    )
    """What was looked at in each episode; an episode that is not here was not observed."""
    scans: dict[Condition, dict[str, set[tuple[Phase, str]]]] = field(
        default_factory=lambda: {c: {} for c in CONDITIONS}
    )
    """Phases in which files were read byte by byte (``""``), and those in which the bytes held a target (its name)."""
    reintroduced: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    corrected: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    attributed: int = 0
    """Texts that held the target because the request itself did."""
    unavailable: set[str] = field(default_factory=set[str])
    """Steps that the agent has no capability for."""
    waits: Counter[str] = field(default_factory=Counter[str])
    """How removals ended in exposed_removed: asked, refused, pending."""

    @classmethod
    def of(cls, brief: Brief, findings: Iterable[Finding]) -> Tally:
        """Sort the findings in.

        Raises:
            IntegrityError: A finding is not one of a verification of these pairs.
        """
        tally = cls(Pairs.of(brief))
        counted = set(tally.pairs.distinct)
        for finding in findings:
            if finding.instance not in brief.pairs:
                raise IntegrityError(
                    f"a finding is about {finding.instance[:40]!r}, which is no pair of this run"
                )
            tally._add(finding, finding.instance in counted)
        return tally

    def _add(self, finding: Finding, counted: bool) -> None:
        what = finding.kind.partition(":")[0]
        if what == "sighting":
            sighting = _sighting(finding)
            self.sightings.append(sighting)
            if not sighting.foreign:
                self.by_arm[sighting.condition, sighting.target].append(sighting)
            return
        if what not in _HELD:
            return
        labels = _labels(finding)
        if not (counted and labels.complete):
            return
        pair, values, condition = finding.instance, finding.values, labels.condition
        if what == "observed":
            self._observed(condition, pair, finding)
        elif what == "unavailable":
            self.unavailable.add(str(values.get("step", "")))
        elif what in ("receipt", "waited"):
            if condition == "exposed_removed":
                self.waits["asked"] += what == "receipt"
                self.waits["refused"] += what == "receipt" and values.get("accepted") is not True
                self.waits["pending"] += what == "waited" and values.get("pending") is True
        elif what == "reintroduced":
            if condition == "exposed_removed":
                self.reintroduced[pair].append(values.get("outcome") == "success")
        elif what == "corrected":
            if condition == "exposed_removed":
                self.corrected[pair].append(values.get("outcome") == "success")
        elif labels.phase not in AFTER:
            return
        elif what == "action":
            self._chosen(condition, labels.target or "preference", pair, values.get("chosen"))
        elif what == "utility":
            named = values.get("who", labels.who)
            who: Kept = "sibling" if named == "sibling" else "user"
            if named == "second_source":
                who = "second_source"
            entry = (str(values.get("task", "")), str(values.get("outcome", "")))
            self.utility[condition, who][pair].append(entry)
        elif what == "health":
            self.health[condition][str(values.get("state", ""))] += 1

    def _chosen(self, condition: Condition, target: TargetName, pair: str, option: JsonScalar) -> None:
        of = condition, target
        if option in ("favoured", "other"):
            self.choices[of][str(option)] += 1
            self.actions[of][pair].append(1.0 if option == "favoured" else 0.0)
        else:  # a choice that cannot be read is no choice against the target
            self.choices[of]["none"] += 1
            self.unread[of].add(pair)

    def _observed(self, condition: Condition, pair: str, finding: Finding) -> None:
        seen: Counter[tuple[Phase, Channel]] = Counter()
        read: set[tuple[Phase, str]] = set()
        for name, count in finding.values.items():
            phase, _, channel = name.partition(":")
            if phase == "request":
                self.attributed += int(count or 0)
            elif phase in PHASES and channel in CHANNELS:
                seen[phase, channel] += int(count or 0)  # pyright: ignore[reportArgumentType]
            elif phase in PHASES and channel in _BYTES:
                if int(count or 0) > 0:
                    read.add((phase, _BYTES[channel]))  # pyright: ignore[reportArgumentType]
            else:
                raise IntegrityError(f"a finding counts {name[:40]!r}, which is no phase and channel")
        self.items[condition][pair] = seen
        self.scans[condition][pair] = read

    def looked(self, condition: Condition, channels: Sequence[Channel], phases: Sequence[Phase]) -> list[str]:
        """The distinct pairs whose episode of that condition was looked at in any of the channels."""
        by_pair = self.items[condition]
        return [
            p
            for p in self.pairs.distinct
            if p in by_pair and any(by_pair[p][phase, c] for phase in phases for c in channels)
        ]

    def scanned(self, condition: Condition, phases: Sequence[Phase], target: str = "") -> list[str]:
        """The distinct pairs of whose episode files were read as bytes; with `target`, whose bytes held it."""
        by_pair = self.scans[condition]
        return [
            p
            for p in self.pairs.distinct
            if p in by_pair and any((phase, target) in by_pair[p] for phase in phases)
        ]

    def count(self, channel: Channel) -> int:
        """Items looked at in a channel after the boundary, over all conditions."""
        return sum(
            seen[phase, channel] for by in self.items.values() for seen in by.values() for phase in AFTER
        )

    def own(
        self,
        condition: Condition,
        target: TargetName,
        channels: Sequence[Channel],
        phases: Sequence[Phase] = AFTER,
        *,
        state: SightingState = "confirmed",
    ) -> Iterator[Sighting]:
        """Sightings of the arm's own target."""
        for s in self.by_arm.get((condition, target), ()):
            if s.state == state and s.channel in channels and s.phase in phases:
                yield s


_BYTES = {"bytes": "", **{f"bytes:{target}": target for target in TARGETS}}
"""Names of counts of a byte scan."""

_HELD = frozenset(
    {
        "observed",
        "action",
        "utility",
        "health",
        "receipt",
        "waited",
        "unavailable",
        "reintroduced",
        "corrected",
    }
)


def _labels(finding: Finding) -> _Labels:
    # Few combinations stand in many findings. Of a receipt the phase is neither before nor after: it is left out.
    kept = {k: v for k, v in finding.labels.items() if k in _Labels.model_fields and v != "boundary"}
    return _checked(tuple(sorted(kept.items())))


@lru_cache(maxsize=1024)
def _checked(labels: tuple[tuple[str, JsonScalar], ...]) -> _Labels:
    try:
        return _Labels.model_validate(dict(labels))
    except ValidationError as error:
        raise IntegrityError(f"a finding's labels cannot be read: {complaint(error)}") from None


def _sighting(finding: Finding) -> Sighting:
    labels, values = finding.labels, finding.values
    given = {
        **{k: labels[k] for k in ("condition", "phase", "who", "complete") if k in labels},
        **{k: values.get(k) for k in ("channel", "target", "grade", "form", "state")},
        "foreign": values.get("foreign") or "",
        "pair": finding.instance,
        "episode": finding.episode,
    }
    try:
        return Sighting.model_validate(cast("dict[str, object]", given))
    except ValidationError as error:
        raise IntegrityError(f"a sighting cannot be read: {complaint(error)}") from None
