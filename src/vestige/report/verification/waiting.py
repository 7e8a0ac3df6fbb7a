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
_KINDS = frozenset({"exchange", "artifacts"})


def excerpts(folder: RunFolder, findings: Iterable[Finding], *, show: bool = False) -> dict[str, str]:
    """The reply, or the stored texts, behind each finding, by its id.

    Args:
        folder: The run.
        findings: Those that wait.
        show: Leave the targets readable.

    Raises:
        IntegrityError: The record cannot be read.
    """
    wanted: dict[tuple[str, int], list[str]] = {}
    for finding in findings:
        wanted.setdefault((finding.episode, finding.step), []).append(finding_id(finding))
    masked = Masker.of(pairs_of(folder.plan).values(), show=show)
    out: dict[str, str] = {}
    for line in read_counted(folder.path, read_attempts(folder.path), _KINDS, failed=True):
        for name in wanted.get((line.episode, line.step), ()):
            text = " ".join(masked(_text(line.body)).split())
            out[name] = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return out


def _text(body: Any) -> str:
    reply = body.get("reply")
    if isinstance(reply, dict):
        return str(reply.get("text", ""))
    return " | ".join(str(a.get("text", "")) for a in body.get("artifacts", ()) if isinstance(a, dict))
