"""Vectors that outlive their text: what a store still carries of a target after its words were taken out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vestige.audits.verification.settings import Grade
from vestige.runs.inspection import SAME_VECTOR, SeenArtifact

__all__ = ["standing_vectors"]

Vector = NDArray[np.float64]


def standing_vectors(
    before: Mapping[str, SeenArtifact], after: Mapping[str, SeenArtifact], holds: Callable[[str], bool]
) -> dict[Grade, int]:
    """Stored vectors that equal one which, in the state before, stood with a text that held the target.

    `live_row` where the artifact's present text still holds it; `vector_only` where the text has moved on: it no
    longer holds the target, or embeds elsewhere than the vector stands.
    """
    old = [v for a in before.values() if holds(a.text) and (v := _vector(a.vector)) is not None]
    found: dict[Grade, int] = {}
    if not old:
        return found
    for artifact in after.values():
        vector = _vector(artifact.vector)
        if vector is None or not any(_same(vector, v) for v in old):
            continue
        text = _vector(artifact.text_vector)
        elsewhere = text is not None and not _same(vector, text)
        grade: Grade = "live_row" if holds(artifact.text) and not elsewhere else "vector_only"
        found[grade] = found.get(grade, 0) + 1
    return found


def _vector(data: bytes | None) -> Vector | None:
    """The stored bytes at unit length; None where they are no vector."""
    if not data or len(data) % 4:
        return None
    vector = np.frombuffer(data, dtype="<f4").astype(np.float64)
    length = float(np.linalg.norm(vector))
    return vector / length if np.isfinite(length) and length > 0 else None


def _same(a: Vector, b: Vector) -> bool:
    return a.shape == b.shape and 1.0 - float(a @ b) <= SAME_VECTOR
