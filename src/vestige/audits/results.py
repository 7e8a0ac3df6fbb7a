"""The typed results of the frontier and residue audits: what `result.json` holds.

A rate over one instance = one trial is a `Rate` with an exact interval; anything derived (means over k, maxima,
areas, differences) is a `Derived` with a bootstrap interval alone (DESIGN, Formulas). What could not be measured
is a `NotComputable` with its reason, never a zero.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.records import JsonScalar, Record

__all__ = [
    "TIERS",
    "AerBlock",
    "ContentEvidence",
    "Derived",
    "Exclusion",
    "FrontierConfiguration",
    "FrontierLevel",
    "FrontierResult",
    "FrsBlock",
    "JudgeAgreement",
    "Levers",
    "Measure",
    "NotComputable",
    "ProbeResidue",
    "Rate",
    "ResidueCell",
    "ResidueResult",
    "ResultBase",
    "Share",
    "StorageBlock",
    "TierBlock",
]

Bounds = tuple[float, float]
TIERS: tuple[str, ...] = ("raw", "summary")


class Rate(Record):
    """Share of instances in which something happened; one instance is one trial."""

    value: float
    """`events / n`."""
    n: int
    """Instances that count: at most `n_complete`; fewer where only some can be measured."""
    events: int
    """Instances in which it happened."""
    exact: Bounds
    """Clopper–Pearson, 95 %."""
    bootstrap: Bounds
    """Percentile bootstrap over instances (or clusters), 95 %."""


class Derived(Record):
    """A quantity computed from several rates, or a mean of shares."""

    value: float
    """On the instances as they are."""
    bootstrap: Bounds
    """Percentile bootstrap over instances (or clusters), 95 %."""


class Share(Derived):
    """A mean of shares over the instances whose state before deletion shows that they can be measured."""

    n: int
    """How many those are."""


class NotComputable(Record):
    """What could not be measured, and why."""

    not_computable: str
    """The reason."""


class ContentEvidence(Rate):
    """Share of instances whose stored vector ranks the true canary's sentence first among 99 decoys."""

    mean_rank: float | None
    """Over instances that still have such a vector."""
    chance: float = 0.01
    """Share to expect of a vector that holds nothing."""


Measure = ContentEvidence | Rate | Share | Derived | NotComputable


class Exclusion(Record):
    """An episode that is not in the numbers."""

    episode: str
    """Its id in the plan."""
    reason: str
    """Why it was not completed."""


class ResultBase(Record):
    """What every result says about its run."""

    schema_version: int = 1
    """Raised when a field changes its meaning or goes."""
    plan_sha256: str
    """Names the run: SHA-256 of the plan's canonical JSON."""
    vestige_version: str
    """That made the plan."""
    agent: str
    """The agent under test."""
    agent_configuration: dict[str, JsonScalar] = Field(default_factory=dict)
    """Its knobs that no row varies."""
    model: str
    """The model the agent answers with."""
    embedder: str
    """The embedder that scores PR by cosine; the agent's own stands in each configuration."""
    data: str
    """Name of the data set."""
    data_sha256: str
    """Of the data file's bytes, or of the generated instances."""
    n_instances: int
    """Instances in the plan."""
    n_complete: int
    """Instances all of whose episodes were completed."""
    clusters: int | None = None
    """Number of clusters the bootstrap resamples; None: instances are independent."""
    seed: int | None
    """Of every random draw; None: withheld, since targets could be drawn again from it (it stands in plan.json)."""
    exclusions: tuple[Exclusion, ...] = ()
    """Episodes that are not in the numbers."""
    notes: tuple[str, ...] = ()
    """What was and was not observed, in plain words."""


class Levers(Record):
    """The memory-design knobs of one configuration beyond S and k."""

    S: int
    """Summarization level: 0 raw turns, 1 key facts, 2 one sentence a session."""
    tau: float | None = None
    """Least similarity of a retrieved unit; None: no threshold."""
    granularity: str = "turn"
    """What a raw unit is: turn, sentence, tokens:N."""
    embedder: str = "minilm"
    """Of the memory."""
    horizon: int = 0
    """Distractor sessions between planting and probing."""


class AerBlock(Record):
    """Adversarial extraction rates by probe kind: the canary stands verbatim in the reply (eq. 1)."""

    direct: Rate | None = None
    """None: this kind was not asked."""
    indirect: Rate | None = None
    """None: this kind was not asked."""
    jailbreak: Rate | None = None
    """None: this kind was not asked."""
    any: Rate
    """Leaks under at least one probe kind."""
    max: Derived
    """Largest of the rates by probe kind."""


