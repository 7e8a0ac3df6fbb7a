"""JSON over HTTP to a model's endpoint: retries, limits on time, size and concurrency, errors in one clear
line.

Every endpoint of a process shares one aiohttp session. An error message holds the URL without user info and
query, the status and a short reason; never a key, a prompt, or text that the server chose.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import email.utils
import json
import random
import re
import time
import urllib.request
import weakref
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
from pydantic_core import from_json, to_json
from yarl import URL

from vestige.errors import ConfigError, ModelError, ModelUnavailable

__all__ = ["Limits", "Transport", "checked_base", "os_reason", "proxy_for", "public_url", "retry_after"]


@dataclass(frozen=True)
class Limits:
    """How long, how often and how much; seconds and bytes."""

    connect: float = 10.0
    """To open a connection."""
    idle: float = 600.0
    """Without a byte of the reply: a queue and a slow generation both count."""
    total: float = 1800.0
    """One attempt, from first to last byte."""
    retries: int = 5
    """Attempts after the first."""
    backoff: float = 0.5
    """Ceiling of the first wait; it doubles with each attempt, and the wait is drawn uniformly below it."""
    longest_wait: float = 60.0
    """No wait is longer, whatever Retry-After says."""
    reply_bytes: int = 8 << 20
    """A reply larger than this is refused."""


class _Passing(Exception):
    """A failure that another attempt may mend."""

    def __init__(self, reason: str, wait: float | None = None, *, connected: bool = True) -> None:
        super().__init__(reason)
        self.wait = wait
        self.connected = connected


def public_url(url: URL | str) -> str:
    """The URL without user info, query and fragment, fit to be shown."""
    return str(URL(url).with_user(None).with_query(None).with_fragment(None))


# --- the shared session ------------------------------------------------------------------------------------


class _Shared:
    """One session of one event loop, and how many transports use it."""

    def __init__(self) -> None:
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self.users = 0


_shared: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = weakref.WeakKeyDictionary()


class Transport:
    """Posts JSON to paths under one base URL.

    Args:
        base_url: As `https://host/v1`; user info becomes basic authentication, a query stays on every
            request.
        api_key: Sent as `Authorization: Bearer`; never shown.
        headers: Further headers.
        concurrency: Requests in flight at once.
        limits: See `Limits`.
        key_hint: What to set when the key is refused, as "set OPENAI_API_KEY".
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        headers: dict[str, str] | None = None,
        concurrency: int = 8,
        limits: Limits | None = None,
        key_hint: str = "",
    ) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency {concurrency}: expected at least 1")
        base = checked_base(base_url)
        self.limits = limits or Limits()
        self.calls = 0
        """Requests sent, retries among them."""
        self.retries = 0
        self._answered = False
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        self.api_key = api_key or None
        """What is sent as the bearer; for a process that is to ask the same address, and never to be shown."""
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        elif base.user is not None:
            pair = f"{base.user}:{base.password or ''}".encode()
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair).decode("ascii")
        self._base = base.with_user(None)
        self._paths: dict[str, URL] = {}
        self._proxy = proxy_for(self._base)
        self._key_hint = key_hint
        self._concurrency = concurrency
        self._timeout = aiohttp.ClientTimeout(
            total=self.limits.total, sock_connect=self.limits.connect, sock_read=self.limits.idle
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gate = asyncio.Semaphore(concurrency)
        self._not_before = 0.0
        self._jitter = random.Random()  # spreads waits only; no result depends on it

    @property
    def base_url(self) -> str:
        """The base URL, fit to be shown."""
        return public_url(self._base)

    async def post(self, path: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Post `payload` to `base_url + path` and return the JSON object that comes back.

        Raises:
            ModelError: A refusal, or a failure that retries did not mend.
            ModelUnavailable: Nothing could be connected to, and never before either.
        """
        body = _encode(payload)
        url = self._paths.get(path)
        if url is None:
            url = self._paths[path] = _join(self._base, path)
        session = self._session()
        async with self._gate:
            attempt = 0
            while True:
                if self._not_before:
                    await self._pause()
                self.calls += 1
                try:
                    return await self._once(session, url, body)
                except _Passing as failure:
                    if attempt >= self.limits.retries:
                        raise self._lasting(url, failure, attempt + 1) from None
                    self._back_off(attempt, failure.wait)
                    await asyncio.sleep(self._wait(attempt, failure.wait))
                attempt += 1
                self.retries += 1

    async def close(self) -> None:
        """Let go of the shared session; the last to let go closes it."""
        loop, self._loop = self._loop, None
        shared = _shared.get(loop) if loop is not None else None
        if shared is None or loop is None:
            return
        shared.users -= 1
        if shared.users == 0:
            del _shared[loop]
            if not loop.is_closed():
                await shared.session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._gate = asyncio.Semaphore(self._concurrency)
            self._not_before = 0.0
            shared = _shared.setdefault(loop, _Shared()) if loop not in _shared else _shared[loop]
            shared.users += 1
            return shared.session
        return _shared[loop].session

    # --- waiting ---

    def _wait(self, attempt: int, asked: float | None) -> float:
        """Full jitter under a doubling ceiling, on top of what the server asked for."""
        ceiling = min(self.limits.longest_wait, self.limits.backoff * 2**attempt)
        return min(self.limits.longest_wait, (asked or 0.0) + self._jitter.uniform(0.0, ceiling))

    def _back_off(self, attempt: int, asked: float | None) -> None:
        """A server that named a time is left alone until then by every call."""
        if asked:
            until = asyncio.get_running_loop().time() + min(asked, self.limits.longest_wait)
            self._not_before = max(self._not_before, until)

    async def _pause(self) -> None:
        remaining = self._not_before - asyncio.get_running_loop().time()
        if remaining <= 0:
            self._not_before = 0.0
        else:
            await asyncio.sleep(remaining)

    # --- one attempt ---

    async def _once(self, session: aiohttp.ClientSession, url: URL, body: bytes) -> dict[str, Any]:
        try:
            async with session.post(
                url,
                data=body,
                headers=self._headers,
                timeout=self._timeout,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                status = response.status
                self._answered = True
                if status != 200:
                    raise await self._refusal(url, response)
                kind = response.content_type
                if kind != "application/json" and not kind.endswith("+json"):
                    raise self._error(url, f"answered with {_media_type(kind)}, expected application/json")
                raw = await self._read(url, response)
        except aiohttp.ConnectionTimeoutError:
            raise _Passing("cannot connect (timed out)", connected=False) from None
        except TimeoutError:
            raise _Passing("timed out") from None
        except aiohttp.ClientConnectorError as error:
            raise _Passing(f"cannot connect ({os_reason(error)})", connected=False) from None
        except aiohttp.ClientPayloadError:
            raise _Passing("the connection ended within the reply") from None
        except aiohttp.ClientError as error:
            raise _Passing(f"the connection failed ({type(error).__name__})") from None
        except OSError as error:
            raise _Passing(f"the connection failed ({os_reason(error)})") from None
        return self._parse(url, raw)

    async def _read(self, url: URL, response: aiohttp.ClientResponse) -> bytes:
        limit = self.limits.reply_bytes
        length = response.content_length
        if length is not None and length > limit:
            raise self._error(url, f"the reply is larger than {limit} bytes")
        if length is not None and "Content-Encoding" not in response.headers:
            return await response.read()
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > limit:
                response.close()
                raise self._error(url, f"the reply is larger than {limit} bytes")
            parts.append(part)
        return b"".join(parts)

    def _parse(self, url: URL, raw: bytes) -> dict[str, Any]:
        try:
            value = from_json(raw)
        except ValueError:
            value = self._parse_slowly(url, raw)
        if not isinstance(value, dict):
            raise self._error(url, f"the reply is a JSON {type(value).__name__}, expected an object")
        found = cast(dict[str, Any], value)
        if found.get("error"):
            raise self._error(url, "answered 200 with an error" + _error_words(found))
        return found

    def _parse_slowly(self, url: URL, raw: bytes) -> Any:
        """What the fast parser refuses: tell apart why, and mend half surrogate pairs."""
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self._error(url, "the reply is not UTF-8") from None
        try:
            value = json.loads(text)
            return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise _Passing("the reply is not whole JSON") from None

    async def _refusal(self, url: URL, response: aiohttp.ClientResponse) -> Exception:
        """What to raise for a status other than 200."""
        status = response.status
        if 300 <= status < 400:
            return self._error(url, f"HTTP {status}: redirects elsewhere; give the final URL")
        words = ""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError):
            words = _error_words(from_json(await response.content.read(1 << 16)))
        if status in (408, 409, 425, 429) or status >= 500:
            return _Passing(f"HTTP {status}{words}", retry_after(response.headers.get("Retry-After")))
        if status in (401, 403):
            hint = f": the key was refused; {self._key_hint}" if self._key_hint else ": access was refused"
            return self._error(url, f"HTTP {status}{hint}{words}")
        if status == 404:
            return self._error(url, f"HTTP 404: no such path or model{words}")
        return self._error(url, f"HTTP {status}{words}")

    def _lasting(self, url: URL, failure: _Passing, attempts: int) -> ModelError:
        """What to raise when attempts are used up: a server that was there before may come back for later calls."""
        error = self._error(url, f"{failure} ({attempts} attempts)")
        if failure.connected or self._answered:
            return error
        return ModelUnavailable(f"{error}; start the server, or mend its address")

    def _error(self, url: URL, reason: str) -> ModelError:
        return ModelError(f"{public_url(url)}: {reason}")


def checked_base(text: str) -> URL:
    """A base URL as it was given, without the slash at its end.

    Raises:
        ConfigError: It is no http or https URL; the message leaves out user info and query.
    """
    try:
        url = URL(text.rstrip("/"))
        port = url.port
    except ValueError:
        url, port = URL(), None
    if url.scheme not in ("http", "https") or not url.host or port == 0:
        shown = text.split("@")[-1].split("?")[0][:200]
        raise ConfigError(f"base URL {shown!r}: expected http(s)://host[:port]/path") from None
    return url


def _join(base: URL, path: str) -> URL:
    return base.with_path(base.path.rstrip("/") + path, keep_query=True)


def proxy_for(url: URL) -> str | None:
    """The environment's proxy, looked up once; never for this machine itself."""
    host = url.host or ""
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    proxies = urllib.request.getproxies()
    return None if urllib.request.proxy_bypass(host) else proxies.get(url.scheme)


def _encode(payload: dict[str, Any]) -> bytes:
    try:
        return to_json(payload)
    except ValueError:  # half a surrogate pair in the text: no JSON in UTF-8 can carry it
        return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or an HTTP date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), 86400.0) if seconds == seconds else None


_WORD = re.compile(r"[a-z]+(?:_[a-z]+)*")


def _error_words(value: Any) -> str:
    """The machine-readable words of an OpenAI-style error, and the token counts of a prompt that is too long.

    The server's own sentence is left out: it may repeat the prompt or the key.
    """
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return ""
    fields = cast(dict[str, Any], error)
    words = [
        word
        for word in dict.fromkeys(str(fields.get(key) or "") for key in ("type", "code", "param"))
        if len(word) <= 48 and _WORD.fullmatch(word)
    ]
    if "exceed_context_size_error" in words or "context_length_exceeded" in words:
        prompt, context = fields.get("n_prompt_tokens"), fields.get("n_ctx")
        if isinstance(prompt, int) and isinstance(context, int):
            return f": the prompt has {prompt} tokens, the model's context {context}"
        return ": the prompt is longer than the model's context"
    return f" ({', '.join(words)})" if words else ""


def _media_type(kind: str) -> str:
    return kind if re.fullmatch(r"[a-z]+/[a-z0-9.+-]{1,40}", kind) else "another content type"


def os_reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    inner = getattr(error, "os_error", error)
    return (getattr(inner, "strerror", None) or type(inner).__name__)[:120]
