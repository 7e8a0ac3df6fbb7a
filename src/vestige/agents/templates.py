"""Requests written as templates, and answers read by path: the two halves of an HTTP agent's description.

A template is text with `{name}` slots, `{{` and `}}` standing for braces. In a body, a string that is one slot and
nothing else becomes the value itself (a list stays a list), and is left out of its table where there is no value.
A path into an answer is a JSON pointer (RFC 6901, `/a/0/b`) or dotted (`a.0.b`); `.` is the whole answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast
from urllib.parse import quote

__all__ = ["ABSENT", "NoValue", "check_template", "fill_body", "fill_path", "find", "parse_path", "slots"]


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()
"""What `find` gives where there is nothing: null is something."""

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MOST_DEEP = 32


class NoValue(Exception):
    """A text needs a value that the request does not have; the argument is the slot's name."""


def slots(template: Any) -> set[str]:
    """Names of the slots of a text, or of every text in a table or list."""
    if isinstance(template, str):
        return {m[1] for m in _TOKEN.finditer(template) if m[1] is not None}
    if isinstance(template, Mapping):
        return set[str]().union(*(slots(v) for v in cast(Mapping[str, Any], template).values()))
    if isinstance(template, list | tuple):
        return set[str]().union(*(slots(v) for v in cast("list[Any]", template)))
    return set()


def check_template(template: Any, known: Collection[str], depth: int = 0) -> None:
    """Refuse a template that could not be filled.

    Raises:
        ValueError: A brace stands alone, a slot is unknown, or it is nested too deeply.
    """
    if depth > _MOST_DEEP:
        raise ValueError(f"nested more than {_MOST_DEEP} deep")
    if isinstance(template, str):
        for match in _TOKEN.finditer(template):
            if match[0] in "{}":
                raise ValueError(f"a lone {match[0]!r}; write {match[0] * 2!r} for the character itself")
            if match[1] is not None and match[1] not in known:
                shown = match[1][:40]
                raise ValueError(f"unknown placeholder {{{shown}}}; here are {', '.join(sorted(known))}")
    elif isinstance(template, Mapping):
        for value in cast(Mapping[str, Any], template).values():
            check_template(value, known, depth + 1)
    elif isinstance(template, list | tuple):
        for value in cast("list[Any]", template):
            check_template(value, known, depth + 1)


def fill_path(template: str, values: Mapping[str, Any]) -> str:
    """A URL path, and a query if it has one, with every value quoted whole.

    Raises:
        NoValue: A slot has no value.
        ValueError: A value consists of dots alone: it would climb out of its place in the path.
    """

    def quoted(name: str) -> str:
        text = _text(values.get(name), name)
        if text in (".", ".."):
            raise ValueError(f"{{{name}}} is {text!r}, which cannot stand in a path")
        return quote(text.encode("utf-8", "replace"), safe="")

    return _fill(template, quoted)


def fill_body(template: Any, values: Mapping[str, Any]) -> Any:
    """A JSON value; keys are kept as they are.

    Raises:
        NoValue: A slot inside a longer text has no value.
    """
    if isinstance(template, str):
        whole = _TOKEN.fullmatch(template)
        if whole is not None and whole[1] is not None:
            value = values.get(whole[1])
            return ABSENT if value is None else value
        return _fill(template, lambda name: _text(values.get(name), name))
    if isinstance(template, Mapping):
        filled = {k: fill_body(v, values) for k, v in cast(Mapping[str, Any], template).items()}
        return {k: v for k, v in filled.items() if v is not ABSENT}
    if isinstance(template, list | tuple):
        return [v for v in (fill_body(v, values) for v in cast("list[Any]", template)) if v is not ABSENT]
    return template


def parse_path(text: str) -> tuple[str, ...]:
    """The steps of a path.

    Raises:
        ValueError: It is neither a JSON pointer nor dotted.
    """
    if text in ("", "."):
        return ()
    if text.startswith("/"):
        if re.search(r"~(?![01])", text):
            raise ValueError(f"path {text[:60]!r}: in a JSON pointer, ~ is written ~0")
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
    steps = tuple(text.split("."))
    if not all(steps):
        raise ValueError(f"path {text[:60]!r}: a step is empty; expected a.0.b or /a/0/b")
    return steps


def find(value: Any, path: str) -> Any:
    """What stands at a path in an answer, or ABSENT."""
    for step in parse_path(path):
        if isinstance(value, Mapping):
            value = cast(Mapping[str, Any], value).get(step, ABSENT)
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,8}", step):
            items = cast("list[Any]", value)
            value = items[int(step)] if int(step) < len(items) else ABSENT
        else:
            return ABSENT
    return value


def _fill(template: str, value: Callable[[str], str]) -> str:
    def one(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else value(match[1])

    return _TOKEN.sub(one, template)


def _text(value: Any, name: str) -> str:
    match value:
        case None:
            raise NoValue(name)
        case str():
            return value
        case list() | tuple() if all(isinstance(v, str) for v in cast("list[Any]", value)):
            return ",".join(cast("list[str]", value))
        case _:
            return json.dumps(value, ensure_ascii=False)
