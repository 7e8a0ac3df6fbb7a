"""Takes from a stored run what its report shows side by side: which pairs, and of each what every arm said and held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import finding_id
from vestige.audits.verification.case import ANSWERS
from vestige.audits.verification.looking import Looker, owners_of
from vestige.audits.verification.phases import phase_at
from vestige.audits.verification.reading import pairs_of, settings_of
from vestige.audits.verification.settings import (
    CLAIMS,
    CONDITIONS,
    PHASES,
    TARGETS,
    Condition,
    Phase,
    VerificationSettings,
)
from vestige.audits.verification.tally import AFTER
from vestige.channels import requests
from vestige.records import Reply
from vestige.report.verification.evidence import Arm, PairExchanges, Row, Said, Seen, WaitedRow, Why
from vestige.report.verification.stored import Stored
from vestige.runs.folder import RunFolder
from vestige.runs.plan import generator
from vestige.runs.sending import ModelRequests
from vestige.runs.store import Line, read_attempts, read_counted
from vestige.runs.waiting import Waited

__all__ = ["CLEAN", "MOST", "gather", "waits"]

MOST = 12
"""Pairs in which something was seen."""
CLEAN = 3
"""Pairs by lot in which nothing was."""
SIDE_BY_SIDE: tuple[Condition, ...] = ("never_exposed", "exposed_removed", "exposed_unchanged")
_KINDS = frozenset({"exchange", "model_requests", "artifacts", "scan"})
_LOOKS = ("stored", "sent")
_ORDER: tuple[Why, ...] = get_args(Why)
_CHOSEN = {
    "favoured": "chose the preferred option",
    "other": "chose the other option",
    "none": "chose neither option",
}
_OUTCOMES = {
    "success": "answered rightly",
    "failure": "did not succeed",
    "justified_abstention": "abstained, rightly",
    "unsupported_refusal": "refused without reason",
    "tool_error": "a tool failed",
    "wrong": "answered wrongly",
}

Attempt = tuple[str, int | None]
"""(pair, attempt); None: the attempt that counts."""


@dataclass
class _Found:
    """What the findings say of one attempt at a pair."""

    whys: set[Why] = field(default_factory=set[Why])
    arms: set[Condition] = field(default_factory=set[Condition])
    """With a sighting that must not be there."""
    seen: dict[tuple[str, int, int], list[Seen]] = field(
        default_factory=dict[tuple[str, int, int], list[Seen]]
    )
    outcomes: dict[tuple[str, int, int], str] = field(default_factory=dict[tuple[str, int, int], str])
    chosen: dict[tuple[Condition, str], set[str]] = field(
        default_factory=dict[tuple[Condition, str], set[str]]
    )
    """Of each preference."""


def gather(folder: RunFolder, findings: Iterable[Finding]) -> tuple[PairExchanges, ...]:
    """The pairs a reader should see: where something was seen first, at most `MOST`, then `CLEAN` by lot.

    Args:
        folder: The run.
        findings: Of `scoring.score`, with people's decisions applied.

    Raises:
        IntegrityError: The record cannot be read, or is not one of this plan.
    """
    plan = folder.plan
    fixtures, settings = pairs_of(plan), settings_of(plan)
    found = _sorted_in(findings, settings)
    chosen = _choose(found, plan.seed)
    episodes: dict[str, tuple[str, Condition]] = {
        e.id: (e.instance, cast("Condition", str(e.labels.get("condition", "")))) for e in plan.episodes
    }
    lines: dict[Attempt, list[Line]] = {key: [] for key in chosen}
    attempts = read_attempts(folder.path)
    for line in read_counted(folder.path, attempts, _KINDS, failed=True):
        pair, _ = episodes.get(line.episode, ("", ""))
        key = (pair, None if line.counted else line.attempt)
        if key in lines:
            lines[key].append(line)
    owners = owners_of(fixtures)
    out: list[PairExchanges] = []
    for key, why in chosen.items():
        pair, attempt = key
        extra: list[Condition] = [c for c in CONDITIONS if c in found[key].arms and c not in SIDE_BY_SIDE]
        arms: tuple[Condition, ...] = tuple(c for c in (*SIDE_BY_SIDE, *extra) if c in settings.conditions)
        of_arm: dict[Condition, str] = {
            condition: name for name, (i, condition) in episodes.items() if i == pair
        }
        lookers: dict[Condition, Looker] = {
            c: Looker(fixtures[pair], c, settings, of_arm.get(c, ""), owners) for c in arms
        }
        conditions: dict[str, Condition] = {e: c for e, (_, c) in episodes.items()}
        rows = _Rows(folder, arms, found[key], lookers, conditions)
        for line in sorted(lines[key], key=lambda one: (one.episode, one.step, one.repeat)):
            rows.read(line)
        out.append(
            PairExchanges(
                pair=pair, why=why, attempt=attempt, fixture=fixtures[pair], rows=tuple(rows.finished())
            )
        )
    return tuple(out)


def _sorted_in(findings: Iterable[Finding], settings: VerificationSettings) -> dict[Attempt, _Found]:
    out: dict[Attempt, _Found] = {}
    for finding in findings:
        labels, values = finding.labels, finding.values
        number = labels.get("attempt")
        attempt = None if labels.get("complete", True) else int(number) if isinstance(number, int) else 0
        one = out.setdefault((finding.instance, attempt), _Found())
        key = (finding.episode, finding.step, int(labels.get("repeat") or 0))
        condition = cast("Condition", str(labels.get("condition")))
        match finding.kind.partition(":")[0]:
            case "sighting":
                _sighting(one, key, condition, finding, settings)
            case "action":
                what = str(values.get("chosen"))
                one.outcomes[key] = _CHOSEN.get(what, what)
                target = str(labels.get("target") or "preference")
                one.chosen.setdefault((condition, target), set()).add(what)
            case "utility" | "reintroduced" | "corrected":
                what = str(values.get("outcome"))
                one.outcomes[key] = _OUTCOMES.get(what, what)
            case _:
                pass
    for one in out.values():
        for target in TARGETS:
            never = one.chosen.get(("never_exposed", target), ("favoured",))
            if "favoured" in one.chosen.get(("exposed_removed", target), ()) and "favoured" not in never:
                one.whys.add("decides")
    return out


def _reads(
    settings: VerificationSettings, channel: object, phase: object, grade: object, *, own: bool
) -> bool:
    """Whether a claim reads the channel in the phase: of an arm's own target, as the rules on disclosure do."""
    for name in settings.claims:
        channels, phases = CLAIMS[name].channels, AFTER
        if own and name == "erasure" and settings.maintain:
            phases = ("maintained",)
        if own and name == "non_use" and settings.task == "correction":
            channels = ANSWERS
        if own and grade in settings.tolerated(name):
            continue
        if channel in channels and phase in phases:
            return True
    return False


