"""What the record tells of each removal: requests and their answers, the waiting, what stood in storage, and when.

Read line by line; of what `inspect` showed only the artifacts that have to do with a target are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from vestige.audits.verification.looking import Looker
from vestige.audits.verification.needles import needles_found
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import pairs_of, settings_of
from vestige.audits.verification.settings import PHASES, TargetName, VerificationSettings
from vestige.audits.verification.tally import AFTER
from vestige.records import Receipt
from vestige.runs.folder import RunFolder
from vestige.runs.inspection import InspectionBody, SeenArtifact, rebuild
from vestige.runs.plan import Plan
from vestige.runs.steps import Episode
from vestige.runs.store import Line, read_attempts, read_counted
from vestige.runs.timeline import Timeline
from vestige.runs.waiting import Waited

__all__ = ["Derived", "Fate", "Relation", "Trace", "read_traces"]

Fate = Literal["gone", "changed", "unchanged", "not_looked_at"]
Relation = Literal["holds_it", "made_from_one", "of_its_session"]
_KINDS = frozenset(
    {"artifacts", "scan", "receipt", "removal_failed", "waited", "timeline", "unavailable", "episode_end"}
)


@dataclass
class Derived:
    """A stored item that has to do with a target, as it stood before the removal and afterwards."""

    artifact: str
    """Its id, as the agent gives it."""
    tier: str
    relation: Relation
    """It held the target by the rules of scoring; or was made, by what the agent says, from one that did; or belongs to
    a session that is withdrawn, or sums it up."""
    text: str
    fate: Fate = "not_looked_at"
    """At the last look after the removal."""


@dataclass
class Trace:
    """One attempt at exposed_removed."""

    attempt: int
    counted: bool
    """Its pair was completed in it."""
    receipts: dict[int, Receipt] = field(default_factory=dict[int, Receipt])
    """By step."""
    failures: dict[int, str] = field(default_factory=dict[int, str])
    """Requests that the agent answered with an error, by step: the error's type."""
    waited: Waited | None = None
    timeline: Timeline | None = None
    bytes_found: dict[TargetName, dict[str, int]] = field(default_factory=dict[TargetName, dict[str, int]])
    """Occurrences in the bytes of storage, in the nearest spelling that counts, by phase."""
    scanned: set[str] = field(default_factory=set[str])
    """Phases in which at least one file was read."""
    derived: dict[TargetName, list[Derived]] | None = None
    """None: the agent showed no artifact before the removal, or cannot show any."""
    tiers: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Artifacts of each tier, by phase."""
    holding: dict[TargetName, dict[str, dict[str, int]]] = field(
        default_factory=dict[TargetName, dict[str, dict[str, int]]]
    )
    """Those that tell the target by the rules of scoring, by tier and phase."""
    inspected: set[str] = field(default_factory=set[str])
    """Phases in which the agent showed its artifacts."""
    end: str = ""
    """Type of the error that ended it; empty: none did."""


def read_traces(plan: Plan, folder: RunFolder) -> dict[str, list[Trace]]:
    """By pair, the attempts at its exposed_removed that count or failed, in their order.

    Raises:
        IntegrityError: A record cannot be read.
    """
    settings, pairs = settings_of(plan), pairs_of(plan)
    episodes = {e.id: e for e in plan.episodes if e.labels.get("condition") == "exposed_removed"}
    readers: dict[tuple[str, int], _Reader] = {}
    for line in read_counted(folder.path, read_attempts(folder.path), _KINDS, failed=True):
        episode = episodes.get(line.episode)
        pair = pairs.get(episode.instance) if episode is not None else None
        if episode is None or pair is None:
            continue
        key = (line.episode, line.attempt)
        if key not in readers:
            readers[key] = _Reader(episode, pair, settings, Trace(line.attempt, line.counted))
        readers[key].read(line)
    found: dict[str, list[Trace]] = {}
    for episode, attempt in sorted(readers):
        found.setdefault(episodes[episode].instance, []).append(readers[episode, attempt].trace)
    return found


class _Reader:
    def __init__(self, episode: Episode, pair: Pair, settings: VerificationSettings, trace: Trace) -> None:
        self._pair, self._settings, self.trace = pair, settings, trace
        self._looker = Looker(pair, "exposed_removed", settings, episode.id, {})
        self._base: dict[str, InspectionBody] = {}

    def read(self, line: Line) -> None:
        trace = self.trace
        match line.kind:
            case "receipt":
                trace.receipts[line.step] = Receipt.model_validate(line.body)
            case "removal_failed":
                trace.failures[line.step] = _type(line.body)
            case "waited":
                trace.waited = Waited.model_validate(line.body)
            case "timeline":
                trace.timeline = Timeline.model_validate(line.body)
            case "scan":
                self._scan(line)
            case "artifacts":
                self._artifacts(line)
            case "episode_end":
                trace.end = "" if line.body.get("status") == "done" else _type(line.body)
                self._base.clear()
            case _:
                pass

    def _scan(self, line: Line) -> None:
        phase = str(line.labels.get("phase", ""))
        if phase not in PHASES or not line.body.get("files"):
            return
        self.trace.scanned.add(phase)
        found: dict[str, int] = {}
        for hit in line.body.get("hits") or ():
            found[str(hit.get("needle"))] = found.get(str(hit.get("needle")), 0) + int(hit.get("count", 0))
        for look in needles_found(found, self._looker.targets, self._settings):
            self.trace.bytes_found.setdefault(look.target, {})[phase] = look.count

    def _artifacts(self, line: Line) -> None:
        body = InspectionBody.model_validate(line.body)
        phase = str(line.labels.get("phase", body.name))
        state = rebuild(body, self._base.get(body.baseline or ""))
        if body.baseline is None:
            self._base[body.name] = body
        if phase not in PHASES or phase == "reintroduced":
            return
        trace = self.trace
        trace.inspected.add(phase)
        for artifact in state.values():
            _count(trace.tiers, artifact.tier, phase)
        for kind in self._looker.targets:
            holding = {a.id for a in state.values() if self._looker.holds(kind, a.text)}
            tiers = trace.holding.setdefault(kind, {})
            for artifact in sorted(holding):
                _count(tiers, state[artifact].tier, phase)
            if phase == "before":
                trace.derived = trace.derived or {}
                trace.derived[kind] = self._derived(kind, state, holding)
            elif phase in AFTER and trace.derived is not None:
                _fates(trace.derived.get(kind, ()), state)

    def _derived(
        self, kind: TargetName, state: Mapping[str, SeenArtifact], holding: set[str]
    ) -> list[Derived]:
        found: dict[str, Relation] = dict.fromkeys(sorted(holding), "holds_it")
        sessions = self._pair.sources.get(kind, ())
        for artifact in state.values():
            withdrawn = self._settings.kind != "value" or (
                artifact.tier == "summary" and not artifact.sources
            )
            if artifact.session in sessions and withdrawn:
                found.setdefault(artifact.id, "of_its_session")
        before = -1
        while before < len(found):
            before = len(found)
            for artifact in state.values():
                if not found.keys().isdisjoint(artifact.sources):
                    found.setdefault(artifact.id, "made_from_one")
        return [
            Derived(a.id, a.tier, found[a.id], a.text)
            for a in sorted(state.values(), key=lambda a: a.id)
            if a.id in found
        ]


def _count(counts: dict[str, dict[str, int]], tier: str, phase: str) -> None:
    by_phase = counts.setdefault(tier, {})
    by_phase[phase] = by_phase.get(phase, 0) + 1


def _fates(derived: Iterable[Derived], state: Mapping[str, SeenArtifact]) -> None:
    for one in derived:
        now = state.get(one.artifact)
        one.fate = "gone" if now is None else "unchanged" if now.text == one.text else "changed"


def _type(body: Mapping[str, object]) -> str:
    return str(body.get("reason", "")).partition(":")[0] or "unknown"
