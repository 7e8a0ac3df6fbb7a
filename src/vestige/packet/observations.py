"""What was observed, item by item, without a word of it: codes and lengths of texts, in the order of the script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from vestige.errors import IntegrityError
from vestige.packet.keyed import Keyed
from vestige.records import Reply
from vestige.runs.plan import Plan, canonical_json
from vestige.runs.store import Line

__all__ = ["TIERS", "Row", "observed", "tier_of"]

Row = dict[str, Any]

TIERS = frozenset(("raw", "summary", "vector", "history", "cache", "checkpoint", "log", "graph"))
"""Names of tiers that may stand in the public part; any other is the agent's own word."""
_NOT_OBSERVED = frozenset(("episode_begin", "episode_end", "group_end", "call_end", "superseded", "timeline"))
_LABELS = ("phase", "target", "family")


def tier_of(name: Any) -> str:
    """A tier by a word of the glossary, or `other`."""
    return name if isinstance(name, str) and name in TIERS else "other"


def observed(plan: Plan, lines: Iterable[Line], keyed: Keyed) -> Iterator[Row]:
    """One row for every item that an observation holds, of every attempt at every episode.

    Raises:
        IntegrityError: A record does not hold what its kind promises.
    """
    kinds = {probe.id: probe.kind for probe in plan.probes.values()}
    for line in lines:
        if line.kind in _NOT_OBSERVED:
            continue
        common: Row = {
            "episode": line.episode,
            "attempt": line.attempt,
            "step": line.step,
            "kind": line.kind,
            **({"probe": line.probe, "repeat": line.repeat} if line.probe is not None else {}),
            **{name: line.labels[name] for name in _LABELS if name in line.labels},
        }
        body: dict[str, Any] = line.body if isinstance(line.body, dict) else {"value": line.body}
        counts: dict[str, int] = {}
        for channel, fields in _items(line, body, kinds.get(line.probe or "", "")):
            item = counts.get(channel, 0)
            counts[channel] = item + 1
            texts = {
                name: {"hmac": keyed.mac("text", text), "length": len(text)}
                for name, text in fields.items()
                if isinstance(text, str) and name not in _OPEN
            }
            plain = {n: v for n, v in fields.items() if n in _OPEN or not isinstance(v, str)}
            yield {**common, "channel": channel, "item": item, **plain, "texts": texts}


_OPEN = frozenset(("tier", "needle"))
"""Fields whose values are words of ours."""


def _items(line: Line, body: dict[str, Any], probe_kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    match line.kind:
        case "exchange":
            try:
                reply = Reply.model_validate(body.get("reply"))
            except ValidationError:
                raise IntegrityError(
                    f"the record of {line.episode}, step {line.step}, holds no reply"
                ) from None
            asked = body.get("prompt")  # an adaptive question is not in the plan
            if isinstance(asked, str):
                yield "prompt", {"text": asked}
            yield from _reply(reply, "summary" if probe_kind == "summary" else "answer")
            yield "measures", {"text": _json(body.get("measures"))}
        case "model_requests":
            for text in body.get("texts") or ():
                yield "model_requests", {"text": _text(text)}
        case "artifacts":
            for artifact in body.get("artifacts") or ():
                yield (
                    "storage",
                    {
                        "tier": tier_of(artifact.get("tier")),
                        "id": _text(artifact.get("id")),
                        "text": _text(artifact.get("text")),
                        "sources": _json(artifact.get("sources")),
                        "vector": _text(artifact.get("vector") or ""),
                    },
                )
            yield "storage", {"unchanged": len(body.get("unchanged") or ()), "body": _json(body)}
        case "scan":
            for hit in body.get("hits") or ():
                needle, count = _text(hit.get("needle")), hit.get("count")
                yield "storage", {"needle": needle, "count": count, "file": _text(hit.get("file"))}
            yield "storage", {"files": len(body.get("files") or ()), "body": _json(body)}
        case "receipt":
            yield "receipt", {"message": _text(body.get("message")), "body": _json(body)}
        case _:
            yield line.kind, {"body": _json(body)}


def _reply(reply: Reply, channel: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield channel, {"text": reply.text}
    for unit in reply.retrieved or ():
        yield "retrieval", {"tier": tier_of(unit.tier), "id": unit.id, "text": unit.text}
    for call in reply.tool_calls:
        yield "tool_arguments", {"name": call.name, "arguments": call.arguments}
    for result in reply.tool_results:
        yield "tool_results", {"name": result.name, "content": result.content, "error": result.error}
    if reply.reasoning is not None:
        yield "reasoning", {"text": reply.reasoning}
    for name, texts in (("model_requests", reply.model_requests), ("memory_writes", reply.memory_writes)):
        for text in texts or ():
            yield name, {"text": text}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return canonical_json(value).decode("utf-8", "surrogatepass")
