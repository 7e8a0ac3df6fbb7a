"""One instance of a data set: a user's sessions, and a question about them with its expected answer."""

from __future__ import annotations

from vestige.records import Record, Session, TurnRef

__all__ = ["Dataset", "Instance", "TurnRef"]


class Instance(Record):
    """One user's conversations with one question: the unit that an audit samples."""

    id: str
    sessions: tuple[Session, ...]
    """In order of time."""
    question: str
    expected: str
    """The expected answer; integers of the data are written as their digits."""
    abstention: bool = False
    """The right answer is to say that it was never mentioned."""
    question_type: str = ""
    question_date: str | None = None
    evidence: tuple[TurnRef, ...] | None = None
    """The turns that hold the answer; None where the data does not say."""
    cluster: str = ""
    """Instances that share a conversation share a cluster; empty: independent."""
    answerable: bool = True
    """False where no turn of the *user* holds the evidence: an agent that stores user turns cannot know."""


class Dataset(Record):
    """Instances with what is needed to name them again."""

    name: str
    """`longmemeval`, `locomo`, `synthetic`, …"""
    source: str
    """The file's name (never its folder), or the generator with its parameters."""
    sha256: str
    """Of the file's bytes, or of the canonical JSON of generated instances."""
    license: str
    instances: tuple[Instance, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the report must know: flags that were missing, records left out, and why."""
