"""What was said where an uncertain finding stands, so that a person can decide it: one line each, targets masked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import finding_id
from vestige.audits.verification.reading import pairs_of
from vestige.report.verification.masking import Masker
from vestige.runs.folder import RunFolder
from vestige.runs.store import read_attempts, read_counted

__all__ = ["excerpts"]

LONGEST = 240
"""Characters of an excerpt."""
_KINDS = frozenset({"exchange", "artifacts", "model_requests"})
_FIELDS = {
    "retrieval": "retrieved",
    "tool_arguments": "tool_calls",
    "tool_results": "tool_results",
    "memory_writes": "memory_writes",
    "model_requests": "model_requests",
    "reasoning": "reasoning",
}
"""Where a reply holds what a channel shows."""


def excerpts(folder: RunFolder, findings: Iterable[Finding], *, show: bool = False) -> dict[str, str]:
    """The reply, or the stored texts, behind each finding, by its id.

    Args:
        folder: The run.
        findings: Those that wait.
        show: Leave the targets readable.

    Raises:
        IntegrityError: The record cannot be read.
    """
    wanted: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for finding in findings:
        place = (finding.episode, finding.step)
        wanted.setdefault(place, []).append((finding_id(finding), str(finding.values.get("channel"))))
    masked = Masker.of(pairs_of(folder.plan).values(), show=show)
    out: dict[str, str] = {}
    for line in read_counted(folder.path, read_attempts(folder.path), _KINDS, failed=True):
        for name, channel in wanted.get((line.episode, line.step), ()):
            if line.kind == "model_requests" and (channel != "model_requests" or out.get(name)):
                continue
            text = " ".join(masked(_text(line.body, channel)).split())
            out[name] = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return out


def _text(body: Any, channel: str) -> str:
    """What the channel showed; of a long request its end, where the question and the last memories stand."""
    reply = {"model_requests": body["texts"]} if "texts" in body else body.get("reply")
    if not isinstance(reply, dict):
        return " | ".join(str(a.get("text", "")) for a in body.get("artifacts", ()) if isinstance(a, dict))
    held = reply.get(_FIELDS.get(channel, "text"))
    if isinstance(held, list | tuple):
        return " | ".join(_shown(item) for item in held)[-2 * LONGEST :]
    return str(held or "")


def _shown(item: Any) -> str:
    if isinstance(item, dict):
        return str(item.get("text") or item.get("arguments") or item.get("content") or "")
    return str(item)