def _sighting(
    one: _Found,
    key: tuple[str, int, int],
    condition: Condition,
    finding: Finding,
    settings: VerificationSettings,
) -> None:
    values, labels = finding.values, finding.labels
    fields = {k: values.get(k) for k in ("channel", "target", "grade", "form", "state")}
    phase, channel = labels.get("phase"), values.get("channel")
    own = not values.get("foreign") and labels.get("who", "user") == "user" and condition != "never_exposed"
    seen = Seen.model_validate(
        {
            **fields,
            "counts": _reads(settings, channel, phase, values.get("grade"), own=own),
            "foreign": values.get("foreign") or "",
            "who": labels.get("who", "user"),
            "reviewer": str(values.get("reviewer") or ""),
            "finding": finding_id(finding),
        }
    )
    one.seen.setdefault(key, []).append(seen)
    if not seen.counts or seen.state == "dismissed":
        return
    if condition == "exposed_removed" and own:
        one.whys.add("confirmed" if seen.state == "confirmed" else "uncertain")
        one.arms.add(condition)
    elif seen.state == "confirmed" and (not own or condition == "full_reset"):
        one.whys.add("contaminated")
        one.arms.add(condition)


def _choose(found: Mapping[Attempt, _Found], seed: int) -> dict[Attempt, Why]:
    """The pairs to show, worst first, with the reason."""
    order = sorted(found, key=lambda key: (key[0], key[1] is not None, key[1] or 0))
    marked: list[tuple[Why, Attempt]] = [
        (min(found[key].whys, key=_ORDER.index), key) for key in order if found[key].whys
    ]
    marked.sort(key=lambda item: _ORDER.index(item[0]))
    chosen: dict[Attempt, Why] = {}
    for why, key in marked[:MOST]:
        chosen[key] = why
    clean = [key for key in order if not found[key].whys and key[1] is None]
    picks = generator(seed, "report", "sample").permutation(len(clean))[:CLEAN]
    by_lot: dict[Attempt, Why] = {clean[i]: "sample" for i in sorted(int(p) for p in picks)}
    return chosen | by_lot


