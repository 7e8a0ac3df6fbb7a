"""What one look at one channel showed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vestige.agents.protocol import Channel
from vestige.records import Record

__all__ = ["Grade", "Observation"]

Grade = Literal["served", "sent_to_model", "live_row", "old_version", "dead_bytes", "vector_only"]
"""How near what was seen still is, nearest first."""


class Observation(Record):
    """Texts of one channel at one time, or, where there are no texts to show, what was found in it."""

    channel: Channel
    grade: Grade
    """Of anything that is found in it."""
    texts: tuple[str, ...] = ()
    """One text an item; a scorer looks for the target in each."""
    items: int
    """Things that were looked at, for denominators; a list that was shown and is empty counts as one look."""
    found: dict[str, int] = Field(default_factory=dict)
    """Of a byte scan: occurrences by the needle's label."""
    vectors_same: int = 0
    """Of stored vectors: how many of those that belonged to the target's items before still stand."""
