"""The proxy's book: the requests of every label, those under way among them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from vestige.models.proxy.bodies import Bodies
from vestige.models.proxy.reading import BodyFacts, body_facts
from vestige.models.proxy.request import Kind, ModelRequest, Outcome, Traffic
from vestige.records import Usage

__all__ = ["Entry", "LabelBook", "traffic"]

_NOTHING = BodyFacts(None, None)


@dataclass(slots=True)
class Entry:
    """One request as it goes on."""

    label: str
    number: int
    kind: Kind
    method: str
    path: str
    started: float
    clock: float
    body: str | None = None
    lost: bool = False
    """It has a body that is not kept, or not yet."""
    body_bytes: int = 0
    outcome: Outcome = "under_way"
    status: int | None = None
    streamed: bool = False
    reply_bytes: int = 0
    usage: Usage | None = None
    seconds: float | None = None
    facts: BodyFacts | None = None

    def record(self, bodies: Bodies) -> ModelRequest:
        """What is known of it now; a body is read once."""
        if self.facts is None:
            if self.body is not None:
                self.facts = body_facts(self.kind, bodies.get(self.body))
            elif self.outcome != "under_way":
                self.facts = BodyFacts(None, "the body is not known") if self.lost else _NOTHING
        facts = self.facts or _NOTHING
        return ModelRequest(
            label=self.label,
            number=self.number,
            kind=self.kind,
            method=self.method,
            path=self.path,
            model=facts.model,
            started=self.started,
            seconds=self.seconds,
            outcome=self.outcome,
            status=self.status,
            streamed=self.streamed,
            body=self.body,
            body_bytes=self.body_bytes,
            unread=facts.unread,
            reply_bytes=self.reply_bytes,
            usage=self.usage,
        )


@dataclass(slots=True)
class LabelBook:
    """The requests of one label, in the order of their arrival."""

    label: str
    entries: list[Entry] = field(default_factory=list[Entry])
    taken: int = 0
    under_way: int = 0
    _quiet: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self, kind: Kind, method: str, path: str) -> Entry:
        """Write down a request that has arrived."""
        entry = Entry(self.label, len(self.entries) + 1, kind, method, path, time.time(), time.perf_counter())
        self.entries.append(entry)
        self.under_way += 1
        self._quiet.clear()
        return entry

    def close(self, entry: Entry) -> None:
        """Its end; outcome and status are set."""
        entry.seconds = time.perf_counter() - entry.clock
        self.under_way -= 1
        if not self.under_way:
            self._quiet.set()

    async def settle(self, patience: float) -> None:
        """Wait until nothing is under way, `patience` seconds at most."""
        if self.under_way and patience > 0:
            try:
                await asyncio.wait_for(self._quiet.wait(), patience)
            except TimeoutError:
                return


def traffic(requests: Sequence[ModelRequest]) -> Traffic:
    """Requests in numbers."""
    counted = [r.usage for r in requests if r.usage is not None]
    silent = [
        r
        for r in requests
        if r.usage is None and r.status == 200 and r.kind in ("chat", "completion", "embeddings")
    ]
    return Traffic(
        requests=len(requests),
        kinds=dict(sorted(Counter[str](r.kind for r in requests).items())),
        outcomes=dict(sorted(Counter[str](r.outcome for r in requests).items())),
        usage=Usage(
            prompt_tokens=sum(u.prompt_tokens for u in counted),
            completion_tokens=sum(u.completion_tokens for u in counted),
        ),
        without_usage=len(silent),
        unread=sum(r.unread is not None for r in requests),
        bytes_sent=sum(r.body_bytes for r in requests),
        bytes_received=sum(r.reply_bytes for r in requests),
    )
