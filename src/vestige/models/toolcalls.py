"""Tool calls without a tool API: which parameter takes an option, a call's JSON schema, and reading a call back.

A small model asked for a tool call through the API often writes JSON into its text instead. Constrained to a schema of
the possible calls it cannot write anything else: ``{"tool": NAME, "arguments": {…}}``, or ``{"answer": TEXT}`` where it
may also answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from vestige.records import Tool, ToolCall

__all__ = [
    "LONGEST",
    "Parsed",
    "arguments_schema",
    "call_schema",
    "enum_of",
    "is_text",
    "narrowed",
    "option_takers",
    "parameters",
    "parse_arguments",
    "parse_call",
    "required",
]

_OPTION_NAMES = ("option", "choice", "vendor")
"""Required parameters of these names take an option."""

LONGEST = 400
"""Characters of a free text in a constrained reply: about 100 tokens."""

_FENCE = re.compile(r"\A\s*```[A-Za-z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


def option_takers(tools: Iterable[Tool], choices: Iterable[str]) -> dict[str, str]:
    """Which of `tools` take one of `choices`, by name, and in which parameter.

    They are the tools with one parameter whose enum is the options; where there is none, those with a required
    string called ``option``, ``choice`` or ``vendor`` that admits them all; else those with one required string
    that does. So a free text beside a tool made for the choice is never taken for it.

    Args:
        tools: Their schemas come from the caller and may be anything.
        choices: The options.
    """
    wanted, offered = frozenset(choices), list(tools)
    for rule in (_exact, _by_name, _only):
        found = {tool.name: name for tool in offered if (name := rule(tool, wanted)) is not None}
        if found:
            return found
    return {}


def narrowed(tools: Iterable[Tool], choices: Sequence[str]) -> tuple[Tool, ...]:
    """The tools, with the options in the order shown as the only values of the parameters that take one."""
    offered = tuple(tools)
    takers = option_takers(offered, choices) if choices else {}
    narrow: list[Tool] = []
    for tool in offered:
        name = takers.get(tool.name)
        if name is not None:
            properties = _properties(tool)
            limited = {**properties, name: {**properties[name], "enum": list(dict.fromkeys(choices))}}
            tool = tool.model_copy(update={"parameters": {**tool.parameters, "properties": limited}})
        narrow.append(tool)
    return tuple(narrow)


def _exact(tool: Tool, wanted: frozenset[str]) -> str | None:
    found = [n for n, fields in parameters(tool).items() if _named(fields) == wanted]
    return found[0] if len(found) == 1 else None


def _by_name(tool: Tool, wanted: frozenset[str]) -> str | None:
    admitting = _admitting(tool, wanted)
    return next((name for name in _OPTION_NAMES if name in admitting), None)


def _only(tool: Tool, wanted: frozenset[str]) -> str | None:
    admitting = _admitting(tool, wanted)
    return admitting[0] if len(admitting) == 1 else None


def _admitting(tool: Tool, wanted: frozenset[str]) -> list[str]:
    needed = required(tool)
    return [
        name
        for name, fields in parameters(tool).items()
        if name in needed and fields.get("type") == "string" and _admits(fields, wanted)
    ]


def _admits(fields: dict[str, Any], wanted: frozenset[str]) -> bool:
    named = _named(fields)
    return named is None or wanted <= named


def _named(fields: dict[str, Any]) -> frozenset[str] | None:
    """The texts of an enum; None where there is no enum."""
    enum: Any = fields.get("enum")
    if not isinstance(enum, list):
        return None
    return frozenset(value for value in cast(list[Any], enum) if isinstance(value, str))


def call_schema(tools: Sequence[Tool], *, answer: bool) -> dict[str, Any]:
    """The JSON schema of one call of one of `tools`, or with `answer` also of a plain answer.

    Free texts are held to `LONGEST` characters, so that a small model that repeats itself still ends its JSON.
    """
    forms: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool.name}, "arguments": _bounded(tool)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    if answer:
        forms.append(
            {
                "type": "object",
                "properties": {"answer": {"type": "string", "maxLength": LONGEST}},
                "required": ["answer"],
                "additionalProperties": False,
            }
        )
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _bounded(tool: Tool) -> dict[str, Any]:
    if not parameters(tool):
        return tool.parameters or {"type": "object"}
    bounded = {
        name: {"maxLength": LONGEST, **fields}
        if fields.get("type") == "string" and "enum" not in fields
        else fields
        for name, fields in parameters(tool).items()
    }
    return {**tool.parameters, "properties": bounded}


def arguments_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of the arguments of the only tool; texts are held as in `call_schema`."""
    return _bounded(tool)


