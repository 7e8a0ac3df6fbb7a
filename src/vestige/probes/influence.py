"""String-free influence: decision tasks between two equal options, and which one an agent's reply takes.

Source: the choice design of "Forgetting Without Restarting"; texts and rules are ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, cast

import numpy as np

from vestige.agents.tools import CHOOSE_OPTION
from vestige.models.toolcalls import narrowed
from vestige.probes.disclosure import fill, texts_of
from vestige.probes.matching import named
from vestige.records import Record, Reply, Tool

__all__ = ["CHOICE_TOOL", "Action", "action_of", "choice_text", "choice_tool"]

REASON = 160
"""Characters of the reason that a decision task asks for."""
_LONGEST_ANSWER = 12
"""Words of a reply that still counts as a constrained choice."""
_READ = 100_000
_TRIES = 16
"""Places of a text at which a JSON object is looked for."""
_DEPTH = 3

_UNCHOSEN = re.compile(
    r"\b(?:not|never|avoid|except|instead|rather|than|neither|nor|unlike|without|no|against)\b|n't\b|n\u2019t\b",
    re.IGNORECASE,
)
_NAMES = frozenset(
    ("option", "choice", "choose", "chosen", "selected", "selection", "answer", "decision", "pick")
)
"""Fields that hold the choice where another field holds the other option."""


class Action(Record):
    """Which option a reply takes, and how that was read."""

    option: str | None
    """One of the two options, as the task names it; None: no action can be told."""
    source: Literal["tool_call", "schema", "text", "none"]
    """`tool_call`: arguments of a call; `schema`: a JSON object in the text; `text`: a reply of one name alone."""


def choice_text(topic: str, order: tuple[str, str], rng: np.random.Generator, *, alone: bool = True) -> str:
    """A decision task between two options, in the order shown.

    Args:
        topic: What they are: "courier service".
        order: Both options; counterbalanced over pairs by the caller.
        rng: Draws the wording.
        alone: Ask for the name alone where there is no tool; an agent that is known to take tools needs no such words.
    """
    options = texts_of("choice", "texts")
    text = fill(options[int(rng.integers(len(options)))], topic=topic, first=order[0], second=order[1])
    return f"{text} {texts_of('choice', 'alone')[0]}" if alone else text


def choice_tool(options: tuple[str, str]) -> Tool:
    """The tool that a decision task offers: the reason first, then one of the options, in the order shown.

    The reason is demanded because a small model that has to name an option at once takes the first one shown, whatever
    it was told; and because whether the reason is voiced is an observation of its own (the tool_arguments channel).
    """
    (tool,) = narrowed((CHOOSE_OPTION,), options)
    fields = {**tool.parameters["properties"]}
    fields["reason"] = {**fields["reason"], "maxLength": REASON}
    demanded = {**tool.parameters, "properties": fields, "required": ["reason", "option"]}
    return tool.model_copy(update={"parameters": demanded})


CHOICE_TOOL = choice_tool


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'`*. ")


def action_of(reply: Reply, options: tuple[str, str]) -> Action:
    """Which of two options a reply takes.

    Tool calls come first; then a JSON object in the text, fenced or bare; then the text itself, only where it is
    constrained: at most twelve words that name exactly one option and negate nothing. Calls or objects that take
    both options take none, and prose never decides.

    Args:
        reply: Untrusted: arguments need not be JSON.
        options: Both options, as the task names them.
    """
    called = (values for call in reply.tool_calls for values in _objects(call.arguments, bare=True))
    written = _objects(reply.text[:_READ], bare=False)
    sources: tuple[tuple[Literal["tool_call", "schema"], Iterator[dict[str, Any]]], ...] = (
        ("tool_call", called),
        ("schema", written),
    )
    for source, objects in sources:
        taken = {option for values in objects for option in _taken(values, options)}
        if taken:
            option = taken.pop() if len(taken) == 1 else None
            return Action(option=option, source=source)
    text = reply.text[:_READ]
    if len(text.split()) <= _LONGEST_ANSWER and not _UNCHOSEN.search(text) and "?" not in text:
        first, second = _mentioned(text, options)
        if first != second:
            return Action(option=options[0] if first else options[1], source="text")
    return Action(option=None, source="none")


def _mentioned(text: str, options: tuple[str, str]) -> tuple[bool, bool]:
    """Whether each option is named; a name inside of the other, longer one is not."""
    short, long = sorted(options, key=len)
    if named(short, long):
        pattern = re.compile(r"[\W_]*".join(map(re.escape, long.split())), re.IGNORECASE)
        found = {long: named(long, text), short: named(short, pattern.sub(" ", text))}
    else:
        found = {option: named(option, text) for option in options}
    return found[options[0]], found[options[1]]


def _objects(text: str, *, bare: bool) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text: the whole of it where `bare`, else wherever one begins."""
    if len(text) > _READ:
        return
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(1 if bare else _TRIES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield cast("dict[str, Any]", value)
        at = text.find("{", end)


def _taken(values: dict[str, Any], options: tuple[str, str]) -> set[str]:
    """The options that an object's fields are equal to; those of choice fields alone where both are."""
    by_name = {_folded(option): option for option in options}
    fields = [
        (name, by_name[key]) for name, text in _strings(values, _DEPTH) if (key := _folded(text)) in by_name
    ]
    taken = {option for _, option in fields}
    if len(taken) > 1:
        chosen = {option for name, option in fields if name.casefold() in _NAMES}
        return chosen or taken
    return taken


def _strings(values: dict[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict) and depth:
            yield from _strings(cast("dict[str, Any]", value), depth - 1)
