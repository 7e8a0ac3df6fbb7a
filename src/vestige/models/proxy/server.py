"""The proxy itself: an OpenAI-compatible endpoint on loopback that passes everything on, and writes it down."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Self

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from vestige.errors import ConfigError, ModelError, StorageError
from vestige.models.proxy.address import label_bytes, label_of, listed, passed, segment_of
from vestige.models.proxy.bodies import Bodies
from vestige.models.proxy.book import Entry, LabelBook, traffic
from vestige.models.proxy.reading import UsageReader, body_text, kind_of
from vestige.models.proxy.request import ModelRequest, Outcome, Traffic
from vestige.models.transport import checked_base, os_reason, proxy_for, public_url

__all__ = ["RecordingProxy"]

_PATIENCE = 5.0
"""Seconds that a look at a label's requests waits for those under way."""
_KEYS = frozenset(("authorization", "api-key", "x-api-key"))


class RecordingProxy:
    """Stands between agents and their model's endpoint, and records what they send.

    It listens on 127.0.0.1 alone, on a free port. Every label (an episode, an arm) has a URL with a token of its own,
    so that agents at work at the same time never mix and nobody else can write into the book. Requests and replies
    pass byte for byte, event streams as they come. Headers are never recorded.

    Use it from the event loop that it was started in.

    Args:
        upstream_url: The endpoint's base URL, as `https://host/v1`; its query stays on every request.
        api_key: Sent in place of whatever key the agent has; None: the agent's own key passes.
        bodies: Where bodies of requests are kept; None: in memory.
        largest: Bytes of a request's body; a larger one is answered with 413.
        connect: Seconds to open a connection to the endpoint.
        idle: Seconds without a byte of the endpoint's reply.

    Raises:
        ConfigError: `upstream_url` is no http or https URL.
    """

    def __init__(
        self,
        upstream_url: str,
        api_key: str | None = None,
        *,
        bodies: Bodies | None = None,
        largest: int = 64 << 20,
        connect: float = 10.0,
        idle: float = 600.0,
    ) -> None:
        base = checked_base(upstream_url)
        self._shown = public_url(base)
        self._auth: str | None = None
        if api_key:
            self._auth = f"Bearer {api_key}"
        elif base.user is not None:
            pair = f"{base.user}:{base.password or ''}".encode()
            self._auth = "Basic " + base64.b64encode(pair).decode("ascii")
        self._base = base.with_user(None).with_query(None)
        self._root = self._base.raw_path.rstrip("/")
        self._query = base.raw_query_string
        self._via = proxy_for(self._base)
        self._largest = largest
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=idle)
        self._secret = secrets.token_bytes(32)
        self._books: dict[str, LabelBook] = {}
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._address = ""
        self.bodies = Bodies() if bodies is None else bodies
        """The bodies of all requests, by SHA-256."""
        self.down = False
        """True: every request is recorded and answered with 503, without asking the endpoint."""
        self._out: set[str] = set()
        self.strays = 0
        """Requests below no URL that was handed out; they are answered with 404 and not recorded."""

    # --- life ---

    async def start(self) -> Self:
        """Listen.

        Raises:
            ModelError: It listens already, or no port can be had.
        """
        if self._runner is not None:
            raise ModelError("the recording proxy listens already")
        app = web.Application(client_max_size=self._largest)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # An agent that leaves frees the model at once: without this the endpoint would go on to the end.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
        except OSError as error:
            await runner.cleanup()
            raise ModelError(f"the recording proxy cannot listen: {os_reason(error)}") from error
        self._runner = runner
        self._address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._session = aiohttp.ClientSession(
            # Below the five seconds after which common servers close an idle connection.
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=4.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=self._timeout,
        )
        return self

    async def close(self) -> None:
        """Stop listening; requests under way are broken off. What was recorded stays.

        Raises:
            StorageError: Bodies cannot be written.
        """
        runner, self._runner = self._runner, None
        session, self._session = self._session, None
        if runner is not None:
            await runner.cleanup()
        if session is not None:
            await session.close()
        await asyncio.to_thread(self.bodies.flush)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- what the caller asks ---

    def url(self, label: str) -> str:
        """The base URL to give to the agent of `label`; it ends in `/v1`.

        Raises:
            ConfigError: The label is empty or longer than 200 bytes.
            ModelError: The proxy does not listen.
        """
        if self._runner is None:
            raise ModelError("the recording proxy does not listen: start it first")
        if not 0 < len(label_bytes(label)) <= 200:
            raise ConfigError(f"a label of {len(label_bytes(label))} bytes: expected 1 to 200")
        self._books.setdefault(label, LabelBook(label))
        return f"{self._address}/t/{self._token(label)}/{segment_of(label)}/v1"

    async def requests(self, label: str, *, patience: float = _PATIENCE) -> Sequence[ModelRequest]:
        """All requests of a label, in the order of their arrival; none for a label that has no URL.

        Args:
            label: Whose.
            patience: Seconds to wait for requests under way; one that takes longer is shown as it is.

        Raises:
            StorageError: Bodies cannot be written.
        """
        book = self._books.get(label)
        if book is None:
            return ()
        await book.settle(patience)
        return await self._records(book.entries)

    async def take(self, label: str, *, patience: float = _PATIENCE) -> Sequence[ModelRequest]:
        """The requests of a label that arrived since the last take; a request is taken once.

        One that is still under way after `patience` seconds is taken too: it has been sent. Its end shows in
        `requests` and `traffic`.

        Raises:
            StorageError: Bodies cannot be written; nothing is lost, and the next take gives the same.
        """
        book = self._books.get(label)
        if book is None:
            return ()
        await book.settle(patience)
        arrived = len(book.entries)
        found = await self._records(book.entries[book.taken : arrived])
        book.taken = arrived
        return found

    def outage(self, label: str, on: bool) -> None:
        """Be `down` for one label alone, or no longer."""
        (self._out.add if on else self._out.discard)(label)

    def drop(self, label: str) -> None:
        """Let go of a label: its URL leads nowhere until it is asked for again, its record is gone.

        Bodies that are kept in memory go too, where no other label sent the same.
        """
        book = self._books.pop(label, None)
        self._out.discard(label)
        if book is not None:
            others = {entry.body for other in self._books.values() for entry in other.entries}
            self.bodies.drop({entry.body for entry in book.entries if entry.body is not None} - others)

    async def traffic(self, label: str, *, patience: float = _PATIENCE) -> Traffic:
        """All that a label sent, in numbers."""
        return traffic(await self.requests(label, patience=patience))

    def text(self, request: ModelRequest) -> str:
        """What a request said, as `Reply.model_requests` holds it: its body, JSON with nothing escaped that need not.

        Empty where there is no body. See `ModelRequest.unread` for what a text does not show.

        Raises:
            IntegrityError: The body was changed on disk.
        """
        return "" if request.body is None else body_text(self.bodies.get(request.body))

    async def _records(self, entries: Sequence[Entry]) -> Sequence[ModelRequest]:
        found = list(entries)

        def read() -> Sequence[ModelRequest]:
            self.bodies.flush()
            return tuple(entry.record(self.bodies) for entry in found)

        return await asyncio.to_thread(read)

    # --- one request ---

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        book, rest = self._addressed(request.rel_url.raw_path)
        if book is None:
            self.strays += 1
            return _refusal(404, "not_found", "the recording proxy has no such path")
        entry = book.open(kind_of(rest), request.method, rest)
        try:
            return await self._pass(request, entry, rest)
        except (asyncio.CancelledError, ConnectionError):
            if entry.outcome == "under_way":
                entry.outcome = "client_left"
            raise
        except StorageError as error:  # what cannot be written down is not passed on
            return self._refuse(entry, "refused", 500, "not_recorded", str(error))
        finally:
            if entry.outcome == "under_way":  # an error of ours: never shown as answered
                entry.outcome = "broken_off"
            book.close(entry)

    def _addressed(self, path: str) -> tuple[LabelBook | None, str]:
        """Whose URL a path stands below, and the rest of it."""
        parts = path.split("/", 4)
        if len(parts) < 5 or parts[0] or parts[1] != "t":
            return None, ""
        label = label_of(parts[3])
        book = None if label is None else self._books.get(label)
        if book is None or not hmac.compare_digest(parts[2].encode(), self._token(book.label).encode()):
            return None, ""
        return book, f"/{parts[4]}"

    async def _pass(self, request: web.Request, entry: Entry, rest: str) -> web.StreamResponse:
        entry.body_bytes = request.content_length or 0
        entry.lost = request.body_exists
        try:
            if entry.body_bytes > self._largest:
                raise web.HTTPRequestEntityTooLarge(self._largest, entry.body_bytes)
            body = await request.read() if request.body_exists else b""
        except web.HTTPRequestEntityTooLarge:
            words = f"the recording proxy takes no request of more than {self._largest} bytes"
            return self._refuse(entry, "refused", 413, "request_too_large", words)
        except web.RequestPayloadError:
            words = (
                "the recording proxy cannot read the request's body: its encoding is not what its headers say"
            )
            return self._refuse(entry, "refused", 400, "unreadable_request", words)
        if request.body_exists:
            entry.body_bytes = len(body)
            entry.body = await self.bodies.put(body)
            entry.lost = False
        if self.down or entry.label in self._out:
            return self._refuse(entry, "down", 503, "model_down", "the model's endpoint is down")
        session = self._session
        if session is None:
            return self._refuse(entry, "down", 503, "closed", "the recording proxy is closed")
        try:
            upstream = await session.request(
                request.method,
                self._target(rest, request.rel_url.raw_query_string),
                data=body if request.body_exists else None,
                headers=self._headers(request),
                allow_redirects=False,
                proxy=self._via,
                skip_auto_headers=(hdrs.USER_AGENT, hdrs.CONTENT_TYPE, hdrs.ACCEPT),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            words = f"{self._shown}: {_reason(error)}"
            return self._refuse(entry, "unreachable", 502, "upstream_unreachable", words)
        try:
            if 300 <= upstream.status < 400 and upstream.status != 304:
                # Followed by the agent, it would lead around the proxy.
                words = f"{self._shown}: HTTP {upstream.status}: redirects elsewhere; give the final URL"
                return self._refuse(entry, "refused", 502, "upstream_redirects", words)
            return await self._stream(request, upstream, entry)
        finally:
            # Of a reply that was not read to its end the connection cannot be used again.
            if entry.outcome == "answered":
                upstream.release()
            else:
                upstream.close()

    async def _stream(
        self, request: web.Request, upstream: aiohttp.ClientResponse, entry: Entry
    ) -> web.StreamResponse:
        entry.status = upstream.status
        entry.streamed = upstream.content_type == "text/event-stream"
        headers = passed(upstream.headers, listed(upstream.headers.get(hdrs.CONNECTION)))
        response = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=headers)
        if upstream.content_length is not None:
            response.content_length = upstream.content_length
        reader = UsageReader(events=entry.streamed, encoding=upstream.headers.get(hdrs.CONTENT_ENCODING, ""))
        await response.prepare(request)
        while request.method != hdrs.METH_HEAD:
            try:
                piece = await upstream.content.readany()
            except (aiohttp.ClientError, OSError):
                # The agent must not take the piece for the whole: its connection ends as ours did.
                entry.outcome = "broken_off"
                entry.usage = reader.usage()
                if request.transport is not None:
                    request.transport.abort()
                return response
            if not piece:
                break
            await response.write(piece)
            entry.reply_bytes += len(piece)
            reader.feed(piece)
        entry.usage = reader.usage()
        await response.write_eof()
        entry.outcome = "answered"
        return response

    def _refuse(self, entry: Entry, outcome: Outcome, status: int, code: str, words: str) -> web.Response:
        entry.outcome, entry.status = outcome, status
        return _refusal(status, code, words)

    def _target(self, rest: str, query: str) -> URL:
        """Where a path below a label's URL stands upstream: `/v1/…` below the base, anything else beside it."""
        below = rest.removeprefix("/v1") if rest == "/v1" or rest.startswith("/v1/") else None
        path = self._root + below if below is not None else self._root.removesuffix("/v1") + rest
        asked = "&".join(part for part in (self._query, query) if part)
        origin = str(self._base.origin())
        return URL(f"{origin}{path}{f'?{asked}' if asked else ''}", encoded=True)

    def _headers(self, request: web.Request) -> CIMultiDict[str]:
        # aiohttp hands over an encoded body decoded; and a compressed reply would hide its token count.
        dropped = {*listed(request.headers.get(hdrs.CONNECTION)), "accept-encoding", "content-encoding"}
        headers = passed(request.headers, dropped | (_KEYS if self._auth else set()))
        headers[hdrs.ACCEPT_ENCODING] = "identity"
        if self._auth:
            headers[hdrs.AUTHORIZATION] = self._auth
        return headers

    def _token(self, label: str) -> str:
        return hmac.new(self._secret, label_bytes(label), hashlib.sha256).hexdigest()[:32]


def _refusal(status: int, code: str, words: str) -> web.Response:
    error = {"message": words, "type": "recording_proxy_error", "code": code}
    return web.json_response({"error": error}, status=status)


def _reason(error: Exception) -> str:
    """Why the endpoint gave no reply, without a word that it or the agent chose."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "cannot connect (timed out)"
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect ({os_reason(error)})"
    if isinstance(error, OSError) and not isinstance(error, aiohttp.ClientError):
        return f"the connection failed ({os_reason(error)})"
    return f"the connection failed ({type(error).__name__})"
