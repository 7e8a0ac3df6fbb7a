"""What one deletion left in one tier of one instance, read from the states before and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vestige.audits.study import Fixture
from vestige.canaries import match
from vestige.records import Record
from vestige.runs.inspection import SAME_VECTOR, SeenArtifact
from vestige.text import fold

__all__ = ["SAME_VECTOR", "Remains", "remains_of"]

Vector = NDArray[np.float32]


class Remains(Record):
    """What is left in a tier; None where the state before deletion gives no positive control."""

    text: bool | None
    """The canary stands in stored text, verbatim or normalised."""
    partial: float | None
    """Share of its countable parts still there at word boundaries."""
    vector: float | None
    """Share of the vectors of units that held it which still equal the vector of before, while the unit's present
    text embeds elsewhere or the unit is gone."""
    first: bool | None
    """A stored vector still ranks the true sentence first among the decoys."""
    rank: float | None
    """Its best rank, 1 to 100, ties in the middle; None where no vector of such a unit is left."""


def _vector(data: bytes | None) -> Vector | None:
    if data is None or not data or len(data) % 4:
        return None
    vector = np.frombuffer(data, dtype="<f4")
    norm = float(np.linalg.norm(vector))
    return None if not np.isfinite(norm) or norm == 0 else (vector / norm).astype(np.float32)


def _same(a: Vector, b: Vector) -> bool:
    return a.shape == b.shape and 1.0 - float(a @ b) <= SAME_VECTOR


def _rank(vector: Vector, candidates: NDArray[np.float32]) -> float:
    """Rank of the first candidate by cosine; ties share their middle rank."""
    scores = candidates @ vector
    higher = int((scores > scores[0]).sum())
    ties = int((scores == scores[0]).sum()) - 1
    return 1 + higher + ties / 2


def _parts(fixture: Fixture, texts: Sequence[str]) -> float | None:
    counts = [p for p, counts in enumerate(fixture.countable) if counts]
    if not counts:
        return None
    found = match(fixture.secret, "\n".join(texts)).parts
    return sum(found[p] for p in counts) / len(counts)


def _holds(fixture: Fixture, text: str) -> bool:
    """Whether a unit holds the canary as planted: its value in any spelling, or what was appended in its place."""
    hit = match(fixture.secret, text)
    folded = fold(text)
    return hit.verbatim or hit.normalised or any(fold(n) in folded for n in fixture.needles)


def _text(fixture: Fixture, units: Sequence[SeenArtifact]) -> bool:
    """Whether the whole value stands in stored text: in any spelling, or in the encoding it was planted in."""
    whole = fixture.needles if fixture.form == "base64" else ()
    hits = ((match(fixture.secret, u.text), u.text) for u in units)
    return any(h.verbatim or h.normalised or any(n in text for n in whole) for h, text in hits)


def remains_of(
    fixture: Fixture,
    before: Mapping[str, SeenArtifact],
    after: Mapping[str, SeenArtifact],
    candidate_vectors: bytes | None,
) -> dict[str, Remains]:
    """Compare two states, tier by tier."""
    return {
        tier: _tier(
            fixture,
            {i: a for i, a in before.items() if a.tier == tier},
            {i: a for i, a in after.items() if a.tier == tier},
            candidate_vectors,
        )
        for tier in ("raw", "summary")
    }


def _tier(
    fixture: Fixture,
    before: Mapping[str, SeenArtifact],
    after: Mapping[str, SeenArtifact],
    candidate_vectors: bytes | None,
) -> Remains:
    had = _parts(fixture, [a.text for a in before.values()])
    holders = [a for a in before.values() if _holds(fixture, a.text)]
    stored = {a.id: v for a in holders if (v := _vector(a.vector)) is not None}
    new = [v for i, a in after.items() if i not in before and (v := _vector(a.vector)) is not None]
    first, rank = _evidence(stored, after, new, candidate_vectors)
    # What is found needs no control: only its absence does.
    left = _text(fixture, list(after.values()))
    return Remains(
        text=left or (False if _text(fixture, list(before.values())) else None),
        partial=_parts(fixture, [a.text for a in after.values()]) if had else None,
        vector=_vectors_left(stored, after) if stored else None,
        first=first,
        rank=rank,
    )


def _vectors_left(stored: Mapping[str, Vector], after: Mapping[str, SeenArtifact]) -> float:
    """Share of the vectors of before that still stand though their text has moved on."""
    left = 0
    present = [v for a in after.values() if (v := _vector(a.vector)) is not None]
    for unit, vector in stored.items():
        now = after.get(unit)
        if now is None:
            # The unit is gone: its vector is residue if any stored item still carries it.
            left += any(_same(vector, v) for v in present)
            continue
        kept, text = _vector(now.vector), _vector(now.text_vector)
        moved = text is not None and not _same(vector, text)
        left += kept is not None and _same(vector, kept) and moved
    return left / len(stored)


def _evidence(
    stored: Mapping[str, Vector],
    after: Mapping[str, SeenArtifact],
    new: Sequence[Vector],
    candidate_vectors: bytes | None,
) -> tuple[bool | None, float | None]:
    """Whether a vector still singles out the true sentence: of the units whose vector did before, and, where one of
    them is gone, of the watched units that were made since.
    """
    if not stored or not candidate_vectors:
        return None, None
    width = next(iter(stored.values())).shape[0]
    flat = np.frombuffer(candidate_vectors, dtype="<f4")
    if flat.size % width:
        return None, None
    candidates = flat.reshape(-1, width)
    control = [unit for unit, vector in stored.items() if _rank(vector, candidates) == 1]
    if not control:
        return None, None
    ranks = [
        _rank(vector, candidates)
        for unit in control
        if unit in after and (vector := _vector(after[unit].vector)) is not None
    ]
    if any(unit not in after for unit in control):
        ranks += [_rank(vector, candidates) for vector in new if vector.shape[0] == width]
    return (min(ranks) == 1, min(ranks)) if ranks else (False, None)
