"""Agents whose silence could be taken for forgetting: none of them may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.verified import ACTING, ALL, BOTH, REFERENCE, SOME_SEEDS, verify

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
