"""Waiting for a removal: acceptance, completion, visible absence and physical clean-up are different times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import Field, ValidationError

from vestige.agents.protocol import Agent
from vestige.errors import AgentError, StorageError, complaint
from vestige.memory.scan import Hit
from vestige.records import Receipt, Record
from vestige.runs.contact import Contact
from vestige.runs.steps import Await
from vestige.runs.stored import find_texts, stored_paths

__all__ = ["Removal", "Waited", "wait"]


@dataclass(frozen=True)
class Removal:
    """One removal that was asked for, as it stands."""

    user: str
    receipt: Receipt | None
    """None: a reset, which has none; it was carried out when it returned."""
    asked: float
    """When the agent answered, by the monotonic clock."""
    done: float | None
    """When it said first that the removal was done; None: it does not say so."""

    @classmethod
    def of(cls, user: str, receipt: Receipt | None) -> Removal:
        """A removal whose request the agent has just answered."""
        now = time.monotonic()
        return cls(user, receipt, now, now if _says_done(receipt) else None)

    @property
    def open(self) -> bool:
        """Whether the agent took it on and does not say yet that it is done."""
        return self.receipt is not None and self.receipt.accepted and not self.receipt.completed


def _says_done(receipt: Receipt | None) -> bool:
    return receipt is None or (receipt.accepted and receipt.completed)


class Waited(Record):
    """Body of a `waited` line. Times are in seconds after the last request was answered, and never early: each is
    when the look ended that saw the state, which lasted until the end of waiting.
    """

    completed: float | None = None
    """The agent said that every removal was done."""
    visible_absence: float | None = None
    """`inspect` showed none of the texts."""
    physical_cleanup: float | None = None
    """No byte of `storage` was left of them."""
    pending: bool = False
    """A removal that the agent took on was not done when the waiting ended."""
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why a time cannot be observed at all; a None without a reason was looked for and not seen."""
    looks: int = 0
    receipts: tuple[Receipt, ...] = ()
    """As they stood at the end."""


@dataclass
class _Watch:
    """What was seen so far."""

    origin: float
    visible: float | None = None
    physical: float | None = None
    shown: bool = False
    """What the last look at `inspect` saw."""
    blank: bool = False
    """The last look at `storage` found no byte of the texts."""
    unread: bool = False
    """`inspect` showed a text after `storage` had held no byte of it: the storage's encoding hides it."""
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    def since(self, before: float | None, holds: bool) -> float | None:
        """When a state began that must last: at this look, at an earlier one, or not at all."""
        if not holds:
            return None
        return before if before is not None else self.after(time.monotonic())

    def after(self, moment: float) -> float:
        """Seconds from the last request's answer."""
        return round(max(0.0, moment - self.origin), 4)


async def wait(
    contact: Contact, agent: Agent, index: int, step: Await, removals: Sequence[Removal]
) -> list[Removal]:
    """Poll and look until the removals are done and their texts out of sight, or the limit is reached.

    Physical clean-up is looked for at every look and waited for at none. Where nothing is left to happen, because every
    receipt came back completed, one look is all there is.

    Returns:
        The removals as they stand now.

    Raises:
        AgentError: The agent raised, or broke its protocol.
    """
    began = time.monotonic()
    now = list(removals)
    watch = _Watch(origin=max((r.asked for r in removals), default=began))
    polls = contact.method(agent, "poll") is not None
    idle = not any(_unsettled(r, contact, agent) for r in now)
    looks = 0
    while True:
        now = [await _polled(contact, agent, r) for r in now]
        await _look(contact, agent, step, watch)
        looks += 1
        left = step.limit - (time.monotonic() - began)
        if idle or left <= 0:
            break
        if any(r.open for r in now):
            if not polls and watch.visible is not None:
                break  # that it is out of sight is all that this agent can show
        elif watch.visible is not None or "visible_absence" in watch.reasons:
            break
        await asyncio.sleep(min(step.interval, left))
    if watch.unread or (watch.shown and watch.blank):
        watch.physical = None
        watch.reasons["physical_cleanup"] = (
            "inspect showed a text whose bytes stood nowhere: the storage's encoding is not read"
        )
    pending = any(r.open for r in now)
    if not now:
        watch.reasons["completed"] = "no removal was asked for"
    elif pending and not polls:
        watch.reasons["completed"] = "the agent has no poll"
        pending = watch.visible is None
    done = [r.done for r in now if r.done is not None]
    body = Waited(
        completed=watch.after(max(done)) if done and len(done) == len(now) else None,
        visible_absence=watch.visible,
        physical_cleanup=watch.physical,
        pending=pending,
        reasons=watch.reasons,
        looks=looks,
        receipts=tuple(r.receipt for r in now if r.receipt is not None),
    )
    contact.write("waited", index, labels=step.labels, body=body)
    return now


def _unsettled(removal: Removal, contact: Contact, agent: Agent) -> bool:
    """Whether something may still happen: the removal is open, or its completion can be asked about again."""
    receipt = removal.receipt
    if receipt is None or not receipt.accepted:
        return False
    return removal.open or (receipt.handle is not None and contact.method(agent, "poll") is not None)


async def _polled(contact: Contact, agent: Agent, removal: Removal) -> Removal:
    poll = contact.method(agent, "poll")
    if poll is None or removal.receipt is None or not _unsettled(removal, contact, agent):
        return removal
    answer = await contact.call("poll", poll(removal.user, removal.receipt))
    try:
        receipt = Receipt.model_validate(answer)
    except ValidationError as error:
        raise AgentError(f"poll: not a receipt: {complaint(error)}") from None
    if not _says_done(receipt):
        return replace(removal, receipt=receipt, done=None)
    return replace(removal, receipt=receipt, done=removal.done or time.monotonic())


async def _look(contact: Contact, agent: Agent, step: Await, watch: _Watch) -> None:
    shown = await _shown(contact, agent, step, watch)
    if shown is not None:
        watch.visible = watch.since(watch.visible, not shown)
        watch.shown = shown
        watch.unread |= shown and watch.blank
    found = await _found(contact, agent, step, watch)
    watch.physical = watch.since(watch.physical, found is False)
    watch.blank = found is False


async def _shown(contact: Contact, agent: Agent, step: Await, watch: _Watch) -> bool | None:
    """Whether `inspect` shows any of the texts; None: that cannot be observed."""
    inspect = contact.method(agent, "inspect")
    if inspect is None or not step.needles:
        watch.reasons["visible_absence"] = (
            "the agent has no inspect" if inspect is None else "no texts were given"
        )
        return None
    artifacts = await contact.artifacts(inspect(contact.user(step.who)))
    needles = [text.casefold() for text in step.needles.values()]
    return any(needle in artifact.text.casefold() for artifact in artifacts for needle in needles)


async def _found(contact: Contact, agent: Agent, step: Await, watch: _Watch) -> bool | None:
    """Whether any of the texts stands in the bytes of `storage`; None: that cannot be observed."""
    storage = contact.method(agent, "storage")
    reason, hits = "the agent has no storage", list[Hit]()
    if storage is not None and step.needles:
        paths = stored_paths(await contact.call("storage", storage()))
        reason = "" if paths else "the agent's storage names no file"
        try:
            _, hits = await asyncio.to_thread(find_texts, paths, step.needles)
        except StorageError as error:
            reason = str(error)
    elif storage is not None:
        reason = "no texts were given"
    if reason:
        watch.reasons["physical_cleanup"] = reason
        return None
    watch.reasons.pop("physical_cleanup", None)
    return bool(hits)
