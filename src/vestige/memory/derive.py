"""Making units: embedding texts, and deriving a session's summaries from its raw units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from vestige.errors import IntegrityError, ModelError
from vestige.memory.forget import Supersede
from vestige.memory.units import Changes, Unit, as_vector, unit_id
from vestige.memory.write import Level, Writer
from vestige.models.base import Embedder, Vectors

__all__ = ["NOTHING_KEPT", "Deriver", "turns_of"]

NOTHING_KEPT = "the summary reply had no usable line"


@dataclass(frozen=True, slots=True)
class Deriver:
    """Turns texts into vectors and raw units into summary units; stores nothing itself."""

    embedder: Embedder
    writer: Writer
    level: Level
    supersede: Supersede

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text, as it is stored.

        Raises:
            ModelError: The embedder broke its contract.
        """
        if not texts:
            return []
        vectors = np.asarray(await self.embedder.embed(texts), dtype="<f4")
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelError(
                f"embedder {self.embedder.name!r} returned an array of shape {vectors.shape} for "
                f"{len(texts)} texts; expected one finite row a text"
            )
        return [row.tobytes() for row in vectors]

    async def summaries(
        self, session: str, date: str | None, raw: Sequence[Unit], older: Sequence[Unit], first_order: int
    ) -> tuple[Changes, str]:
        """Summarise a session from its raw units.

        Args:
            session: The session's id.
            date: Its date.
            raw: All its raw units, in order, as they are now.
            older: Its summaries so far; the supersede policy says which of them go.
            first_order: The order of creation of the first new unit.

        Returns:
            The changes to the summary tier, and a note where nothing was kept.
        """
        summarise = self.level.summarise
        turns = turns_of(raw)
        if summarise is None or not (turns or older):
            return Changes(), ""
        texts = list(await summarise(turns, self.writer)) if turns else []
        note = "" if texts else NOTHING_KEPT
        blobs = await self.embed(texts)
        gone = self.supersede(older, _stack(blobs))
        kept = {unit.text for unit in older if unit.id not in gone}
        new = [(text, blob) for text, blob in zip(texts, blobs, strict=True) if text not in kept]
        sources = tuple(unit.id for unit in raw)
        inserts = tuple(
            Unit(
                id=unit_id("summary", first_order + i),
                order=first_order + i,
                tier="summary",
                level=self.level.number,
                session=session,
                position=i,
                date=date,
                text=text,
                vector=blob,
                sources=sources,
            )
            for i, (text, blob) in enumerate(new)
        )
        return Changes(drops=tuple(u.id for u in older if u.id in gone), inserts=inserts), note


def turns_of(raw: Sequence[Unit]) -> tuple[str, ...]:
    """The user's messages of a session, put together again from its raw units; emptied ones are left out."""
    turns = (" ".join(u.text for u in group) for _, group in groupby(raw, key=lambda u: u.position))
    return tuple(turn for turn in turns if any(c.isalnum() for c in turn))


def _stack(blobs: Sequence[bytes]) -> Vectors:
    if len({len(b) for b in blobs}) > 1:
        raise IntegrityError("the embedder's vectors have different lengths")
    return np.stack([as_vector(b) for b in blobs]) if blobs else np.empty((0, 0), dtype=np.float32)
