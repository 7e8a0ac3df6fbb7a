"""An agent behind HTTP, described by a TOML file (`http_config`): the service keeps its state, so every agent opened
here speaks of users that it has never seen before.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from vestige.agents.exchange import Answer, Exchange
from vestige.agents.http_config import ArtifactMap, Endpoint, Equals, LoadedConfig, Remember
from vestige.agents.protocol import CHANNELS, AgentDescription
from vestige.agents.returns import as_artifacts, as_reply, unit_bytes
from vestige.agents.templates import ABSENT, NoValue, find
from vestige.errors import AgentError
from vestige.records import (
    Artifact,
    AskOptions,
    JsonScalar,
    MemoryUnit,
    Receipt,
    RemovalRequest,
    Reply,
    Session,
)

__all__ = ["HttpAgent"]

MAX_PAGES = 10_000
"""Of one inspection."""
OPTIONAL = ("end_session", "remember", "inspect", "settle", "maintain", "poll")
"""Methods that are there where the description has a table of that name."""


def _namespace() -> str:
    """What nobody has been called before: users' names tell neither run nor condition nor order."""
    return f"vestige-{secrets.token_hex(4)}-{secrets.token_hex(4)}-"


class HttpAgent:
    """A user's own service as an agent; optional methods are there where the description has them.

    Args:
        loaded: The description.
    """

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded, self._config = loaded, loaded.config
        self._exchange = Exchange(loaded)
        self._prefix = _namespace()
        self._renamed: dict[str, str] = {}
        self._last_session: dict[str, str] = {}
        self._handles: dict[str, tuple[str, ...]] = {}

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        # Only what is not found otherwise comes here: the optional methods.
        config = self.__dict__.get("_config")
        if name in OPTIONAL and getattr(config, name, None):
            return cast(Callable[..., Awaitable[Any]], getattr(self, f"_{name}"))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    async def close(self) -> None:
        """Close the connections."""
        await self._exchange.close()

    # --- the four methods ---

    async def converse(self, user: str, session: Session) -> None:
        """Send a session, whole or turn by turn.

        Raises:
            AgentError: The service did not take it.
        """
        endpoint = self._config.converse
        turns = [turn for turn in session.turns if turn.role in endpoint.roles]
        values: dict[str, Any] = {
            "user": self._user(user),
            "session": session.id,
            "date": session.date,
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "text": "\n".join(turn.content for turn in turns),
        }
        self._last_session[user] = session.id
        if endpoint.each == "session":
            await self._send("converse", endpoint, values)
            return
        for turn in turns:
            await self._send("converse", endpoint, {**values, "role": turn.role, "content": turn.content})

    async def ask(self, user: str, prompt: str, options: AskOptions | None = None) -> Reply:
        """Put one prompt, and read from the answer what the description names.

        Raises:
            AgentError: The service failed, or its answer has no text where it should.
        """
        options = options or AskOptions()
        endpoint = self._config.ask
        values: dict[str, Any] = {
            "user": self._user(user),
            "session": options.session,
            "prompt": prompt,
            "seed": options.seed,
            "max_tokens": options.max_tokens,
            "now": options.now,
            "choices": list(options.choices) or None,
            "tools": [tool.model_dump(mode="json") for tool in options.tools] or None,
            "write_back": options.write_back,
        }
        answer = await self._send("ask", endpoint, values)
        if answer.status in endpoint.missing:
            return Reply(text="", finish_reason="missing")
        text = find(answer.body, endpoint.text)
        if not isinstance(text, str):
            raise AgentError(f"ask: the answer has {_kind(text)} at {endpoint.text!r}, expected a text")
        return as_reply({"text": text, **self._observed(answer.body)})

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Ask the service to forget; with {id} in the request, once for each id.

        A status below 500 that is not among the accepted ones is a refusal: a receipt, no failure.

        Raises:
            AgentError: The service failed, or nobody knows whether the request arrived.
        """
        endpoint = self._config.forget
        values: dict[str, Any] = {
            "user": self._user(user),
            "value": request.value,
            "text": request.value or request.description,
            "scope": request.scope,
            "ids": list(request.ids) or None,
            "description": request.description,
        }
        each = [{**values, "id": i} for i in request.ids] if "id" in endpoint.slots else [values]
        receipts: list[Receipt] = []
        try:
            for one in each or [values]:
                receipts.append(self._receipt(await self._exchange.send("forget", endpoint, one)))
        except NoValue as missing:
            message = f"this interface deletes by {{{missing}}}, and the request names none"
            return Receipt(accepted=False, completed=False, message=message)
        return self._united(receipts)

    async def reset(self, user: str) -> None:
        """Drop everything of the user; without an endpoint for it, go on as a user that was never seen.

        Raises:
            AgentError: The service did not do it.
        """
        if self._config.reset is not None:
            await self._send("reset", self._config.reset, {"user": self._user(user)})
        else:
            self._renamed[user] = _namespace() + user

    # --- what the description may add ---

    async def _inspect(self, user: str) -> list[Artifact]:
        endpoint = cast(ArtifactMap, self._config.inspect)
        items: list[Any] = []
        cursor: str = ""
        for _ in range(MAX_PAGES):
            answer = await self._send("inspect", endpoint, {"user": self._user(user), "cursor": cursor})
            if answer.status in endpoint.missing:
                break
            listed = find(answer.body, endpoint.list)
            if not isinstance(listed, list):
                raise AgentError(
                    f"inspect: the answer has {_kind(listed)} at {endpoint.list!r}, expected a list"
                )
            items += cast("list[Any]", listed)
            following = find(answer.body, endpoint.next) if endpoint.next is not None else None
            if following is ABSENT or following is None or following == "":
                break
            if str(following) == cursor:
                raise AgentError("inspect: the service gives the same page again and again")
            cursor = str(following)
        else:
            raise AgentError(f"inspect: more than {MAX_PAGES} pages")
        return as_artifacts([_artifact(item, endpoint) for item in items])

    async def _poll(self, user: str, receipt: Receipt) -> Receipt:
        endpoint = self._config.poll
        if endpoint is None or receipt.handle is None:
            return receipt
        done = True
        for handle in self._handles.get(receipt.handle, (receipt.handle,)):
            values = {"user": self._user(user), "receipt": handle}
            answer = await self._exchange.send("poll", endpoint, values)
            if answer.status in endpoint.completed_status:
                continue
            if not 200 <= answer.status < 300:
                raise AgentError(f"poll: {endpoint.method} {endpoint.path}: HTTP {answer.status}")
            done = done and endpoint.completed is not None and _holds(answer, endpoint.completed)
        return receipt.model_copy(update={"completed": done})

    async def _end_session(self, user: str) -> None:
        values = {"user": self._user(user), "session": self._last_session.get(user)}
        await self._send("end_session", cast(Endpoint, self._config.end_session), values)

    async def _remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        endpoint = cast(Remember, self._config.remember)
        values: dict[str, Any] = {"user": self._user(user)}
        if endpoint.each == "all":
            listed = [unit.model_dump(exclude_none=True) for unit in units]
            values |= {"units": listed, "texts": [unit.text for unit in units]}
            await self._send("remember", endpoint, values)
            return
        for unit in units:
            await self._send("remember", endpoint, {**values, **unit.model_dump()})

    async def _settle(self) -> None:
        await self._send("settle", cast(Endpoint, self._config.settle), {})

    async def _maintain(self) -> None:
        await self._send("maintain", cast(Endpoint, self._config.maintain), {})

    def describe(self) -> AgentDescription:
        """What the description says: a channel can be observed where it has a path for it."""
        config, ask = self._config, self._config.ask
        mapped = {
            "answer": True,
            "retrieval": ask.retrieved is not None,
            "tool_arguments": ask.tool_calls is not None,
            "tool_results": ask.tool_results is not None,
            "memory_writes": ask.memory_writes is not None or config.inspect is not None,
            "summary": config.inspect is not None,
            "reasoning": ask.reasoning is not None,
            "model_requests": ask.model_requests is not None,
            "vectors": config.inspect is not None and config.inspect.vector is not None,
        }
        configuration: dict[str, JsonScalar] = {"file": self._loaded.file, "sha256": self._loaded.sha256}
        if config.reset is None:
            configuration["reset"] = "a user that was never seen"
        return AgentDescription(
            name=config.name or self._loaded.file.removesuffix(".toml"),
            version=config.version,
            configuration=configuration,
            capabilities=("close", *(name for name in OPTIONAL if getattr(config, name) is not None)),
            tiers=config.tiers,
            channels=tuple(c for c in CHANNELS if mapped.get(c)),
            absent={str(channel): reason for channel, reason in config.absent.items()},
            tools=config.tools,
            external_effects=config.external_effects,
        )

    # --- within ---

    def _user(self, user: str) -> str:
        return self._renamed.get(user) or self._prefix + user

    async def _send(self, name: str, endpoint: Endpoint, values: dict[str, Any]) -> Answer:
        """Send, and take only success, or what the description calls missing."""
        try:
            answer = await self._exchange.send(name, endpoint, values)
        except NoValue as missing:
            raise AgentError(f"{name}: {endpoint.path}: there is no value for {{{missing}}}") from None
        if not 200 <= answer.status < 300 and answer.status not in endpoint.missing:
            raise AgentError(f"{name}: {endpoint.method} {endpoint.path}: HTTP {answer.status}")
        return answer

    def _observed(self, body: Any) -> dict[str, Any]:
        """The reply's fields beside its text; a channel that the answer leaves out is not shown, not empty."""
        ask = self._config.ask
        found: dict[str, Any] = {}
        if ask.retrieved is not None and (items := _items(body, ask.retrieved.list)) is not None:
            paths = ask.retrieved
            found["retrieved"] = [
                {
                    "id": _words(find(item, paths.id)) or str(i),
                    "tier": _words(find(item, paths.tier)) or paths.default_tier,
                    "text": _words(find(item, paths.text), item),
                    "score": _number(find(item, paths.score)),
                }
                for i, item in enumerate(items)
            ]
        if ask.tool_calls is not None:
            calls = ask.tool_calls
            found["tool_calls"] = [
                {
                    "id": _words(find(item, calls.id)),
                    "name": _words(find(item, calls.name)),
                    "arguments": _words(find(item, calls.arguments), item),
                }
                for item in _items(body, calls.list) or ()
            ]
        if ask.tool_results is not None:
            results = ask.tool_results
            found["tool_results"] = [
                {
                    "call_id": _words(find(item, results.call_id)),
                    "name": _words(find(item, results.name)),
                    "content": _words(find(item, results.content), item),
                }
                for item in _items(body, results.list) or ()
            ]
        for name in ("memory_writes", "model_requests"):
            path: str | None = getattr(ask, name)
            if path is not None and (items := _items(body, path)) is not None:
                found[name] = [_words(item) for item in items]
        if ask.reasoning is not None and (said := find(body, ask.reasoning)) not in (ABSENT, None):
            found["reasoning"] = _words(said)
        return found

    def _receipt(self, answer: Answer) -> Receipt:
        paths = self._config.forget
        refused = answer.status not in paths.accepted_status
        if refused or (paths.accepted is not None and not _holds(answer, paths.accepted)):
            return Receipt(accepted=False, completed=False, message=f"HTTP {answer.status}")
        completed = answer.status in paths.completed_status
        if paths.completed is not None:
            completed = _holds(answer, paths.completed)
        handle = _words(find(answer.body, paths.handle)) if paths.handle is not None else ""
        message = _words(find(answer.body, paths.message)) if paths.message is not None else ""
        counts = {tier: find(answer.body, path) for tier, path in paths.affected.items()}
        return Receipt(
            accepted=True,
            completed=completed,
            message=message[:1000] or f"HTTP {answer.status}",
            affected={t: n for t, n in counts.items() if isinstance(n, int) and not isinstance(n, bool)},
            handle=handle or None,
        )

    def _united(self, receipts: list[Receipt]) -> Receipt:
        """One receipt of several: all must have been accepted, and all be done."""
        if len(receipts) == 1:
            return receipts[0]
        handles = tuple(r.handle for r in receipts if r.handle is not None)
        handle = " ".join(handles) or None
        if handle is not None:
            self._handles[handle] = handles
        tiers = dict.fromkeys(tier for r in receipts for tier in r.affected)
        return Receipt(
            accepted=all(r.accepted for r in receipts),
            completed=all(r.completed for r in receipts),
            message="; ".join(dict.fromkeys(r.message for r in receipts))[:1000],
            affected={tier: sum(r.affected.get(tier, 0) for r in receipts) for tier in tiers},
            handle=handle,
        )


