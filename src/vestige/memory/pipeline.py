"""The whole memory: write, summarise, retrieve, forget, over one store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vestige.errors import ConfigError
from vestige.memory.chunk import parse_granularity
from vestige.memory.derive import Deriver
from vestige.memory.desk import Draft, Kept
from vestige.memory.forget import MODES, SUPERSEDE
from vestige.memory.removal import plan_removal
from vestige.memory.retrieve import Retrieved, retrieve
from vestige.memory.settings import WRITE_TIME, MemorySettings
from vestige.memory.store import MemoryStore, SessionNote
from vestige.memory.units import Changes, Unit, unit_id
from vestige.memory.write import LEVELS, Writer
from vestige.models.base import ChatModel, Embedder
from vestige.records import MemoryUnit, Receipt, RemovalRequest, Session

__all__ = ["MemoryPipeline"]


class MemoryPipeline:
    """Reads and writes of one store; each operation is applied whole or not at all.

    Args:
        store: Where units are kept.
        embedder: Makes their vectors.
        model: Writes the summaries at S ≥ 1.
        settings: The knobs.
    """

    def __init__(
        self, store: MemoryStore, embedder: Embedder, model: ChatModel, settings: MemorySettings | None = None
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.model = model
        self.settings = settings or MemorySettings()
        self._writing = asyncio.Lock()

    def configure(self, **changes: Any) -> None:
        """Change knobs; what decides how units are written only while nothing is stored.

        Raises:
            ConfigError: A knob is unknown, a value is not usable, or a write-time knob would change.
        """
        new = self.settings.with_(**changes)
        for knob in WRITE_TIME:
            before, after = getattr(self.settings, knob), getattr(new, knob)
            if before != after and not self.store.empty():
                raise ConfigError(
                    f"{knob}={after!r}: the memory was written with {knob}={before!r}, which is fixed at the "
                    "first write; use a fresh folder or reset every user first"
                )
        self.settings = new

    def _deriver(self) -> Deriver:
        s = self.settings
        writer = Writer(self.model, max_tokens=s.summary_max_tokens, budget=s.summary_budget)
        return Deriver(self.embedder, writer, LEVELS.find(s.level), SUPERSEDE.find(s.supersede))

    def _pinned(self) -> dict[str, str]:
        embedder: str = getattr(self.embedder, "identity", self.embedder.name)
        return {
            "level": str(self.settings.level),
            "granularity": self.settings.granularity,
            "embedder": embedder,
        }

    async def write(self, user: str, session: Session) -> None:
        """Store the user's turns of a whole session, and at S ≥ 1 its summaries.

        Raises:
            ModelError: Embedding or summarising failed; nothing of the session was stored.
            StorageError: The store cannot be written; nothing of the session was stored.
        """
        async with self._writing:
            turns = [(i, t.content) for i, t in enumerate(session.turns) if t.role == "user"]
            await self._store_turns(user, session.id, session.date, turns, summarise=True)

    async def note(
        self,
        user: str,
        session: str,
        text: str,
        date: str | None = None,
        drafts: Sequence[Draft] = (),
    ) -> tuple[str, ...]:
        """Store one more user turn of a session that is still open; `end_session` summarises it.

        Args:
            user: Whose.
            session: The open session.
            text: What the user said.
            date: The session's date.
            drafts: What the agent's tools want kept of the same exchange; all is stored or nothing.

        Returns:
            Every text that was stored, in order.
        """
        async with self._writing:
            return await self._store_turns(user, session, date, [(0, text)], summarise=False, drafts=drafts)

    async def _store_turns(
        self,
        user: str,
        session: str,
        date: str | None,
        turns: list[tuple[int, str]],
        *,
        summarise: bool,
        drafts: Sequence[Draft] = (),
    ) -> tuple[str, ...]:
        self.store.pin(self._pinned())
        deriver = self._deriver()
        held = self.store.units(user, session=session)
        raw_before = [u for u in held if u.tier == "raw"]
        offset = max((u.position + 1 for u in raw_before), default=0)
        cut = parse_granularity(self.settings.granularity).cut
        pieces = [(offset + place, piece) for place, content in turns for piece in cut(content)]
        order = self.store.next_order(user)
        blobs = await deriver.embed([piece for _, piece in pieces])
        raw = tuple(
            Unit(unit_id("raw", order + i), order + i, "raw", 0, session, place, date, piece, blob)
            for i, ((place, piece), blob) in enumerate(zip(pieces, blobs, strict=True))
        )
        changes, note = Changes(inserts=raw), SessionNote(session, date)
        if summarise:
            older = [u for u in held if u.tier == "summary"]
            derived, said = await deriver.summaries(
                session, date, [*raw_before, *raw], older, order + len(raw)
            )
            changes = replace(changes, drops=derived.drops, inserts=raw + derived.inserts)
            note = replace(note, note=said)
        else:
            note = replace(note, open=deriver.level.summarise is not None)
        first = order + len(changes.inserts)
        keep = tuple(Kept(first + i, draft.kind, session, draft.text) for i, draft in enumerate(drafts))
        self.store.apply(user, changes, [note], keep=keep)
        return tuple(item.text for item in (*changes.inserts, *keep))

    async def remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        """Store statements as they stand, in the tier that is retrieved; nothing is summarised.

        Raises:
            ModelError: Embedding failed; nothing was stored.
            StorageError: The store cannot be written; nothing was stored.
        """
        async with self._writing:
            self.store.pin(self._pinned())
            level = self.settings.level
            tier = "raw" if "raw" in self.settings.tiers() else "summary"
            blobs = await self._deriver().embed([unit.text for unit in units])
            first = self.store.next_order(user)
            made: list[Unit] = []
            for place, (unit, blob) in enumerate(zip(units, blobs, strict=True)):
                order = first + place
                name, session = unit_id(tier, order), unit.session or "remembered"
                made.append(
                    Unit(
                        name,
                        order,
                        tier,
                        0 if tier == "raw" else level,
                        session,
                        place,
                        None,
                        unit.text,
                        blob,
                    )
                )
            notes = [SessionNote(session, None) for session in dict.fromkeys(u.session for u in made)]
            self.store.apply(user, Changes(inserts=tuple(made)), notes)

    async def end_session(self, user: str) -> None:
        """Summarise the user's open sessions; without any, nothing happens.

        Raises:
            ModelError: Summarising failed; the session stays open.
        """
        async with self._writing:
            deriver = self._deriver()
            for known in self.store.sessions(user):
                if not known.open:
                    continue
                held = self.store.units(user, session=known.session)
                changes, note = await deriver.summaries(
                    known.session,
                    known.date,
                    [u for u in held if u.tier == "raw"],
                    [u for u in held if u.tier == "summary"],
                    self.store.next_order(user),
                )
                self.store.apply(user, changes, [replace(known, open=False, note=note)])

    async def retrieve(self, user: str, query: str, seed: int = 0) -> list[Retrieved]:
        """The units nearest to `query`, best first; `seed` draws the noise of a noisy retrieval."""
        return await retrieve(self.store, self.embedder, user, query, self.settings, seed)

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Carry out a removal request in the mode `settings.deletion`.

        Raises:
            ConfigError: The value has no letter or digit to look for.
            ModelError: Re-embedding or summarising failed; nothing was changed.
            StorageError: The store cannot be written; nothing was changed.
        """
        async with self._writing:
            removal = await plan_removal(
                request,
                MODES.find(self.settings.deletion),
                self.store.units(user),
                self._deriver(),
                scrub=self.settings.scrub,
                next_order=self.store.next_order(user),
                desk=self.store.desk(user),
            )
            self.store.apply(
                user, removal.changes, removal.notes, keep=removal.rewritten, discard=removal.discarded
            )
            return removal.receipt

    async def reset(self, user: str) -> None:
        """Drop everything that is kept of the user."""
        async with self._writing:
            self.store.reset(user)

    async def snapshot(self, user: str, path: Path) -> None:
        """Write the user's state to `path`, outside the store's folder."""
        async with self._writing:
            self.store.snapshot(user, path)

    async def restore(self, user: str, path: Path) -> None:
        """Bring the user's state back exactly as it was when `path` was written.

        Raises:
            ConfigError: The snapshot was written with another level, granularity or embedder.
            IntegrityError: `path` is not a snapshot of this user.
        """
        async with self._writing:
            self.store.restore(user, path, self._pinned())

    async def maintain(self) -> None:
        """Leave no removed byte in the store's files."""
        async with self._writing:
            self.store.maintain()
