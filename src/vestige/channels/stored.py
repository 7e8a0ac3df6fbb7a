"""The channels of stored artifacts: summaries, new memory writes, live rows, vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vestige.agents.protocol import Channel
from vestige.channels.observation import Grade, Observation
from vestige.runs.inspection import SAME_VECTOR, SeenArtifact

__all__ = ["artifacts"]

Vector = NDArray[np.float64]


def artifacts(
    state: Mapping[str, SeenArtifact],
    before: Mapping[str, SeenArtifact] | None = None,
    new_ids: Collection[str] | None = None,
    tools: Collection[str] = (),
    *,
    needles: Collection[str] = (),
) -> tuple[Observation, ...]:
    """The channels that a state of the store shows.

    Args:
        state: The artifacts by id, as `runs.inspection.rebuild` gives them.
        before: The state before the intervention; None: there is none to compare vectors with.
        new_ids: Ids of artifacts that were made since the boundary; None: the boundary is not drawn yet.
        tools: Tiers that the agent's tools keep (notes, orders): whatever stands there was written by an action.
        needles: Texts of the target: only vectors of items that held one of them before are followed. Empty: of
            every item that was watched.

    Returns:
        ``storage``: every artifact. ``summary``: those of the tier `summary`. ``memory_writes``: the new ones that
        are no summary, and those of `tools`; left out where `new_ids` is None and `tools` hold nothing. A channel
        without an artifact was looked at all the same: it counts as one item. ``vectors``: how many vectors of the
        target's items before still stand; left out where none was recorded.
    """
    every = tuple(state.values())
    shown = [
        _rows("storage", (a.text for a in every)),
        _rows("summary", (a.text for a in every if a.tier == "summary")),
    ]
    new = new_ids or ()
    written = [a.text for a in every if a.tier in tools or (a.id in new and a.tier != "summary")]
    if written or new_ids is not None:
        shown.append(_rows("memory_writes", written))
    if before is not None and (vectors := _vectors(state, before, needles)) is not None:
        shown.append(vectors)
    return tuple(shown)


def _rows(channel: Channel, texts: Iterable[str], grade: Grade = "live_row") -> Observation:
    kept = tuple(texts)
    return Observation(channel=channel, grade=grade, texts=kept, items=max(1, len(kept)))


def _vectors(
    state: Mapping[str, SeenArtifact], before: Mapping[str, SeenArtifact], needles: Collection[str]
) -> Observation | None:
    folded = [needle.casefold() for needle in needles]
    held = [
        (a, v)
        for a in before.values()
        if a.watched and (not folded or any(n in a.text.casefold() for n in folded))
        if (v := _vector(a.vector)) is not None
    ]
    if not held:
        return None
    present = [(a, v) for a in state.values() if (v := _vector(a.vector)) is not None]
    same = sum(
        any(_same(vector, now) and _is_of(old, now, a) for a, now in _candidates(old, present, state))
        for old, vector in held
    )
    return Observation(channel="vectors", grade="vector_only", items=len(held), vectors_same=same)


def _candidates(
    old: SeenArtifact, present: list[tuple[SeenArtifact, Vector]], state: Mapping[str, SeenArtifact]
) -> list[tuple[SeenArtifact, Vector]]:
    """The item itself; where it is gone, any item that may have been given its vector."""
    return [(a, v) for a, v in present if a.id == old.id] if old.id in state else present


def _is_of(old: SeenArtifact, now: Vector, item: SeenArtifact) -> bool:
    """Whether a vector is that of the old text, and not that of a present text that embeds to the same."""
    if item.text == old.text:
        return True
    text = _vector(item.text_vector)
    return text is None or not _same(now, text)


def _vector(data: bytes | None) -> Vector | None:
    """A stored vector at unit length; None for what is no vector."""
    if not data or len(data) % 4:
        return None
    vector = np.frombuffer(data, dtype="<f4").astype(np.float64)
    norm = float(np.linalg.norm(vector))
    return vector / norm if np.isfinite(norm) and norm > 0 else None


def _same(a: Vector, b: Vector) -> bool:
    return a.shape == b.shape and 1.0 - float(a @ b) <= SAME_VECTOR
