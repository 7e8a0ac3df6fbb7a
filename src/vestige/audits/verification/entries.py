"""The removal ledger in full: for every pair and target its facts, and a row for every layer.

Source: "Counterfactual Tests", the removal ledger. Entries hold targets and ids as they are; a packet puts codes in
their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from vestige.audits.findings import Finding
from vestige.audits.verification.layers import LayerEntry, Layers, Seen
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import pairs_of, settings_of
from vestige.audits.verification.results import VerificationResult
from vestige.audits.verification.settings import TargetName
from vestige.audits.verification.traces import Trace, read_traces
from vestige.records import Receipt, RemovalRequest
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.sessions import SessionIds
from vestige.runs.steps import Await, Converse, Episode, Forget

__all__ = ["Moment", "Requested", "Source", "TargetEntry", "entries"]


@dataclass(frozen=True)
class Moment:
    """A time in an attempt."""

    began: str
    """When the attempt began, UTC."""
    seconds: float
    """After that."""


@dataclass(frozen=True)
class Source:
    """A session that supports the target, as exposed_removed was told it."""

    session: str
    """Its id."""
    version: str | None
    """SHA-256 of the session as it was told; None: the script tells none of that id."""
    ingested: Moment | None
    """When the agent had taken it in; None: that was not recorded."""


@dataclass(frozen=True)
class Requested:
    """One removal request, with what came of it."""

    target: TargetName
    """Whose request it is: one request covers both targets where both stand in the source that is withdrawn."""
    request: RemovalRequest
    asked: Moment | None
    answered: Moment | None
    receipt: Receipt | None
    """None: there is none, because the request failed or was never made."""
    error: str
    """Type of the error that the agent answered with; empty: with none."""


@dataclass(frozen=True)
class TargetEntry:
    """One target of one pair."""

    pair: str
    target: TargetName
    fixture: Pair
    episode: str
    value: str
    """What was to be forgotten."""
    attempts: int
    """At exposed_removed, that were completed or failed."""
    trace: Trace | None
    """The attempt that counts, else the last that failed; None: there was none."""
    sources: tuple[Source, ...]
    requests: tuple[Requested, ...]
    boundary: Moment | None
    """When the waiting was over: what is asked from here on is after the removal."""
    errors: tuple[str, ...]
    """Types of errors of the deletion interface, over all attempts, once for each."""
    reintroduced: Literal["used_again", "not_used_again", "not_tested"]
    layers: tuple[LayerEntry, ...]


def entries(
    plan: Plan, folder: RunFolder, result: VerificationResult, findings: Iterable[Finding]
) -> Iterator[TargetEntry]:
    """Every target of every pair of the plan, in their order.

    Raises:
        IntegrityError: A record cannot be read.
    """
    settings, pairs = settings_of(plan), pairs_of(plan)
    scripts = {e.instance: e for e in plan.episodes if e.labels.get("condition") == "exposed_removed"}
    traces = read_traces(plan, folder)
    seen = Seen.of(findings)
    layers = Layers(result, seen, traces)
    sessions = SessionIds(folder)
    for name in sorted(pairs):
        script, tried = scripts.get(name), traces.get(name, [])
        trace = next((t for t in tried if t.counted), tried[-1] if tried else None)
        for target in settings.targets:
            value = _value(pairs[name], target)
            if value is None or script is None:
                continue
            yield TargetEntry(
                pair=name,
                target=target,
                fixture=pairs[name],
                episode=script.id,
                value=value,
                attempts=len(tried),
                trace=trace,
                sources=tuple(_sources(script, pairs[name].sources.get(target, ()), trace, sessions)),
                requests=tuple(_requests(script, target, trace)),
                boundary=_boundary(script, trace),
                errors=tuple(sorted(e for t in tried for e in t.failures.values())),
                reintroduced=seen.reintroduced.get((name, target), "not_tested"),
                layers=tuple(layers.of(name, target, trace)),
            )


def _value(pair: Pair, target: TargetName) -> str | None:
    if target in pair.nonces:
        return pair.nonces[target].values.get("exposed_removed")
    return pair.preferences[target].favoured if target in pair.preferences else None


# ------------------------------------------------------------------------------------------------ the script


def _moment(trace: Trace | None, seconds: float | None) -> Moment | None:
    if trace is None or trace.timeline is None or seconds is None:
        return None
    return Moment(trace.timeline.began, seconds)


def _ended(trace: Trace | None, step: int) -> Moment | None:
    return _moment(
        trace, trace.timeline.ended_at(step) if trace is not None and trace.timeline is not None else None
    )


def _began(trace: Trace | None, step: int) -> Moment | None:
    return _moment(
        trace, trace.timeline.began_at(step) if trace is not None and trace.timeline is not None else None
    )


def _sources(
    script: Episode, wanted: Iterable[str], trace: Trace | None, sessions: SessionIds
) -> Iterator[Source]:
    told: dict[str, tuple[str, int]] = {}
    for index, step in enumerate(script.steps):
        if isinstance(step, Converse) and step.who == "user":
            told.setdefault(sessions.of(step.session), (step.session, index))
    for session in wanted:
        version, index = told.get(session, (None, -1))
        yield Source(session, version, _ended(trace, index) if version is not None else None)


def _requests(script: Episode, target: TargetName, trace: Trace | None) -> Iterator[Requested]:
    """The target's own request, or where it has none those that cover it."""
    asked = [(i, s) for i, s in enumerate(script.steps) if isinstance(s, Forget)]
    own = [(i, s) for i, s in asked if s.labels.get("target") == target]
    for index, step in own or asked:
        yield Requested(
            target=cast("TargetName", str(step.labels.get("target", target))),
            request=step.request,
            asked=_began(trace, index),
            answered=_ended(trace, index),
            receipt=trace.receipts.get(index) if trace is not None else None,
            error=trace.failures.get(index, "") if trace is not None else "",
        )


def _boundary(script: Episode, trace: Trace | None) -> Moment | None:
    last = max((i for i, s in enumerate(script.steps) if isinstance(s, Forget | Await)), default=None)
    return _ended(trace, last) if last is not None else None
