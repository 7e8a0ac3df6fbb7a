"""What the evaluator knows of a pair and the agent must not be told: the targets, where they stand, what is kept."""

from __future__ import annotations

from pydantic import Field

from vestige.audits.verification.settings import Condition, TargetKind
from vestige.records import Record

__all__ = ["Nonce", "Pair", "Preference", "Retained"]


class Nonce(Record):
    """A literal target: a canary of its own for every exposed arm."""

    values: dict[Condition, str]
    """By exposed condition."""
    statement: str = "my private session token is {value}"
    """As it is told."""
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
    retained: Retained
    placed: dict[TargetKind, tuple[int, int]] = Field(default_factory=dict)
    """Session and turn in which each target is told."""
    sources: dict[TargetKind, tuple[str, ...]] = Field(default_factory=dict)
    """Ids of the sessions that support it."""
    derived: tuple[str, ...] = ()
    """Kinds of artifact known to be derived from them: summary, vector."""
    arms: tuple[Condition, ...]
    """In the order in which they run, drawn by the plan's seed."""
    fingerprint: str
    """SHA-256 of the conversations with nonces and options taken out: pairs with the same one are one observation."""