Place = tuple[str, str, int, int]
"""(probe or `stored`, phase, round, repeat)."""


class _Rows:
    """Puts the lines of a pair's arms beside one another."""

    def __init__(
        self,
        folder: RunFolder,
        arms: tuple[Condition, ...],
        found: _Found,
        lookers: Mapping[Condition, Looker],
        conditions: Mapping[str, Condition],
    ) -> None:
        self._probes = folder.plan.probes
        self._arms, self._found, self._conditions = arms, found, conditions
        self._stored = Stored(lookers)
        self._lookers = lookers
        self._scripts = {episode.id: episode for episode in folder.plan.episodes}
        self._rows: dict[Place, dict[Condition, Arm]] = {}
        self._steps: dict[Place, int] = {}
        self._heads: dict[Place, dict[str, Any]] = {}

    def read(self, line: Line) -> None:
        """Take in one line."""
        condition = self._conditions[line.episode]
        if line.kind == "model_requests":
            self._sent(line, condition)
            return
        phase = line.labels.get("phase")
        if condition not in self._arms or phase not in PHASES:
            if line.kind == "artifacts":
                self._stored.read(condition, line)
            return
        seen = tuple(self._found.seen.get((line.episode, line.step, line.repeat), ()))
        if line.kind == "exchange":
            self._exchange(line, condition, phase, seen)
            return
        said = self._stored.read(condition, line) if line.kind == "artifacts" else ()
        if phase not in AFTER or not (said or seen):
            return
        key = ("stored", str(phase), 0, 0)
        self._place(key, line)
        before = self._rows[key].get(condition, Arm(condition=condition))
        self._heads[key] = {"what": "stored", "kind": "stored", "phase": phase}
        self._rows[key][condition] = Arm(
            condition=condition, said=(*before.said, *said), seen=(*before.seen, *seen)
        )

    def _sent(self, line: Line, condition: Condition) -> None:
        """What was sent to the model outside replies; only where a target was seen in it."""
        phase = phase_at(self._scripts[line.episode], line.step)
        looker = self._lookers.get(condition)
        if condition not in self._arms or phase not in AFTER or looker is None:
            return
        texts = requests(ModelRequests.model_validate(line.body).texts).texts
        held = [text for text in texts if looker.own([text]) or looker.others([text])]
        if not held:
            return
        found = self._found.seen.get((line.episode, line.step, line.repeat), ())
        key = ("sent", str(phase), 0, 0)
        self._place(key, line)
        before = self._rows[key].get(condition, Arm(condition=condition))
        self._heads[key] = {"what": "sent", "kind": "sent", "phase": phase}
        said = (Said(channel="model_requests", text=text) for text in held)
        seen = (one for one in found if one.channel == "model_requests")
        self._rows[key][condition] = Arm(
            condition=condition, said=(*before.said, *said)[:MOST], seen=(*before.seen, *seen)
        )

    def _exchange(self, line: Line, condition: Condition, phase: Phase, seen: tuple[Seen, ...]) -> None:
        name = line.probe or ""
        probe = self._probes.get(name)
        turn = int(line.labels.get("round") or 0)
        key = (name, phase, turn, line.repeat)
        target = line.labels.get("target")
        self._heads.setdefault(
            key,
            {
                "what": name,
                "kind": probe.kind if probe else "unknown",
                "phase": phase,
                "target": target if target in TARGETS else None,
                "turn": turn,
                "prompt": probe.text if probe and not turn else "",
            },
        )
        self._place(key, line)
        self._rows[key][condition] = Arm(
            condition=condition,
            asked=str(line.body.get("prompt") or "") if turn else "",
            said=tuple(_said(Reply.model_validate(line.body["reply"]), seen)),
            seen=seen,
            outcome=self._found.outcomes.get((line.episode, line.step, line.repeat), ""),
        )

    def _place(self, key: Place, line: Line) -> None:
        """Where the row stands: in the order of the scripts, whichever arm is read first."""
        self._rows.setdefault(key, {})
        self._steps[key] = min(line.step, self._steps.get(key, line.step))

    def finished(self) -> list[Row]:
        """The rows: by phase, what is stored last in each."""
        order = sorted(
            self._rows,
            key=lambda key: (PHASES.index(cast("Phase", key[1])), key[0] in _LOOKS, self._steps[key], *key),
        )
        out: list[Row] = []
        for key in order:
            arms = self._rows[key]
            why = "nothing of a target is shown there" if key[0] in _LOOKS else "not asked, or not completed"
            if key[0] not in _LOOKS and key[1] == "reintroduced":
                why = "told anew in exposed_removed alone"
            out.append(
                Row(
                    **self._heads[key],
                    arms=tuple(arms.get(c, Arm(condition=c, missing=why)) for c in self._arms),
                )
            )
        return out


