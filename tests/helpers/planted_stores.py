"""Planted agents that differ in their stores: files, checkpoints, vector points, an index beside its sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from tests.helpers.planted import DONE, NEAREST, Forgets, Row, scrubbed

from vestige.models.hashing import HashingEmbedder
from vestige.records import Artifact, Receipt, RemovalRequest, Session
from vestige.text import content_words

# --- files ------------------------------------------------------------------------------------------------


class Filed(Forgets):
    """No defect: its rows stand in a file, which is written anew whenever they change."""

    channels: ClassVar = ("storage",)

    @property
    def file(self) -> Path:
        return self.folder / "rows.jsonl"

    def storage(self) -> list[Path]:
        return [self.folder]

    def write(self, rows: list[Row], mode: str = "w") -> None:
        with self.file.open(mode, encoding="utf-8") as file:
            file.writelines(json.dumps([r.user, r.session, r.text]) + "\n" for r in rows)

    def converse(self, user: str, session: Session) -> None:
        super().converse(user, session)
        self.write(self.rows)

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.write(self.rows)

    def reset(self, user: str) -> None:
        super().reset(user)
        self.write(self.rows)


class Blocks(Filed):
    """An access block: the value stays where it is, and nothing that is served holds it."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.blocked: list[str] = []

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.blocked.append(request.value or "")

    def served(self, user: str) -> list[Row]:
        rows = super().served(user)
        for value in self.blocked:
            rows = [scrubbed(row, value) for row in rows]
        return rows


class CleansUp(Filed):
    """Rows are appended to the file; what a removal leaves behind there goes when the store is compacted."""

    written = 0

    def converse(self, user: str, session: Session) -> None:
        before = len(self.rows)
        Forgets.converse(self, user, session)
        self.write(self.rows[before:], "a")

    def remove(self, user: str, request: RemovalRequest) -> None:
        Forgets.remove(self, user, request)

    def maintain(self) -> None:
        self.write(self.rows)


class Hexes(CleansUp):
    """Writes its file in hexadecimal digits, and leaves it as it is when something is removed."""

    maintain = None  # pyright: ignore[reportAssignmentType]

    def write(self, rows: list[Row], mode: str = "w") -> None:
        with self.file.open(mode, encoding="utf-8") as file:
            file.writelines(f"{r.user} {r.text}".encode().hex() + "\n" for r in rows)


class LogsRequest(Filed):
    """No defect in what it keeps: the request stands in its log, in the request's own words."""

    channels: ClassVar = ("storage", "logs")
    absent: ClassVar = {"reasoning": "has none"}

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        with (self.folder / "agent.log").open("a", encoding="utf-8") as file:
            file.write(f"INFO asked: {request.description}\n")


class KeepsCheckpoint(CleansUp):
    """Starts again from that file: a checkpoint that the removal did not reach."""

    maintain = None  # pyright: ignore[reportAssignmentType]

    def restart(self) -> None:
        lines = self.file.read_text(encoding="utf-8").splitlines()
        self.rows = []
        for line in lines:
            self.keep(*json.loads(line))


class DropsCheckpoint(KeepsCheckpoint):
    """No defect: the removal writes the checkpoint anew."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.write(self.rows)


# --- vectors ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Point:
    id: str
    user: str
    session: str
    vector: np.ndarray | None
    payload: str


class DeletesPoints:
    """No defect: turns are points of a vector store, searched by vector; a removal deletes the points that hold it."""

    absent: ClassVar = Forgets.absent

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.made = 0
        self.embedder = HashingEmbedder()

    async def converse(self, user: str, session: Session) -> None:
        said = [turn.content for turn in session.turns if turn.role == "user"]
        for text, vector in zip(said, await self.embedder.embed(said), strict=True):
            self.made += 1
            self.points.append(Point(f"point-{self.made}", user, session.id, vector, text))

    async def ask(self, user: str, prompt: str) -> str:
        (asked,) = await self.embedder.embed([prompt])
        own = [(float(asked @ p.vector), p) for p in self.points if p.user == user and p.vector is not None]
        nearest = sorted(own, key=lambda pair: -pair[0])[: 3 * NEAREST]
        return " ".join(p.payload for _, p in nearest) or "I do not know that."

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        for point in [p for p in self.points if p.user == user and (request.value or "") in p.payload]:
            self.delete(point, request.value or "")
        return DONE

    def delete(self, point: Point, value: str) -> None:
        self.points.remove(point)

    async def reset(self, user: str) -> None:
        self.points = [p for p in self.points if p.user != user]

    async def inspect(self, user: str) -> list[Artifact]:
        return [
            Artifact(
                id=p.id,
                tier="vector",
                text=p.payload,
                session=p.session,
                vector=None if p.vector is None else p.vector.astype("<f4").tobytes(),
            )
            for p in self.points
            if p.user == user
        ]

    async def restart(self) -> None:
        """Everything is in memory: nothing is read anew."""


class DeletesVectors(DeletesPoints):
    """Deletes the vector of a point, so that no search finds it; its payload stays."""

    def delete(self, point: Point, value: str) -> None:
        point.vector = None


class DeletesRecords(DeletesPoints):
    """Scrubs the record; the vector that was made of the whole of it stays."""

    def delete(self, point: Point, value: str) -> None:
        point.payload = point.payload.replace(value, "")


# --- an index beside its sources --------------------------------------------------------------------------


class IndexStays(Forgets):
    """Searches an index with a copy of each turn; a withdrawn source leaves it as it is. Looked up by its key, the
    source is not found, and that is all that its `inspect` shows."""

    shows_retrieval = False

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.index: list[tuple[frozenset[str], Row]] = []

    def keep(self, user: str, session: str, text: str, tier: str = "raw") -> None:
        super().keep(user, session, text, tier)
        self.index.append((frozenset(content_words(text)), self.rows[-1]))

    def served(self, user: str) -> list[Row]:
        return [row for _, row in self.index if row.user == user]

    def reset(self, user: str) -> None:
        super().reset(user)
        self.index = [(words, row) for words, row in self.index if row.user != user]


class IndexFollows(IndexStays):
    """No defect: the index drops what its sources no longer hold."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.index = [(frozenset(content_words(row.text)), row) for row in self.rows]


class NotFound(Forgets):
    """Looks a removal up by a key that it writes otherwise, finds nothing, and says so."""

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return Receipt(accepted=False, completed=False, message="404: no such key")
