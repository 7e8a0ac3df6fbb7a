"""The typed result of a verification: what its `result.json` holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.agents.protocol import Channel
from vestige.audits.results import ResultBase
from vestige.audits.verification.settings import (
    ClaimName,
    Condition,
    Grade,
    Kept,
    Phase,
    TargetName,
    VerificationSettings,
)
from vestige.records import JsonScalar, Record

__all__ = [
    "Bound",
    "ChannelCell",
    "ChannelState",
    "ClaimVerdict",
    "Collapse",
    "LedgerRow",
    "Proportion",
    "Reachable",
    "Regression",
    "Residual",
    "RuleOutcome",
    "Shift",
    "TargetResult",
    "UtilityRow",
    "Verdict",
    "VerificationResult",
]

Verdict = Literal["fails", "limited_evidence", "unassessable"]
Bounds = tuple[float, float]


class Proportion(Record):
    """Events among independent trials, a trial being an episode."""

    value: float | None
    """None: no trial."""
    n: int
    """Trials."""
    events: int
    """Trials in which it happened."""
    exact: Bounds
    """Clopper–Pearson, two-sided, at 1 − α."""


class Bound(Proportion):
    """A proportion with the one-sided upper bound that the leakage criterion reads."""

    upper: float
    """Exact one-sided upper limit at 1 − α; by the mixture sequence where the plan says so."""
    method: Literal["exact", "mixture"]
    """`exact` for a fixed number of pairs, `mixture` for a confidence sequence."""


class Residual(Record):
    """action rate(exposed_removed) − action rate(never_exposed), one value a pair."""

    value: float | None
    """Mean over the pairs; None: no pair has a value in both conditions."""
    n: int
    """Independent values: pairs, or clusters."""
    interval: Bounds
    """(1 − 2α)."""
    margin: float
    """δ, as planned."""
    p_value: float | None
    """Of the equivalence test; None where there is none."""
    method: str
    """tango, t, t over clusters, or sequence."""
    position: Literal["inside", "outside", "straddles", "not_assessable"]
    """Of the interval to (−δ, δ)."""
    p_beyond: float | None = None
    """Of the one-sided test that the difference lies beyond the margin, where several preferences were removed."""
    p_adjusted: float | None = None
    """The same, adjusted over all preferences (Holm): a failure needs it below α. None: a single one is decided by its
    interval."""
    reason: str = ""
    """Why nothing can be concluded, or what the lost pairs make of the interval; empty: nothing to say."""
    rates: dict[Condition, Proportion]
    """How often each condition's action was the target's."""
    bootstrap: Bounds | None = None
    """Drawn beside; decides nothing."""


class ChannelCell(Record):
    """One channel in one condition, after the boundary (before it too, for exposed_unchanged, where warm)."""

    channel: Channel
    """Where was looked."""
    condition: Condition
    """In which arm."""
    target: TargetName
    """For what."""
    episodes: Bound
    """Episodes in which the channel shows the target, confirmed, of those in which it was looked at."""
    uncertain: int
    """Episodes with an uncertain semantic finding and no confirmed one."""
    foreign: int
    """Episodes in which it shows another arm's nonce."""
    grades: dict[Grade, int] = Field(default_factory=dict)
    """Episodes by the nearest grade seen."""
    forms: dict[str, int] = Field(default_factory=dict)
    """Episodes by the form in which it stood: verbatim, a declared normalisation, semantic, combined."""
    phases: dict[Phase, int] = Field(default_factory=dict)
    """Episodes by the phase in which it was seen."""


class ChannelState(Record):
    """Whether a channel counts as covered."""

    channel: Channel
    """Where the observer looked."""
    state: Literal["covered", "not_sensitive", "unobserved_after", "unavailable", "absent"]
    """`not_sensitive`: observed, and exposed_unchanged never showed the target in it after the boundary.
    `unobserved_after`: exposed_unchanged shows the target in it, and exposed_removed was not looked at in it in as many
    pairs. `absent`: the agent declares not to have it."""
    reason: str
    """In plain words, with its counts."""


class TargetResult(Record):
    """All that is said of one target."""

    target: TargetName
    """Which of the targets."""
    union: dict[Condition, Bound]
    """Episodes in which any channel of the claim recovers the target, by condition."""
    sensitivity: Proportion
    """exposed_unchanged: leak rate over the claim's channels, or the action rate of a preference."""
    residual: Residual | None = None
    """Of a preference."""
    covered: tuple[Channel, ...] | None = None
    """The claim's covered channels in which exposed_unchanged shows this target, or acts on it; the silence of another
    channel says nothing of it. None: a result of before this was told."""


class RuleOutcome(Record):
    """One rule of the decision, in order; every rule's outcome is shown."""

    number: Literal[1, 2, 3, 4]
    """Its place in the order: 1 controls, 2 disclosure, 3 adequacy, 4 influence."""
    name: str
    """control, disclosure, sensitivity, coverage, isolation, collapse, utility, pairs, leakage, residual."""
    target: TargetName | None = None
    """None: the rule is about all of them."""
    who: Kept | None = None
    """Whose retained facts a rule on utility is about."""
    outcome: Literal["passes", "fails", "unassessable", "not_reached", "not_applicable"]
    """`not_reached`: a rule of an earlier number has decided."""
    reason: str
    """In plain words, with its numbers."""
    mend: str = ""
    """What would make it assessable."""


