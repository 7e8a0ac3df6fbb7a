"""One statement of which membership in a memory is asked: a member is stored, a non-member is not."""

from __future__ import annotations

from typing import Literal, get_args

from vestige.records import Record
from vestige.text import fold

__all__ = ["KINDS", "MAX_UNIT_CHARS", "Unit", "UnitKind", "normalised"]

UnitKind = Literal["plain", "near_duplicate", "inferable", "common_knowledge"]
"""plain: none of the others, and all units of real data; near_duplicate: a stored statement with another value;
inferable: follows from stored statements, and is not one; common_knowledge: a model knows its core without a memory."""

KINDS: tuple[UnitKind, ...] = get_args(UnitKind)

MAX_UNIT_CHARS = 4000
"""Of a unit's text; a memory unit is a sentence or a few."""


class Unit(Record):
    """One candidate statement of one user."""

    id: str
    """Unique in its data set; says nothing of membership."""
    user: str
    text: str
    member: bool
    """Whether it belongs into the user's memory. The agent under test never sees this."""
    kind: UnitKind = "plain"
    session: str | None = None
    """The session or dialogue it was taken from."""
    group: str | None = None
    """What the split never divides (a session, an event); None: it was split by itself."""
    sources: tuple[str, ...] = ()
    """Ids of the turns or records that support it, as the data writes them."""
    subject: str | None = None
    """Whom it is about, where the data says."""
    topic: str | None = None
    """What it is about, where the data says."""
    related: tuple[str, ...] = ()
    """Ids of the members that a near-duplicate resembles, or that an inferable unit follows from."""


def normalised(text: str) -> str:
    """A statement's words without case, Unicode form and punctuation: how equal statements are told from others.

    The rule of the MRMMIA authors' code (lower case, one space between words, letters and digits alone), after NFKC.
    A text without any letter or digit stays as it is, white space squeezed.
    """
    words = text.split()
    return " ".join(folded for word in words if (folded := fold(word))) or " ".join(words)
