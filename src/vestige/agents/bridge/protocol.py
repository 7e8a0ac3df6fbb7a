"""What goes over the line between a run and an agent in another process, checked at this end.

One message a line, UTF-8. A request is ``{"id": 3, "method": "reset", "params": {"user": …}}``, and each gets exactly
one response, ``{"id": 3, "result": …}`` or ``{"id": 3, "error": {"type": …}}``, before the next is sent. The first is
``hello``. A line that does not begin with ``{`` is noise and is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from vestige.errors import AgentError, complaint
from vestige.records import Record

__all__ = [
    "MAX_BYTES",
    "PARAMETERS",
    "VERSION",
    "Facts",
    "Problem",
    "Response",
    "encoded",
    "facts",
    "response",
]

VERSION = 1
"""Of this protocol; `hello` names it, and both sides must mean the same."""

MAX_BYTES = 128 << 20
"""Of one message, in either direction."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "converse": ("user", "session"),
    "ask": ("user", "prompt", "options"),
    "forget": ("user", "request"),
    "reset": ("user",),
    "remember": ("user", "units"),
    "end_session": ("user",),
    "inspect": ("user",),
    "storage": (),
    "snapshot": ("user", "path"),
    "restore": ("user", "path"),
    "settle": (),
    "maintain": (),
    "poll": ("user", "receipt"),
    "open": (),
    "close": (),
}
"""Names of every method's parameters, in order; `configure` has the knobs by their own names."""

_NAME = r"^[A-Za-z_][A-Za-z0-9_.]{0,99}$"
Name = Annotated[str, Field(pattern=_NAME)]


class Problem(Record):
    """Why a request failed."""

    type: Name
    """Of what was raised."""
    place: Annotated[str, Field(max_length=200)] = ""
    """Last line of the agent's own file that it came through: `mem0.py:77`."""
    kind: Literal["raised", "setting", "missing", "unfit"] = "raised"
    """`setting`: a person gave something that cannot be used; `missing`: a module is not installed; `unfit`: what
    should come back cannot be sent."""
    words: Annotated[str, Field(max_length=1000)] = ""
    """Of a setting or a missing module alone: any other error's words may hold what the agent was told."""


class Response(Record):
    """The answer to one request."""

    id: int
    result: Any = None
    error: Problem | None = None
    refused: tuple[Annotated[str, Field(max_length=300)], ...] = ()
    """Addresses that the agent tried to reach since the last response and must not."""


class Facts(Record):
    """What a process says of the agent in it."""

    protocol: int
    name: Name
    """Of the class."""
    python: Annotated[str, Field(max_length=100)] = ""
    """Version of its interpreter; empty where it is another language."""
    methods: tuple[Name, ...] = ()
    """Those that the agent has, of `PARAMETERS` and `configure`."""
    knobs: tuple[Name, ...] | None = ()
    """Names that `configure` takes; None: any."""
    options: bool = True
    """Whether `ask` takes the options."""
    state_in_folder: bool = False
    """All that the agent keeps is in its folder, so that a copy of the folder is a snapshot."""
    description: dict[str, Any] | None = None
    """Fields of an `AgentDescription`, where it has a `describe`."""
    attributes: dict[str, Any] = Field(default_factory=dict)
    """`channels`, `tiers`, … as attributes of the class say them, where it has none."""

    @property
    def known_knobs(self) -> tuple[str, ...] | None:
        """Names that `configure` takes, by its parameters or by the description; None: any."""
        named = (self.description or {}).get("knobs")
        if self.knobs is None and isinstance(named, list) and named:
            return tuple(map(str, cast("list[Any]", named)))
        return self.knobs


def encoded(number: int, method: str, params: Mapping[str, Any], limit: int = MAX_BYTES) -> bytes:
    """A request as a line.

    Raises:
        AgentError: It is larger than `limit`.
    """
    line = json.dumps({"id": number, "method": method, "params": params}).encode("ascii") + b"\n"
    if len(line) > limit:
        raise AgentError(
            f"{method}: a request of {len(line):,} bytes; at most {limit:,} are sent to an agent"
        )
    return line


def response(line: bytes, number: int, method: str) -> Response:
    """The response that a line is.

    Raises:
        AgentError: It is none, or answers another request; nothing of what it holds is repeated.
    """
    try:
        found = Response.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = "it is not JSON" if first["type"] == "json_invalid" else complaint(error)
        raise AgentError(f"{method}: the agent's process broke the protocol: {reason}") from None
    if found.id != number:
        raise AgentError(
            f"{method}: the agent's process broke the protocol: it answered request {found.id}, not {number}"
        )
    return found


def facts(value: Any, what: str = "hello") -> Facts:
    """What a process says of its agent.

    Raises:
        AgentError: It has another shape, or speaks another version of the protocol.
    """
    if isinstance(value, Mapping) and value.get("protocol") not in (None, VERSION):
        other = re.sub(r"[^0-9.]", "?", str(value["protocol"]))[:20]
        raise AgentError(
            f"{what}: the agent's process speaks version {other} of the protocol, expected {VERSION}"
        )
    try:
        return Facts.model_validate(value)
    except ValidationError as error:
        raise AgentError(f"{what}: the agent's process broke the protocol: {complaint(error)}") from None
