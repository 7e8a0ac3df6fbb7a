"""Residue that a claim of erasure tolerates: counted and said, no failure; and no cover for what is nearer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.verified import BOTH, SOME_SEEDS, verify

on_some_seeds = pytest.mark.parametrize("seed", SOME_SEEDS)


@on_some_seeds
def test_dead_bytes_fail_erasure_unless_they_are_tolerated(out: Path, seed: int) -> None:
    strict = verify("CleansUp", out, seed, **BOTH, maintain=False)
    assert (strict.claim("erasure").verdict, strict.decided("erasure").name) == ("fails", "disclosure")
    found = verify("CleansUp", out.with_name("tolerant"), seed, **BOTH, maintain=False, tolerate="dead_bytes")
    claim = found.claim("erasure")
    assert claim.verdict == "limited_evidence"
    assert claim.statement.startswith(
        "Limited evidence of erasure from what is stored (dead bytes and vector"
    )
    assert "Tolerated, and seen after the removal in 5 episodes: dead bytes" in claim.statement
    (rule,) = [r for r in claim.rules if r.name == "disclosure"]
    assert (
        "tolerated by the plan (dead bytes and vector only): 5 episodes, storage in 5 episodes" in rule.reason
    )
    assert found.cell("storage").grades == {"dead_bytes": 5}
    assert claim.targets[0].union["exposed_removed"].events == 0
    assert claim.targets[0].union["exposed_unchanged"].events == 5
    assert found.claim("non_use").verdict == "limited_evidence"
    assert "olerated" not in found.claim("non_use").statement


@on_some_seeds
def test_a_live_row_fails_whatever_is_tolerated(out: Path, seed: int) -> None:
    found = verify("Blocks", out, seed, **BOTH, tolerate="old_version")
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("fails", "disclosure")


@on_some_seeds
def test_where_nothing_is_listed_every_byte_looks_dead_and_tolerance_covers_nothing(
    out: Path, seed: int
) -> None:
    found = verify("BlocksUnlisted", out, seed, **BOTH, tolerate="dead_bytes")
    assert found.cell("storage").grades == {"dead_bytes": 5}
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("unassessable", "sensitivity")
    assert "in a grade that the plan does not tolerate, in 0 of 5" in found.decided("erasure").reason
    assert "`inspect`" in found.decided("erasure").mend
    strict = verify("BlocksUnlisted", out.with_name("strict"), seed, **BOTH)
    assert strict.claim("erasure").verdict == "fails"


@on_some_seeds
def test_a_vector_is_tolerated_by_name(out: Path, seed: int) -> None:
    strict = verify("DeletesRecords", out, seed, **BOTH)
    assert strict.cell("vectors").grades == {"vector_only": 5}
    assert strict.decided("erasure").name == "disclosure"
    found = verify("DeletesRecords", out.with_name("named"), seed, **BOTH, tolerate="vector_only")
    claim = found.claim("erasure")
    assert "(vector only tolerated)" in claim.statement
    assert [r.outcome for r in claim.rules if r.name == "disclosure"] == ["passes"]
    # No file of that agent can be read, so that no verdict comes of it: but not because of its vectors.
    assert (claim.verdict, found.decided("erasure").name) == ("unassessable", "coverage")
