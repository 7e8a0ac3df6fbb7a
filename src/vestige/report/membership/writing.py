"""Writes a membership audit's report: HTML, Markdown, JSON, and the scores of every candidate as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vestige.audits.findings import Finding
from vestige.audits.membership.results import MembershipResult
from vestige.runs.folder import RunFolder, write_atomic

__all__ = ["MembershipPaths", "write_membership"]


@dataclass(frozen=True)
class MembershipPaths:
    """Where the files are."""

    html: Path
    markdown: Path
    json: Path
    scores: Path


def write_membership(
    folder: RunFolder,
    findings: Iterable[Finding],
    result: MembershipResult,
    out: Path,
    *,
    title: str | None = None,
) -> MembershipPaths:
    """Write `report.html`, `report.md`, `report.json` and `scores.csv`; the same run gives the same bytes.

    Raises:
        StorageError: The folder cannot be written.
    """
    from vestige.report.membership import page, tables
    from vestige.report.membership.scores import scores_csv, scores_of
    from vestige.report.membership.worst import worst_errors

    paths = MembershipPaths(out / "report.html", out / "report.md", out / "report.json", out / "scores.csv")
    scores = scores_of(folder, findings, result)
    worst = worst_errors(folder, scores)
    heading = title or f"Membership in memory: {result.agent}"
    write_atomic(paths.scores, scores_csv(scores).encode("utf-8"))
    write_atomic(
        paths.json,
        (
            json.dumps(
                {"schema_version": 1, "title": heading, "result": result.model_dump(mode="json")},
                ensure_ascii=False,
                indent=1,
                sort_keys=True,
            )
            + "\n"
        ).encode("utf-8"),
    )
    write_atomic(paths.markdown, tables.markdown(result, heading, worst).encode("utf-8"))
    write_atomic(paths.html, page.html(result, scores, worst, heading).encode("utf-8"))
    return paths
