"""The ledger in full, from real runs: what was derived from a source, when, and what became of it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.audits.verification.runs import run

from vestige.audits.verification.conclusion import brief_of, conclude
from vestige.audits.verification.entries import TargetEntry, entries
from vestige.audits.verification.scoring import score
from vestige.audits.verification.settings import VerificationSettings


def read(path: Path, **more: Any) -> dict[tuple[str, str], TargetEntry]:
    knobs = {name: more.pop(name) for name in ("level", "deletion") if name in more}
    settings = VerificationSettings.model_validate({"pairs": 2, "pending_limit": 0.5, **more})
    plan, folder = run(path, settings, **knobs)
    findings = list(score(plan, folder))
    result = conclude(brief_of(plan, folder), findings)
    return {(e.pair, e.target): e for e in entries(plan, folder, result, findings)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], TargetEntry]:
    """Summaries stay where raw text is scrubbed."""
    return read(tmp_path_factory.mktemp("run") / "r", level=1, deletion="raw_only")


def test_every_pair_has_every_target(kept: dict[tuple[str, str], TargetEntry]) -> None:
    assert sorted(kept) == [(p, t) for p in ("P000", "P001") for t in ("nonce", "preference")]
    assert len({e.value for e in kept.values()}) == 4


def test_ingestion_request_and_boundary_follow_one_another(kept: dict[tuple[str, str], TargetEntry]) -> None:
    for entry in kept.values():
        (source,), (request,) = entry.sources, entry.requests
        assert source.version is not None and source.ingested is not None
        assert request.asked is not None and request.answered is not None and entry.boundary is not None
        times = [source.ingested, request.asked, request.answered, entry.boundary]
        assert [t.seconds for t in times] == sorted(t.seconds for t in times)
        assert len({t.began for t in times}) == 1 and datetime.fromisoformat(times[0].began).tzinfo
        assert request.receipt is not None and request.receipt.completed
        assert request.request.value == entry.value


def test_a_summary_of_the_value_is_known_as_derived_and_stays(
    kept: dict[tuple[str, str], TargetEntry],
) -> None:
    for (_, target), entry in kept.items():
        assert entry.trace is not None and entry.trace.derived is not None
        fates = {(d.tier, d.fate) for d in entry.trace.derived[target]}
        assert ("raw", "unchanged") not in fates
        assert ("summary", "unchanged") in fates
        layers = {x.layer: x for x in entry.layers}
        assert sum(layers["answer"].found.values()) > 0 and layers["answer"].nearest == "served"
        summary = layers["tier summary"]
        assert summary.found["maintained"] == summary.control > 0


def test_a_purge_leaves_nothing_in_any_tier(tmp_path: Path) -> None:
    found = read(tmp_path / "r", level=1, deletion="full_purge", pairs=1, claims=("non_use", "erasure"))
    for (_, target), entry in found.items():
        assert entry.trace is not None and entry.trace.derived is not None
        held = [d for d in entry.trace.derived[target] if d.relation == "holds_it"]
        assert len(held) > 1 and {d.fate for d in held} <= {"gone", "changed"}
        layers = {x.layer: x for x in entry.layers}
        for tier in ("tier raw", "tier summary"):
            assert sum(layers[tier].found.values()) == 0 < layers[tier].control
        assert layers["answer"].state == "observed" and layers["answer"].control > 0
        assert sum(layers["answer"].found.values()) == 0
        assert layers["logs"].state == "out_of_scope"
        assert entry.reintroduced == "used_again"


def test_of_a_withdrawn_source_every_item_of_its_session_is_derived(tmp_path: Path) -> None:
    found = read(tmp_path / "r", level=1, deletion="full_purge", pairs=1, kind="derivations")
    nonce, preference = found["P000", "nonce"], found["P000", "preference"]
    assert nonce.sources[0].session == preference.sources[0].session
    assert [r.target for r in preference.requests] == ["nonce"]  # one request covers both
    assert nonce.trace is not None and nonce.trace.derived is not None
    relations = {d.relation for d in nonce.trace.derived["nonce"]}
    assert {"holds_it", "of_its_session"} <= relations
    assert "unchanged" not in {d.fate for d in nonce.trace.derived["nonce"]}
