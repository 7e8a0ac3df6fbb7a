"""The typed result of a membership audit: what its `result.json` holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.attacks.terms import Setting, Weights
from vestige.audits.membership.settings import Attack, MembershipSettings
from vestige.audits.results import ResultBase
from vestige.records import JsonScalar, Record

__all__ = [
    "Ablation",
    "AtFpr",
    "AttackRow",
    "Comparison",
    "Estimate",
    "MembershipResult",
    "Threshold",
    "UnitCounts",
    "UserRow",
]

Bounds = tuple[float, float]


class Estimate(Record):
    """A metric with its interval."""

    value: float | None
    """Mean over the repeats; None: it cannot be computed."""
    interval: Bounds | None = None
    """At the plan's confidence; None where there is none."""
    method: str = ""
    """delong; t over users; bootstrap over users."""
    sd: float | None = None
    """Over the repeats (n − 1); None with fewer than two."""
    n: int = 0
    """Users, or units, that the interval is over."""
    reason: str = ""
    """Why there is no value or no interval."""


class AtFpr(Record):
    """The true positive rate at a false positive rate, with the false positive rate really reached beside it."""

    target: float
    """As asked."""
    tpr: float | None
    """Mean over the repeats; None: refused."""
    sd: float | None = None
    """Over the repeats."""
    achieved: float | None = None
    """False positive rate of the largest set of candidates with at most floor(target · N) false positives; of the
    repeat in which it is greatest."""
    exact: Bounds | None = None
    """Clopper–Pearson interval of `achieved`."""
    threshold: float | None = None
    """Lowest score called a member; None where nothing can be."""
    accuracy: float | None = None
    """(TPR + 1 − achieved FPR) / 2."""
    refused: str = ""
    """Why it is not given, with the number of negatives that it would need."""


class Threshold(Record):
    """γ chosen on held-out users, and how it does on the others."""

    gammas: Bounds | None
    """Lowest and highest over the folds; None: there are too few users."""
    accuracy: float | None
    """Share of right decisions over all candidates, each decided by the γ of other users."""
    tpr: float | None
    """Members called members."""
    fpr: float | None
    """Non-members called members."""
    users: int
    """Users decided about."""
    reason: str = ""
    """Why there is none."""


class AttackRow(Record):
    """One attack in one access setting."""

    attack: Attack
    """Which."""
    setting: Setting
    """What the attacker sees."""
    members: int
    """Candidates scored, a repeat."""
    non_members: int
    """Likewise."""
    unscored: int
    """Candidates without a score: no valid question could be made, or the setting's term was not shown."""
    auc: Estimate
    """ROC-AUC, pooled over users, ties one half."""
    auc_users: Estimate
    """Mean of the users' own ROC-AUCs."""
    pr_auc: Estimate
    """Average precision, pooled."""
    at_fpr: tuple[AtFpr, ...]
    """True positive rates at the plan's false positive rates."""
    threshold: Threshold
    """A decision rule that was fixed before its candidates were seen."""
    unavailable: str = ""
    """Why the setting cannot be scored at all; empty: it can."""
    left_out: str = ""
    """A term of the score that the agent does not show, and that is therefore left out."""


class Comparison(Record):
    """Two attacks in one setting on the same candidates."""

    setting: Setting
    """What both see."""
    attack: Attack
    """The first."""
    baseline: Attack
    """The second."""
    difference: Estimate
    """AUC of the first minus that of the second."""
    p_value: float | None = None
    """DeLong's test, where candidates are taken as independent; None with a bootstrap."""


class Ablation(Record):
    """MRMMIA scored with one thing changed, from the same pass."""

    name: Literal["questions", "follow_up", "w_p", "w_m", "retrieved"]
    """K (a prefix); without the follow-up on the source; a weight; number of retrieved units looked at."""
    setting: Setting
    """What the attacker sees."""
    value: float
    """Of the thing changed; of follow_up 1 with, 0 without."""
    auc: Estimate
    """As in the main table."""
    pr_auc: float | None = None
    """Average precision."""
    tpr: float | None = None
    """At FPR 1 %, or the smallest that there are negatives for."""
    weights: Weights = Field(default_factory=Weights)
    """With which it was scored."""


class UserRow(Record):
    """One user."""

    user: str
    """As the data names them."""
    stored: int
    """Units stored."""
    members: int
    """Tested."""
    non_members: int
    """Tested."""
    auc: dict[str, float | None]
    """By `attack/setting`."""


class UnitCounts(Record):
    """What was asked about."""

    users: int
    """With at least one completed candidate."""
    candidates: int
    """Completed."""
    planned: int
    """Planned."""
    members: int
    """Completed members."""
    non_members: int
    """Completed non-members."""
    shared: int
    """Candidates of the data that stand on both sides after normalisation."""
    shared_left_out: bool
    """Whether they were left out."""
    kinds: dict[str, int]
    """Completed non-members by how hard they are: plain, near_duplicate, inferable, common_knowledge."""
    questions: dict[str, int]
    """Questions asked, by set."""
    rejected: dict[str, int]
    """Generated questions that were refused, by reason."""
    without_questions: int
    """Candidates for which no valid recall question could be made."""
    remembered_by: dict[str, int]
    """Episodes by how members were stored: directly, or by conversation."""


class MembershipResult(ResultBase):
    """What a membership audit found."""

    audit: Literal["membership"] = "membership"
    """Which audit this is."""
    statement: str
    """The main finding in one sentence, with what it covers."""
    rows: tuple[AttackRow, ...]
    """Attack × setting."""
    comparisons: tuple[Comparison, ...]
    """MRMMIA with each baseline in each setting that both have."""
    ablations: tuple[Ablation, ...]
    """From the same pass."""
    users: tuple[UserRow, ...]
    """User by user."""
    counts: UnitCounts
    """Candidates and questions."""
    parts: dict[str, str]
    """The auxiliary parts: question generator, response scorer, memory scorer, paraphraser."""
    cut_offs: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Of the model-free scorers: lowest and highest over the folds, by name."""
    stopped: str = ""
    """Why the run ended before its plan did; empty: it did not."""
    settings: MembershipSettings
    """Everything that was fixed before the first exchange."""
    agent_description: dict[str, JsonScalar | list[str] | dict[str, JsonScalar]] = Field(default_factory=dict)
    """What the agent says of itself when it is opened."""
