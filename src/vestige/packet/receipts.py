"""Receipts: what the deletion interface said, how long it took, and what an independent look found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vestige.packet.keyed import Keyed
from vestige.packet.observations import Row, tier_of
from vestige.runs.store import Line

__all__ = ["error_type", "receipts"]

_ERROR = re.compile(r"[A-Z][A-Za-z]{2,40}(?=:)")
_TIMES = ("completed", "visible_absence", "physical_cleanup")


def receipts(lines: Iterable[Line], keyed: Keyed) -> Iterator[Row]:
    """A row for every receipt, failed request, waiting and search of the storage, of every attempt."""
    for line in lines:
        body: dict[str, Any] = line.body if isinstance(line.body, dict) else {}
        match line.kind:
            case "receipt":
                row = _receipt(body, keyed)
            case "removal_failed":
                reason = str(body.get("reason", ""))
                row = {"error": error_type(reason), "reason": _hidden(reason, keyed)}
            case "waited":
                row = {
                    **{name: body.get(name) for name in _TIMES},
                    "pending": body.get("pending"),
                    "looks": body.get("looks"),
                    "not_observable": sorted(body.get("reasons") or {}),
                    "receipts": [_receipt(r, keyed) for r in body.get("receipts") or ()],
                }
            case "scan":
                row = {"files": len(body.get("files") or ()), "found": _found(body)}
            case "unavailable" | "restarted":
                row = {"what": body.get("step") or body.get("by")}
            case _:
                continue
        kind = "absence_check" if line.kind == "scan" else line.kind
        labels = {name: line.labels[name] for name in ("phase", "target", "sham") if name in line.labels}
        yield {
            "episode": line.episode,
            "attempt": line.attempt,
            "step": line.step,
            "kind": kind,
            **labels,
            **row,
        }


def error_type(reason: str) -> str:
    """The type of an error by the reason that the record gives, which may quote the agent; `other` for no such name."""
    named = _ERROR.match(reason)
    return named.group() if named else "other"


def _receipt(body: dict[str, Any], keyed: Keyed) -> Row:
    affected: dict[str, int] = {}
    for tier, count in sorted((body.get("affected") or {}).items()):
        affected[tier_of(tier)] = affected.get(tier_of(tier), 0) + int(count)
    return {
        "accepted": body.get("accepted"),
        "completed": body.get("completed"),
        "affected": affected,
        "has_handle": body.get("handle") is not None,
        "message": _hidden(str(body.get("message", "")), keyed),
    }


def _found(body: dict[str, Any]) -> dict[str, int]:
    """Occurrences by the label of what was looked for: `nonce:verbatim` and the like, never its text."""
    found: dict[str, int] = {}
    for hit in body.get("hits") or ():
        found[str(hit.get("needle"))] = found.get(str(hit.get("needle")), 0) + int(hit.get("count", 0))
    return found


def _hidden(text: str, keyed: Keyed) -> Row:
    return {"hmac": keyed.mac("text", text), "length": len(text)}
