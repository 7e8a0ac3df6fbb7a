"""The deletion modes, and what becomes of older summaries when a session is summarised again.

Source: arXiv 2606.10062, Table 1. A mode is a declaration: each row of the ladder toggles engineering
decisions, and one interpreter (`vestige.memory.removal`) carries them out. Register your own with
``MODES.add(name, Mode(...))``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vestige.memory.registry import Registry
from vestige.memory.scrub import MARKER
from vestige.memory.units import Tier, Unit, as_vector
from vestige.models.base import Vectors

__all__ = ["BOTH", "MATCH_COSINE", "MODES", "SUPERSEDE", "Mode", "Supersede"]

BOTH: frozenset[Tier] = frozenset(("raw", "summary"))
"""A mode that reaches both also reaches the notes and orders of the agent's tools."""
RAW: frozenset[Tier] = frozenset(("raw",))


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to delete."""

    doc: str
    reaches: frozenset[Tier]
    """Tiers whose text is changed; notes and orders too where it is every tier."""
    replacement: str = ""
    """What is put in the value's place."""
    reembed: bool = True
    """Whether changed text is embedded again; otherwise the old vector stays."""
    resummarise: bool = False
    """Whether sessions with a changed raw unit are summarised again from the cleaned text."""
    drop_empty: bool = False
    """Whether units with no letter or digit left are dropped."""


MODES: Registry[str, Mode] = Registry("deletion mode")
"""Deletion modes by name."""

MODES.add("noop", Mode("Control: nothing is changed.", frozenset()))
MODES.add(
    "raw_only", Mode("Raw text scrubbed; vectors not recomputed; summaries untouched.", RAW, reembed=False)
)
MODES.add(
    "raw_plus_resummarize",
    Mode("Raw text scrubbed and re-embedded; affected sessions summarised again.", RAW, resummarise=True),
)
MODES.add(
    "full_purge",
    Mode("Every tier scrubbed and re-embedded; empty units dropped.", BOTH, drop_empty=True),
)
MODES.add("tombstone", Mode(f"The value replaced by {MARKER} in every tier; re-embedded.", BOTH, MARKER))

Supersede = Callable[[Sequence[Unit], Vectors], frozenset[str]]
"""Maps a session's older summaries and the new vectors, shape (n, d), to the ids of the older that go."""

MATCH_COSINE = 0.85
"""From this cosine on, `match` takes a new fact for a newer version of an older one."""

SUPERSEDE: Registry[str, Supersede] = Registry("supersede policy")
"""Supersede policies by name."""


def append(older: Sequence[Unit], new: Vectors) -> frozenset[str]:
    """The older summaries stay."""
    return frozenset()


def replace(older: Sequence[Unit], new: Vectors) -> frozenset[str]:
    """The older summaries go."""
    return frozenset(unit.id for unit in older)


def match(older: Sequence[Unit], new: Vectors) -> frozenset[str]:
    """Each new fact replaces the older one most similar to it, at a cosine of at least `MATCH_COSINE`."""
    if not older or not len(new):
        return frozenset()
    cosines = new.astype(np.float64) @ np.stack([as_vector(u.vector) for u in older]).astype(np.float64).T
    nearest = cosines.argmax(axis=1)
    return frozenset(older[j].id for i, j in enumerate(nearest) if cosines[i, j] >= MATCH_COSINE)


SUPERSEDE.add("append", append)
SUPERSEDE.add("match", match)
SUPERSEDE.add("replace", replace)
