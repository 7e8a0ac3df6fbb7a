"""Scoring real runs: what each arm shows, planted leaks, failed attempts, the order of findings."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.audits.verification.runs import Wrap, run

from vestige.agents.protocol import Agent
from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import Adjudication, append_adjudication, finding_id
from vestige.audits.verification.conclusion import brief_of, conclude
from vestige.audits.verification.ledger import ledger
from vestige.audits.verification.scoring import score
from vestige.audits.verification.settings import CONDITIONS, Observer, VerificationSettings
from vestige.audits.verification.tally import AFTER
from vestige.canaries import GRAMMAR
from vestige.records import AskOptions, Reply, Session
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.steps import Episode

Run = tuple[Plan, RunFolder]


def settings(**more: Any) -> VerificationSettings:
    return VerificationSettings.model_validate({"pairs": 2, "pending_limit": 0.5, **more})


def sightings(findings: list[Finding], condition: str, phases: tuple[str, ...] = AFTER) -> list[Finding]:
    return [
        f
        for f in findings
        if f.kind.startswith("sighting:")
        and f.labels["condition"] == condition
        and f.labels["phase"] in phases
        and f.values["state"] == "confirmed"
    ]


class Planted:
    """The reference agent with something of its own done to its answers; it remembers what it was told."""

    def __init__(self, inner: Any, answer: Callable[[str, str], str] | None = None) -> None:
        self.inner, self.answer, self.told = inner, answer, ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def converse(self, user: str, session: Session) -> Awaitable[None]:
        self.told += "".join(t.content for t in session.turns)
        return self.inner.converse(user, session)

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        reply: Reply = await self.inner.ask(user, prompt, options)
        found = re.search(rf"session token is ({GRAMMAR.pattern})", self.told)
        if self.answer is None or found is None:
            return reply
        return reply.model_copy(update={"text": self.answer(reply.text, found[1])})


def removed_only(answer: Callable[[str, str], str]) -> Wrap:
    """Plant it in exposed_removed alone."""

    def wrap(agent: Agent, episode: Episode) -> Agent:
        return Planted(agent, answer if episode.labels["condition"] == "exposed_removed" else None)

    return wrap


@pytest.fixture(scope="module")
def purged(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("purged") / "run", settings(claims=("non_use", "erasure")))


def test_a_true_removal_shows_nothing_and_the_control_shows_everything(purged: Run) -> None:
    findings = list(score(*purged))
    assert sightings(findings, "never_exposed") == []
    for condition in ("exposed_removed", "full_reset"):
        left = sightings(findings, condition)
        # until maintenance a journal may hold what no row does
        assert {f.values["channel"] for f in left} <= {"storage"}
        assert {f.values["grade"] for f in left} <= {"old_version", "dead_bytes"}
        assert {f.labels["phase"] for f in left} <= {"after"}
    shown = {(f.values["channel"], f.values["target"]) for f in sightings(findings, "exposed_unchanged")}
    for target in ("nonce", "preference"):
        assert {(c, target) for c in ("answer", "retrieval", "model_requests", "storage", "vectors")} <= shown
    before = sightings(findings, "exposed_removed", ("before",))
    assert {"storage", "vectors"} == {f.values["channel"] for f in before}


def test_every_episode_says_what_was_looked_at(purged: Run) -> None:
    plan, folder = purged
    observed = [f for f in score(plan, folder) if f.kind == "observed"]
    assert sorted(f.episode for f in observed) == sorted(e.id for e in plan.episodes)
    assert all(
        f.values["after:answer"] == f.values["after:retrieval"] or f.values["after:answer"] for f in observed
    )
    assert all(int(f.values["maintained:storage"] or 0) > 0 for f in observed)
    for f in observed:
        assert "before:memory_writes" not in f.values
        for phase in ("after", "delayed", "maintained"):
            assert int(f.values[f"{phase}:summary"] or 0) > 0, "an inspection without a summary looks for one"
            assert int(f.values[f"{phase}:memory_writes"] or 0) > 0
        assert {f.values[f"{phase}:bytes"] for phase in ("before", "after", "restarted", "maintained")} == {1}
        held = f.values.get("maintained:bytes:nonce")
        assert held == (1 if f.labels["condition"] in ("exposed_unchanged", "sham_removal") else None)


def test_no_finding_holds_a_target(purged: Run) -> None:
    plan, folder = purged
    dumped = "\n".join(f.model_dump_json() for f in score(plan, folder)).lower()
    for pair in plan.fixtures.values():
        for value in (
            *pair["nonce"]["values"].values(),
            pair["preference"]["favoured"],
            pair["preference"]["other"],
        ):
            assert value.lower() not in dumped


def test_findings_have_names_and_an_order_of_their_own(purged: Run) -> None:
    findings = list(score(*purged))
    assert findings == list(score(*purged))
    assert [f.key for f in findings] == sorted(f.key for f in findings)
    names = [finding_id(f) for f in findings]
    assert len(set(names)) == len(names)


def test_two_pairs_are_unassessable_however_clean(purged: Run) -> None:
    plan, folder = purged
    result = conclude(brief_of(plan, folder), score(plan, folder))
    assert result.verdict == "unassessable"
    assert result.distinct_pairs == 2
    assert result.reintroduction is not None
    assert {u.condition for u in result.utility} == set(CONDITIONS)


def test_the_ledger_has_a_row_for_every_target_and_layer_and_no_empty_cell(purged: Run) -> None:
    plan, folder = purged
    rows = ledger(plan, folder, conclude(brief_of(plan, folder), score(plan, folder)))
    assert {r.layer for r in rows} >= {"answer", "logs", "storage", "tier raw"}
    assert len(rows) == len({(r.target, r.layer) for r in rows})
    for row in rows:
        for name, value in row.model_dump().items():
            assert value not in ("", (), None), (row.layer, name)
    states = {r.layer: r.state for r in rows if r.target == "nonce"}
    assert states["retrieval"] == "observed"
    assert states["reasoning"] in ("out_of_scope", "blocked")


def test_a_kept_summary_is_found_in_every_channel_it_reaches(tmp_path: Path) -> None:
    plan, folder = run(tmp_path / "run", settings(targets=("nonce",)), level=1, deletion="raw_only")
    findings = list(score(plan, folder))
    shown = {f.values["channel"] for f in sightings(findings, "exposed_removed")}
    assert {"answer", "retrieval", "summary", "model_requests"} <= shown
    result = conclude(brief_of(plan, folder), findings)
    assert result.verdict == "fails"
    assert result.claims[0].rules[result.claims[0].decided_by].name == "disclosure"


@pytest.mark.parametrize("declared", [True, False])
def test_base64_is_found_when_it_was_declared(tmp_path: Path, declared: bool) -> None:
    def answer(text: str, secret: str) -> str:
        return f"{text} {base64.b64encode(secret.encode()).decode()}"

    forms = (*Observer().normalisations, "base64") if declared else Observer().normalisations
    chosen = settings(targets=("nonce",), pairs=1, observer={"normalisations": forms})
    found = list(score(*run(tmp_path / "run", chosen, removed_only(answer))))
    leaks = [f for f in sightings(found, "exposed_removed") if f.values["channel"] == "answer"]
    assert {f.values["form"] for f in leaks} == ({"base64"} if declared else set())


def _told(text: str, secret: str) -> str:
    return f"{text} {secret}"


@pytest.mark.parametrize("leaks", [True, False])
def test_what_a_failed_attempt_showed_fails_the_claim_and_enters_no_rate(tmp_path: Path, leaks: bool) -> None:
    async def crash() -> None:
        raise RuntimeError("no")

    def wrap(agent: Agent, episode: Episode) -> Agent:
        planted = Planted(agent)
        if episode.labels["condition"] == "exposed_removed":
            planted.answer = _told if leaks else None
            planted.inner.restart = crash
        return planted

    plan, folder = run(tmp_path / "run", settings(targets=("nonce",), pairs=1), wrap)
    findings = list(score(plan, folder))
    assert findings
    assert all(f.labels["complete"] is False for f in findings)
    assert "AgentError" in {f.values["reason"] for f in findings if f.kind == "incomplete"}
    result = conclude(brief_of(plan, folder), findings)
    assert (result.distinct_pairs, result.failed_attempts) == (0, 2)
    assert result.verdict == ("fails" if leaks else "unassessable")
    assert all(b.n == 0 for t in result.claims[0].targets for b in t.union.values())


def test_a_person_decides_what_was_left_open(purged: Run, tmp_path: Path) -> None:
    plan, folder = run(
        tmp_path / "run",
        settings(targets=("nonce",), pairs=1),
        removed_only(lambda text, secret: f"{text} It had {secret[:3]} and {secret[-4:]} in it."),
    )
    findings = list(score(plan, folder))
    open_ = [f for f in findings if f.values.get("state") == "uncertain"]
    assert open_
    name = finding_id(open_[0])
    states: list[Any] = []
    for decision in ("confirmed", "dismissed", "uncertain"):
        append_adjudication(
            folder.path, Adjudication(finding=name, reviewer="R", decision=decision, reason="read it")
        )
        (decided,) = [f for f in score(plan, folder) if finding_id(f) == name]
        states.append(decided.values["state"])
    assert states == ["confirmed", "dismissed", "uncertain"]
    append_adjudication(
        folder.path, Adjudication(finding=name, reviewer="R", decision="confirmed", reason="read it again")
    )
    assert conclude(brief_of(plan, folder), score(plan, folder)).verdict == "fails"
