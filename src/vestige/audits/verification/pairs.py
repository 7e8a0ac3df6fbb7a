"""What the evaluator knows of a pair and the agent must not be told: the targets, where they stand, what is kept."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from vestige.audits.verification.settings import Condition, TargetName, kind_of
from vestige.records import Record

__all__ = ["Nonce", "Pair", "Preference", "Retained"]


class Nonce(Record):
    """A literal target: a canary of its own for every exposed arm."""

    values: dict[Condition, str]
    """By exposed condition."""
    statement: str = "my private session token is {value}"
    """As it is told."""
    label: str = "private session token"
    """What the user calls it: by this a question tells it from another."""
    decoy_label: str = "locker code"
    """What the user calls the decoy."""
    decoy: str
    """Of the same grammar, told in every arm; the sham removes it."""
    replacement: dict[Condition, str] = Field(default_factory=dict)
    """Of a correction: the value that takes its place."""
    countable: tuple[bool, bool, bool] = (True, True, True)
    """Which of the canary's parts the pair's conversations lack without it."""
    second_source: str | None = None
    """Of a two-source fixture: the value that both sources state; it must still be known after one is withdrawn."""


class Preference(Record):
    """A string-free target: which of two otherwise equal made-up options the user favours."""

    topic: str
    """What the options are: "courier service"."""
    favoured: str
    other: str
    order: tuple[str, str]
    """As the decision task shows them; counterbalanced over pairs."""
    statement: str
    """As it is told, in the user's words."""
    decoy: str
    """A preference about another topic, told in every arm; the sham removes it."""
    decoy_value: str
    """The option that the decoy names."""
    replacement: str | None = None
    """Of a correction: the option that is favoured from then on."""


class Retained(Record):
    """What must still be there: a question about the same user's other facts, and one about a sibling user's."""

    question: str
    expected: str
    sibling_question: str
    sibling_expected: str
    unknown_question: str
    """About something never told: the right answer is to abstain."""


class Pair(Record):
    """One pair's fixture. Its episodes differ in condition alone."""

    source_id: str
    """The record of the data it was made of."""
    cluster: str
    """Pairs of one cluster are not independent."""
    nonce: Nonce | None = None
    preference: Preference | None = None
    further_nonces: dict[TargetName, Nonce] = Field(default_factory=dict)
    """`nonce-2` and so on."""
    further_preferences: dict[TargetName, Preference] = Field(default_factory=dict)
    """`preference-2` and so on."""
    retained: Retained
    placed: dict[TargetName, tuple[int, int]] = Field(default_factory=dict)
    """Session and turn in which each target is told."""
    sources: dict[TargetName, tuple[str, ...]] = Field(default_factory=dict)
    """Ids of the sessions that support it."""
    derived: tuple[str, ...] = ()
    """Kinds of artifact known to be derived from them: summary, vector."""
    arms: tuple[Condition, ...]
    """In the order in which they run, drawn by the plan's seed."""
    fingerprint: str
    """SHA-256 of the conversations with nonces and options taken out: pairs with the same one are one observation."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        for kind, names in (("nonce", self.further_nonces), ("preference", self.further_preferences)):
            if strange := [t for t in names if kind_of(t) != kind or t == kind]:
                raise ValueError(f"{strange[0]} is no name of a further {kind}")
        return self

    @property
    def nonces(self) -> dict[TargetName, Nonce]:
        """All of them by name, the first one first."""
        first: dict[TargetName, Nonce] = {} if self.nonce is None else {"nonce": self.nonce}
        return first | self.further_nonces

    @property
    def preferences(self) -> dict[TargetName, Preference]:
        """All of them by name, the first one first."""
        first: dict[TargetName, Preference] = (
            {} if self.preference is None else {"preference": self.preference}
        )
        return first | self.further_preferences
