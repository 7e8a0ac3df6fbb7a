"""What an agent hands over, made into records; whatever has another shape is refused, not guessed at."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from pydantic import ValidationError

from vestige.errors import AgentError
from vestige.records import Artifact, Receipt, Record, Reply

__all__ = ["MAX_TEXT", "as_artifacts", "as_paths", "as_receipt", "as_reply", "checked", "unit_bytes"]

_R = TypeVar("_R", bound=Record)

MAX_TEXT = 8 << 20
"""Characters of one reply or one stored item; what is larger is refused."""

MAX_ITEMS = 1_000_000
"""Artifacts or files of one agent."""


def checked(kind: type[_R], values: Mapping[Any, Any], what: str) -> _R:
    """A record of the values.

    Raises:
        AgentError: They do not fit; the message names the field, never a value.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        shown = where if re.fullmatch(r"[A-Za-z0-9_.]{1,60}", where) else "a field"
        reason = str(first["msg"]).splitlines()[0][:120]
        raise AgentError(f"{what} is not a {kind.__name__}: {shown}: {reason}") from None


def as_reply(value: Any, what: str = "ask") -> Reply:
    """A reply of a `Reply`, a text, or a dict of a reply's fields.

    Raises:
        AgentError: It is anything else, or larger than `MAX_TEXT`.
    """
    if isinstance(value, str):
        reply = Reply(text=_bounded(value, what))
    elif isinstance(value, Reply):
        reply = value
    elif isinstance(value, Mapping):
        reply = checked(Reply, _with_json_arguments(cast(Mapping[Any, Any], value)), f"{what}: what came")
    else:
        raise _wrong(what, value, "a text, a dict or a Reply")
    _bounded(reply.text, what)
    numbers = [unit.score for unit in reply.retrieved or ()] + [t.logprob for t in reply.logprobs or ()]
    if not all(map(math.isfinite, numbers)):
        raise AgentError(f"{what}: a score or log-probability is not a finite number")
    return reply


def as_receipt(value: Any, what: str = "forget") -> Receipt:
    """A receipt of a `Receipt`, True or False, None, or a dict of a receipt's fields.

    None counts as accepted and completed, since a method that says nothing has at least not refused; the message says
    that there was no receipt, and only the probes that follow tell whether anything is gone.

    Raises:
        AgentError: It is anything else.
    """
    if value is None:
        return Receipt(accepted=True, completed=True, message="no receipt")
    if isinstance(value, bool):
        return Receipt(accepted=value, completed=value)
    if isinstance(value, Receipt):
        return value
    if isinstance(value, Mapping):
        return checked(Receipt, cast(Mapping[Any, Any], value), f"{what}: what came")
    raise _wrong(what, value, "a Receipt, True or False, None or a dict")


def as_artifacts(value: Any, what: str = "inspect") -> list[Artifact]:
    """Artifacts of a list of `Artifact`, of dicts of their fields, or of bare texts.

    A text becomes an artifact of tier `raw` whose id is its hash, and the how-manieth of its kind. A dict's `vector`
    may be a list of numbers, or base64 of what `Artifact.vector` keeps.

    Raises:
        AgentError: Something in it is anything else, or two have the same id.
    """
    items = _listed(value, what, "artifacts")
    seen: dict[str, int] = {}
    found: list[Artifact] = []
    for item in items:
        if isinstance(item, Artifact):
            found.append(item)
        elif isinstance(item, str):
            name = hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            seen[name] = number = seen.get(name, -1) + 1
            found.append(Artifact(id=f"{name}-{number}", tier="raw", text=item))
        elif isinstance(item, Mapping):
            fields = dict(cast(Mapping[Any, Any], item))
            if isinstance(fields.get("vector"), str):
                fields["vector"] = _decoded(fields["vector"], what)
            elif fields.get("vector") is not None and not isinstance(fields["vector"], bytes):
                fields["vector"] = unit_bytes(fields["vector"], what)
            found.append(checked(Artifact, fields, f"{what}: what came"))
        else:
            raise _wrong(what, item, "artifacts, dicts or texts")
        _bounded(found[-1].text, what)
    if len({a.id for a in found}) < len(found):
        raise AgentError(f"{what}: two artifacts have the same id; each needs one of its own")
    return found


def as_paths(value: Any, what: str = "storage") -> list[Path]:
    """Files and folders of a path or a list of paths; None: nothing is stored.

    Raises:
        AgentError: Something in it is no path.
    """
    if value is None:
        return []
    given = [value] if isinstance(value, str | os.PathLike) else _listed(value, what, "paths")
    if strange := [item for item in given if not isinstance(item, str | os.PathLike)]:
        raise _wrong(what, strange[0], "paths")
    return [Path(cast("str | os.PathLike[str]", item)) for item in given]


def unit_bytes(vector: Any, what: str) -> bytes:
    """An embedding as `Artifact.vector` keeps it: little-endian float32 of unit length.

    Raises:
        AgentError: It is no list of finite numbers.
    """
    try:
        row = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        row = np.empty((0, 0))
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise AgentError(f"{what}: a vector is not a list of finite numbers")
    length = float(np.linalg.norm(row))
    return (row / length if length > 0 else row).astype("<f4").tobytes()


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise AgentError(f"{what}: a vector is a text that is not base64") from None


def _with_json_arguments(fields: Mapping[Any, Any]) -> dict[Any, Any]:
    """Tool calls whose arguments came as values have them written as JSON."""
    out = dict(fields)
    calls = out.get("tool_calls")
    if isinstance(calls, list | tuple):
        out["tool_calls"] = [_json_arguments(c) for c in cast("list[Any]", calls)]
    return out


def _json_arguments(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    fields = {"id": "", **cast(Mapping[str, Any], call)}
    arguments = fields.get("arguments")
    if isinstance(arguments, dict | list):
        fields["arguments"] = json.dumps(arguments, ensure_ascii=False, default=str)
    return fields


def _listed(value: Any, what: str, expected: str) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(what, value, f"a list of {expected}")
    out: list[Any] = []
    for item in cast(Iterable[Any], value):
        if len(out) == MAX_ITEMS:
            raise AgentError(f"{what}: more than {MAX_ITEMS} {expected}")
        out.append(item)
    return out


def _bounded(text: str, what: str) -> str:
    if len(text) > MAX_TEXT:
        raise AgentError(f"{what}: a text of {len(text)} characters; at most {MAX_TEXT} are taken")
    return text


def _wrong(what: str, value: Any, expected: str) -> AgentError:
    came = "None" if value is None else f"a value of type {type(value).__name__}"
    return AgentError(f"{what}: {came} came, expected {expected}")
