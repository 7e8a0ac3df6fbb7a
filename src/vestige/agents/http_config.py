"""The description of an HTTP agent: a TOML file that says how to talk to it and where its answers say what.

Values of headers, and `${NAME}` in them and in the base URL, come from the environment; neither is ever written down.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from vestige.agents.protocol import Channel
from vestige.agents.templates import check_template, parse_path, slots
from vestige.errors import ConfigError
from vestige.records import JsonScalar, Record

__all__ = ["ArtifactMap", "Endpoint", "HttpConfig", "LoadedConfig", "load_config"]

MAX_CONFIG = 1 << 20
"""Bytes of the file."""


def _checked(path: str) -> str:
    parse_path(path)
    return path


_Path = Annotated[str, AfterValidator(_checked)]
_Statuses = tuple[Annotated[int, Field(ge=100, le=599)], ...]
_ENV = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

SLOTS: dict[str, frozenset[str]] = {
    "converse": frozenset({"user", "session", "date", "messages", "text", "role", "content"}),
    "ask": frozenset(
        {"user", "session", "prompt", "seed", "max_tokens", "now", "choices", "tools", "write_back"}
    ),
    "forget": frozenset({"user", "value", "text", "scope", "id", "ids", "description"}),
    "reset": frozenset({"user"}),
    "inspect": frozenset({"user", "cursor"}),
    "poll": frozenset({"user", "receipt"}),
    "remember": frozenset({"user", "units", "texts", "id", "text", "session"}),
    "end_session": frozenset({"user", "session"}),
    "settle": frozenset[str](),
    "maintain": frozenset[str](),
}
"""The placeholders of each endpoint's path and body."""


class Equals(Record):
    """True of an answer that has one of these values at a path."""

    path: _Path
    equals: JsonScalar | tuple[JsonScalar, ...] = True


class RetrievedMap(Record):
    """Where an answer lists the units that were retrieved, and where each item says what."""

    list: _Path
    id: _Path = "id"
    text: _Path = "text"
    score: _Path = "score"
    tier: _Path = "tier"
    default_tier: str = "raw"
    """For items that name no tier."""


class CallsMap(Record):
    """Where an answer lists tool calls."""

    list: _Path
    id: _Path = "id"
    name: _Path = "name"
    arguments: _Path = "arguments"


class ResultsMap(Record):
    """Where an answer lists what tools gave back."""

    list: _Path
    call_id: _Path = "call_id"
    name: _Path = "name"
    content: _Path = "content"


class Endpoint(Record):
    """One request."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    path: Annotated[str, Field(pattern=r"^/[^\s#]*$", max_length=2000)]
    """After the base URL; a query may follow."""
    body: Any = None
    """A JSON template: a table, a list or a text; None: no body."""
    idempotent: bool | None = None
    """Whether it may be sent again when nobody knows if it arrived; None: only where the method is GET."""
    missing: _Statuses = ()
    """Statuses that say that there is nothing, and are no error."""

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again."""
        return self.method == "GET" if self.idempotent is None else self.idempotent

    @property
    def slots(self) -> set[str]:
        """Placeholders in path and body."""
        return slots(self.path) | slots(self.body)


class Converse(Endpoint):
    """The write path."""

    each: Literal["session", "turn"] = "session"
    """One request for a session, with {messages} or {text}, or one for each turn, with {role} and {content}."""
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    """Whose turns are sent."""


class Remember(Endpoint):
    """Statements stored as they stand, without a conversation."""

    each: Literal["all", "unit"] = "all"
    """One request for all, with {units} or {texts}, or one for each, with {text}, and {id} and {session}."""


class Ask(Endpoint):
    """The read path, and where its answer says what; a channel without a path is not observed."""

    text: _Path = "."
    """The reply; `.`: the whole answer is the text."""
    retrieved: RetrievedMap | None = None
    tool_calls: CallsMap | None = None
    tool_results: ResultsMap | None = None
    reasoning: _Path | None = None
    memory_writes: _Path | None = None
    model_requests: _Path | None = None


class Forget(Endpoint):
    """The deletion interface."""

    accepted_status: _Statuses = (200, 201, 202, 204)
    completed_status: _Statuses = (200, 201, 204)
    """Of the accepted, those that say it is done; any other says that it is under way."""
    accepted: Equals | None = None
    """What the answer must say as well."""
    completed: Equals | None = None
    """What the answer must say instead of the status."""
    handle: _Path | None = None
    """By which [poll] finds the deletion again."""
    message: _Path | None = None
    affected: dict[str, _Path] = Field(default_factory=dict)
    """Tier to the path of the number of its units that went."""


class Poll(Endpoint):
    """How an asynchronous deletion stands."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    completed: Equals | None = None
    completed_status: _Statuses = (404, 410)
    """Statuses that say that it is done: by default, that nothing is there any more."""


class ArtifactMap(Endpoint):
    """The list of everything that is stored of a user."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    list: _Path = "."
    id: _Path = "id"
    text: _Path = "text"
    tier: _Path = "tier"
    default_tier: str = "raw"
    session: _Path | None = None
    sources: _Path | None = None
    vector: _Path | None = None
    next: _Path | None = None
    """Where the answer gives the {cursor} of the next page."""


