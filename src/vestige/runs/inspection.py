"""What an Inspect step records: every artifact once, then only what changed, with the vectors that matter."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from vestige.models.base import Embedder
from vestige.records import Artifact, Record
from vestige.runs.steps import Inspect

__all__ = ["InspectionBody", "Inspector", "SeenArtifact", "rebuild"]


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
        watched = frozenset(held | self._watched.get(step.baseline or "", frozenset()))
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
