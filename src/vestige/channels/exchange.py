"""The channels of one exchange: answer, retrieval, tools, reasoning, model requests, memory writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from vestige.agents.protocol import Channel
from vestige.channels.observation import Grade, Observation
from vestige.records import Reply

__all__ = ["exchange", "requests"]

_DEPTH = 20
_PARSED = 1_000_000
"""Characters of arguments up to which they are also read as JSON."""


def exchange(reply: Reply) -> tuple[Observation, ...]:
    """Every channel that the reply shows; a channel that it does not show is left out.

    Arguments of tool calls are untrusted and stand as the model wrote them, followed by the names and strings that
    they hold as JSON, so that an escaped character hides nothing.
    """
    shown: list[Observation] = [_seen("answer", "served", (reply.text,))]
    if reply.retrieved is not None:
        shown.append(_seen("retrieval", "served", (unit.text for unit in reply.retrieved)))
    if reply.tool_calls:
        calls = (_arguments(f"{call.name} {call.arguments}", call.arguments) for call in reply.tool_calls)
        shown.append(_seen("tool_arguments", "served", calls))
    if reply.tool_results:
        shown.append(
            _seen("tool_results", "served", (_arguments(r.content, r.content) for r in reply.tool_results))
        )
    if reply.reasoning is not None:
        shown.append(_seen("reasoning", "served", (reply.reasoning,)))
    if reply.model_requests is not None:
        shown.append(requests(reply.model_requests))
    if reply.memory_writes is not None:
        shown.append(_seen("memory_writes", "live_row", reply.memory_writes))
    return tuple(shown)


def requests(texts: Iterable[str]) -> Observation:
    """What was sent to the agent's own model."""
    return _seen("model_requests", "sent_to_model", (_arguments(text, text) for text in texts))


def _seen(channel: Channel, grade: Grade, texts: Iterable[str]) -> Observation:
    kept = tuple(texts)
    return Observation(channel=channel, grade=grade, texts=kept, items=max(1, len(kept)))


def _arguments(shown: str, raw: str) -> str:
    """The text, and below it the strings it holds as JSON where they are written otherwise in it."""
    if len(raw) > _PARSED or "\\" not in raw:
        return shown
    try:
        strings = list(_strings(json.loads(raw), _DEPTH))
    except (ValueError, RecursionError):
        return shown
    return "\n".join((shown, *(text for text in strings if text not in raw)))


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield name
            yield from _strings(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _strings(inner, depth - 1)
