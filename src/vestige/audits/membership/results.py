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
    """At the plan's confidence, of the mean over the repeats; None where there is none."""
    method: str = ""
    """bootstrap over users; t over users, of their own values, with fewer than 20; delong, candidates taken as
    independent, where users do not tell."""
    centre: float | None = None
    """With `t over users` what the interval is of: the mean of the users' own values. None: it is of `value`."""
    sd: float | None = None
    """Over the repeats (n − 1); None with fewer than two."""
    n: int = 0
    """Users, or candidates, that the interval is over."""
    reason: str = ""
    """Why there is no value or no interval, or why it is not resampled by user."""


class AtFpr(Record):
    """The true positive rate at a false positive rate, with the false positive rate really reached beside it."""

    target: float
    """As asked."""
    tpr: float | None
    """Mean over the repeats; None: refused."""
    sd: float | None = None
    """Over the repeats."""
    interval: Bounds | None = None
    """Of `tpr`, at the plan's confidence; None where there is none."""
    method: str = ""
    """bootstrap over users, each draw with a threshold of its own; with fewer than 20 users t over users, of the shares
    of their own members at or above the threshold; exact, members taken as independent, where users are all alike."""
    centre: float | None = None
    """With `t over users` what the interval is of: the mean of the users' shares. None: it is of `tpr`."""
    n: int = 0
    """Users, or members, that the interval is over."""
    reason: str = ""
    """Why there is no interval, or why it is not resampled by user."""
    achieved: float | None = None
    """False positive rate of the largest set of candidates with at most floor(target · N) false positives, in the
    repeat in which it is greatest. Repeats ask about the same non-members, so their counts are not added up: they would
    pass for more non-members than there are."""
    exact: Bounds | None = None
    """Clopper–Pearson interval of `achieved`, over the non-members of that one repeat, taken as independent."""
    threshold: float | None = None
    """Lowest score called a member in the repeat of `achieved`; None where nothing can be."""
    accuracy: float | None = None
    """(TPR + 1 − achieved FPR) / 2, each repeat with its own rates; mean over the repeats."""
    refused: str = ""
    """Why it is not given, with the number of negatives that it would need."""


class Threshold(Record):
    """γ chosen on held-out users, in each repeat, and how it does on the others; rates are means over the repeats."""

    gammas: Bounds | None
    """Lowest and highest over the folds and repeats; None: there are too few users."""
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
    """Mean of the own ROC-AUCs of the users who have members and others."""
    pr_auc: Estimate
    """Average precision, pooled."""
    at_fpr: tuple[AtFpr, ...]
    """True positive rates at the plan's false positive rates."""
    threshold: Threshold
    """A decision rule chosen on other users. Where rules judge, the cut-offs under those users' scores were calibrated
    on users that include the ones decided about, so that it is held out of γ and not of every cut-off."""
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
    """Two-sided: of the paired t test over users, or of DeLong's, as `difference.method` says; None with a bootstrap.
    Not adjusted for the number of comparisons."""


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
    """At `fpr`; None: there are too few negatives."""
    fpr: float | None = None
    """1 %, or the smallest of the plan's rates above it that there are negatives for."""
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
    reworded: int = 0
    """Candidates for which a paraphrase was asked."""
    unchanged: int = 0
    """Of them, those for which none was found: the statement's own words stood in its place."""


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