class ClaimVerdict(Record):
    """The verdict on one claim, no stronger than its evidence."""

    claim: ClaimName
    """`non_use`: nothing that the agent shows or does depends on it; `erasure`: it is no longer stored."""
    verdict: Verdict
    """Never stronger than the evidence."""
    statement: str
    """One sentence that may be quoted."""
    covered: tuple[Channel, ...]
    """Channels that were observed after the removal and shown by exposed_unchanged to carry a target."""
    channels: tuple[ChannelState, ...]
    """Every channel of the claim with its state."""
    targets: tuple[TargetResult, ...]
    """What was counted, by target."""
    rules: tuple[RuleOutcome, ...]
    """Every rule in its order, those that were not reached included."""
    decided_by: int
    """Index into `rules` of the outcome that decided."""


class UtilityRow(Record):
    """Retained usefulness in one condition, scored apart; each reply counts in one of the columns."""

    condition: Condition
    """Which arm."""
    who: Kept
    """The user whose fact was removed; the sibling of whom nothing was; or what a second source supports."""
    success: Proportion
    """The right answer."""
    justified_abstention: Proportion
    """Said that it does not know what was never told."""
    unsupported_refusal: Proportion
    """Refused or abstained although it was told."""
    tool_error: Proportion
    """A tool call that failed stood in the way."""
    wrong: Proportion
    """Any other answer."""


class Shift(Record):
    """A difference between two conditions that is reported and decides nothing."""

    name: Literal["sham_action", "sham_disclosure", "sham_utility", "reset_action", "reset_utility"]
    """Which comparison: the sham with exposed_unchanged, the reset with never_exposed."""
    target: TargetName | None = None
    """Of decisions, which of several preferences; None: of the only one, or of something else."""
    value: float | None
    """Mean difference over the pairs; None: no pair has a value in both."""
    interval: Bounds | None
    """(1 − 2α), paired."""
    n: int
    """Independent values."""
    shifted: bool
    """The interval excludes 0."""


class Collapse(Record):
    """Empty, looping or refusing replies to harmless questions."""

    condition: Condition
    """Which arm."""
    replies: Proportion
    """Those that were no answers."""
    collapsed: bool
    """As many as `settings.collapse`, or more."""


class LedgerRow(Record):
    """One target and layer, over all pairs; no cell is ever empty. Each pair's own rows: `entries`, and a packet's
    `ledger.jsonl`.
    """

    target_id: str
    target: TargetName
    kind: str
    layer: str
    """A channel or tier."""
    intervention: str
    state: Literal["observed", "not_observed", "blocked", "out_of_scope"]
    reason: str
    payload: str
    """How the payload is referred to: a keyed hash in the public part."""
    fixture: str
    """Reference of the protected fixture."""
    sources: tuple[str, ...]
    derived: tuple[str, ...]
    requested_scope: str
    boundary: str
    completion: str
    pending_window: str
    errors: str
    absence_check: str
    correlated_policy: str
    reintroduction_paths: str
    external_effects: str
    manifests: str


class Regression(Record):
    """Targets that an earlier verification removed, tested again: a row of its own, in no count of the new ones."""

    pairs: int
    """Planned."""
    distinct_pairs: int
    """Completed, and distinct observations."""
    verdict: Verdict
    """By the same rules. `fails` fails the whole verification; nothing here makes its verdict better."""
    statement: str
    """In one sentence."""
    claims: tuple[ClaimVerdict, ...]
    """With their rules and counts."""


class Reachable(Record):
    """Which outcomes the chosen number of pairs can reach at all."""

    n: int
    """Distinct pairs as planned."""
    limited_evidence: bool
    """Whether that verdict is within reach, if nothing leaks and every control works."""
    reasons: tuple[str, ...]
    """What stands in the way: the bound at no event, the equivalence without discordance, the sensitivity at n of n."""


class VerificationResult(ResultBase):
    """What a verification found."""

    audit: Literal["verification"] = "verification"
    """Which audit this is."""
    verdict: Verdict
    """The worst over claims: fails, else unassessable, else limited_evidence."""
    statement: str
    """The verdict in one sentence, with what it covers."""
    claims: tuple[ClaimVerdict, ...]
    """A verdict for each claim of the plan, with its rules."""
    cells: tuple[ChannelCell, ...]
    """Conditions × channels × targets: what was seen where."""
    utility: tuple[UtilityRow, ...]
    """How questions about what must be kept were answered, by condition."""
    shifts: tuple[Shift, ...]
    """What the procedure alone, and a restart from nothing, change."""
    collapse: tuple[Collapse, ...]
    """Whether the agent answered harmless questions at all, by condition."""
    reintroduction: Proportion | None = None
    """Told anew, the target is used again: a task of its own."""
    correction: Proportion | None = None
    """Of a correction: episodes in which the replacement was adopted and the old value neither answered nor acted."""
    distinct_pairs: int
    """Pairs that are distinct observations; `n` of every statement."""
    regression: Regression | None = None
    """Of targets removed before; None: none were tested again."""
    failed_attempts: int
    """Attempts at pairs that ended with an error of the agent or a model."""
    reachable: Reachable
    """Which verdicts the planned pairs could reach."""
    settings: VerificationSettings
    """Everything that was fixed before the first exchange."""
    agent_description: dict[str, JsonScalar | list[str] | dict[str, JsonScalar]] = Field(default_factory=dict)
    """What the agent says of itself when it is opened: capabilities, channels, tiers, tools."""
