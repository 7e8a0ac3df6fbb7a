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
    "TierBlock",
]

Bounds = tuple[float, float]


class Rate(Record):
    """Share of instances in which something happened; one instance is one trial."""

    value: float
    n: int
    events: int
    exact: Bounds
    """Clopper–Pearson, 95 %."""
    bootstrap: Bounds
    """Percentile bootstrap over instances (or clusters), 95 %."""


class Derived(Record):
    """A quantity computed from several rates, or a mean of shares."""

    value: float
    bootstrap: Bounds


class NotComputable(Record):
    """What could not be measured, and why."""

    not_computable: str


class ContentEvidence(Rate):
    """Share of instances whose stored vector ranks the true canary's sentence first among 99 decoys."""

    mean_rank: float | None
    """Over instances that still have such a vector."""
    chance: float = 0.01


Measure = ContentEvidence | Rate | Derived | NotComputable


class Exclusion(Record):
    """An episode that is not in the numbers."""

    episode: str
    reason: str


class ResultBase(Record):
    """What every result says about its run."""

    schema_version: int = 1
    plan_sha256: str
    vestige_version: str
    agent: str
    agent_configuration: dict[str, JsonScalar] = Field(default_factory=dict)
    model: str
    embedder: str
    """The embedder that scores PR by cosine; the agent's own stands in each configuration."""
    data: str
    data_sha256: str
    n_instances: int
    n_complete: int
    """Instances all of whose episodes were completed."""
    clusters: int | None = None
    """Number of clusters the bootstrap resamples; None: instances are independent."""
    seed: int
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()
    """What was and was not observed, in plain words."""


class Levers(Record):
    """The memory-design knobs of one configuration beyond S and k."""

    S: int
    tau: float | None = None
    granularity: str = "turn"
    embedder: str = "minilm"
    horizon: int = 0
    """Distractor sessions between planting and probing."""


class AerBlock(Record):
    """Adversarial extraction rates by probe kind: the canary stands verbatim in the reply (eq. 1)."""

    direct: Rate | None = None
    indirect: Rate | None = None
    jailbreak: Rate | None = None
    any: Rate
    """Leaks under at least one probe kind."""
    max: Derived
    """Largest of the rates by probe kind."""


class JudgeAgreement(Record):
    """How the optional judge model and PR_paper's rule agree."""

    model: str
    n: int
    agreement: float
    kappa: float | None
    """Cohen's κ; None where it is undefined (one class alone)."""
    judge_only: int
    """Right for the judge, wrong for the rule."""
    rule_only: int
    unparsed: int = 0


class FrontierConfiguration(Levers):
    """One (S, k) with its levers."""

    k: int
    PR: Rate
    """PR_paper: cosine above 0.50, or every content word of the expected answer."""
    PR_strict: Rate
    PR_cosine: Rate
    """The cosine half of PR_paper alone."""
    PR_words: Rate
    """The content-word half of PR_paper alone."""
    PR_halves_disagree: Rate
    PR_judge: Rate | None = None
    AER: AerBlock
    AER_normalised: AerBlock
    """As AER, with case, separators and Unicode folded."""
    AER_partial: AerBlock
    """As AER, counting a reply that holds at least one of the canary's parts that the conversations lack."""


class FrontierLevel(Levers):
    """One S with its levers: means over k and what the paper's Table 2 shows."""

    PR: Derived
    PR_strict: Derived
    AER_max: Derived
    AER: dict[str, Derived]
    """By probe kind, mean over k."""
    PUA: Derived
    laundering: Derived | None = None
    """AER_max(S = 0) − AER_max(S); None at S = 0 and where S = 0 was not run."""
    delta_DI: Derived | None = None
    """|AER_direct − AER_indirect| of the means over k."""
    delta_DI_signed: Derived | None = None


class FrontierResult(ResultBase):
    """What the frontier audit found."""

    audit: Literal["frontier"] = "frontier"
    configurations: tuple[FrontierConfiguration, ...]
    levels: tuple[FrontierLevel, ...]
    judge: JudgeAgreement | None = None


class TierBlock(Record):
    """One quantity by tier."""

    raw: Measure
    summary: Measure


class FrsBlock(Record):
    """Forgetting residue score: leak attributed to a tier, max over probe kinds; worst = max over tiers."""

    raw: Derived
    summary: Derived
    worst: Derived


class ProbeResidue(Record):
    """Leaks under one probe kind after deletion."""

    raw: Rate
    """Leaks with the canary in a retrieved raw unit."""
    summary: Rate
    any: Rate
    """Leaks whatever was retrieved."""


class ResidueCell(Levers):
    """One (S, k, mode)."""

    k: int
    mode: str
    supersede: str | None = None
    """Only for raw_plus_resummarize."""
    FRS: FrsBlock
    by_probe: dict[str, ProbeResidue]
    unattributed: Rate
    """Replies with the canary though no retrieved unit holds it."""
    text_residue: TierBlock
    partial_residue: TierBlock
    vector_residue: TierBlock
    content_evidence: TierBlock


class ResidueResult(ResultBase):
    """What the residue audit found."""

    audit: Literal["residue"] = "residue"
    cells: tuple[ResidueCell, ...]