class HttpConfig(Record):
    """The whole file."""

    name: str = ""
    """What reports call the agent; default: the file's name."""
    version: str = "unknown"
    base_url: str
    timeout: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds for one request."""
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    tiers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    external_effects: tuple[str, ...] = ()
    """What it may do outside its own storage, as "sends mail"."""
    absent: dict[Channel, str] = Field(default_factory=dict)
    """Channels that the agent does not have at all, with the reason."""
    converse: Converse
    ask: Ask
    forget: Forget
    reset: Endpoint | None = None
    inspect: ArtifactMap | None = None
    poll: Poll | None = None
    remember: Remember | None = None
    end_session: Endpoint | None = None
    settle: Endpoint | None = None
    maintain: Endpoint | None = None

    @model_validator(mode="after")
    def _placeholders(self) -> HttpConfig:
        for name, known in SLOTS.items():
            endpoint: Endpoint | None = getattr(self, name)
            if endpoint is None:
                continue
            for key in ("path", "body"):
                try:
                    check_template(getattr(endpoint, key), known)
                except ValueError as error:
                    raise ValueError(f"[{name}] {key}: {error}") from None
        if self.poll is not None and "receipt" not in self.poll.slots:
            raise ValueError("[poll] path: without {receipt} it cannot tell one deletion from another")
        if self.poll is not None and self.forget.handle is None:
            raise ValueError("[forget] handle: [poll] needs the path at which the answer gives a handle")
        if self.inspect is not None and (self.inspect.next is None) != ("cursor" not in self.inspect.slots):
            raise ValueError("[inspect] next: {cursor} and next go together")
        if self.remember is not None:
            _check_remember(self.remember)
        per_turn = {"role", "content"} & self.converse.slots
        if (self.converse.each == "turn") != bool(per_turn):
            raise ValueError(
                '[converse] each: {role} and {content} are of a turn; with them, and only then, each = "turn"'
            )
        return self


def _check_remember(endpoint: Remember) -> None:
    together, alone = {"units", "texts"} & endpoint.slots, {"id", "text", "session"} & endpoint.slots
    if endpoint.each == "all" and (alone or not together):
        raise ValueError(
            "[remember] body: one request stores all units, so {units} or {texts} must be in it; "
            'with {text}, {id} or {session}, each = "unit"'
        )
    if endpoint.each == "unit" and (together or "text" not in alone):
        raise ValueError(
            '[remember] body: with each = "unit", {text} must be in it, and neither {units} nor {texts}'
        )


@dataclass(frozen=True)
class LoadedConfig:
    """A description, and what it became in this environment."""

    file: str
    sha256: str
    config: HttpConfig
    base_url: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"LoadedConfig({self.file!r})"

    def public(self) -> dict[str, Any]:
        """The description as a plan may hold it: of headers only the names, of the URL only what was written."""
        shown = self.config.model_dump(mode="json", exclude_defaults=True, exclude={"headers"})
        return {**shown, "headers": sorted(self.config.headers)}


def load_config(path: str | Path, *, flag: str = "--agent") -> LoadedConfig:
    """Read and check a description.

    Raises:
        ConfigError: The file cannot be read, a key is unknown or unusable, or a variable is not set; one line with
            table and key, never a value of a header.
    """
    path = Path(path)
    where = f"{flag} {path}"
    try:
        raw = path.read_bytes() if path.stat().st_size <= MAX_CONFIG else None
        if raw is None:
            raise ConfigError(f"{where}: larger than {MAX_CONFIG} bytes; it should describe one agent")
        config = HttpConfig.model_validate(tomllib.loads(raw.decode("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or ("not TOML: " + str(error).splitlines()[0][:120])
        raise ConfigError(f"{where}: {reason}") from None
    except ValidationError as error:
        raise ConfigError(f"{where}: {_one_line(error)}") from None
    base = _resolved(config.base_url, f"{where}: base_url")
    _check_base(config.base_url, base, where)
    headers: dict[str, str] = {}
    for name, value in config.headers.items():
        key = f"{where}: [headers] {name[:60]}"
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ConfigError(f"{key}: is no header's name")
        headers[name] = _resolved(value, key)
        if re.search(r"[\r\n\0]", headers[name]):
            raise ConfigError(f"{key}: its value holds a line break")
    return LoadedConfig(path.name, hashlib.sha256(raw).hexdigest(), config, base, headers)


def _resolved(text: str, where: str) -> str:
    for name in _ENV.findall(text):
        if name not in os.environ:
            raise ConfigError(f"{where}: the environment variable {name} is not set")
    return _ENV.sub(lambda m: os.environ[m[1]], text)


def _check_base(written: str, resolved: str, where: str) -> None:
    from vestige.models.transport import checked_base

    try:
        url = checked_base(resolved)
    except ConfigError:
        raise ConfigError(f"{where}: base_url: expected http(s)://host[:port]/path") from None
    if url.user or url.password or url.query_string or url.fragment:
        raise ConfigError(
            f"{where}: base_url: carries a user, a query or a fragment; give credentials in [headers]"
        )


def _one_line(error: ValidationError) -> str:
    """Table, key and what is wrong with it, without the value: it may be a header's."""
    first = error.errors(include_url=False, include_input=False)[0]
    loc = [str(part) for part in first["loc"]]
    message = str(first["msg"]).removeprefix("Value error, ").splitlines()[0][:300]
    if first["type"] == "extra_forbidden":
        message = "no such key"
    if first["type"] == "missing":
        message = "is missing"
    if first["type"] == "string_pattern_mismatch":
        message = "expected a path from the base URL on, as /users/{user}"
    if not loc:
        return message
    table = f"[{loc[0]}] " if len(loc) > 1 else ""
    return f"{table}{'.'.join(loc[1:] or loc)}: {message[:1].lower()}{message[1:]}"