def _holds(answer: Answer, test: Equals) -> bool:
    wanted = test.equals if isinstance(test.equals, tuple) else (test.equals,)
    found = find(answer.body, test.path)
    return any(type(found) is type(value) and found == value for value in wanted)


def _items(body: Any, path: str) -> list[Any] | None:
    """A list in an answer; a single value is a list of one, and nothing is None."""
    found = find(body, path)
    if found is ABSENT or found is None:
        return None
    return cast("list[Any]", found) if isinstance(found, list) else [found]


def _words(value: Any, instead: Any = ABSENT) -> str:
    """Text as it is and other values as JSON; where there is nothing, `instead`, since it may hold what is sought."""
    if value is ABSENT or value is None:
        return "" if instead is ABSENT else _words(instead)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> float:
    """A finite number; 0 where the answer gives none."""
    if not isinstance(value, int | float) or not abs(value) < 1e300:
        return 0.0
    return float(value)


def _kind(value: Any) -> str:
    return "nothing" if value is ABSENT else "null" if value is None else f"a {type(value).__name__}"


def _artifact(item: Any, paths: ArtifactMap) -> dict[str, Any]:
    """An item's fields; what has no text at its path is shown whole."""
    text = _words(find(item, paths.text), item)
    vector = find(item, paths.vector) if paths.vector is not None else None
    sources = _items(item, paths.sources) if paths.sources is not None else None
    session = _words(find(item, paths.session)) if paths.session is not None else ""
    name = _words(find(item, paths.id)) or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return {
        "id": name,
        "tier": _words(find(item, paths.tier)) or paths.default_tier,
        "text": text,
        "session": session or None,
        "sources": [_words(source) for source in sources or ()],
        "vector": None if vector is ABSENT or vector is None else unit_bytes(vector, "inspect"),
    }
