"""The public part of a packet, as a function of the run, its findings and the key.

Sealing writes what this returns; a full check returns it once more and compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import ADJUDICATIONS, read_adjudications
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.packet import manifests
from vestige.packet.compare import Prose
from vestige.packet.keyed import Keyed
from vestige.packet.layout import FORMAT
from vestige.packet.ledger import ledger_rows
from vestige.packet.observations import Row, observed
from vestige.packet.provenance import provenance
from vestige.packet.receipts import receipts
from vestige.runs.folder import RunFolder
from vestige.runs.plan import canonical_json
from vestige.runs.store import read_lines, torn_lines

__all__ = ["HOLDS", "PROSE", "REPORTS", "SOFTWARE", "Evidence", "public_files", "read_software"]

HOLDS = {
    "adjudications.jsonl": "A person's decisions on uncertain findings: who, which, what, why.",
    "brief.json": "What the conclusion reads besides findings.",
    "findings.jsonl": "Every scored fact; no text.",
    "fixtures.json": "Every pair's fixture: its structure, with codes in place of texts.",
    "ledger.json": "The removal ledger over all pairs: one row a kind of target and layer.",
    "ledger.jsonl": "The removal ledger in full: for every pair and target its facts, and a row for every layer.",
    "manifests.json": "Model, instructions, retrieval, tools, sources, sampling, software.",
    "observations.jsonl": "Every item that was observed: where, when, code and length of its texts.",
    "packet.json": "This list, and what is not in the packet.",
    "provenance.json": "Sources, targets, derived artifacts, interventions and agents, as PROV-JSON.",
    "receipts.jsonl": "What the deletion interface said, the waiting with its three times, and independent searches.",
    "result.json": "Verdicts with their rules, counts and bounds.",
    "scoring.json": "How findings are scored, and every setting of the verification.",
}
_LEDGER_WORDS = (
    "absence_check",
    "boundary",
    "completion",
    "correlated_policy",
    "external_effects",
    "fixture",
    "intervention",
    "manifests",
    "payload",
    "pending_window",
    "reason",
    "reintroduction_paths",
    "requested_scope",
    "sources",
)
PROSE: dict[str, Prose] = {
    "brief.json": Prose(places=frozenset({"stopped"})),
    "ledger.json": Prose(names=frozenset(_LEDGER_WORDS)),
    "ledger.jsonl": Prose(places=frozenset({"reason", "attempt.why", "fixture"})),
    "manifests.json": Prose(places=frozenset({"sampling.seed"})),
    "packet.json": Prose(
        names=frozenset({"statement", "why"}),
        places=frozenset({"public.*", "restricted.holds.*", "root", "limits", "reintroduction"}),
    ),
    "result.json": Prose(
        names=frozenset({"statement", "reason", "mend", "reasons", "notes"}),
        data=frozenset({"exclusions.reason"}),
    ),
    "scoring.json": Prose(
        places=frozenset(
            {"action_labels.*", "utility.criterion", "uncertainty.leakage", "uncertainty.residual"}
        )
    ),
}
"""Where in the public files there are sentences of ours, which another version may word otherwise."""
_RESTRICTED = {
    "key": "256 random bits, under which the codes of the public part are made.",
    "plan.json": "The plan with its fixtures.",
    "records-*.jsonl": "Every exchange, artifact and receipt as it was recorded.",
    "blobs/": "The conversations.",
    "payloads.json": "The targets by their codes.",
    ADJUDICATIONS: "The decisions, unmasked.",
    "host.json": "Machine, times and versions of the run.",
    "software.json": "What scored and sealed.",
}
SOFTWARE = "software.json"
REPORTS = "report"
"""What the name of a report file in the public part begins with."""


@dataclass(frozen=True)
class Evidence:
    """What a packet is made of."""

    folder: RunFolder
    findings: Sequence[Finding]
    result: VerificationResult
    brief: Brief
    ledger: Sequence[LedgerRow]
    software: dict[str, Any]


def public_files(evidence: Evidence, keyed: Keyed, reports: Iterable[str] = ()) -> dict[str, bytes]:
    """The public files by name, reports left out.

    Raises:
        IntegrityError: A record, blob or decision of the run cannot be read.
    """
    folder, brief = evidence.folder, evidence.brief
    findings = sorted(evidence.findings, key=lambda f: f.key)
    decisions = [a.model_dump(mode="json") for a in read_adjudications(folder.path)]
    for decision in decisions:
        decision["reason"] = keyed.masked(decision["reason"])
    # A record can be far larger than memory: it is read anew for each file, and rows are kept as the bytes they become.
    rows = [(_order(row), _line(row)) for row in observed(folder.plan, read_lines(folder.path), keyed)]
    answers = [(_order(row), _line(row)) for row in receipts(read_lines(folder.path), keyed)]
    plain = keyed.redacted
    return {
        "adjudications.jsonl": _lines(plain(decisions)),
        "brief.json": _json(plain(brief.model_dump(mode="json"))),
        "findings.jsonl": _lines(plain([f.model_dump(mode="json") for f in findings], hashes=True)),
        "fixtures.json": _json(manifests.fixtures(folder.plan, keyed)),
        "ledger.json": _json(plain([row.model_dump(mode="json") for row in evidence.ledger])),
        "ledger.jsonl": _lines(ledger_rows(folder, brief, evidence.result, findings, keyed)),
        "manifests.json": _json(plain(manifests.manifests(folder, brief, keyed, evidence.software))),
        "observations.jsonl": _sorted(rows),
        "packet.json": _json(plain(_packet(evidence, sorted(reports)))),
        "provenance.json": _json(provenance(folder, read_lines(folder.path), keyed)),
        "receipts.jsonl": _sorted(answers),
        "result.json": _json(plain(evidence.result.model_dump(mode="json"))),
        "scoring.json": _json(manifests.scoring(folder.plan, brief)),
    }


def _packet(evidence: Evidence, reports: list[str]) -> dict[str, Any]:
    brief, result = evidence.brief, evidence.result
    return {
        "format": FORMAT,
        "vestige_version": brief.vestige_version,
        "plan_sha256": brief.plan_sha256,
        "verdict": result.verdict,
        "statement": result.statement,
        "root": "The SHA-256 of MANIFEST is the packet's root; it stands in ROOT, since it covers this file too.",
        "public": {**HOLDS, **dict.fromkeys(reports, "A report for people.")},
        "restricted": {
            "holds": _RESTRICTED,
            "why": "It holds the targets, the conversations and every reply: hand it only to who may read them.",
        },
        "excluded": _excluded(evidence),
        "reintroduction": sorted({row.reintroduction_paths for row in evidence.ledger}),
        "reintroduction_probed": brief.settings.reintroduction,
        "previous": evidence.folder.plan.settings.get("previous"),
        "limits": [
            "Sums show damage. Without a signature by a key that you trust they say nothing of who made the packet.",
            "A code is an HMAC-SHA-256 under the key in the restricted part. It tells whether two texts are the same, "
            "and to who has the key, which text it is.",
            "The plan's seed is withheld. A seed that a person chose can be guessed: who guesses it, and has the same "
            "data and version, can draw the targets again and tell by the plan's hash that they are right.",
            "The packet covers the observer that the brief declares, and no stronger one.",
        ],
    }


def _excluded(evidence: Evidence) -> list[dict[str, str]]:
    found = [
        {"what": f"episode {e.episode}", "why": e.reason or "not completed"}
        for e in evidence.brief.exclusions
    ]
    for claim in evidence.result.claims:
        found += [
            {"what": f"channel {c.channel} ({claim.claim})", "why": f"{c.state}: {c.reason}"}
            for c in claim.channels
            if c.state != "covered"
        ]
    found += [
        {
            "what": f"the torn last line of {name}, {size} bytes",
            "why": "whoever wrote it was stopped: it is not read",
        }
        for name, size in torn_lines(evidence.folder.path)
    ]
    found.append({"what": "texts of exchanges, artifacts and fixtures", "why": "restricted part only"})
    return found


def _json(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _line(value: Any) -> bytes:
    return canonical_json(value) + b"\n"


def _lines(values: Iterable[Any]) -> bytes:
    return b"".join(map(_line, values))


def _order(row: Row) -> tuple[str, int, int]:
    return row["episode"], row["attempt"], row["step"]


def _sorted(rows: list[tuple[tuple[str, int, int], bytes]]) -> bytes:
    rows.sort()
    return b"".join(line for _, line in rows)


def read_software(folder: Path) -> dict[str, Any]:
    """What scored and sealed a packet, as its restricted part says."""
    found = json.loads((folder / SOFTWARE).read_bytes())
    return found if isinstance(found, dict) else {}
