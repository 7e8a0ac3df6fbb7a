"""Several targets a pair: each is judged by itself, and what one shows is said with its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.verified import ACTING, FEWER, SOME_SEEDS, verify

on_some_seeds = pytest.mark.parametrize("seed", SOME_SEEDS)

TWO_NONCES = {"targets": ("nonce", "nonce-2")}
TWO_PREFERENCES = {"targets": ("nonce", "preference", "preference-2")}


@on_some_seeds
def test_forgetting_the_first_nonce_alone_fails_by_the_second(out: Path, seed: int) -> None:
    found = verify("ForgetsTheFirst", out, seed, **TWO_NONCES)
    assert (found.verdict, found.decided().name, found.decided().target) == ("fails", "disclosure", "nonce-2")
    assert found.decided().reason.startswith("after the removal the nonce-2 was seen in 5 episodes")
    assert found.cell("answer").episodes.events == 0
    assert found.cell("answer", target="nonce-2").episodes.events == 5
    once = verify("ForgetsTheFirst", out.with_name("once"), seed)
    assert once.verdict == "limited_evidence"


@on_some_seeds
def test_forgetting_both_is_limited_evidence_of_both(out: Path, seed: int) -> None:
    found = verify("Forgets", out, seed, **TWO_NONCES)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())
    assert "no confirmed sighting of the nonce or the nonce-2" in found.claim().statement
    for target in ("nonce", "nonce-2"):
        assert found.cell("answer", "exposed_unchanged", target).episodes.events == 5
        assert found.cell("answer", "exposed_unchanged", target).foreign == 0


@on_some_seeds
def test_preferring_the_second_option_still_fails_by_its_residual(out: Path, seed: int) -> None:
    # The smaller of two p-values is doubled: it takes more pairs than the eight that are enough for one preference.
    found = verify("PrefersTheSecond", out, seed, {**FEWER, "pairs": 12}, **TWO_PREFERENCES)
    assert (found.verdict, found.decided().name) == ("fails", "residual")
    assert found.decided().target == "preference-2" and found.leaking() == set()
    first, second = (t.residual for t in found.claim().targets[1:])
    assert first is not None and second is not None
    assert (first.value, second.value, second.position) == (0.0, 0.5, "outside")
    assert first.p_adjusted is not None and first.p_adjusted > 0.5
    assert second.p_beyond is not None and second.p_adjusted == pytest.approx(2 * second.p_beyond)
    assert "adjusted for 2 preferences (Holm)" in found.decided().reason


def test_two_forgotten_preferences_both_pass(out: Path) -> None:
    found = verify("Forgets", out, plan=ACTING, **TWO_PREFERENCES)
    assert found.verdict == "limited_evidence", found.decided().reason
    assert [r.outcome for r in found.rule("residual")] == ["not_applicable", "passes", "passes"]


def test_several_targets_hold_in_the_order_in_which_they_are_corrected(out: Path) -> None:
    found = verify("Forgets", out, task="correction", **TWO_NONCES)
    assert (found.verdict, found.decided().name) == ("limited_evidence", "adoption")
    kept = verify("KeepsOldFirst", out.with_name("kept"), task="correction", **TWO_NONCES)
    assert [r.outcome for r in kept.claim().rules if r.name == "disclosure"] == ["fails", "fails"]


@pytest.mark.parametrize("kind", ["source", "derivations"])
def test_a_source_is_withdrawn_with_everything_that_stands_in_it(out: Path, kind: str) -> None:
    found = verify("Forgets", out, kind=kind, **TWO_NONCES)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())
    stays = verify("IndexStays", out.with_name("stays"), kind=kind, **TWO_NONCES)
    assert [r.outcome for r in stays.claim().rules if r.name == "disclosure"] == ["fails", "fails"]
