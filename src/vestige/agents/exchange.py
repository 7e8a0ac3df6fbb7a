"""One request to a user's own service, and what came back: limits, retries, errors without a value in them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from pydantic_core import from_json
from yarl import URL

from vestige.agents.http_config import Endpoint, LoadedConfig
from vestige.agents.templates import ABSENT, fill_body, fill_path
from vestige.errors import AgentError
from vestige.models.transport import os_reason, proxy_for, retry_after

__all__ = ["Answer", "Exchange"]

MAX_BYTES = 8 << 20
"""Of an answer; a larger one is refused."""

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0
"""Seconds between attempts: drawn below a ceiling that doubles."""


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    body: Any
    """JSON as values, other text as text; ABSENT where there is none."""


class _Again(Exception):
    """A failure that another attempt may mend."""

    def __init__(self, reason: str, *, untouched: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.untouched = untouched
        """The service has certainly not acted on the request."""
        self.wait = wait


class Exchange:
    """Sends what a description says, over connections of its own.

    Args:
        loaded: The description.
    """

    def __init__(self, loaded: LoadedConfig) -> None:
        self._config = loaded.config
        self._base = loaded.base_url.rstrip("/")
        self._proxy = proxy_for(URL(self._base))
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity", **loaded.headers}
        self._session: aiohttp.ClientSession | None = None
        self._jitter = random.Random()  # spreads waits only; no result depends on it

    async def send(self, name: str, endpoint: Endpoint, values: Mapping[str, Any]) -> Answer:
        """Fill an endpoint's templates and send them.

        It is sent again where the service cannot have acted on it (no connection, 429), and otherwise only where the
        endpoint is idempotent.

        Args:
            name: What messages call it.
            endpoint: The request.
            values: Of its placeholders; None: there is none.

        Returns:
            The answer, whatever its status below 500.

        Raises:
            NoValue: A path or a longer text needs a value that is not there.
            AgentError: No answer, a server's failure, or one that is too large.
        """
        where = f"{name}: {endpoint.method} {endpoint.path}"
        try:
            url = URL(self._base + fill_path(endpoint.path, values), encoded=True)
        except ValueError as error:
            raise AgentError(f"{where}: {str(error).partition(' is ')[0]} cannot stand in a path") from None
        body = None if endpoint.body is None else fill_body(endpoint.body, values)
        data = None if body is None or body is ABSENT else _encoded(body)
        attempt = 0
        while True:
            try:
                return await self._once(endpoint, url, data, where)
            except _Again as failure:
                if attempt >= self._config.retries or not (failure.untouched or endpoint.repeatable):
                    tries = f" ({attempt + 1} attempts)" if attempt else ""
                    raise AgentError(f"{where}: {failure}{tries}") from None
                ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
                await asyncio.sleep(
                    min(_LONGEST_WAIT, (failure.wait or 0) + self._jitter.uniform(0, ceiling))
                )
                attempt += 1

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _once(self, endpoint: Endpoint, url: URL, data: bytes | None, where: str) -> Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=self._config.timeout)
            )
        headers = self._headers if data is None else {"Content-Type": "application/json", **self._headers}
        try:
            async with self._session.request(
                endpoint.method, url, data=data, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                status = response.status
                if 300 <= status < 400:
                    raise AgentError(f"{where}: HTTP {status}: redirects elsewhere; give the final address")
                if status == 429 or (status >= 500 and status not in endpoint.missing):
                    wait = retry_after(response.headers.get("Retry-After"))
                    raise _Again(f"HTTP {status}", untouched=status == 429, wait=wait)
                raw = await _read(response, where)
        except aiohttp.ClientConnectorError as error:
            raise _Again(f"cannot connect ({os_reason(error)})", untouched=True) from None
        except TimeoutError:
            raise _Again(f"no whole answer within {self._config.timeout:g} s", untouched=False) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _Again(f"the connection failed ({type(error).__name__})", untouched=False) from None
        except ValueError as error:  # aiohttp refuses a header or a URL
            raise AgentError(f"{where}: cannot be sent ({type(error).__name__})") from None
        return Answer(status, _parsed(raw, response.content_type, where))


async def _read(response: aiohttp.ClientResponse, where: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_BYTES:
            response.close()
            raise AgentError(f"{where}: the answer is larger than {MAX_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _parsed(raw: bytes, kind: str, where: str) -> Any:
    """JSON where the answer says that it is JSON; any other text as it is, bytes that are none marked."""
    if not raw.strip():
        return ABSENT
    if kind != "application/json" and not kind.endswith("+json"):
        return raw.decode("utf-8", "replace")
    try:
        return from_json(raw)
    except ValueError:
        pass
    try:
        value = json.loads(raw)  # lone halves of surrogate pairs, which the fast parser refuses
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise AgentError(f"{where}: the answer says that it is JSON and is not") from None


def _encoded(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
