"""Everything a verification's report says, in its order: what the page, the Markdown and the JSON are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.results import (
    ClaimVerdict,
    LedgerRow,
    RuleOutcome,
    TargetResult,
    VerificationResult,
)
from vestige.report.figures import Drawing
from vestige.report.tables import Table
from vestige.report.verification import ledger as ledger_
from vestige.report.verification import tables
from vestige.report.verification.chart import residual_drawing
from vestige.report.verification.evidence import PairExchanges, WaitedRow
from vestige.report.verification.limits import coverage, exclusions, not_observed
from vestige.report.verification.lines import mends, uncertain_episodes
from vestige.report.verification.masking import Masker
from vestige.report.verification.regression import regression
from vestige.report.verification.sidebyside import ShownPair, side_by_side
from vestige.report.verification.words import (
    CHANNELS,
    CLAIMS,
    DEFINITIONS,
    NO,
    NOT,
    OUTCOMES,
    RULES,
    STATES,
    TARGETS,
    TONES,
    VERDICTS,
    option_of,
)
from vestige.report.wording import plural

__all__ = ["ClaimView", "RuleView", "View", "view"]

T = TypeVar("T")

COMMANDS: tuple[tuple[str, str], ...] = (
    ("vestige packet check PACKET", "sums, signature, statistics and verdict, from the packet alone"),
    ("vestige score RUN", "every finding again, from the stored observations"),
    ("vestige conclude RUN", "statistics and verdict again"),
    ("vestige report RUN", "these files again"),
)
ADJUDICATE = ("vestige adjudicate RUN", "decide uncertain findings; who and why go into the packet")


@dataclass(frozen=True)
class RuleView:
    """One rule with its outcome."""

    number: int
    name: str
    target: str
    question: str
    outcome: str
    words: str
    reason: str
    mend: str
    decides: bool


@dataclass(frozen=True)
class StateView:
    """One channel of a claim."""

    channel: str
    state: str
    words: str
    reason: str


@dataclass(frozen=True)
class ClaimView:
    """One claim: its verdict, why, and the numbers behind it."""

    anchor: str
    name: str
    meaning: str
    verdict: str
    words: str
    tone: str
    statement: str
    why: str
    mends: tuple[str, ...]
    coverage: tuple[tuple[str, str], ...]
    rules: tuple[RuleView, ...]
    states: tuple[StateView, ...]
    matrices: tuple[Table, ...]
    places: tuple[Table, ...]
    """In which phase, and how near."""
    drawings: tuple[Drawing, ...]
    influence: tuple[Table, ...]
    controls: tuple[Table, ...]


@dataclass(frozen=True)
class View:
    """A whole report; every text in it is masked and neutralised, none is escaped."""

    title: str
    verdict: str
    words: str
    tone: str
    statement: str
    claims: tuple[ClaimView, ...]
    facts: tuple[tuple[str, str], ...]
    open: tuple[str, ...]
    """Uncertain findings that wait for a person."""
    reach: str
    """What the number of pairs cannot reach, where that stands in the way."""
    procedure: tuple[Table, ...]
    usefulness: tuple[Table, ...]
    timing: tuple[Table, ...]
    pairs: tuple[ShownPair, ...]
    pairs_note: str
    ledger: tuple[ledger_.LedgerTarget, ...]
    ledger_note: str
    notes: tuple[str, ...]
    not_observed: tuple[str, ...]
    verdict_is_not: tuple[str, ...]
    exclusions: tuple[str, ...]
    failed: str
    definitions: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    version: str
    unmasked: bool
    placeholders: tuple[str, ...]


def view(
    result: VerificationResult,
    ledger: Sequence[LedgerRow],
    episodes: Sequence[PairExchanges],
    waited: Sequence[WaitedRow],
    fixtures: Iterable[Pair],
    *,
    show_targets: bool,
    title: str | None,
) -> tuple[View, Masker]:
    """Mask, count, word and order everything; the masker is handed on for the JSON."""
    masked = Masker.of([*fixtures, *(e.fixture for e in episodes)], show=show_targets)
    several = len(result.claims) > 1
    waiting = uncertain_episodes(result)
    timing = tables.timing(waited, result.settings.pending_limit)
    seen = View(
        title=title or f"Deletion verification: {result.agent}",
        verdict=result.verdict,
        words=VERDICTS[result.verdict],
        tone=TONES[result.verdict],
        statement=result.statement,
        claims=tuple(_claim(result, claim, several) for claim in result.claims),
        facts=_facts(result),
        open=tuple(f"{what}: {plural(n, 'episode')}" for what, n in waiting.items()),
        reach=_reach(result),
        procedure=_some(regression(result), tables.shifts(result)),
        usefulness=_some(tables.usefulness(result), tables.collapse(result), tables.tasks(result)),
        timing=_some(timing),
        pairs=(),
        pairs_note="",
        ledger=(),
        ledger_note=ledger_.note(ledger),
        notes=result.notes,
        not_observed=not_observed(result),
        verdict_is_not=NOT,
        exclusions=exclusions(result),
        failed=_failed(result),
        definitions=DEFINITIONS,
        commands=(*COMMANDS, *((ADJUDICATE,) if waiting else ())),
        provenance=_provenance(result),
        version=result.vestige_version,
        unmasked=False,
        placeholders=(),
    )
    return dataclasses.replace(
        _masked(seen, masked),
        # These are masked where they are made: a text must be masked before it is cut, and never twice.
        pairs=side_by_side(episodes, masked),
        pairs_note=_pairs_note(episodes, masked),
        ledger=ledger_.targets(ledger, masked),
        unmasked=show_targets and masked.any,
        placeholders=masked.placeholders,
    ), masked


def _some(*found: Table | None) -> tuple[Table, ...]:
    return tuple(t for t in found if t is not None)


def _masked(value: T, masked: Masker) -> T:
    """The same with every text in it masked."""
    if isinstance(value, str):
        return cast("T", masked.ours(value))
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return cast("T", tuple(_masked(item, masked) for item in items))
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Drawing):
        parts = {f.name: _masked(getattr(value, f.name), masked) for f in dataclasses.fields(value)}
        return cast("T", dataclasses.replace(cast("Any", value), **parts))
    return value


def _claim(result: VerificationResult, claim: ClaimVerdict, several: bool) -> ClaimView:
    name, meaning = CLAIMS[claim.claim]
    # With one claim everything is about it; with several, sections are named after theirs.
    anchor = claim.claim.replace("_", "-") if several else "claim"
    drawings = [drawing for t in claim.targets if (drawing := _drawing(result, t, anchor)) is not None]
    return ClaimView(
        anchor=anchor,
        name=name,
        meaning=meaning,
        verdict=claim.verdict,
        words=VERDICTS[claim.verdict],
        tone=TONES[claim.verdict],
        statement=claim.statement,
        why=_why(claim),
        mends=tuple(_sentence(m) for m in mends(claim)),
        coverage=coverage(result, claim),
        rules=tuple(_rule(rule, i == claim.decided_by) for i, rule in enumerate(claim.rules)),
        states=tuple(
            StateView(CHANNELS[c.channel], c.state, STATES[c.state], _sentence(c.reason))
            for c in claim.channels
        ),
        matrices=tuple(tables.matrix(result, claim, t) for t in claim.targets),
        places=_some(tables.when(result, claim), tables.nearness(result, claim)),
        drawings=tuple(drawings),
        influence=_some(*(tables.actions(result, t) for t in claim.targets)),
        controls=(tables.sensitivity(result, claim),),
    )


def _drawing(result: VerificationResult, target: TargetResult, anchor: str) -> Drawing | None:
    if target.residual is None:
        return None
    number = target.target.partition("-")[2]
    name = f"{anchor}-residual" + (f"-{number}" if number else "")
    option = option_of(target.target, result.settings.targets)
    return residual_drawing(target.residual, result.settings.alpha, name, option)


def _rule(rule: RuleOutcome, decides: bool) -> RuleView:
    return RuleView(
        number=rule.number,
        name=rule.name,
        target=TARGETS[rule.target] if rule.target else "",
        question=RULES.get(rule.name, rule.name),
        outcome=rule.outcome,
        words=OUTCOMES[rule.outcome],
        reason=_sentence(rule.reason),
        mend=_sentence(rule.mend) if rule.outcome in ("fails", "unassessable") else "",
        decides=decides,
    )


def _why(claim: ClaimVerdict) -> str:
    """The deciding rule in plain words; its reason where the statement does not hold it already."""
    rule = claim.rules[claim.decided_by]
    head = f"Rule {rule.number}, {rule.name}" + (f" ({TARGETS[rule.target]})" if rule.target else "")
    question = RULES.get(rule.name, "")
    if claim.verdict == "limited_evidence":
        return f"Every rule that applies passes. The last one, {head.lower()}: {question} {_sentence(rule.reason)}"
    answer = NO.get(rule.name, "")
    if rule.name == "residual":
        answer = "Yes, by more than the margin." if rule.outcome == "fails" else "That cannot be told."
    reason = "" if rule.reason in claim.statement else _sentence(rule.reason)
    return " ".join(part for part in (f"{head}: {question}", answer, reason) if part)


def _sentence(text: str) -> str:
    """A reason as a sentence of its own."""
    if not text:
        return ""
    name = "_" in text.split(maxsplit=1)[0]  # of a condition or a channel: it is written as it is
    return (text if name else text[0].upper() + text[1:]) + ("" if text.endswith((".", "!", "?")) else ".")


def _facts(result: VerificationResult) -> tuple[tuple[str, str], ...]:
    settings = result.settings
    kinds = {"value": "the value", "source": "one source", "derivations": "every derivation of a source"}
    return (
        ("Agent", result.agent),
        ("Model", result.model),
        ("Data", result.data),
        ("Task", f"{settings.task} of {kinds[settings.kind]}: {', '.join(settings.targets)}"),
        ("Seed", "in plan.json; withheld here, since targets could be drawn again from it"),
    )


def _reach(result: VerificationResult) -> str:
    reachable = result.reachable
    if reachable.limited_evidence or result.verdict == "fails":
        return ""
    n = plural(reachable.n, "distinct pair")
    return f"With {n}, as planned, limited evidence is out of reach: {'; '.join(reachable.reasons)}."


def _failed(result: VerificationResult) -> str:
    if not result.failed_attempts:
        return ""
    return (
        f"{plural(result.failed_attempts, 'attempt')} at pairs ended with an error. What was seen in them counts; "
        "their silence does not."
    )


def _provenance(result: VerificationResult) -> tuple[tuple[str, str], ...]:
    rows = [("Plan, SHA-256", result.plan_sha256), ("Data, SHA-256", result.data_sha256)]
    if result.agent_configuration:
        knobs = ", ".join(f"{k} = {v}" for k, v in sorted(result.agent_configuration.items()))
        rows.append(("Agent configuration", knobs))
    settings = result.settings
    rows.append(
        (
            "Decision limits",
            f"α = {settings.alpha:g}, margin δ = {settings.margin:g}, leakage bound {settings.leakage_bound:g}, "
            f"sensitivity {settings.sensitivity:g}, utility margin {settings.utility_margin:g}, collapse "
            f"{settings.collapse:g}",
        )
    )
    rows.append(("Vestige", result.vestige_version))
    return tuple(rows)


def _pairs_note(episodes: Sequence[PairExchanges], masked: Masker) -> str:
    if not episodes:
        return "No exchange was handed to this report."
    shown = "Targets are shown." if masked.show else "Targets are masked."
    by_lot = sum(e.why == "sample" for e in episodes)
    rest = len(episodes) - by_lot
    return (
        f"{plural(rest, 'pair')} in which something was seen, and {by_lot} by lot in which nothing was. {shown} The "
        "run folder holds every exchange in full."
    )
