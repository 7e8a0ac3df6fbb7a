"""Agents whose silence could be taken for forgetting: none of them may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.verified import ACTING, ALL, BOTH, REFERENCE, SOME_SEEDS, verify

from vestige.errors import ConfigError

on_some_seeds = pytest.mark.parametrize("seed", SOME_SEEDS)


@on_some_seeds
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Compressed", "those of exposed_unchanged show the nonce in 0 of 5"),
        ("NoBytes", "no file of exposed_removed was read byte by byte"),
    ],
)
def test_erasure_is_unassessable_where_no_byte_could_have_shown_it(
    out: Path, seed: int, name: str, why: str
) -> None:
    found = verify(name, out, seed, **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("unassessable", "coverage")
    assert why in found.claim("erasure").statement
    assert found.cell("storage", "exposed_unchanged").episodes.events == 5  # by its live rows


@on_some_seeds
@pytest.mark.parametrize(
    ("name", "arms"),
    [("Prose", ("never_exposed", "exposed_removed")), ("ProseAfterRemoval", ("exposed_removed",))],
)
def test_prose_in_the_place_of_a_choice_is_no_evidence(
    out: Path, seed: int, name: str, arms: tuple[str, ...]
) -> None:
    found = verify(name, out, seed, ACTING)
    (collapse,) = found.rule("collapse")
    assert (found.verdict, collapse.outcome) == ("unassessable", "unassessable")
    for arm in arms:
        assert f"{arm}: 16 of 16 choices could not be read" in collapse.reason


@on_some_seeds
def test_retrieval_that_is_hidden_after_the_removal_is_not_covered(out: Path, seed: int) -> None:
    found = verify("HidesRetrieval", out, seed)
    claim = found.claim()
    assert claim.verdict == "limited_evidence"
    assert "retrieval" not in claim.covered and "answer" in claim.covered
    assert "not covered: retrieval" in claim.statement
    assert "Not observed after the removal as it was in exposed_unchanged: retrieval" in claim.statement
    assert found.cell("retrieval").episodes.n == 0
    assert found.cell("retrieval", "exposed_unchanged").episodes.n == 5


def test_a_plan_can_require_more_channels(out: Path) -> None:
    found = verify("HidesRetrieval", out, required=("retrieval",))
    assert (found.verdict, found.decided().name) == ("unassessable", "coverage")
    shown = verify("Forgets", out.with_name("shown"), required=("retrieval",))
    assert shown.verdict == "limited_evidence"


@on_some_seeds
def test_an_agent_that_answers_no_other_fact_can_lose_none(out: Path, seed: int) -> None:
    found = verify("KnowsNothing", out, seed)
    assert (found.verdict, found.decided().name) == ("unassessable", "utility")
    assert "never_exposed answers 0 of 5" in found.decided().reason


def test_the_reference_agent_has_a_clean_reset(out: Path) -> None:
    found = verify("reference", out, plan=REFERENCE, level=1, mode="full_purge", **BOTH, **ALL)
    assert [c.verdict for c in found.result.claims] == ["limited_evidence", "limited_evidence"]


TWO_SOURCES = {"fixture": "two_sources", "kind": "source"}


@on_some_seeds
def test_what_a_second_source_supports_must_stay(out: Path, seed: int) -> None:
    right = verify("Forgets", out, seed, **TWO_SOURCES)
    assert right.verdict == "limited_evidence"
    kept = {u.condition: u.success for u in right.result.utility if u.who == "second_source"}
    assert kept["exposed_removed"].events == kept["exposed_removed"].n == 10  # after, and delayed
    wrong = verify("DropsEverySource", out.with_name("wrong"), seed, **TWO_SOURCES)
    assert (wrong.verdict, wrong.decided().name, wrong.decided().who) == (
        "unassessable",
        "utility",
        "second_source",
    )
    assert "the value that another source still supports: answered -1.000" in wrong.decided().reason
    assert "other facts along" in wrong.decided().mend


@on_some_seeds
def test_hints_count_where_they_are_prohibited(out: Path, seed: int) -> None:
    plan = {**ACTING, "fixture": "correlated"}
    permitted = verify("KeepsHints", out, seed, plan)
    assert permitted.verdict != "fails"
    prohibited = verify("KeepsHints", out.with_name("not"), seed, plan, correlated_policy="prohibited")
    assert (prohibited.verdict, prohibited.decided().target) == ("fails", "preference")
    (residual,) = [r for r in prohibited.rule("residual") if r.target == "preference"]
    assert "chosen +" in residual.reason
    clean = verify("Forgets", out.with_name("clean"), seed, plan, correlated_policy="prohibited")
    assert clean.verdict == "limited_evidence"


def test_an_observer_with_a_users_credentials_sees_no_more_than_a_user(out: Path) -> None:
    found = verify("SuppressesAndShows", out, credentials="user", structured_probes=True)
    states = {c.channel: (c.state, c.reason) for c in found.claim().channels}
    assert states["retrieval"] == ("unavailable", "the declared observer does not look there")
    looked = {n.partition(":")[2] for f in found.findings if f.kind == "observed" for n in f.values}
    assert looked <= {"answer", "reasoning", "tool_arguments", "tool_results"}
    assert {f.values["channel"] for f in found.findings if f.kind.startswith("sighting")} <= looked
    assert not any(step.do in ("scan", "inspect") for e in found.folder.plan.episodes for step in e.steps)


def test_a_claim_needs_an_observer_that_looks_where_it_is_about(out: Path) -> None:
    found = verify("Forgets", out, channels=("answer",), **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert found.claim("erasure").verdict == "unassessable"
    assert "storage (the declared observer does not look there)" in found.claim("erasure").statement


def test_a_plan_that_needs_more_tokens_than_its_observer_has_is_refused(out: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"--token-budget 500: an episode asks \d+ questions of at most 200 tokens"
    ):
        verify("Forgets", out, token_budget=500)
    assert verify("Forgets", out, token_budget=5_000).verdict == "limited_evidence"
