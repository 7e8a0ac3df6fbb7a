"""Writing a verification's report: four files that say the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.report.safe import Clipped
from vestige.report.verification import html, junit, markdown
from vestige.report.verification.evidence import PairExchanges, WaitedRow
from vestige.report.verification.masking import Masker
from vestige.report.verification.sidebyside import ShownArm, ShownPair, ShownRow, ShownText
from vestige.report.verification.view import View, view
from vestige.runs.folder import write_atomic

__all__ = ["VerificationReportPaths", "write_verification"]


@dataclass(frozen=True)
class VerificationReportPaths:
    """Where the files are."""

    html: Path
    markdown: Path
    json: Path
    junit: Path


def write_verification(
    result: VerificationResult,
    *,
    ledger: Sequence[LedgerRow],
    episodes: Sequence[PairExchanges],
    waited: Sequence[WaitedRow],
    folder: Path,
    show_targets: bool = False,
    title: str | None = None,
    fixtures: Iterable[Pair] = (),
) -> VerificationReportPaths:
    """Write `report.html`, `report.md`, `report.json` and `junit.xml`; the same input gives the same bytes.

    Args:
        result: What the verification found.
        ledger: Its removal ledger.
        episodes: The pairs to show side by side, of `gather`.
        waited: How every removal came to its end, of `waits`.
        folder: Where to; made if it is not there.
        show_targets: Leave the targets readable. Otherwise they are masked in every writing, in every file.
        title: The report's title; one is made from the agent's name otherwise.
        fixtures: Every pair of the run, so that targets are masked also where only an error message holds them; those
            of `episodes` are masked anyway.

    Raises:
        StorageError: The folder cannot be written.
    """
    seen, masked = view(result, ledger, episodes, waited, fixtures, show_targets=show_targets, title=title)
    paths = VerificationReportPaths(
        folder / "report.html", folder / "report.md", folder / "report.json", folder / "junit.xml"
    )
    facts = _facts(seen, result, ledger, waited, masked)
    texts = {
        paths.html: html.render(seen),
        paths.markdown: markdown.render(seen),
        paths.json: json.dumps(facts, ensure_ascii=False, indent=1, sort_keys=True) + "\n",
        paths.junit: junit.render(result, masked),
    }
    for path, text in texts.items():
        write_atomic(path, text.encode("utf-8"))
    return paths


def _walk(value: Any, masked: Masker) -> Any:
    """JSON with every text and key in it masked and neutralised."""
    if isinstance(value, str):
        return masked.ours(value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {masked.ours(key): _walk(inner, masked) for key, inner in items.items()}
    if isinstance(value, list | tuple):
        return [_walk(inner, masked) for inner in cast("Sequence[Any]", value)]
    return value


def _facts(
    seen: View,
    result: VerificationResult,
    ledger: Sequence[LedgerRow],
    waited: Sequence[WaitedRow],
    masked: Masker,
) -> dict[str, Any]:
    """What `report.json` holds."""
    return {
        "schema_version": 1,
        "title": seen.title,
        "verdict": seen.verdict,
        "statement": seen.statement,
        "claims": [
            {
                "claim": claim.name,
                "verdict": claim.verdict,
                "statement": claim.statement,
                "why": claim.why,
                "to_make_it_assessable": list(claim.mends),
                "covers": dict(claim.coverage),
            }
            for claim in seen.claims
        ],
        "uncertain": list(seen.open),
        "reach": seen.reach,
        "result": _walk(result.model_dump(mode="json"), masked),
        "waited": _walk([row.model_dump(mode="json") for row in waited], masked),
        "ledger": _walk([row.model_dump(mode="json") for row in ledger], masked),
        "ledger_note": seen.ledger_note,
        "pairs_note": seen.pairs_note,
        "pairs": [_pair(pair) for pair in seen.pairs],
        "notes": list(seen.notes),
        "not_observed": list(seen.not_observed),
        "verdict_is_not": list(seen.verdict_is_not),
        "exclusions": list(seen.exclusions),
        "failed_attempts": seen.failed,
        "check": [{"command": command, "what": what} for command, what in seen.commands],
        "definitions": dict(seen.definitions),
        "targets_shown": seen.unmasked,
    }


def _pair(pair: ShownPair) -> dict[str, Any]:
    return {
        "pair": pair.pair,
        "why": pair.why,
        "failed_attempt": pair.attempt,
        "steps": [_row(row) for row in (*pair.rows, *pair.rest)],
    }


def _row(row: ShownRow) -> dict[str, Any]:
    return {
        "step": row.what,
        "title": row.title,
        **({"prompt": _clipped(row.prompt)} if row.prompt is not None else {}),
        "arms": [_arm(arm) for arm in row.arms],
    }


def _arm(arm: ShownArm) -> dict[str, Any]:
    return {
        "condition": arm.condition,
        "sightings": [{"text": tag.text, "tone": tag.tone} for tag in arm.tags],
        "said": [_text(text) for text in (*arm.said, *arm.units)],
        **({"asked": _clipped(arm.asked)} if arm.asked is not None else {}),
        **({"outcome": arm.outcome} if arm.outcome else {}),
        **({"missing": arm.missing} if arm.missing else {}),
    }


def _text(text: ShownText) -> dict[str, Any]:
    return {"channel": text.channel, "label": text.label, "holds_target": text.marked, **_clipped(text.text)}


def _clipped(text: Clipped) -> dict[str, Any]:
    return {"text": str(text), "characters": text.characters, "shortened": text.cut}
