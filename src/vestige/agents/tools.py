"""The reference agent's own tools: choose an option, place an order, save a note, read what was kept.

Notes and orders stay, per user, in the file of the agent's memory (`vestige.memory.desk`): one more place from which
something that was to be forgotten can come back. Calls come from a model and are untrusted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from vestige.memory.desk import Draft, Kept
from vestige.models.toolcalls import enum_of, narrowed
from vestige.records import Tool, ToolCall, ToolResult

__all__ = [
    "CHOOSE_OPTION",
    "ENDS_TURN",
    "PLACE_ORDER",
    "READ_NOTES",
    "SAVE_NOTE",
    "TOOLS",
    "Toolbox",
]

_LONGEST_ARGUMENTS = 20_000
"""Characters of a call's arguments, as JSON."""
_LONGEST_TEXT = 4_000
"""Characters of one argument."""
_READ_AT_ONCE = 50
"""Notes and orders that one reading shows: the newest."""


def _tool(name: str, description: str, texts: dict[str, str], optional: Sequence[str] = ()) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {name: {"type": "string", "description": text} for name, text in texts.items()},
            "required": [name for name in texts if name not in optional],
            "additionalProperties": False,
        },
    )


CHOOSE_OPTION = _tool(
    "choose_option",
    "Choose one of the options for the user.",
    {"reason": "what you remember of my taste in this", "option": "NAME"},
    optional=("reason",),
)
PLACE_ORDER = _tool(
    "place_order",
    "Place an order for an item with a vendor.",
    {"vendor": "Who sells it.", "item": "What is ordered.", "note": "Anything the vendor should know."},
    optional=("note",),
)
SAVE_NOTE = _tool("save_note", "Save a note for later.", {"text": "What is to be noted."})
READ_NOTES = _tool("read_notes", "Read the notes and orders that were kept so far.", {})

TOOLS: dict[str, Tool] = {t.name: t for t in (CHOOSE_OPTION, PLACE_ORDER, SAVE_NOTE, READ_NOTES)}
"""The tools that the reference agent runs, by name."""

ENDS_TURN = frozenset(("choose_option", "place_order"))
"""Tools after whose success the model is not asked again."""


class _Refused(Exception):
    """A call that cannot be carried out; the message is the result's line."""


class Toolbox:
    """Carries out one user's calls during one exchange.

    What the calls want kept is held back in `drafts`, and read by later calls of the exchange; the caller stores it,
    or lets it go where the exchange is to leave no trace.

    Args:
        tools: What the model is offered; an option's parameter is narrowed to the choices. Tools that are not in
            `TOOLS` are offered and not run.
        choices: The options of a decision task, in the order shown.
        kept: What is kept of the user so far.
    """

    def __init__(self, tools: Sequence[Tool], choices: Sequence[str] = (), kept: Sequence[Kept] = ()) -> None:
        self.tools = narrowed(tools, choices)
        self.choices = tuple(choices)
        self._kept = [row.text for row in kept]
        self._drafts: list[Draft] = []

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """What the calls so far want kept, in order."""
        return tuple(self._drafts)

    def foreign(self, name: str) -> bool:
        """Whether a tool is offered and somebody else's to run."""
        return name not in TOOLS and any(tool.name == name for tool in self.tools)

    def run(self, call: ToolCall) -> ToolResult:
        """Carry out one call; whatever is wrong with it is one line with `error` set, for the model to read."""
        try:
            content, error = self._run(call), False
        except _Refused as refused:
            content, error = f"error: {refused}", True
        return ToolResult(call_id=call.id, name=call.name, content=content, error=error)

    def _run(self, call: ToolCall) -> str:
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None or call.name not in TOOLS:
            there = ", ".join(tool.name for tool in self.tools) or "none"
            raise _Refused(f"unknown tool {_shown(call.name)}; there are: {there}")
        given = _arguments(call.arguments, tool)
        match call.name:
            case "choose_option":
                return f"Chosen: {given['option']}"
            case "place_order":
                note = f" ({given['note']})" if given.get("note") else ""
                order = f"Order: {given['item']} from {given['vendor']}{note}"
                self._drafts.append(Draft("order", order))
                return f"Placed. {order}"
            case "save_note":
                self._drafts.append(Draft("note", given["text"]))
                return "Note saved."
            case _:
                lines = [*self._kept, *(draft.text for draft in self._drafts)][-_READ_AT_ONCE:]
                return "\n".join(f"- {line}" for line in lines) or "No notes or orders are kept."


def _arguments(text: str, tool: Tool) -> dict[str, str]:
    """The arguments of a call, checked against our own tool of that name and the offered one's options."""
    if len(text) > _LONGEST_ARGUMENTS:
        raise _Refused(f"the arguments have more than {_LONGEST_ARGUMENTS} characters")
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        raise _Refused("the arguments are not JSON") from None
    if not isinstance(value, dict):
        raise _Refused(f"the arguments are {_kind(value)}, expected an object")
    known = TOOLS[tool.name].parameters
    given: dict[str, str] = {}
    for name, argument in cast(dict[str, Any], value).items():
        if name not in known["properties"]:
            raise _Refused(f"unknown argument {_shown(name)}")
        if argument is None and name not in known["required"]:
            continue
        given[name] = _text(name, argument)
        options = enum_of(tool, name)
        if options and given[name] not in options:
            raise _Refused(f"argument {name!r} is none of the {len(options)} options")
    for name in known["required"]:
        if name not in given:
            raise _Refused(f"argument {name!r} is missing")
    return given


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _Refused(f"argument {name!r} is {_kind(value)}, expected text")
    if len(value) > _LONGEST_TEXT:
        raise _Refused(f"argument {name!r} has more than {_LONGEST_TEXT} characters")
    if not value.strip():
        raise _Refused(f"argument {name!r} is empty")
    return value.encode("utf-8", "replace").decode("utf-8")  # JSON can spell half a surrogate pair


def _kind(value: object) -> str:
    names = {
        "dict": "an object",
        "list": "a list",
        "str": "text",
        "bool": "true or false",
        "NoneType": "null",
    }
    return names.get(type(value).__name__, "a number")


def _shown(name: str) -> str:
    """A name that came from a model, in one short line."""
    return ascii(name if len(name) <= 40 else name[:40] + "…")
