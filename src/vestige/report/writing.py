"""Writing a report: three files that say the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vestige.audits.results import FrontierResult, ResidueResult
from vestige.errors import UserError
from vestige.report import html, markdown
from vestige.report.evidence import EvidenceGroup, Exchange, LeakExchange
from vestige.report.published import published
from vestige.report.safe import Clipped
from vestige.report.view import View, view
from vestige.runs.folder import write_atomic

__all__ = ["ReportPaths", "write"]

Result = FrontierResult | ResidueResult


@dataclass(frozen=True)
class ReportPaths:
    """Where the files are."""

    html: Path
    markdown: Path
    json: Path


def write(
    result: Result | Sequence[Result],
    *,
    exchanges: Sequence[LeakExchange] = (),
    folder: Path,
    show_canaries: bool = False,
    title: str | None = None,
) -> ReportPaths:
    """Write `report.html`, `report.md` and `report.json`; the same input gives the same bytes.

    Args:
        result: One result, or several of one report, in the order in which they are to be shown.
        exchanges: The exchanges behind the leaks, as the run's records hold them.
        folder: Where to; made if it is not there.
        show_canaries: Leave the planted secrets readable. Otherwise they are masked in every writing.
        title: The report's title; one is made from the audits otherwise.

    Raises:
        UserError: There is no result to report.
        StorageError: The folder cannot be written.
    """
    results = (result,) if isinstance(result, FrontierResult | ResidueResult) else tuple(result)
    if not results:
        raise UserError("no result to report: pass a frontier or residue result, or a list with at least one")
    seen = view(results, exchanges, show_canaries=show_canaries, title=title)
    paths = ReportPaths(folder / "report.html", folder / "report.md", folder / "report.json")
    texts = {
        paths.html: html.render(seen),
        paths.markdown: markdown.render(seen),
        paths.json: json.dumps(_facts(seen), ensure_ascii=False, indent=1, sort_keys=True) + "\n",
    }
    for path, text in texts.items():
        write_atomic(path, text.encode("utf-8"))
    return paths


def _facts(seen: View) -> dict[str, Any]:
    """What `report.json` holds."""
    return {
        "schema_version": 1,
        "title": seen.title,
        "headline": seen.headline,
        "findings": [
            {"text": finding.text, "tone": finding.tone} for _, group in seen.findings for finding in group
        ],
        "results": [result.model_dump(mode="json") for result in seen.results],
        "published": {
            "citation": seen.citation,
            "caveats": list(seen.caveats),
            "values": [value.model_dump(mode="json") for value in published()],
        },
        "observed": list(seen.observed),
        "not_observed": list(seen.not_observed),
        "exclusions": [exclusion.model_dump(mode="json") for exclusion in seen.exclusions],
        "evidence_note": seen.evidence_note,
        "evidence": [_group(group) for group in seen.evidence],
        "definitions": dict(seen.definitions),
    }


def _group(group: EvidenceGroup) -> dict[str, Any]:
    return {
        "audit": group.audit,
        "S": group.S,
        "mode": group.mode,
        "probe_kind": group.probe_kind,
        "kind": group.kind,
        "levers": group.levers,
        "n_exchanges": group.n_exchanges,
        "n_instances": group.n_instances,
        "exchanges": [_exchange(exchange) for exchange in (*group.exchanges, *group.rows)],
    }


def _text(text: Clipped) -> dict[str, Any]:
    return {"text": str(text), "characters": text.characters, "shortened": text.cut}


def _exchange(exchange: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = {
        "instance": exchange.instance,
        "k": list(exchange.ks),
        "prompt": _text(exchange.prompt),
        "reply": _text(exchange.reply),
        "retrieved": [
            {
                "unit": unit.anchor,
                "tier": unit.tier,
                "score": round(unit.score, 6),
                "holds_secret": unit.holds,
                **({"text": _text(unit.text)} if unit.text is not None else {}),
            }
            for unit in exchange.units
        ],
    }
    if exchange.expected is not None:
        found["expected"] = _text(Clipped(exchange.expected, len(exchange.expected), False))
    return found
