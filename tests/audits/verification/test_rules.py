"""Each rule of the decision alone, and the order in which they decide."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.audits.verification.made import (
    acting,
    claim_of,
    decided,
    finding,
    good,
    name,
    result_of,
    rules,
    seen,
)

from vestige.agents.protocol import AgentDescription
from vestige.audits.findings import Finding

N = 60
Change = Callable[[list[Finding]], list[Finding]]


def without(kind: str, condition: str) -> Change:
    return lambda found: [
        f for f in found if not (f.kind.startswith(kind) and f.labels["condition"] == condition)
    ]


def plus(*more: Finding) -> Change:
    return lambda found: [*found, *more]


def replaced(kind: str, condition: str, values: dict[str, Any], pairs: int) -> Change:
    names = {name(i) for i in range(pairs)}

    def change(found: list[Finding]) -> list[Finding]:
        return [
            f.model_copy(update={"values": {**f.values, **values}})
            if f.kind == kind and f.labels["condition"] == condition and f.instance in names
            else f
            for f in found
        ]

    return change


LEAK = seen(3, "exposed_removed")
CASES: list[tuple[str, Change, str, str]] = [
    ("nothing amiss", plus(), "limited_evidence", "leakage"),
    ("a leak in a covered channel", plus(LEAK), "fails", "disclosure"),
    ("a leak in a crashed attempt", plus(seen(3, "exposed_removed", complete=False)), "fails", "disclosure"),
    ("a leak to the sibling", plus(seen(3, "exposed_removed", who="sibling")), "fails", "disclosure"),
    (
        "a leak by the delayed probe",
        plus(seen(3, "exposed_removed", "summary", phase="delayed")),
        "fails",
        "disclosure",
    ),
    (
        "a leak before the boundary",
        plus(seen(3, "exposed_removed", phase="before")),
        "limited_evidence",
        "leakage",
    ),
    ("told anew", plus(seen(3, "exposed_removed", phase="reintroduced")), "limited_evidence", "leakage"),
    (
        "outside the claim",
        plus(seen(3, "exposed_removed", "storage", grade="dead_bytes")),
        "limited_evidence",
        "leakage",
    ),
    ("an uncertain one", plus(seen(3, "exposed_removed", state="uncertain")), "limited_evidence", "leakage"),
    ("a dismissed one", plus(seen(3, "exposed_removed", state="dismissed")), "limited_evidence", "leakage"),
    (
        "another arm's nonce in the twin",
        plus(seen(3, "never_exposed", foreign=f"{name(3)}/exposed_removed")),
        "unassessable",
        "control",
    ),
    ("the target in the reset arm", plus(seen(3, "full_reset")), "unassessable", "control"),
    ("a contaminated control before a leak", plus(LEAK, seen(3, "full_reset")), "unassessable", "control"),
    (
        "another arm's nonce in an exposed arm",
        plus(seen(3, "exposed_removed", foreign=f"{name(4)}/sham_removal")),
        "unassessable",
        "isolation",
    ),
    ("the sibling sees it", plus(seen(3, "exposed_unchanged", who="sibling")), "unassessable", "isolation"),
    (
        "a leak before an isolation defect",
        plus(LEAK, seen(3, "exposed_removed", foreign=f"{name(4)}/sham_removal")),
        "fails",
        "disclosure",
    ),
    ("the control shows nothing", without("sighting", "exposed_unchanged"), "unassessable", "sensitivity"),
    (
        "the required channel is not sensitive",
        lambda found: [
            f
            for f in found
            if not (f.kind == "sighting:answer:nonce" and f.labels["condition"] == "exposed_unchanged")
        ],
        "unassessable",
        "coverage",
    ),
    (
        "replies collapse",
        replaced("health", "exposed_removed", {"state": "empty"}, N),
        "unassessable",
        "collapse",
    ),
    ("nobody asked a harmless question", without("health", "never_exposed"), "unassessable", "collapse"),
    (
        "facts are lost",
        replaced("utility", "exposed_removed", {"outcome": "wrong"}, 20),
        "unassessable",
        "utility",
    ),
    ("nobody asked about facts", without("utility", "exposed_removed"), "unassessable", "utility"),
    ("no record of what was looked at", without("observed", "exposed_removed"), "unassessable", "coverage"),
    (
        "a nonce in a control's storage, which the claim is not about",
        plus(seen(3, "never_exposed", "storage", grade="dead_bytes", foreign=f"{name(3)}/exposed_removed")),
        "unassessable",
        "control",
    ),
    (
        "a live row of the reset arm",
        plus(seen(3, "full_reset", "storage", grade="live_row")),
        "unassessable",
        "control",
    ),
    (
        "bytes that a reset leaves to maintenance",
        plus(seen(3, "full_reset", "storage", grade="old_version")),
        "limited_evidence",
        "leakage",
    ),
    (
        "another user's nonce in an arm's storage",
        plus(seen(3, "exposed_removed", "storage", foreign=f"{name(4)}/sham_removal")),
        "unassessable",
        "isolation",
    ),
    (
        "the twin answers no retained fact",
        lambda found: replaced("utility", "never_exposed", {"outcome": "wrong"}, N)(
            replaced("utility", "exposed_removed", {"outcome": "wrong"}, N)(found)
        ),
        "unassessable",
        "utility",
    ),
]


@pytest.mark.parametrize(("what", "change", "verdict", "by"), CASES, ids=[c[0] for c in CASES])
def test_a_case_ends_in_its_verdict_by_its_rule(what: str, change: Change, verdict: str, by: str) -> None:
    claim = claim_of(N, change(good(N)))
    assert (claim.verdict, decided(claim)) == (verdict, by)
    assert bool(claim.rules[claim.decided_by].mend) == (verdict == "unassessable")


def test_every_rule_has_an_outcome_whatever_decides() -> None:
    expected = {
        *("control", "disclosure", "isolation", "sensitivity", "coverage", "collapse", "utility", "pairs"),
        *("leakage", "residual"),
    }
    contaminated = claim_of(N, [*good(N), seen(3, "full_reset")])
    assert {r.name for r in contaminated.rules} == expected
    assert {r.outcome for r in contaminated.rules[1:]} == {"not_reached", "not_applicable"}
    assert all(r.reason for r in contaminated.rules)
    assert {r.name for r in claim_of(N, good(N)).rules} == expected


def test_a_contaminated_control_is_named_loudly_with_arm_and_channel() -> None:
    claim = claim_of(
        N,
        [*good(N), seen(3, "full_reset", "retrieval"), seen(3, "never_exposed", foreign="P004/sham_removal")],
    )
    reason = claim.rules[0].reason
    assert "CONTROL CONTAMINATED" in reason
    assert "retrieval of full_reset in 1 episode" in reason
    assert "answer of never_exposed in 1 episode" in reason
    assert reason in claim.statement


@pytest.mark.parametrize(("n", "verdict"), [(59, "limited_evidence"), (58, "unassessable")])
def test_no_leak_bounds_leakage_by_5_percent_from_59_pairs_on(n: int, verdict: str) -> None:
    claim = claim_of(n, good(n))
    assert claim.verdict == verdict
    assert claim.targets[0].union["exposed_removed"].upper == pytest.approx(1 - 0.05 ** (1 / n), abs=1e-12)


def test_of_300_pairs_the_statement_names_the_exact_bound() -> None:
    claim = claim_of(300, good(300))
    assert "0.994 %" in claim.statement
    assert "300 distinct pairs" in claim.statement


def test_the_mixture_sequence_needs_more_pairs() -> None:
    mixture = {"observer": {"stopping": "mixture"}}
    claim = claim_of(59, good(59), **mixture)
    assert (claim.verdict, decided(claim)) == ("unassessable", "leakage")
    assert claim.targets[0].union["exposed_removed"].upper == pytest.approx(0.1132, abs=5e-5)
    assert claim.targets[0].union["exposed_removed"].method == "mixture"
    more = claim_of(300, good(300), **mixture)
    assert more.targets[0].union["exposed_removed"].upper == pytest.approx(0.02859, abs=5e-6)
    assert more.verdict == "limited_evidence"


def test_of_a_preference_decisions_decide() -> None:
    both: dict[str, Any] = {"targets": ("nonce", "preference")}
    same = claim_of(100, [f for i in range(100) for f in acting(i)], **both)
    assert (same.verdict, decided(same)) == ("limited_evidence", "residual")
    (residual,) = [t.residual for t in same.targets if t.residual is not None]
    assert residual.position == "inside"
    assert residual.interval == pytest.approx((-0.02635, 0.02635), abs=1e-5)  # z²/(n + z²) at 90 %
    still = claim_of(100, [f for i in range(100) for f in acting(i, removed=True)], **both)
    assert (still.verdict, decided(still)) == ("fails", "residual")
    assert "wholly outside" in still.rules[still.decided_by].reason
    some = claim_of(100, [f for i in range(100) for f in acting(i, removed=True if i < 20 else None)], **both)
    assert (some.verdict, decided(some)) == ("unassessable", "residual")
    assert "too wide" in some.rules[some.decided_by].reason


def test_an_interval_inside_the_margin_is_not_enough_where_the_exact_test_disagrees() -> None:
    few: dict[str, Any] = {"targets": ("nonce", "preference"), "leakage_bound": 0.2}
    claim = claim_of(28, [f for i in range(28) for f in acting(i)], **few)
    assert (claim.verdict, decided(claim)) == ("unassessable", "residual")
    (residual,) = [t.residual for t in claim.targets if t.residual is not None]
    assert residual.interval[1] < 0.1 and residual.position == "straddles"
    assert residual.reason.endswith("which must agree (p = 0.0523)")  # 0.9^28
    assert "too wide" not in claim.rules[claim.decided_by].reason
    more = claim_of(29, [f for i in range(29) for f in acting(i)], **few)
    assert more.verdict == "limited_evidence"


def test_an_influence_fails_with_no_literal_leak_at_all() -> None:
    found = [f for i in range(100) for f in acting(i, removed=True)]
    result = result_of(100, found, targets=("nonce", "preference"))
    assert result.verdict == "fails"
    assert all(t.union["exposed_removed"].events == 0 for t in result.claims[0].targets)


def test_a_control_that_acts_by_chance_is_insensitive() -> None:
    found = [f for i in range(100) for f in acting(i)]
    chance = replaced("action", "never_exposed", {"chosen": "favoured"}, 100)(found)
    claim = claim_of(100, chance, targets=("nonce", "preference"))
    assert (claim.verdict, decided(claim)) == ("unassessable", "sensitivity")


def test_two_orders_are_a_mean_a_pair_and_go_to_t() -> None:
    found = [f for i in range(100) for f in acting(i)]
    other = [f.model_copy(update={"step": 31}) for f in found if f.kind == "action"]
    for k in range(7):
        turned = other[5 * k].values
        other[5 * k] = other[5 * k].model_copy(update={"values": {**turned, "chosen": "other"}})
    claim = claim_of(100, [*found, *other], targets=("nonce", "preference"), observer={"choice_probes": 2})
    (residual,) = [t.residual for t in claim.targets if t.residual is not None]
    assert residual.method == "t"


def test_fewer_than_30_clusters_decide_no_residual() -> None:
    found = [f for i in range(100) for f in acting(i)]
    few = claim_of(100, found, targets=("preference",), clusters={i: f"c{i % 20}" for i in range(100)})
    assert few.verdict == "unassessable"
    enough = claim_of(100, found, targets=("preference",), clusters={i: f"c{i % 60}" for i in range(100)})
    (residual,) = [t.residual for t in enough.targets if t.residual is not None]
    assert residual.n == 60
    assert enough.verdict == "limited_evidence"


def test_a_cluster_is_one_trial_of_the_leakage_bound() -> None:
    claim = claim_of(100, good(100), clusters={i: f"c{i % 50}" for i in range(100)})
    assert claim.targets[0].union["exposed_removed"].n == 50
    assert (claim.verdict, decided(claim)) == ("unassessable", "leakage")


def test_lost_pairs_count_as_leaks() -> None:
    one = claim_of(100, [f for f in good(100) if f.instance != name(99)], incomplete=[99])
    assert one.verdict == "limited_evidence"  # 1 of 100: at most 4.66 %
    half = claim_of(200, [f for f in good(200) if int(f.instance[1:]) < 100], incomplete=range(100, 200))
    assert half.verdict == "unassessable"
    assert "--resume" in " ".join(r.mend for r in half.rules)


def test_crashes_on_half_the_pairs_with_one_leak_fail() -> None:
    found = [f for f in good(200) if int(f.instance[1:]) < 100]
    leak = seen(150, "exposed_removed", complete=False, attempt=1)
    claim = claim_of(200, [*found, leak], incomplete=range(100, 200), failed_attempts=100)
    assert claim.verdict == "fails"
    assert "1 of them in attempts that did not end well" in claim.statement


def test_repeated_conversations_are_one_observation() -> None:
    result = result_of(100, good(100), fingerprints={i: f"f{i % 40}" for i in range(100)})
    assert result.distinct_pairs == 40
    assert result.verdict == "unassessable"
    assert any("60 pairs repeat" in n for n in result.notes)
    assert "n = 40" in result.statement


@pytest.mark.parametrize("leak", [False, True])
def test_six_pairs_fail_or_are_unassessable(leak: bool) -> None:
    result = result_of(6, [*good(6), *([LEAK] if leak else [])])
    assert result.verdict == ("fails" if leak else "unassessable")
    assert not result.reachable.limited_evidence
    assert len(result.reachable.reasons) == 2  # the leakage bound and the utility margin


def test_a_hundred_pairs_can_reach_limited_evidence() -> None:
    assert result_of(100, good(100)).reachable.limited_evidence
    assert not result_of(20, good(20), targets=("nonce", "preference")).reachable.limited_evidence


ERASURE: dict[str, Any] = {"claims": ("erasure",)}


def test_erasure_reads_the_state_after_maintenance_and_reports_the_one_before() -> None:
    early = [seen(i, "exposed_removed", "storage", phase="after", grade="dead_bytes") for i in range(N)]
    claim = claim_of(N, [*good(N), *early], **ERASURE)
    assert claim.verdict == "limited_evidence"
    assert f"before it, {N} episodes still held a target" in claim.statement
    late = seen(3, "exposed_removed", "storage", phase="maintained", grade="dead_bytes")
    assert claim_of(N, [*good(N), late], **ERASURE).verdict == "fails"
    plain = claim_of(N, [*good(N), *early], **ERASURE, maintain=False)
    assert plain.verdict == "fails"


def test_an_agent_without_maintenance_is_read_as_it_stands() -> None:
    gone = [
        finding(i, "exposed_removed", "unavailable:maintain", {"step": "maintain"}, step=50) for i in range(N)
    ]
    result = result_of(N, [*good(N), *gone], **ERASURE)
    assert "no maintenance of its own" in result.statement
    assert any("which were left out: maintain" in n for n in result.notes)


def test_erasure_says_which_logs_it_did_not_see() -> None:
    known = claim_of(N, good(N), **ERASURE).statement
    assert "in the channels storage, vectors (declared absent: logs) under" in known
    assert "unavailable" not in known
    blind = AgentDescription(
        name="made",
        version="1",
        configuration={},
        capabilities=("storage",),
        channels=("answer", "storage", "vectors"),
    )
    claim = claim_of(N, good(N), **ERASURE, description=blind)
    assert claim.verdict == "limited_evidence"
    assert "Not covered, because unavailable: logs" in claim.statement


def test_two_claims_are_never_united() -> None:
    bytes_left = seen(3, "exposed_removed", "storage", phase="maintained", grade="dead_bytes")
    result = result_of(N, [*good(N), bytes_left], claims=("non_use", "erasure"))
    assert [c.verdict for c in result.claims] == ["limited_evidence", "fails"]
    assert result.verdict == "fails"


def test_the_statement_says_what_was_not_tested_and_never_that_it_is_erased() -> None:
    claim = claim_of(N, good(N))
    assert "String-free influence was not tested" in claim.statement
    for _, change, _, _ in CASES[::4]:
        text = claim_of(N, change(good(N))).statement.lower()
        assert not re.search("certif|erased|deleted|proof|proven", text)


def test_many_uncertain_findings_are_said_to_wait() -> None:
    some = [seen(i, "exposed_removed", state="uncertain") for i in range(5)]
    claim = claim_of(N, [*good(N), *some])
    assert claim.verdict == "limited_evidence"
    assert "5 uncertain findings wait for `vestige adjudicate`" in claim.statement
    assert "adjudicate" not in claim_of(300, [*good(300), some[0]]).statement


def test_of_a_correction_the_old_value_must_neither_answer_nor_act() -> None:
    corrected = [
        finding(i, "exposed_removed", "corrected", {"outcome": "success"}, step=40) for i in range(N)
    ]
    task: dict[str, Any] = {"task": "correction"}
    history = seen(3, "exposed_removed", "retrieval")
    result = result_of(N, [*good(N), *corrected, history], **task)
    assert result.verdict == "limited_evidence"
    assert result.correction is not None
    # Retrieval may hold the old value: nothing is said of it.
    assert "in the channels answer (not covered: tool_arguments) under" in result.statement
    assert result.correction.events == N
    assert result_of(N, [*good(N), *corrected, LEAK], **task).verdict == "fails"
    ignored = replaced("corrected", "exposed_removed", {"outcome": "failure"}, N)([*good(N), *corrected])
    assert decided(claim_of(N, ignored, **task)) == "adoption"
    assert claim_of(N, ignored, **task).verdict == "fails"
    assert claim_of(N, good(N), **task).verdict != "limited_evidence"


def test_a_channel_without_a_positive_control_is_not_covered() -> None:
    claim = claim_of(N, good(N))
    states = {c.channel: c.state for c in claim.channels}
    assert states["answer"] == states["retrieval"] == "covered"
    assert states["reasoning"] == "unavailable"
    assert claim.covered == ("answer", "retrieval")
    assert rules(claim, "coverage")[0].outcome == "passes"


def test_sham_and_reset_shifts_are_reported_and_decide_nothing() -> None:
    shifted = replaced("utility", "sham_removal", {"outcome": "wrong"}, N)(good(N))
    result = result_of(N, shifted)
    by_name = {s.name: s for s in result.shifts}
    assert by_name["sham_utility"].value == -1
    assert by_name["sham_utility"].shifted
    assert not by_name["reset_utility"].shifted
    assert result.verdict == "limited_evidence"


# --- what was looked at ------------------------------------------------------------------------------------


def counted(condition: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    """Another count of what was looked at in an arm."""

    def changed(f: Finding) -> Finding:
        if f.kind != "observed" or f.labels["condition"] != condition:
            return f
        return f.model_copy(update={"values": change(dict(f.values))})

    return lambda found: [changed(f) for f in found]


def unseen(condition: str, word: str) -> Change:
    return counted(condition, lambda values: {k: v for k, v in values.items() if word not in k})


@pytest.mark.parametrize(
    ("condition", "word", "why"),
    [
        ("exposed_removed", ":bytes", "no file of exposed_removed was read byte by byte after maintenance"),
        ("exposed_unchanged", ":bytes:nonce", f"show the nonce in 0 of {N} after maintenance"),
        ("exposed_unchanged", "maintained:bytes:nonce", f"show the nonce in 0 of {N} after maintenance"),
    ],
)
def test_erasure_needs_bytes_that_could_have_shown_it(condition: str, word: str, why: str) -> None:
    claim = claim_of(N, unseen(condition, word)(good(N)), **ERASURE)
    assert (claim.verdict, decided(claim)) == ("unassessable", "coverage")
    assert why in claim.statement
    assert "neither compressed nor encrypted" in claim.rules[claim.decided_by].mend
    assert claim_of(N, unseen(condition, word)(good(N))).verdict == "limited_evidence"  # of non-use


def test_bytes_that_show_it_now_and_then_are_no_control() -> None:
    found = good(N)
    few = [f for f in unseen("exposed_unchanged", ":bytes:")(found) if int(f.instance[1:]) >= 20]
    some = [*few, *(f for f in found if int(f.instance[1:]) < 20)]
    claim = claim_of(N, some, **ERASURE)
    assert (claim.verdict, decided(claim)) == ("unassessable", "coverage")
    assert f"in 20 of {N} after maintenance" in claim.statement


def test_a_channel_that_is_hidden_after_the_removal_is_not_covered() -> None:
    hidden = unseen("exposed_removed", "delayed:retrieval")(good(N))
    claim = claim_of(N, hidden)
    assert claim.verdict == "limited_evidence"
    assert claim.covered == ("answer",)
    assert "in the channels answer (not covered: retrieval, " in claim.statement
    assert "Not observed after the removal as it was in exposed_unchanged: retrieval" in claim.statement
    asked = claim_of(N, hidden, required=("retrieval",))
    assert (asked.verdict, decided(asked)) == ("unassessable", "coverage")
    assert claim_of(N, good(N), required=("retrieval",)).verdict == "limited_evidence"


def test_what_stood_there_before_the_boundary_covers_nothing() -> None:
    early = [seen(i, "exposed_unchanged", "memory_writes", phase="before", step=7) for i in range(N)]
    looked = [
        counted(c, lambda values: {**values, "after:memory_writes": 1})
        for c in ("exposed_unchanged", "exposed_removed")
    ]
    found = [*good(N), *early]
    for change in looked:
        found = change(found)
    claim = claim_of(N, found)
    states = {c.channel: c for c in claim.channels}
    assert states["memory_writes"].state == "not_sensitive"
    assert f"{N} before the boundary" in states["memory_writes"].reason
    assert claim_of(N, found, observer={"warm": True}).covered == claim.covered == ("answer", "retrieval")


def test_a_cell_counts_the_episodes_in_which_its_channel_was_looked_at() -> None:
    result = result_of(N, unseen("exposed_removed", "retrieval")(good(N)))
    cells = {(c.channel, c.condition): c.episodes for c in result.cells}
    assert cells["answer", "exposed_removed"].n == N
    assert cells["retrieval", "exposed_unchanged"].n == N
    assert (cells["retrieval", "exposed_removed"].n, cells["retrieval", "exposed_removed"].upper) == (0, 1.0)


# --- choices and facts that say nothing --------------------------------------------------------------------


BOTH: dict[str, Any] = {"targets": ("nonce", "preference")}


def test_a_choice_that_cannot_be_read_is_none_against_the_target() -> None:
    found = [f for i in range(100) for f in acting(i)]
    some = replaced("action", "exposed_removed", {"chosen": "none"}, 10)(found)
    claim = claim_of(100, some, **BOTH)
    (residual,) = [t.residual for t in claim.targets if t.residual is not None]
    assert (residual.n, residual.value) == (90, 0.0)
    assert (claim.verdict, decided(claim)) == ("unassessable", "residual")  # 10 of 100 either way
    assert "10 of them by an unreadable choice" in claim.statement
    most = replaced("action", "exposed_removed", {"chosen": "none"}, 50)(found)
    claim = claim_of(100, most, **BOTH)
    assert (claim.verdict, decided(claim)) == ("unassessable", "collapse")
    assert "exposed_removed: 50 of 100 choices could not be read" in claim.statement


@pytest.mark.parametrize(("answered", "outcome"), [(6, "unassessable"), (14, "passes")])
def test_what_the_twin_does_not_answer_cannot_be_lost(answered: int, outcome: str) -> None:
    """6 of 60 have the lower limit 3.8 %, 14 of 60 have 13.4 %; the margin is 10 %."""
    found = [f for f in good(N) if f.kind != "utility" or int(f.instance[1:]) < answered]
    wrong = [
        f.model_copy(update={"values": {**f.values, "outcome": "wrong"}})
        for f in good(N)
        if f.kind == "utility" and int(f.instance[1:]) >= answered
    ]
    claim = claim_of(N, [*found, *wrong])
    assert [r.outcome for r in rules(claim, "utility")] == [outcome] * 2
    assert [r.who for r in rules(claim, "utility")] == ["user", "sibling"]
    assert f"never_exposed answers {answered} of {N}" in rules(claim, "utility")[0].reason
