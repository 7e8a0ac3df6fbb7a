"""The removal ledger over all pairs: one row a target and layer, every cell filled, an unavailable layer named.

A row speaks of all pairs at once; `entries` has each pair's own rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vestige.agents.protocol import CHANNELS, Channel
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import pairs_of, settings_of
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.audits.verification.settings import TARGETS, TargetName, VerificationSettings
from vestige.records import Receipt, RemovalRequest
from vestige.runs.folder import RunFolder
from vestige.runs.inspection import InspectionBody
from vestige.runs.plan import Plan
from vestige.runs.steps import Forget
from vestige.runs.store import Line, read_attempts, read_counted
from vestige.runs.waiting import Waited

__all__ = ["ledger"]

State = Literal["observed", "not_observed", "blocked", "out_of_scope"]
TIMES = {
    "completed": "completion",
    "visible_absence": "visible absence",
    "physical_cleanup": "physical clean-up",
}


@dataclass
class _Removals:
    """How the removals of exposed_removed went, over all pairs."""

    requests: dict[TargetName, list[RemovalRequest]] = field(
        default_factory=dict[TargetName, list[RemovalRequest]]
    )
    receipts: dict[TargetName, list[Receipt]] = field(default_factory=dict[TargetName, list[Receipt]])
    errors: Counter[str] = field(default_factory=Counter[str])
    waits: list[Waited] = field(default_factory=list[Waited])
    tiers: Counter[str] = field(default_factory=Counter[str])
    """Inspections that showed an artifact of the tier."""
    inspections: int = 0


def ledger(plan: Plan, folder: RunFolder, result: VerificationResult) -> tuple[LedgerRow, ...]:
    """Every target of the plan against every channel and every tier of the agent.

    Raises:
        IntegrityError: A record cannot be read.
    """
    settings, pairs = settings_of(plan), pairs_of(plan)
    removals = _removals(plan, folder)
    described = result.agent_description
    tiers = described.get("tiers", [])
    declared = [str(t) for t in tiers] if isinstance(tiers, list) else []
    rows: list[LedgerRow] = []
    for target in settings.targets:
        common = _common(plan, result, settings, pairs, removals, target)
        for channel in CHANNELS:
            state, reason = _channel(result, channel, target)
            rows.append(LedgerRow(layer=channel, state=state, reason=reason, **common))
        for tier in sorted({*declared, *removals.tiers}):
            state, reason = _tier(removals, tier)
            rows.append(LedgerRow(layer=f"tier {tier}", state=state, reason=reason, **common))
    return tuple(rows)


def _removals(plan: Plan, folder: RunFolder) -> _Removals:
    out = _Removals()
    episodes = {e.id: e for e in plan.episodes if e.labels.get("condition") == "exposed_removed"}
    for episode in episodes.values():
        for step in episode.steps:
            if isinstance(step, Forget) and (target := _target(step.labels.get("target"))):
                out.requests.setdefault(target, []).append(step.request)
    kinds = frozenset({"receipt", "removal_failed", "waited", "artifacts"})
    for line in read_counted(folder.path, read_attempts(folder.path), kinds, failed=True):
        if line.episode in episodes:
            _take(out, line)
    return out


def _take(out: _Removals, line: Line) -> None:
    if line.kind == "removal_failed":
        out.errors[str(line.body.get("reason", "")).partition(":")[0] or "unknown"] += 1
    elif not line.counted:
        return
    elif line.kind == "receipt":
        if target := _target(line.labels.get("target")):
            out.receipts.setdefault(target, []).append(Receipt.model_validate(line.body))
    elif line.kind == "waited":
        out.waits.append(Waited.model_validate(line.body))
    else:
        body = InspectionBody.model_validate(line.body)
        out.inspections += 1
        out.tiers.update({a.tier for a in body.artifacts})


def _target(label: object) -> TargetName | None:
    return next((t for t in TARGETS if t == label), None)


def _common(
    plan: Plan,
    result: VerificationResult,
    settings: VerificationSettings,
    pairs: dict[str, Pair],
    removals: _Removals,
    target: TargetName,
) -> dict[str, Any]:
    requests, receipts = removals.requests.get(target, []), removals.receipts.get(target, [])
    sources = sum(len(p.sources.get(target, ())) for p in pairs.values())
    derived = sorted({d for p in pairs.values() for d in p.derived})
    scopes = _listed(sorted({_scope(r) for r in requests})) or "the request for another target covers it"
    accepted, done = sum(r.accepted for r in receipts), sum(r.completed for r in receipts)
    later = sum(w.completed is not None for w in removals.waits)
    return {
        "target_id": f"{result.plan_sha256[:12]}/{target}",
        "target": target,
        "kind": settings.kind.replace("derivations", "every derivation"),
        "intervention": f"{settings.task}: forget was asked for {len(requests)} times, once a pair",
        "payload": f"{len(pairs)} pairs' values, each its own; keyed hashes in a packet's ledger.jsonl",
        "fixture": f"fixtures of the plan {result.plan_sha256[:12]}, field {target}",
        "sources": (
            f"{sources} sessions; their ids, versions and times of ingestion stand in a packet's ledger.jsonl",
        ),
        "derived": tuple(derived) or ("none known",),
        "requested_scope": scopes,
        "boundary": (
            f"after the requests and at most {settings.pending_limit:g} s of waiting for their completion, before "
            "the first probe of the phase after; the times of each pair stand in a packet's ledger.jsonl"
        ),
        "completion": (
            f"accepted {accepted} of {len(receipts)}, completed at once {done}; all completed in {later} of "
            f"{len(removals.waits)} waits"
        ),
        "pending_window": _window(removals.waits),
        "errors": _listed(f"{n} × {name}" for name, n in sorted(removals.errors.items())) or "none",
        "absence_check": _checks(removals.waits),
        "correlated_policy": f"{settings.fixture} fixture; facts that imply a target are {settings.correlated_policy}",
        "reintroduction_paths": _paths(result, settings),
        "external_effects": _effects(result),
        "manifests": (
            f"plan {result.plan_sha256[:12]}, data {plan.data.sha256[:12]}, "
            f"model {plan.models.agent_identity or result.model}"
        ),
    }


def _scope(request: RemovalRequest) -> str:
    named = [
        what
        for what, given in (
            ("value", request.value),
            ("ids", request.ids),
            ("description", request.description),
        )
        if given
    ]
    return f"{request.scope} by {' and '.join(named) or 'nothing'}"


def _window(waits: Sequence[Waited]) -> str:
    if not waits:
        return "not measured: nothing was waited for"
    parts: list[str] = []
    for name, words in TIMES.items():
        times = [float(t) for w in waits if (t := getattr(w, name)) is not None]
        if times:
            parts.append(
                f"{words} after {min(times):.2f} to {max(times):.2f} s in {len(times)} of {len(waits)}"
            )
        else:
            reasons = sorted({w.reasons[name] for w in waits if name in w.reasons})
            parts.append(f"{words} not observable ({reasons[0]})" if reasons else f"{words} never seen")
    pending = sum(w.pending for w in waits)
    return "; ".join([*parts, f"still pending in {pending}" if pending else "none still pending"])


def _checks(waits: Sequence[Waited]) -> str:
    if not waits:
        return "none was made"
    inspect = sum(w.visible_absence is not None for w in waits)
    stored = sum(w.physical_cleanup is not None for w in waits)
    return (
        f"by looking, not by the receipt: the texts were gone from what inspect shows in {inspect} of {len(waits)}, "
        f"from the bytes of storage in {stored}"
    )


def _paths(result: VerificationResult, settings: VerificationSettings) -> str:
    told = result.reintroduction
    if not settings.reintroduction or told is None:
        return "none was tested; a user who tells the target anew gives it anew"
    return f"the user tells it anew: used again in {told.events} of {told.n}"


def _effects(result: VerificationResult) -> str:
    declared, tools = (
        [str(name) for name in found] if isinstance(found := result.agent_description.get(what), list) else []
        for what in ("external_effects", "tools")
    )
    parts = [
        f"declared, and cannot be reset: {_listed(declared)}" if declared else "the agent declares none",
        f"what its tools did outside its own storage cannot be reset: {_listed(tools)}"
        if tools
        else "it names no tools of its own",
    ]
    return "; ".join(parts)


def _channel(result: VerificationResult, channel: Channel, target: TargetName) -> tuple[State, str]:
    removed = next(
        (
            c
            for c in result.cells
            if (c.channel, c.condition, c.target) == (channel, "exposed_removed", target)
        ),
        None,
    )
    counts = (
        f"after the removal the {target} was seen in {removed.episodes.events} of {removed.episodes.n} episodes"
        if removed is not None
        else "exposed_removed was not run"
    )
    for claim in result.claims:
        for c in claim.channels:
            if c.channel != channel:
                continue
            if c.state == "absent":
                return "out_of_scope", f"the agent declares not to have it: {c.reason}"
            if c.state == "unavailable":
                return "blocked", c.reason
            if c.state == "unobserved_after" and not (removed is not None and removed.episodes.events):
                return "blocked", c.reason
            if "nothing ever stood" in c.reason:
                return "not_observed", c.reason
            sensitive = "" if c.state == "covered" else "; not sensitive"
            return "observed", f"claim {claim.claim}: {counts}{sensitive}"
    if removed is not None and removed.episodes.n and removed.episodes.events:
        return "observed", f"in no claim of this plan: {counts}"
    return "out_of_scope", "in no claim of this plan"


def _tier(removals: _Removals, tier: str) -> tuple[State, str]:
    if not removals.inspections:
        return "blocked", "the agent shows no artifacts: it has no inspect"
    seen = removals.tiers[tier]
    if not seen:
        return "not_observed", f"none of {removals.inspections} inspections showed an artifact of it"
    return "observed", f"shown by {seen} of {removals.inspections} inspections of exposed_removed"


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)
