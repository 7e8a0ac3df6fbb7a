"""What an Inspect step records: every artifact once, then only what changed, with the vectors that matter."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from vestige.models.base import Embedder
from vestige.records import Artifact, Record
from vestige.runs.steps import Inspect

__all__ = ["SAME_VECTOR", "InspectionBody", "Inspector", "SeenArtifact", "rebuild"]

SAME_VECTOR = 1e-4
"""1 - cosine up to which two vectors count as the same (DESIGN, Formulas: Residue)."""


class SeenArtifact(Record):
    """An artifact as it was seen; vectors only where it is watched."""

    id: str
    tier: str
    text: str
    session: str | None = None
    sources: tuple[str, ...] = ()
    vector: bytes | None = None
    """The stored vector: little-endian float32."""
    text_vector: bytes | None = None
    """The embedding of the present text, by the embedder the agent stores with."""
    watched: bool = False


class InspectionBody(Record):
    """Body of an `artifacts` line."""

    name: str
    baseline: str | None = None
    artifacts: tuple[SeenArtifact, ...]
    """All of them, or against a baseline those that are new, changed or watched."""
    unchanged: tuple[str, ...] = ()
    """Ids whose text and vector are as in the baseline."""
    candidate_vectors: bytes | None = None
    """Shape (number of candidates, d), float32, in the candidates' order."""


def _bytes(vector: np.ndarray) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def _copies(artifacts: Sequence[Artifact], vectors: Sequence[bytes]) -> set[str]:
    """Artifacts whose vector is one of `vectors`: a unit that was made anew under another id keeps it."""
    found: set[str] = set()
    for size in {len(v) for v in vectors if len(v) % 4 == 0}:
        alike = [a for a in artifacts if a.vector is not None and len(a.vector) == size]
        if alike:
            wanted = _rows([v for v in vectors if len(v) == size])
            cosines = _rows([a.vector for a in alike if a.vector is not None]) @ wanted.T
            found |= {
                a.id for a, most in zip(alike, cosines.max(axis=1), strict=True) if 1 - most <= SAME_VECTOR
            }
    return found


def _rows(vectors: Sequence[bytes]) -> np.ndarray:
    """The vectors as rows of unit length; what is no vector becomes zero and is like nothing."""
    rows = np.stack([np.frombuffer(v, dtype="<f4").astype(np.float64) for v in vectors])
    rows[~np.isfinite(rows).all(axis=1)] = 0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


class Inspector:
    """Compares the inspections of one episode with their baselines."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._seen: dict[str, dict[str, Artifact]] = {}
        self._watched: dict[str, frozenset[str]] = {}

    async def look(
        self, step: Inspect, artifacts: Sequence[Artifact], candidates: bytes | None
    ) -> InspectionBody:
        """Turn a full list of artifacts into what is recorded."""
        base = self._seen.get(step.baseline or "", {})
        needles = tuple(w.casefold() for w in step.watch)
        held = {a.id for a in artifacts if any(n in a.text.casefold() for n in needles)}
        known = self._watched.get(step.baseline or "", frozenset())
        old = [base[i].vector for i in sorted(known) if i in base]
        watched = frozenset(held | known | _copies(artifacts, [v for v in old if v]))
        self._seen[step.name] = {a.id: a for a in artifacts}
        self._watched[step.name] = watched
        kept: list[Artifact] = []
        unchanged: list[str] = []
        for artifact in artifacts:
            before = base.get(artifact.id)
            same = before is not None and before.text == artifact.text and before.vector == artifact.vector
            if same and artifact.id not in watched:
                unchanged.append(artifact.id)
            else:
                kept.append(artifact)
        texts = [a.text for a in kept if a.id in watched and a.vector is not None]
        present = iter(await self._embedder.embed(texts)) if texts else iter(())
        seen: list[SeenArtifact] = []
        for artifact in kept:
            fields = artifact.model_dump(exclude={"vector"})
            if artifact.id in watched and artifact.vector is not None:
                fields |= {"vector": artifact.vector, "text_vector": _bytes(next(present)), "watched": True}
            seen.append(SeenArtifact(**fields))
        matrix: bytes | None = None
        if candidates is not None and any(a.vector is not None for a in seen):
            matrix = _bytes(await self._embedder.embed(json.loads(candidates)))
        return InspectionBody(
            name=step.name,
            baseline=step.baseline,
            artifacts=tuple(seen),
            unchanged=tuple(unchanged),
            candidate_vectors=matrix,
        )


def rebuild(body: InspectionBody, baseline: InspectionBody | None) -> dict[str, SeenArtifact]:
    """The full state an inspection saw, by artifact id."""
    state = {a.id: a for a in body.artifacts}
    if baseline is not None:
        before = {a.id: a for a in baseline.artifacts}
        state |= {i: before[i] for i in body.unchanged if i in before}
    return state
