"""What a report takes from a real run: the reference agent, the extractive reader, and what a removal leaves."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from vestige.audits.findings import Finding
from vestige.audits.study import data_ref
from vestige.audits.verification.adjudication import Adjudication, append_adjudication
from vestige.audits.verification.conclusion import brief_of, conclude
from vestige.audits.verification.fixtures import build_pairs, synthetic_users
from vestige.audits.verification.ledger import ledger
from vestige.audits.verification.reading import pairs_of
from vestige.audits.verification.scoring import score
from vestige.audits.verification.scripts import build_scripts
from vestige.audits.verification.settings import Observer, VerificationSettings
from vestige.report.verification import (
    VerificationReportPaths,
    verification_lines,
    write_verification,
)
from vestige.report.verification.gather import CLEAN, MOST, gather, waits
from vestige.runs.engine import execute
from vestige.runs.folder import RunFolder
from vestige.runs.plan import AgentSpec, ModelSpec, Plan
from vestige.services import Models
from vestige.text import fold

PAIRS = 6
SETTINGS = VerificationSettings(
    pairs=PAIRS,
    claims=("non_use", "erasure"),
    observer=Observer(recall_probes=1, semantic_probes=1),
    pending_limit=0.0,
)


@cache
def run_of(deletion: str) -> tuple[RunFolder, tuple[Finding, ...]]:
    """A finished run of the reference agent at S = 1, and its findings."""
    data = synthetic_users(PAIRS, 4)
    material, notes = build_pairs(data, SETTINGS, 4)
    built = build_scripts(material, SETTINGS, 4, {"embedder": "hashing"})
    plan = Plan(
        audit="verification",
        vestige_version="test",
        seed=4,
        agent=AgentSpec(name="reference", knobs={"level": 1, "k": 6, "deletion": deletion}),
        models=ModelSpec(agent="extractive", scorer_embedder="hashing"),
        data=data_ref(data),
        settings={"verification": SETTINGS.model_dump(mode="json"), "notes": notes},
        fixtures={item.id: item.pair.model_dump(mode="json") for item in material},
        probes=built.probes,
        episodes=tuple(built.episodes),
    )
    path = Path(mkdtemp()) / deletion
    folder = RunFolder.create(path, plan, built.blobs, resume=False)

    async def act() -> None:
        models = Models(plan, cache=path / "responses.sqlite", concurrency=2)
        await models.start()
        try:
            await execute(plan, folder, models.services(plan), concurrency=2)
        finally:
            await models.close()

    asyncio.run(act())
    folder.close()
    return folder, tuple(score(plan, folder))


def report_of(deletion: str, path: Path) -> VerificationReportPaths:
    folder, findings = run_of(deletion)
    result = conclude(brief_of(folder.plan, folder), findings)
    return write_verification(
        result,
        ledger=ledger(folder.plan, folder, result),
        episodes=gather(folder, findings),
        waited=waits(folder),
        folder=path,
        fixtures=pairs_of(folder.plan).values(),
    )


def test_pairs_that_leak_come_first_with_what_leaked() -> None:
    folder, findings = run_of("raw_only")
    pairs = gather(folder, findings)
    leaking = {f.instance for f in findings if f.kind.startswith("sighting") and after_removal(f)}
    assert leaking, "raw_only leaves the summaries, or this test tests nothing"
    shown = [p for p in pairs if p.why == "confirmed"]
    assert {p.pair for p in shown} == leaking and pairs[: len(shown)] == tuple(shown)
    for pair in shown:
        assert pair.fixture.nonce is not None
        value = fold(pair.fixture.nonce.values["exposed_removed"])
        said = [
            text
            for row in pair.rows
            for arm in row.arms
            if arm.condition == "exposed_removed" and arm.seen
            for text in arm.said
        ]
        named = fold(pair.fixture.preference.favoured) if pair.fixture.preference else value
        assert any(value in fold(s.text) or named in fold(s.text) for s in said)


def after_removal(finding: Finding) -> bool:
    return (
        finding.labels["condition"] == "exposed_removed"
        and finding.labels["phase"] in ("after", "delayed", "restarted", "maintained")
        and finding.values["state"] == "confirmed"
        and not finding.values["foreign"]
    )


def test_every_sighting_of_a_shown_pair_is_beside_its_exchange() -> None:
    folder, findings = run_of("raw_only")
    pair = gather(folder, findings)[0]
    arms = ("never_exposed", "exposed_removed", "exposed_unchanged")
    expected = sum(
        f.kind.startswith("sighting")
        and f.instance == pair.pair
        and f.labels["condition"] in arms
        and f.labels["phase"] != "before"
        for f in findings
    )
    assert sum(len(arm.seen) for row in pair.rows for arm in row.arms) == expected > 0


def test_rows_put_the_same_probe_of_three_arms_side_by_side() -> None:
    folder, findings = run_of("full_purge")
    for pair in gather(folder, findings):
        asked = [row for row in pair.rows if row.kind != "stored" and row.phase != "reintroduced"]
        assert len(asked) >= 8
        for row in asked:
            assert [arm.condition for arm in row.arms] == [
                "never_exposed",
                "exposed_removed",
                "exposed_unchanged",
            ]
            assert row.prompt and all(arm.said for arm in row.arms), row.what
        choices = [row for row in asked if row.kind == "choice"]
        assert choices and all(arm.outcome.startswith("chose ") for row in choices for arm in row.arms)


def test_clean_pairs_are_drawn_by_lot_and_never_more() -> None:
    folder, findings = run_of("full_purge")
    pairs = gather(folder, findings)
    by_lot = [p for p in pairs if p.why == "sample"]
    assert len(by_lot) <= CLEAN and len(pairs) - len(by_lot) <= MOST
    assert gather(folder, findings) == pairs


def test_the_waiting_of_every_removal_is_there() -> None:
    folder, _ = run_of("full_purge")
    rows = waits(folder)
    removed = [row for row in rows if row.condition == "exposed_removed"]
    assert len(removed) == PAIRS and all(row.accepted == row.asked > 0 for row in removed)
    assert {row.condition for row in rows} == {"exposed_removed", "sham_removal"}


@pytest.mark.parametrize("deletion", ["raw_only", "full_purge"])
def test_no_target_of_the_run_is_in_its_report(tmp_path: Path, deletion: str) -> None:
    paths = report_of(deletion, tmp_path)
    folder, _ = run_of(deletion)
    for path in vars(paths).values():
        text = fold(path.read_text(encoding="utf-8"))
        for pair in pairs_of(folder.plan).values():
            assert pair.nonce is not None and pair.preference is not None
            for value in (*pair.nonce.values.values(), pair.preference.favoured):
                assert fold(value) not in text, path.name


def test_a_decision_is_shown_with_who_took_it(tmp_path: Path) -> None:
    folder, findings = run_of("raw_only")
    sighting = next(f for f in findings if f.kind.startswith("sighting") and after_removal(f))
    values = {**sighting.values, "state": "confirmed", "reviewer": "Ada"}
    told = [f if f is not sighting else f.model_copy(update={"values": values}) for f in findings]
    pair = next(p for p in gather(folder, told) if p.pair == sighting.instance)
    seen = [s for row in pair.rows for arm in row.arms for s in arm.seen if s.reviewer]
    assert [s.reviewer for s in seen] == ["Ada"]
    append_adjudication(
        tmp_path, Adjudication(finding=seen[0].finding, reviewer="Ada", decision="confirmed", reason="read")
    )


def test_raw_only_fails_and_says_so() -> None:
    folder, findings = run_of("raw_only")
    lines = verification_lines(conclude(brief_of(folder.plan, folder), findings))
    assert lines[0] == "verdict: fails"