class Parsed(NamedTuple):
    """What a text turned out to be."""

    text: str
    """What is said to the user; a text that is no call is said as it is."""
    call: ToolCall | None


def parse_call(text: str, tools: Sequence[Tool]) -> Parsed:
    """Read a call, or an answer, out of a text that was to follow `call_schema`; a code fence around it is allowed.

    The text is untrusted. Nothing is lost: what is not exactly a call or an answer stays the text, also beside a
    call that could be read.
    """
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_single)
    except (ValueError, RecursionError):
        return Parsed(text, None)
    if not isinstance(value, dict):
        return Parsed(text, None)
    fields = cast(dict[str, Any], value)
    name, arguments, answer = fields.get("tool"), fields.get("arguments"), fields.get("answer")
    if isinstance(answer, str) and fields.keys() == {"answer"}:
        return Parsed(_whole(answer), None)
    if name not in [tool.name for tool in tools] or not isinstance(arguments, dict):
        return Parsed(text, None)
    call = ToolCall(id="", name=str(name), arguments=_whole(json.dumps(arguments, ensure_ascii=False)))
    return Parsed("" if fields.keys() == {"tool", "arguments"} else text, call)


def parse_arguments(text: str, tool: Tool) -> Parsed:
    """Read the arguments of the only tool out of a text that was to follow `arguments_schema`.

    A text that names the call as `call_schema` has it is taken too. The text is untrusted; see `parse_call`.
    """
    named = parse_call(text, (tool,))
    if named.call is not None:
        return named
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_single)
    except (ValueError, RecursionError):
        return Parsed(text, None)
    if not isinstance(value, dict) or not cast(dict[str, Any], value).keys() & parameters(tool).keys():
        return Parsed(text, None)
    arguments = _whole(json.dumps(value, ensure_ascii=False))
    return Parsed("", ToolCall(id="", name=tool.name, arguments=arguments))


def _single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _whole(text: str) -> str:
    """Text that UTF-8 can hold: JSON can spell half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _properties(tool: Tool) -> dict[str, Any]:
    properties = tool.parameters.get("properties")
    return cast(dict[str, Any], properties) if isinstance(properties, dict) else {}


def parameters(tool: Tool) -> dict[str, dict[str, Any]]:
    """The parameters by name, with what their schema says of each; it may be nothing."""
    return {
        name: cast(dict[str, Any], fields) if isinstance(fields, dict) else {}
        for name, fields in _properties(tool).items()
    }


def required(tool: Tool) -> list[Any]:
    """The names of the parameters that a call must have, as the schema lists them."""
    names = tool.parameters.get("required")
    return cast(list[Any], names) if isinstance(names, list) else []


def enum_of(tool: Tool, name: str) -> tuple[str, ...]:
    """The texts that a parameter is limited to; none where it is free."""
    enum: Any = parameters(tool).get(name, {}).get("enum")
    return tuple(v for v in cast(list[Any], enum) if isinstance(v, str)) if isinstance(enum, list) else ()


def is_text(tool: Tool, name: str) -> bool:
    """Whether a parameter takes text."""
    return parameters(tool).get(name, {}).get("type") == "string"
