"""What the generator makes of each user: how many units, of which kinds, how hard."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from vestige.records import Record

__all__ = ["MAX_UNITS", "UnitMix"]

MAX_UNITS = 160
"""Of one user: more would not stay free of near-duplicates."""

Share = Annotated[float, Field(ge=0, le=1)]


class UnitMix(Record):
    """Numbers and shares; shares are of a side's units, rounded down, and what they leave is plain.

    Members are plain or of common knowledge. An inferable unit needs two or three members that it follows from, and as
    many plain non-members of the same wording, so that the wording of a premise gives nothing away; hence
    4 · inferable + near_duplicate + common_knowledge may be at most 1.
    """

    units: Annotated[int, Field(ge=2, le=MAX_UNITS)] = 40
    """Of each user; the first half, rounded down, are members."""
    near_duplicate: Share = 0.2
    """Of the non-members: a member's statement with another value."""
    inferable: Share = 0.1
    """Of the non-members: what follows from two or three members together."""
    common_knowledge: Annotated[float, Field(ge=0, le=0.3)] = 0.1
    """Of either side: what a model knows without the memory. At most 0.3, since there are not more such facts."""
    hardness: Share = 0.5
    """From 0 to 1. Near-duplicates: the chance of the same wording, and how near the other value comes. Inferable: the
    chance of one step instead of two. Common knowledge: the chance of a fact that is widely known."""

    @model_validator(mode="after")
    def _fits(self) -> UnitMix:
        taken = 4 * self.inferable + self.near_duplicate + self.common_knowledge
        if taken > 1 + 1e-9:
            raise ValueError(
                f"4 · inferable + near_duplicate + common_knowledge is {taken:.3g}; expected at most 1, "
                "so that there are plain units enough"
            )
        return self