class JudgeAgreement(Record):
    """How the optional judge model and PR_paper's rule agree."""

    model: str
    """The judge."""
    n: int
    """Answers that both graded."""
    agreement: float | None
    """Share graded alike; None where no opinion was usable."""
    kappa: float | None
    """Cohen's κ; None where it is undefined (one class alone)."""
    judge_only: int
    """Right for the judge, wrong for the rule."""
    rule_only: int
    """Right for the rule, wrong for the judge."""
    unparsed: int = 0
    """Replies of the judge that could not be read; not in `n`."""


class FrontierConfiguration(Levers):
    """One (S, k) with its levers."""

    k: int
    """Retrieved units put before the model."""
    PR: Rate
    """PR_paper: cosine above 0.50, or every content word of the expected answer."""
    PR_strict: Rate
    """Every content word of the expected answer that the question did not contain; abstention scored as abstention."""
    PR_cosine: Rate
    """The cosine half of PR_paper alone."""
    PR_words: Rate
    """The content-word half of PR_paper alone."""
    PR_halves_disagree: Rate
    """One half of PR_paper says right, the other wrong."""
    PR_judge: Rate | None = None
    """Right in the judge's opinion; None without a judge."""
    AER: AerBlock
    """The canary stands verbatim in the reply."""
    AER_normalised: AerBlock
    """As AER, with case, separators and Unicode folded."""
    AER_partial: AerBlock
    """As AER, counting a reply that holds at least one of the canary's parts that the conversations lack."""


class FrontierLevel(Levers):
    """One S with its levers: means over k and what the paper's Table 2 shows."""

    PR: Derived
    """Mean over k."""
    PR_strict: Derived
    """Mean over k."""
    AER_max: Derived
    """Mean over k of the largest rate by probe kind."""
    AER: dict[str, Derived]
    """By probe kind, mean over k."""
    PUA: Derived
    """Area under the best PR at or below each AER_max, over k."""
    laundering: Derived | None = None
    """AER_max(S = 0) − AER_max(S); None at S = 0 and where S = 0 was not run."""
    delta_DI: Derived | None = None
    """|AER_direct − AER_indirect| of the means over k."""
    delta_DI_signed: Derived | None = None
    """AER_direct − AER_indirect of the means over k."""


class FrontierResult(ResultBase):
    """What the frontier audit found."""

    audit: Literal["frontier"] = "frontier"
    """Which audit this is."""
    configurations: tuple[FrontierConfiguration, ...]
    """A row for each S, k and lever."""
    levels: tuple[FrontierLevel, ...]
    """A row for each S and lever."""
    judge: JudgeAgreement | None = None
    """None without a judge."""


class TierBlock(Record):
    """One quantity by tier."""

    raw: Measure
    """What the user said, as stored."""
    summary: Measure
    """What was made of it."""


class FrsBlock(Record):
    """Forgetting residue score: leak attributed to a tier, max over probe kinds; worst = max over tiers."""

    raw: Derived
    """Leaks with the canary in a retrieved raw unit, largest over probe kinds."""
    summary: Derived
    """Leaks with the canary in a retrieved summary, largest over probe kinds."""
    worst: Derived
    """The larger of the two."""


class ProbeResidue(Record):
    """Leaks under one probe kind after deletion."""

    raw: Rate
    """Leaks with the canary in a retrieved raw unit."""
    summary: Rate
    """Leaks with the canary in a retrieved summary."""
    any: Rate
    """Leaks whatever was retrieved."""
    normalised: Rate
    """As `any`, with case, separators and Unicode folded."""


class StorageBlock(Record):
    """Share of instances whose storage files still hold the canary's bytes as planted, live or dead."""

    deleted: Rate | NotComputable
    """After the deletion."""
    maintained: Rate | NotComputable
    """After the store's maintenance (vacuum, log truncated) as well."""


class ResidueCell(Levers):
    """One (S, k, mode)."""

    k: int
    """Retrieved units put before the model."""
    mode: str
    """The deletion mode."""
    supersede: str | None = None
    """Only for raw_plus_resummarize."""
    FRS: FrsBlock
    """From replies."""
    by_probe: dict[str, ProbeResidue]
    """By probe kind."""
    unattributed: Rate
    """Replies with the canary though no retrieved unit holds it."""
    text_residue: TierBlock
    """Share of instances with the canary in stored text, verbatim or normalised."""
    partial_residue: TierBlock
    """Mean share of the canary's parts still in stored text."""
    vector_residue: TierBlock
    """Mean share of the vectors of before that still stand though their text has moved on."""
    content_evidence: TierBlock
    """Whether a stored vector still singles out the true sentence."""
    storage: StorageBlock
    """Whether the canary's bytes are still in the storage's files."""


class ResidueResult(ResultBase):
    """What the residue audit found."""

    audit: Literal["residue"] = "residue"
    """Which audit this is."""
    cells: tuple[ResidueCell, ...]
    """A row for each S, k, mode and lever."""
