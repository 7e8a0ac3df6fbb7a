"""A memory unit as it is stored, and a set of changes to units that is applied as one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Changes", "Tier", "Unit", "as_vector", "unit_id"]

Tier = Literal["raw", "summary"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One stored item of one user."""

    id: str
    """Unique within the user; never used again after a removal."""
    order: int
    """Order of creation within the user, from 1; breaks ties in search."""
    tier: Tier
    level: int
    """The level S whose writer made it; 0 for raw units."""
    session: str
    position: int
    """Raw: the turn's place in its session. Summary: the fact's place in its reply. From 0."""
    date: str | None
    """The session's date, as the data writes it."""
    text: str
    vector: bytes
    """The embedding: little-endian float32, unit length."""
    sources: tuple[str, ...] = ()
    """Ids of the raw units a summary was made from; some may be gone since."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What one operation does to a user's units: all of it is applied, or none."""

    updates: tuple[Unit, ...] = ()
    """Units whose text or vector is replaced, found by id."""
    drops: tuple[str, ...] = ()
    inserts: tuple[Unit, ...] = field(default=())


def unit_id(tier: Tier, order: int) -> str:
    """The id of the unit that is created `order`-th, e.g. ``raw-7``."""
    return f"{tier}-{order}"


def as_vector(blob: bytes) -> NDArray[np.float32]:
    """The stored bytes as an array of shape (d,)."""
    return np.frombuffer(blob, dtype="<f4").astype(np.float32, copy=False)
