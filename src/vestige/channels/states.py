"""Whether each channel can be looked at, per agent: by what it declares and by what was in fact seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from vestige.agents.protocol import CHANNELS, AgentDescription, Channel

__all__ = ["Availability", "states"]

Availability = Literal["available", "unavailable", "absent"]

_SILENT: frozenset[Channel] = frozenset(("tool_arguments", "tool_results"))
"""Where nothing to see and not being shown look the same; a declaration is believed."""

_LISTED: frozenset[Channel] = frozenset(("summary", "memory_writes"))
"""Looked at by an inspection that lists none of them too, which does not contradict that they are declared absent."""

_UNSEEN: dict[Channel, str] = {
    "answer": "no reply was recorded",
    "retrieval": "no reply showed what was retrieved",
    "tool_arguments": "no reply showed a tool call",
    "tool_results": "no reply showed a tool's result",
    "memory_writes": "no reply and no inspection showed what was written",
    "summary": "no summary was shown",
    "reasoning": "no reply showed its reasoning",
    "model_requests": "no reply showed what was sent to the agent's model, or not all of it could be read",
    "logs": "no log file was among the files of its storage",
    "storage": "neither its files nor its stored items could be read",
    "vectors": "no vector of an item that held the target was shown",
}


def states(
    description: AgentDescription | None, observed: Mapping[Channel, int]
) -> dict[Channel, tuple[Availability, str]]:
    """The state of every channel, with its reason.

    What was seen decides: a channel that showed something is available whatever was declared, and one that is
    declared and showed nothing is not. `absent` is only what the agent declares not to have.

    Args:
        description: The agent's own, or one derived from its methods; None: it never gave one.
        observed: By channel, the number of things that were looked at.
    """
    return {channel: _state(channel, description, observed.get(channel, 0)) for channel in CHANNELS}


def _state(channel: Channel, description: AgentDescription | None, seen: int) -> tuple[Availability, str]:
    declared = description is not None and channel in description.channels
    missing = description.absent.get(channel) if description is not None else None
    if seen > 0 and not (missing is not None and channel in _LISTED):
        note = ", although it is declared absent" if missing is not None else ""
        return "available", f"{seen:,} looked at{note}"
    if missing is not None:
        return "absent", missing.strip() or "declared absent, without a reason"
    if declared and channel in _SILENT:
        return "available", f"declared; {_UNSEEN[channel]}"
    return "unavailable", f"declared, but {_UNSEEN[channel]}" if declared else _UNSEEN[channel]
