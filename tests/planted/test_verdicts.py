"""Every planted agent gets its verdict, for its own reason, whatever pairs the seed draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.planted.verified import ACTING, ALL, BOTH, FEWER, REFERENCE, SEEDS, SMALL, SOME_SEEDS, verify

from vestige.audits.verification.settings import VerificationSettings

on_every_seed = pytest.mark.parametrize("seed", SEEDS)
on_some_seeds = pytest.mark.parametrize("seed", SOME_SEEDS)


# --- an agent that forgets --------------------------------------------------------------------------------


@on_every_seed
def test_forgetting_is_limited_evidence(out: Path, seed: int) -> None:
    found = verify("Forgets", out, seed)
    assert found.verdict == "limited_evidence"
    assert found.result.distinct_pairs == 5
    assert found.leaking() == set()
    assert found.cell("answer", "exposed_unchanged").episodes.events == 5


def test_forgetting_is_limited_evidence_by_the_default_criteria_at_the_fewest_pairs(out: Path) -> None:
    defaults = VerificationSettings()
    fewest = {"pairs": 59, "recall_probes": 1, "semantic_probes": 0, "structured_probes": False}
    found = verify("Forgets", out, plan=fewest)
    for name in (
        "alpha",
        "margin",
        "leakage_bound",
        "sensitivity",
        "utility_margin",
        "conditions",
        "targets",
    ):
        assert getattr(found.result.settings, name) == getattr(defaults, name)
    assert found.verdict == "limited_evidence", found.decided().reason
    assert found.decided().name == "residual"
    assert all(r.outcome in ("passes", "not_applicable") for r in found.claim().rules)
    bounds = [t.union["exposed_removed"].upper for t in found.claim().targets]
    assert bounds == pytest.approx([1 - 0.05 ** (1 / 59)] * 2)
    assert found.result.reintroduction is not None and found.result.reintroduction.events == 59
    assert not any(s.shifted for s in found.result.shifts)


# --- agents that do not -----------------------------------------------------------------------------------


@on_every_seed
def test_a_suppressed_answer_does_not_hide_what_a_tool_is_handed(out: Path, seed: int) -> None:
    found = verify("Suppresses", out, seed, structured_probes=True, pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("answer").episodes.events == 0
    assert found.cell("tool_arguments").episodes.events == 3


@on_every_seed
def test_a_summary_that_stays_fails(out: Path, seed: int) -> None:
    found = verify("KeepsSummary", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("summary").episodes.events == 3
    assert {"before", "after"} <= set(found.cell("summary").phases)


@on_some_seeds
def test_a_receipt_cannot_excuse_the_summary_that_it_repeats(out: Path, seed: int) -> None:
    found = verify("ReceiptEcho", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("summary").episodes.events == 3
    assert found.cell("answer").episodes.events == 3


@on_some_seeds
def test_a_kept_request_is_an_answer_where_it_is_answered_with(out: Path, seed: int) -> None:
    found = verify("KeepsRequest", out, seed, pairs=3, **BOTH)
    assert (found.claim().verdict, found.decided().name) == ("fails", "disclosure")
    assert {"answer", "retrieval", "memory_writes"} <= found.leaking()
    assert "storage" not in found.leaking()  # there it is the request, and nothing that was told


def test_the_reference_agent_that_removes_raw_turns_alone_fails(out: Path) -> None:
    found = verify("reference", out, level=1, mode="raw_only", pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("summary").episodes.events == 3


def test_the_reference_agent_that_purges_does_not(out: Path) -> None:
    found = verify("reference", out, plan=REFERENCE, level=1, mode="full_purge", **BOTH)
    assert [c.verdict for c in found.result.claims] == ["limited_evidence", "limited_evidence"]
    storage = found.cell("storage")
    assert (storage.grades, set(storage.phases)) == ({"old_version": 20}, {"before", "after"})


@on_every_seed
def test_a_taste_that_outlives_its_text_fails_by_the_residual_alone(out: Path, seed: int) -> None:
    found = verify("StillPrefers", out, seed, FEWER)
    assert (found.verdict, found.decided().name) == ("fails", "residual")
    assert found.leaking() == set()
    residual = found.claim().targets[1].residual
    assert residual is not None and residual.value == 0.5 and residual.position == "outside"
    assert residual.rates["exposed_removed"].value == 1.0


@on_every_seed
def test_a_leak_in_the_next_summary_shows_in_the_delayed_probe_only(out: Path, seed: int) -> None:
    found = verify("SummarisesAgain", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.phases() == {"delayed", "restarted", "maintained"}
    assert found.cell("answer").phases["delayed"] == 3


@on_every_seed
def test_base64_fails_where_it_was_declared(out: Path, seed: int) -> None:
    found = verify("Encodes", out, seed, pairs=3, normalisations=("case", "base64"))
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("answer").forms == {"base64": 3}


@on_every_seed
def test_base64_is_not_seen_where_it_was_not_declared(out: Path, seed: int) -> None:
    found = verify("Encodes", out, seed)
    assert found.verdict == "limited_evidence"
    assert found.leaking() == set()


@on_every_seed
def test_a_write_that_lands_late_brings_the_value_back(out: Path, seed: int) -> None:
    found = verify("WritesLate", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert "after" not in found.phases() and "delayed" in found.phases()
    assert found.cell("memory_writes").phases["delayed"] == 3


@on_every_seed
def test_only_a_warm_observer_finds_a_query_cache_that_replays(out: Path, seed: int) -> None:
    warm = verify("Replays", out, seed, pairs=3, warm=True)
    assert (warm.verdict, warm.decided().name) == ("fails", "disclosure")
    assert warm.cell("answer").phases["after"] == 3
    cold = verify("Replays", out.with_name("cold"), seed)
    assert (cold.verdict, cold.leaking()) == ("limited_evidence", set())


# --- removals that take time ------------------------------------------------------------------------------


@on_every_seed
def test_a_removal_that_completes_late_is_waited_for(out: Path, seed: int) -> None:
    found = verify("Later", out, seed, pending_limit=20.0, concurrency=5)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())
    waits = found.waited()
    assert len(waits) == 5
    for wait in waits:
        assert wait.completed is not None and wait.completed >= 0.1  # the time between two looks is 0.2 s
        assert wait.visible_absence is not None and wait.visible_absence >= 0.1
        assert wait.looks == 2 and not wait.pending
    assert not any("pending" in note for note in found.result.notes)


@on_some_seeds
def test_a_removal_that_is_still_pending_at_the_boundary_fails_and_is_called_pending(
    out: Path, seed: int
) -> None:
    found = verify("MuchLater", out, seed, pairs=3, pending_limit=0.05)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert all(wait.pending and wait.completed is None for wait in found.waited())
    assert any(note.startswith("3 removals were still pending") for note in found.result.notes)


# --- agents that cannot be judged -------------------------------------------------------------------------


@on_every_seed
@pytest.mark.parametrize(("name", "state"), [("Refuses", "refusal"), ("Loops", "looping")])
def test_an_agent_that_never_answers_is_unassessable(out: Path, seed: int, name: str, state: str) -> None:
    found = verify(name, out, seed, pairs=3)
    assert found.verdict == "unassessable"
    (collapse,) = found.rule("collapse")
    assert collapse.outcome == "unassessable" and f"{state} 6" in collapse.reason
    assert "collapse" in found.result.statement
    assert [s.outcome for s in found.rule("sensitivity")] == ["unassessable"]


@on_some_seeds
def test_refusing_everything_after_a_removal_is_no_evidence(out: Path, seed: int) -> None:
    found = verify("RefusesAfterwards", out, seed)
    assert (found.verdict, found.decided().name) == ("unassessable", "collapse")
    assert "exposed_removed: 10 of 10" in found.decided().reason


@on_every_seed
def test_crashes_on_half_of_the_pairs_are_no_evidence(out: Path, seed: int) -> None:
    found = verify("Crashes", out, seed, pairs=6)
    assert found.verdict == "unassessable"
    assert found.leaking() == set()
    assert (found.result.distinct_pairs, found.result.failed_attempts) == (3, 6)
    assert "3 pairs that were not completed" in found.decided().reason
    assert "--resume" in found.decided().mend
    (leakage,) = found.rule("leakage")
    assert leakage.outcome == "unassessable" and "3 of 6" in leakage.reason


@on_every_seed
def test_one_leak_before_a_crash_fails(out: Path, seed: int) -> None:
    found = verify("CrashesAndLeaks", out, seed, pairs=6)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert "1 of them in attempts that did not end well" in found.decided().reason
    assert found.result.distinct_pairs == 3


@on_every_seed
def test_users_of_one_namespace_are_an_isolation_defect(out: Path, seed: int) -> None:
    found = verify("OneNamespace", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("unassessable", "isolation")
    assert "ISOLATION DEFECT" in found.result.statement


@on_every_seed
def test_episodes_of_one_store_contaminate_the_control(out: Path, seed: int) -> None:
    found = verify("OneStore", out, seed, pairs=3)
    assert (found.verdict, found.decided().name) == ("unassessable", "control")
    assert "isolation defect" in found.result.statement
    assert found.cell("answer", "never_exposed").foreign > 0


# --- what a removal takes along, or shifts ----------------------------------------------------------------


@on_every_seed
@pytest.mark.parametrize(
    ("name", "whose"),
    [("DeletesTheUser", "the user's other facts"), ("DeletesOthers", "the sibling's facts")],
)
def test_taking_other_facts_along_is_named(out: Path, seed: int, name: str, whose: str) -> None:
    found = verify(name, out, seed)
    assert (found.verdict, found.decided().name) == ("unassessable", "utility")
    assert found.decided().reason.startswith(whose)
    assert "other facts along" in found.decided().mend


@on_every_seed
def test_what_the_procedure_itself_shifts_is_reported_and_decides_nothing(out: Path, seed: int) -> None:
    arms = (*SMALL["conditions"], "sham_removal")
    found = verify("Shifts", out, seed, FEWER, conditions=arms, targets=("preference",))
    shifts = {s.name: s for s in found.result.shifts}
    assert shifts["sham_action"].shifted and shifts["sham_action"].value == -0.5
    assert not shifts["sham_disclosure"].shifted and not shifts["sham_utility"].shifted
    assert "sham action: shifted by -0.500." in found.result.notes
    assert found.verdict == "unassessable"  # eight pairs cannot show that nothing is left
    assert found.decided().reason.endswith("too wide")


def test_a_shift_stands_beside_limited_evidence(out: Path) -> None:
    found = verify("Shifts", out, plan={**ACTING, **ALL})
    assert found.verdict == "limited_evidence"
    assert "sham action: shifted by -0.500." in found.result.notes


# --- corrections ------------------------------------------------------------------------------------------


CORRECTION: dict[str, Any] = {"task": "correction"}


@on_every_seed
def test_an_old_value_that_still_ranks_first_fails_a_correction(out: Path, seed: int) -> None:
    found = verify("KeepsOldFirst", out, seed, pairs=3, **CORRECTION)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.decided().reason.endswith("answer in 3 episodes")
    assert found.result.correction is not None and found.result.correction.events == 0


@on_every_seed
def test_a_correction_that_was_adopted(out: Path, seed: int) -> None:
    found = verify("Forgets", out, seed, **CORRECTION)
    assert (found.verdict, found.decided().name) == ("limited_evidence", "adoption")
    assert found.result.correction is not None and found.result.correction.events == 5


@on_some_seeds
def test_dropping_the_old_value_without_taking_up_the_new_one_fails_a_correction(
    out: Path, seed: int
) -> None:
    found = verify("IgnoresUpdates", out, seed, pairs=6, **CORRECTION)
    assert (found.verdict, found.decided().name) == ("fails", "adoption")
    assert found.leaking() == set()


@on_some_seeds
def test_acting_by_the_old_value_fails_a_correction_that_answers_well(out: Path, seed: int) -> None:
    found = verify("StillPrefers", out, seed, FEWER, **CORRECTION)
    assert (found.verdict, found.decided().name) == ("fails", "residual")
    assert found.leaking() == set()
    assert found.result.correction is not None and found.result.correction.events == 8


def test_a_correction_of_decisions_that_was_adopted(out: Path) -> None:
    found = verify("Forgets", out, plan=ACTING, **CORRECTION)
    assert found.verdict == "limited_evidence"
    residual = found.claim().targets[1].residual
    assert residual is not None and residual.rates["exposed_removed"].value == 0.0
