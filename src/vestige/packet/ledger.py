"""The removal ledger in full, for the public part: two kinds of row, no cell empty, codes in the places of texts.

A row `target` holds all facts of one target in one pair; the rows `layer` that follow it say of each channel and tier
what was looked at and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vestige.agents.protocol import AgentDescription
from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.entries import Moment, Requested, Source, TargetEntry, entries
from vestige.audits.verification.layers import LayerEntry
from vestige.audits.verification.results import VerificationResult
from vestige.audits.verification.settings import VerificationSettings
from vestige.audits.verification.traces import Derived, Trace
from vestige.packet.keyed import Keyed
from vestige.packet.observations import Row, tier_of
from vestige.packet.provenance import artifact_code
from vestige.packet.receipts import error_type
from vestige.runs.folder import RunFolder

__all__ = ["KEY_OF_A_ROW", "ledger_rows"]

KEY_OF_A_ROW = ("row", "target_id", "layer")
"""What names a row."""
_UNTIMED = "not recorded"
_REASONS = frozenset(
    {
        "the agent has no inspect",
        "the agent has no storage",
        "the agent has no poll",
        "the agent's storage names no file",
        "no texts were given",
        "no removal was asked for",
        "inspect showed a text whose bytes stood nowhere: the storage's encoding is not read",
    }
)
"""Words of ours; any other reason may quote the agent."""


def ledger_rows(
    folder: RunFolder, brief: Brief, result: VerificationResult, findings: Sequence[Finding], keyed: Keyed
) -> Iterator[Row]:
    """Every row, in the order of pairs, targets and layers.

    Raises:
        IntegrityError: A record or a blob of the run cannot be read.
    """
    shared = _shared(folder, brief)
    declared = frozenset(brief.description.tiers) if brief.description is not None else frozenset[str]()
    for entry in entries(folder.plan, folder, result, findings):
        name = f"{entry.pair}/{entry.target}"
        yield {"row": "target", "target_id": name, **_facts(entry, brief.settings, keyed), **shared}
        for layer in entry.layers:
            yield {"row": "layer", "target_id": name, **_layer(layer, declared, keyed)}


def _shared(folder: RunFolder, brief: Brief) -> Row:
    """What is the same for all targets."""
    plan, settings = folder.plan, brief.settings
    return {
        "kind": settings.kind,
        "intervention": settings.task,
        "correlated": {"fixture": settings.fixture, "policy": settings.correlated_policy},
        "external_effects": _effects(brief.description),
        "manifests": {
            "file": "manifests.json",
            "plan_sha256": folder.plan_sha256,
            "data_sha256": plan.data.sha256,
            "model": plan.models.agent_identity or plan.models.agent,
        },
    }


def _effects(description: AgentDescription | None) -> Row:
    if description is None:
        return {"declared": "the agent was never opened", "tools": "the agent was never opened"}
    return {
        "declared": list(description.external_effects) or "none declared",
        "tools": list(description.tools) or "none declared",
    }


def _facts(entry: TargetEntry, settings: VerificationSettings, keyed: Keyed) -> Row:
    trace = entry.trace
    return {
        "target": entry.target,
        "payload": {"hmac": keyed.mac("target", entry.value), "length": len(entry.value)},
        "fixture": f"fixtures.json, pairs.{entry.pair}",
        "episode": entry.episode,
        "attempts": entry.attempts,
        "attempt": _attempt(trace),
        "sources": [_source(s, keyed) for s in entry.sources] or "no session is known to support it",
        "derived": _derived(entry, keyed),
        "requests": [_request(r, keyed) for r in entry.requests] or "none is in the script",
        "boundary": _time(entry.boundary),
        "waiting": _waiting(trace, settings),
        "errors": [error_type(f"{e}:") for e in entry.errors] or "none",
        "absence": _absence(entry),
        "reintroduction": {
            "allowed": ["the user tells it anew"],
            "tested": entry.reintroduced.replace("_", " "),
        },
    }


def _attempt(trace: Trace | None) -> Row:
    if trace is None:
        return {"number": "none", "counts": False, "why": "the episode was not run, or was cut off"}
    why = "its pair was completed" if trace.counted else "its pair was not completed"
    if trace.end:
        why = f"{why}: {error_type(f'{trace.end}:')}"
    return {"number": trace.attempt, "counts": trace.counted, "why": why}


def _time(moment: Moment | None) -> Row | str:
    """Seconds after the attempt began, and when that was."""
    return _UNTIMED if moment is None else {"seconds": moment.seconds, "after": moment.began}


def _source(source: Source, keyed: Keyed) -> Row:
    version = (
        keyed.mac("session", source.version) if source.version is not None else "told in no such session"
    )
    return {"id": keyed.mac("id", source.session), "version": version, "ingested": _time(source.ingested)}


def _derived(entry: TargetEntry, keyed: Keyed) -> list[Row] | str:
    trace = entry.trace
    if trace is None or trace.derived is None:
        return "not known: the agent showed no artifacts before the removal"
    known: Iterable[Derived] = trace.derived.get(entry.target, ())
    return [
        {
            "artifact": artifact_code(keyed, entry.episode, trace.attempt, one.artifact),
            "tier": tier_of(one.tier),
            "relation": one.relation.replace("_", " "),
            "afterwards": one.fate.replace("_", " "),
        }
        for one in known
    ] or "none among the artifacts that the agent showed before the removal"


def _request(asked: Requested, keyed: Keyed) -> Row:
    request, receipt = asked.request, asked.receipt
    by: Row = {}
    if request.value is not None:
        by["value"] = keyed.mac("target", request.value)
    if request.ids:
        by["ids"] = [keyed.mac("id", i) for i in request.ids]
    if request.description is not None:
        by["description"] = keyed.mac("text", request.description)
    return {
        "for": asked.target,
        "scope": request.scope,
        "by": by or "nothing",
        "asked": _time(asked.asked),
        "answered": _time(asked.answered),
        "accepted": receipt.accepted if receipt is not None else "no receipt",
        "completed": receipt.completed if receipt is not None else "no receipt",
        "error": error_type(f"{asked.error}:") if asked.error else "none",
    }


def _waiting(trace: Trace | None, settings: VerificationSettings) -> Row | str:
    """The completion signal and the pending window."""
    if trace is None or trace.waited is None:
        return "nothing was waited for"
    waited = trace.waited
    return {
        "limit": settings.pending_limit,
        "looks": waited.looks,
        "pending": waited.pending,
        "completed": _after(waited.completed, waited.reasons.get("completed")),
        "visible_absence": _after(waited.visible_absence, waited.reasons.get("visible_absence")),
        "physical_cleanup": _after(waited.physical_cleanup, waited.reasons.get("physical_cleanup")),
    }


def _after(seconds: float | None, reason: str | None) -> float | str:
    if seconds is not None:
        return seconds
    if reason is None:
        return "not seen"
    return f"not observable: {reason if reason in _REASONS else 'see the records'}"


def _absence(entry: TargetEntry) -> Row:
    """What was found by looking, whatever the receipt says: by phase, in what is shown and in the bytes."""
    trace = entry.trace
    if trace is None:
        return {"shown": "not looked at", "bytes": "not looked at"}
    held = trace.holding.get(entry.target, {}).values()
    found = trace.bytes_found.get(entry.target, {})
    return {
        "shown": {p: sum(of.get(p, 0) for of in held) for p in sorted(trace.inspected)} or "not looked at",
        "bytes": {p: found.get(p, 0) for p in sorted(trace.scanned)} or "not looked at",
    }


def _layer(entry: LayerEntry, declared: frozenset[str], keyed: Keyed) -> Row:
    layer = entry.layer
    if layer.startswith("tier ") and layer[5:] not in declared:
        layer = f"tier {tier_of(layer[5:])}"
    return {
        "layer": layer,
        "state": entry.state,
        "reason": keyed.without(entry.reason),
        "looked": dict(entry.looked) or "nothing",
        "found": dict(entry.found) or "nothing",
        "uncertain": entry.uncertain,
        "nearest": entry.nearest or "none",
        "control": entry.control,
    }
