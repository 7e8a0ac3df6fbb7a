"""Recording proxies in front of the models that agents ask themselves: one an endpoint, a URL of its own an agent."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vestige.models.proxy.request import ModelRequest
from vestige.models.proxy.server import RecordingProxy

__all__ = ["Sent", "Tap", "Taps"]

_T = TypeVar("_T")
_PATIENCE = 1.0
"""Seconds that a take waits for requests under way; their bodies came long before."""


@dataclass(frozen=True)
class Sent:
    """What was sent to a model since the last look."""

    texts: tuple[str, ...] = ()
    """One a request that has a body, in the order of arrival."""
    unread: Mapping[str, int] = field(default_factory=dict[str, int])
    """Requests whose text may not say all that they hold, by the reason."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.unread)

    def __add__(self, other: Sent) -> Sent:
        unread = Counter(self.unread) + Counter(other.unread)
        return Sent((*self.texts, *other.texts), dict(sorted(unread.items())))


class Taps:
    """Starts a `RecordingProxy` for each endpoint that an agent is given, when it first is.

    They run in a thread of their own: an agent may block the event loop that it is called from while it waits for its
    model, and the model must answer all the same. An agent is known by a number.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._proxies: dict[str, RecordingProxy] = {}
        self._opening: asyncio.Lock | None = None
        self._given = 0
        self._counted: Counter[str] = Counter()

    async def open(self, upstream: str) -> Tap:
        """A URL that leads to `upstream` and is nobody else's.

        Raises:
            ConfigError: `upstream` is no http or https URL.
            ModelError: No port can be had.
        """
        self._given += 1
        label = f"agent-{self._given}"
        proxy, url = await self.run(self._opened(upstream, label))
        return Tap(self, proxy, label, url)

    async def _opened(self, upstream: str, label: str) -> tuple[RecordingProxy, str]:
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            proxy = self._proxies.get(upstream)
            if proxy is None:
                proxy = self._proxies[upstream] = await RecordingProxy(upstream).start()
        return proxy, proxy.url(label)

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do something where the proxies run."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="vestige-recording-proxies", daemon=True
            )
            self._thread.start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def count(self, requests: Sequence[ModelRequest]) -> None:
        """Add up what an agent sent."""
        for request in requests:
            self._counted["requests"] += 1
            if request.usage is None:
                self._counted["without_usage"] += request.kind in ("chat", "completion", "embeddings")
            else:
                self._counted["prompt_tokens"] += request.usage.prompt_tokens
                self._counted["completion_tokens"] += request.usage.completion_tokens

    def facts(self) -> dict[str, int]:
        """Requests and tokens of all agents that were closed, as the endpoints counted them; empty: none was opened."""
        return dict(sorted(self._counted.items()))

    async def close(self) -> None:
        """Close the proxies, and end their thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        for proxy in self._proxies.values():
            await self.run(proxy.close())
        self._proxies.clear()
        self._loop = self._thread = self._opening = None
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)
        loop.close()


class Tap:
    """One agent's way to one endpoint; of `Taps.open`."""

    def __init__(self, taps: Taps, proxy: RecordingProxy, label: str, url: str) -> None:
        self._taps, self._proxy, self._label = taps, proxy, label
        self.url = url
        """The base URL that the agent is given; the same for as long as it lives."""

    async def take(self) -> Sent:
        """What was sent since the last take. A request that is still being answered has been sent.

        Raises:
            IntegrityError: A body cannot be read back.
        """
        return await self._taps.run(self._take())

    async def _take(self) -> Sent:
        requests = await self._proxy.take(self._label, patience=_PATIENCE)
        texts = [self._proxy.text(r) for r in requests if r.body is not None]
        unread = Counter(why for r in requests if (why := _unread(r)) is not None)
        return Sent(tuple(texts), dict(sorted(unread.items())))

    async def outage(self, on: bool) -> None:
        """Take the endpoint down for this agent alone, or bring it back."""
        await self._taps.run(self._outage(on))

    async def _outage(self, on: bool) -> None:
        self._proxy.outage(self._label, on)

    async def open(self) -> None:
        """Be there again after `close`, at the same URL."""
        await self._taps.run(self._open())

    async def _open(self) -> None:
        self._proxy.url(self._label)

    async def close(self) -> Sent:
        """What was sent since the last take; the URL leads nowhere from now on, and what was recorded is let go."""
        return await self._taps.run(self._close())

    async def _close(self) -> Sent:
        sent = await self._take()
        self._taps.count(await self._proxy.requests(self._label, patience=0))
        self._proxy.drop(self._label)
        return sent


def _unread(request: ModelRequest) -> str | None:
    """Why a look at the request's text may miss something."""
    if request.unread is None and request.body is None and request.outcome == "under_way":
        return "the body has not come yet"
    return request.unread
