"""An agent whose model stands behind a recording proxy: what it sends there is the channel `model_requests`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vestige.agents.protocol import CHANNELS, Agent, AgentDescription, describe
from vestige.models.proxy import Sent, Tap
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, Session

__all__ = ["Recorded"]


class Recorded:
    """Passes everything through, the optional methods of the agent inside as well.

    Args:
        agent: The agent inside; it has been opened with the URLs of `taps`.
        taps: Its ways to its models.
    """

    def __init__(self, agent: Agent, taps: Sequence[Tap]) -> None:
        self._inner, self._taps = agent, tuple(taps)
        self._pending = Sent()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also while there is no agent inside yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    def describe(self) -> AgentDescription:
        """That of the agent inside, with the channel."""
        inside = describe(self._inner)
        channels = {*inside.channels, "model_requests"}
        return inside.model_copy(
            update={
                "channels": tuple(c for c in CHANNELS if c in channels),
                "absent": {c: why for c, why in inside.absent.items() if c != "model_requests"},
            }
        )

    async def open(self) -> None:
        """Open the agent again after `close`."""
        for tap in self._taps:
            await tap.open()
        await self._inner.open()  # type: ignore[attr-defined]

    async def close(self) -> None:
        """Close the agent; what it sent until then can still be taken."""
        try:
            await self._inner.close()  # type: ignore[attr-defined]
        finally:
            for tap in self._taps:
                self._pending += await tap.close()

    async def converse(self, user: str, session: Session) -> None:
        """See `Agent`."""
        await self._inner.converse(user, session)

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        """See `Agent`; with `options.trace`, what was sent meanwhile is among the reply's `model_requests`.

        What the agent itself says that it sent stands before it: it may have sent it elsewhere.
        """
        self._pending += await self._arrived()
        reply = await self._inner.ask(user, prompt, options)
        sent = await self._arrived()
        if not options.trace:
            self._pending += sent
            return reply
        self._pending += Sent(unread=sent.unread)
        return reply.model_copy(update={"model_requests": (*(reply.model_requests or ()), *sent.texts)})

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """See `Agent`."""
        return await self._inner.forget(user, request)

    async def reset(self, user: str) -> None:
        """See `Agent`."""
        await self._inner.reset(user)

    async def take_requests(self) -> Sent:
        """What was sent since the last take and stands in no reply: while the agent took in a conversation, in the
        background, or before an error.
        """
        sent, self._pending = self._pending, Sent()
        return sent + await self._arrived()

    async def outage(self, on: bool) -> None:
        """Take its models down for this agent alone, or bring them back.

        Meanwhile they answer 503, and what the agent sends is recorded as ever.
        """
        for tap in self._taps:
            await tap.outage(on)

    async def _arrived(self) -> Sent:
        sent = Sent()
        for tap in self._taps:
            sent += await tap.take()
        return sent
