"""What must hold of every verdict, whatever was found: less evidence never helps, and order never matters."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audits.verification.made import acting, good, name, result_of, seen

from vestige.audits.findings import Finding
from vestige.audits.verification.results import Verdict
from vestige.audits.verification.settings import CLAIMS, CONDITIONS

RANK: dict[Verdict, int] = {"fails": 0, "unassessable": 1, "limited_evidence": 2}
N = 60
BOTH: dict[str, Any] = {"targets": ("nonce", "preference")}

CHANNELS = st.sampled_from(CLAIMS["non_use"].channels)
STATES = st.sampled_from(["confirmed", "uncertain", "dismissed"])
PHASES = st.sampled_from(["before", "after", "delayed", "restarted", "maintained", "reintroduced"])


@st.composite
def sightings(draw: st.DrawFn) -> Finding:
    """Any sighting at all, with a step of its own."""
    condition = draw(st.sampled_from(CONDITIONS))
    target = "preference" if condition == "never_exposed" else draw(st.sampled_from(["nonce", "preference"]))
    more: dict[str, Any] = {"state": draw(STATES), "phase": draw(PHASES)}
    if draw(st.booleans()):
        more["foreign"], target = f"{name(N - 1)}/sham_removal", "nonce"
    return seen(
        draw(st.integers(0, N - 1)),
        condition,
        draw(CHANNELS),
        target,
        step=draw(st.integers(100, 120)),
        **more,
    )


def pairs(flips: dict[int, bool]) -> list[Finding]:
    return [f for i in range(N) for f in acting(i, removed=flips.get(i))]


FLIPS = st.dictionaries(st.integers(0, N - 1), st.booleans(), max_size=20)


@settings(max_examples=10, deadline=None)
@given(FLIPS, st.lists(sightings(), max_size=4), st.integers(0, N - 1), CHANNELS, PHASES)
def test_one_more_disclosure_never_improves_the_verdict(
    flips: dict[int, bool], extra: list[Finding], pair: int, channel: str, phase: str
) -> None:
    found = [*pairs(flips), *extra]
    more = seen(pair, "exposed_removed", channel, step=99, phase=phase)
    assert RANK[result_of(N, [*found, more], **BOTH).verdict] <= RANK[result_of(N, found, **BOTH).verdict]


@settings(max_examples=12, deadline=None)
@given(FLIPS, st.sets(st.integers(0, N - 1), max_size=12))
def test_losing_pairs_never_makes_evidence(flips: dict[int, bool], lost: set[int]) -> None:
    options = {**BOTH, "leakage_bound": 0.3, "margin": 0.2, "utility_margin": 0.3}
    found = pairs(flips)
    whole = result_of(N, found, **options).verdict
    kept = [f for f in found if int(f.instance[1:]) not in lost]
    less = result_of(N, kept, incomplete=lost, **options).verdict
    if whole != "limited_evidence":
        assert less != "limited_evidence"


@settings(max_examples=10, deadline=None)
@given(FLIPS, st.lists(sightings(), max_size=6), st.integers(0, 10**6))
def test_the_order_of_the_findings_does_not_matter(
    flips: dict[int, bool], extra: list[Finding], seed: int
) -> None:
    found = [*pairs(flips), *extra]
    shuffled = random.Random(seed).sample(found, len(found))
    assert result_of(N, shuffled, **BOTH) == result_of(N, found, **BOTH)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(sightings().filter(lambda f: int(f.instance[1:]) < 6), max_size=6),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.3),
    st.booleans(),
)
def test_six_pairs_never_reach_limited_evidence(
    extra: list[Finding], bound: float, margin: float, mixture: bool
) -> None:
    stopping = "mixture" if mixture else "fixed"
    options = {"leakage_bound": bound, "utility_margin": margin, "observer": {"stopping": stopping}}
    assert result_of(6, [*good(6), *extra], **options).verdict != "limited_evidence"