def _said(reply: Reply, seen: tuple[Seen, ...]) -> Iterable[Said]:
    """What was observed with a reply; whole model requests only where a target was seen in one."""
    yield Said(channel="answer", text=reply.text)
    for call in reply.tool_calls:
        yield Said(channel="tool_arguments", label=call.name, text=call.arguments)
    for result in reply.tool_results:
        yield Said(channel="tool_results", label=result.name, text=result.content)
    if reply.reasoning:
        yield Said(channel="reasoning", text=reply.reasoning)
    for text in reply.memory_writes or ():
        yield Said(channel="memory_writes", text=text)
    if any(s.channel == "model_requests" for s in seen):
        for text in reply.model_requests or ():
            yield Said(channel="model_requests", text=text)
    for unit in reply.retrieved or ():
        yield Said(channel="retrieval", label=f"{unit.tier}, similarity {unit.score:.2f}", text=unit.text)


def waits(folder: RunFolder) -> tuple[WaitedRow, ...]:
    """How every removal, and every sham, came to its end, by pair; of the attempts that count."""
    episodes = {e.id: e for e in folder.plan.episodes}
    asked: dict[str, list[bool]] = {}
    waited: dict[str, Waited] = {}
    kinds = frozenset({"receipt", "removal_failed", "waited"})
    for line in read_counted(folder.path, read_attempts(folder.path), kinds):
        if line.episode not in episodes:
            continue
        if line.kind == "waited":
            waited[line.episode] = Waited.model_validate(line.body)
        else:
            asked.setdefault(line.episode, []).append(line.body.get("accepted") is True)
    return tuple(
        WaitedRow(
            pair=episodes[name].instance,
            condition=cast("Condition", str(episodes[name].labels.get("condition"))),
            accepted=sum(asked.get(name, ())),
            asked=len(asked.get(name, ())),
            completed=one.completed,
            visible_absence=one.visible_absence,
            physical_cleanup=one.physical_cleanup,
            pending=one.pending,
            reasons=one.reasons,
        )
        for name, one in sorted(waited.items())
    )
