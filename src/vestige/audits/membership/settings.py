"""What a membership audit fixes before the first exchange: attacks, access settings, questions, scoring.

Source: "MRMMIA: Membership Inference Attacks on Memory in Chat Agents", arXiv 2605.27825; defaults are the paper's.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from vestige.attacks.terms import Mode, Setting, Weights
from vestige.records import Record

__all__ = ["ATTACKS", "GRAY_ONLY", "SETS", "SETTINGS", "Attack", "MembershipSettings", "QuestionSet"]

Attack = Literal["mrmmia", "mrmmia_s", "naive", "ia", "loss", "mink", "reference"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)
"""MRMMIA; with a paraphrase of the candidate; Naive Probe; Interrogation; Loss, MinK and Reference."""

SETTINGS: tuple[Setting, ...] = get_args(Setting)

GRAY_ONLY: tuple[Attack, ...] = ("loss", "mink", "reference")
"""Attacks that are made of log-probabilities and exist in gray alone."""

QuestionSet = Literal["recall", "plain", "similar", "yes_no", "naive", "absent"]
"""recall: MRMMIA's questions, each with its follow-up on the source; plain: the same without it; similar: made from a
paraphrase of the candidate; yes_no: Interrogation's; naive: the broad question; absent: the broad question put to the
same agent as a user of whom nothing is stored."""

SETS: dict[Attack, tuple[QuestionSet, ...]] = {
    "mrmmia": ("recall",),
    "mrmmia_s": ("similar",),
    "naive": ("naive",),
    "ia": ("yes_no",),
    "loss": ("naive",),
    "mink": ("naive",),
    "reference": ("naive", "absent"),
}
"""Which questions an attack reads: one pass serves them all."""


class MembershipSettings(Record):
    """What `vestige membership` varies."""

    attacks: tuple[Attack, ...] = ("mrmmia", "naive", "ia", "loss", "mink", "reference")
    """Attacks to score from the one pass."""
    questions: Annotated[int, Field(ge=1, le=16)] = 5
    """K: recall questions, and yes/no questions, a candidate."""
    follow_up: bool = True
    """Whether a recall question asks for the source of what is recalled too."""
    ablate_follow_up: bool = False
    """Ask every recall question a second time without its follow-up: K exchanges more a candidate."""
    weights: Weights = Field(default_factory=Weights)
    """w_r, w_p, w_m."""
    mode: Mode = "paper"
    """The paper's formula or its authors' code."""
    rule: Literal["exact", "equivalence"] = "exact"
    """What a member is: a statement that is stored as it stands, or one that is stored in other words too. By
    equivalence a non-member that equals a member after normalisation counts as a member."""
    drop_shared: bool = False
    """Leave out units that stand on both sides after normalisation; the published counts keep them."""
    users: Annotated[int, Field(ge=1)] | None = None
    """Users tested; None: all there are."""
    per_user: Annotated[int, Field(ge=1)] | None = None
    """Members, and non-members, tested of each user; None: all."""
    split_seed: Annotated[int, Field(ge=0)] = 42
    """Of the rule that makes members and non-members of the data."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    """How often the pass is made, each with seeds of its own; tables show mean ± sd."""
    chunk: Annotated[int, Field(ge=1, le=1000)] = 5
    """Candidates an episode: what is asked again after a kill, at most."""
    unscored: Literal["left_out", "lowest"] = "left_out"
    """What becomes of a candidate for which no valid question could be made."""
    calibration_folds: Annotated[int, Field(ge=2, le=50)] = 5
    """Cut-offs and thresholds for a user come from the users of the other folds."""
    max_tokens: Annotated[int, Field(ge=1, le=4000)] = 200
    """Tokens a reply."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Of every interval."""
    fprs: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.1, 0.01, 0.001)
    """False positive rates at which a true positive rate is given, where there are negatives enough."""

    def sets(self) -> tuple[QuestionSet, ...]:
        """The question sets that the attacks read, each once, in the order they are asked."""
        needed = {name for attack in self.attacks for name in SETS[attack]}
        if self.ablate_follow_up and "recall" in needed:
            needed.add("plain")
        return tuple(name for name in get_args(QuestionSet) if name in needed)

    def exchanges(self) -> int:
        """Exchanges a candidate and repeat, if every question could be made."""
        each = {"recall": self.questions, "plain": self.questions, "similar": self.questions}
        each |= {"yes_no": self.questions}
        return sum(each.get(name, 1) for name in self.sets())
