"""What an agent sends to its model while a step is carried out, where a proxy stands between the two."""

from __future__ import annotations

from pydantic import Field

from vestige.agents.protocol import Agent
from vestige.models.proxy import Sent
from vestige.records import Record
from vestige.runs.contact import Contact
from vestige.runs.steps import Step

__all__ = ["ModelRequests", "sent"]


class ModelRequests(Record):
    """Body of a `model_requests` line: what was sent in a step and stands in no reply."""

    texts: tuple[str, ...] = ()
    """One a request that has a body, in the order of arrival."""
    unread: dict[str, int] = Field(default_factory=dict)
    """Requests of which the texts do not show all, or nothing, by the reason; those of replies too."""


async def sent(contact: Contact, agent: Agent, index: int, step: Step) -> None:
    """Record what was sent, if anything was and the agent is one that is listened to.

    Raises:
        VestigeError: What was sent cannot be had.
    """
    take = contact.method(agent, "take_requests")
    if take is None:
        return
    found: Sent = await contact.call("take_requests", take())
    if found:
        body = ModelRequests(texts=found.texts, unread=dict(found.unread))
        contact.write("model_requests", index, labels=getattr(step, "labels", {}), body=body)
