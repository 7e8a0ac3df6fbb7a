"""The conclusion of a verification: from a brief and findings alone, so that a packet's public part can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vestige.agents.protocol import CHANNELS, AgentDescription, Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.case import Case, utility_values
from vestige.audits.verification.cells import cells_of, collapse_of, utility_of
from vestige.audits.verification.contrasts import proportion
from vestige.audits.verification.reach import reachable_of
from vestige.audits.verification.reading import brief_of
from vestige.audits.verification.residual import shifts_of
from vestige.audits.verification.results import Proportion, Regression, VerificationResult
from vestige.audits.verification.settings import CLAIMS
from vestige.audits.verification.statement import overall
from vestige.audits.verification.tally import Tally
from vestige.audits.verification.verdict import decide, worst
from vestige.channels import states as channel_states

__all__ = ["brief_of", "conclude"]


UNSEEN = ("unavailable", "the declared observer does not look there")


def conclude(brief: Brief, findings: Iterable[Finding]) -> VerificationResult:
    """Compute everything a verification says; the order of the findings does not matter.

    Pairs of an earlier packet are concluded apart: they count neither for nor against the rates of the new targets, but
    what fails there fails here.

    Raises:
        IntegrityError: A finding is not one of this run.
    """
    again = [name for name, pair in brief.pairs.items() if pair.earlier]
    if not again:
        return _conclude(brief, findings)
    held = list(findings)
    result = _conclude(*_part(brief, held, [name for name in brief.pairs if name not in set(again)]))
    earlier = _conclude(*_part(brief, held, again))
    regression = Regression(
        pairs=len(again),
        distinct_pairs=earlier.distinct_pairs,
        verdict=earlier.verdict,
        statement=earlier.statement,
        claims=earlier.claims,
    )
    return result.model_copy(
        update={
            "verdict": "fails" if earlier.verdict == "fails" else result.verdict,
            "statement": f"{result.statement} Of targets removed before ({len(again)} pairs, tested again apart): "
            f"{earlier.statement}",
            "regression": regression,
            "exclusions": brief.exclusions,
        }
    )


def _part(brief: Brief, findings: list[Finding], names: list[str]) -> tuple[Brief, list[Finding]]:
    """The brief and the findings of some pairs alone."""
    chosen = set(names)
    update = {
        "pairs": {name: pair for name, pair in brief.pairs.items() if name in chosen},
        "exclusions": tuple(x for x in brief.exclusions if x.episode.partition("/")[0] in chosen),
        "settings": brief.settings.model_copy(update={"pairs": len(names)}),
    }
    some = [f for f in findings if f.instance in chosen or f.instance not in brief.pairs]
    return brief.model_copy(update=update), some


def _conclude(brief: Brief, findings: Iterable[Finding]) -> VerificationResult:
    settings = brief.settings
    tally = Tally.of(brief, findings)
    states: Mapping[Channel, tuple[str, str]] = channel_states(
        brief.description, {c: tally.count(c) for c in CHANNELS}
    )
    states = {c: s if settings.observer.sees(c) else UNSEEN for c, s in states.items()}
    cases = [Case(brief, tally, CLAIMS[name], states) for name in settings.claims]
    claims = tuple(decide(case) for case in cases)
    verdict = worst(c.verdict for c in claims)
    pairs = tally.pairs
    clusters = len({pairs.cluster[p] for p in pairs.distinct}) if pairs.clustered else None
    main = next((c for c in cases if c.claim.name == "non_use"), cases[0])
    return VerificationResult(
        plan_sha256=brief.plan_sha256,
        vestige_version=brief.vestige_version,
        agent=brief.agent,
        agent_configuration=brief.agent_configuration,
        model=brief.model,
        embedder=brief.embedder,
        data=brief.data,
        data_sha256=brief.data_sha256,
        n_instances=len(brief.pairs),
        n_complete=sum(p.complete for p in brief.pairs.values()),
        clusters=clusters,
        seed=None,
        exclusions=brief.exclusions,
        notes=tuple(_notes(brief, tally, main)),
        verdict=verdict,
        statement=overall(verdict, claims),
        claims=claims,
        cells=cells_of(tally, settings, states),
        utility=utility_of(tally, settings),
        shifts=shifts_of(main),
        collapse=collapse_of(tally, settings),
        reintroduction=_task(tally.reintroduced, tally, settings.alpha),
        correction=_task(tally.corrected, tally, settings.alpha) if settings.task == "correction" else None,
        distinct_pairs=pairs.n,
        failed_attempts=brief.failed_attempts,
        reachable=_reachable(brief),
        settings=settings,
        agent_description=_described(brief.description),
    )


def _task(outcomes: Mapping[str, list[bool]], tally: Tally, alpha: float) -> Proportion | None:
    """Pairs in which every part of a task succeeded; None where it was not asked."""
    asked = [p for p in tally.pairs.distinct if outcomes.get(p)]
    return proportion(sum(all(outcomes[p]) for p in asked), len(asked), alpha) if asked else None


def _reachable(brief: Brief) -> Any:
    """Of the pairs as they were planned, each fingerprint once."""
    first = {brief.pairs[p].fingerprint: brief.pairs[p].cluster for p in sorted(brief.pairs, reverse=True)}
    n, clusters = len(first), len(set(first.values()))
    return reachable_of(brief.settings, n, clusters if clusters < n else None)


def _described(description: AgentDescription | None) -> dict[str, Any]:
    return {} if description is None else description.model_dump(mode="json")


def _notes(brief: Brief, tally: Tally, case: Case) -> list[str]:
    pairs, settings = tally.pairs, brief.settings
    notes = list(brief.notes)
    if pairs.duplicates:
        notes.append(
            f"{pairs.duplicates} pairs repeat the conversations of another: one observation each, of which the first "
            f"counts; n is {pairs.n}."
        )
    if pairs.lost:
        notes.append(
            f"{len(pairs.lost)} of {pairs.planned} planned pairs were not completed: they are in no rate, and every "
            "rule counts them at their worst."
        )
    if pairs.clustered:
        notes.append(
            f"{pairs.n} pairs stand in {len({pairs.cluster[p] for p in pairs.distinct})} clusters: a cluster is one "
            "trial, and counts as a leak if any of its pairs leaks."
        )
    if brief.failed_attempts:
        notes.append(
            f"{brief.failed_attempts} attempts at pairs ended with an error; what was seen in them counts, their "
            "silence does not."
        )
    if tally.attributed:
        notes.append(
            f"{tally.attributed} texts held a target because the request itself or its receipt did: they are "
            "attributed to the request and are no sightings."
        )
    if tally.waits["refused"]:
        notes.append(
            f"{tally.waits['refused']} of {tally.waits['asked']} removal requests were not accepted by the agent."
        )
    if tally.waits["pending"]:
        notes.append(
            f"{tally.waits['pending']} removals were still pending when the boundary was drawn after "
            f"{settings.pending_limit:g} s."
        )
    if tally.unavailable:
        steps = ", ".join(sorted(tally.unavailable))
        notes.append(f"The agent has no capability for these steps, which were left out: {steps}.")
    if settings.task == "correction":
        notes.append(
            "Of a correction only answers and tool arguments must not hold the old value; what is kept as history is "
            "reported and fails nothing."
        )
    own = utility_values(tally, "never_exposed", "user")
    if own and sum(own.values()) / len(own) < 0.5:
        notes.append(
            "never_exposed answers fewer than half of the questions about retained facts: that no more are lost after "
            "a removal says little here."
        )
    for s in shifts_of(case):
        of = f" of {s.target}" if s.target is not None else ""
        if s.shifted:
            notes.append(f"{s.name.replace('_', ' ')}{of}: shifted by {s.value:+.3f}.")
    return notes
