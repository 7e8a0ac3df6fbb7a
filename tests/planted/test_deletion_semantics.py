"""What deletion means in different stores, and what an observer can say of each (interventions × observations)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.verified import ALL, BOTH, SOME_SEEDS, verify

on_some_seeds = pytest.mark.parametrize("seed", SOME_SEEDS)


@on_some_seeds
def test_an_access_block_is_non_use_and_no_erasure(out: Path, seed: int) -> None:
    found = verify("Blocks", out, seed, **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("fails", "disclosure")
    assert found.verdict == "fails"
    assert found.cell("storage").grades == {"live_row": 5}
    assert found.leaking() == {"storage"}


@on_some_seeds
def test_a_file_that_is_written_anew_holds_nothing(out: Path, seed: int) -> None:
    found = verify("Filed", out, seed, **BOTH, **ALL)
    assert [c.verdict for c in found.result.claims] == ["limited_evidence", "limited_evidence"]
    for wait in found.waited():
        assert wait.visible_absence is not None and wait.physical_cleanup is not None


@on_some_seeds
def test_a_file_in_hexadecimal_digits_is_read_where_that_was_declared(out: Path, seed: int) -> None:
    found = verify("Hexes", out, seed, **BOTH, normalisations=("case", "hex"))
    assert found.leaking() == {"storage"}
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("fails", "disclosure")
    assert (found.cell("storage").forms, found.cell("storage").grades) == ({"hex": 5}, {"dead_bytes": 5})


@on_some_seeds
def test_the_request_in_a_log_is_no_residue(out: Path, seed: int) -> None:
    found = verify("LogsRequest", out, seed, **BOTH)
    assert found.leaking() == set()


@on_some_seeds
def test_parts_in_several_rows_are_residue_to_who_may_combine_them(out: Path, seed: int) -> None:
    found = verify("Splits", out, seed, **BOTH, pairs=3, combine_fragments=True)
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("fails", "disclosure")
    storage = found.cell("storage")
    assert (storage.forms, storage.grades) == ({"combined": 3}, {"live_row": 3})
    assert set(storage.phases) == {"before", "maintained"}
    apart = verify("Splits", out.with_name("apart"), seed, **BOTH, pairs=3)
    assert apart.cell("storage").episodes.events == 0


@on_some_seeds
def test_deleting_a_point_deletes_payload_and_vector(out: Path, seed: int) -> None:
    found = verify("DeletesPoints", out, seed, **BOTH)
    assert found.leaking() == set()
    assert found.claim("non_use").verdict == "limited_evidence"
    assert found.claim("erasure").covered == ("storage", "vectors")
    # No file of it can be read: its items are gone, and of its bytes nothing is known.
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("unassessable", "coverage")


@on_some_seeds
def test_deleting_a_vector_leaves_the_payload(out: Path, seed: int) -> None:
    found = verify("DeletesVectors", out, seed, **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert found.claim("erasure").verdict == "fails"
    assert found.leaking() == {"storage"}
    assert found.cell("vectors", "exposed_unchanged").episodes.events == 5


@on_some_seeds
def test_deleting_a_raw_record_leaves_its_vector(out: Path, seed: int) -> None:
    found = verify("DeletesRecords", out, seed, **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert found.claim("erasure").verdict == "fails"
    assert found.leaking() == {"vectors"}
    assert found.cell("vectors").grades == {"vector_only": 5}


@on_some_seeds
def test_deleting_what_was_derived_leaves_the_raw_record(out: Path, seed: int) -> None:
    found = verify("DeletesDerived", out, seed)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("answer").episodes.events == 5


@on_some_seeds
def test_deleting_raw_records_and_summaries(out: Path, seed: int) -> None:
    found = verify("DeletesBoth", out, seed)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())
    assert found.cell("summary", "exposed_unchanged").episodes.events == 5


@on_some_seeds
def test_a_checkpoint_that_was_not_deleted_comes_back_with_a_restart(out: Path, seed: int) -> None:
    found = verify("KeepsCheckpoint", out, seed)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.phases() == {"restarted", "maintained"}


@on_some_seeds
def test_a_checkpoint_that_was_deleted_does_not(out: Path, seed: int) -> None:
    found = verify("DropsCheckpoint", out, seed, **BOTH)
    assert [c.verdict for c in found.result.claims] == ["limited_evidence", "limited_evidence"]


@on_some_seeds
@pytest.mark.parametrize("kind", ["source", "derivations"])
def test_an_index_that_does_not_follow_its_source_fails(out: Path, seed: int, kind: str) -> None:
    found = verify("IndexStays", out, seed, kind=kind)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("answer").episodes.events == 5


@on_some_seeds
@pytest.mark.parametrize("kind", ["source", "derivations"])
def test_a_source_withdrawn_with_its_index(out: Path, seed: int, kind: str) -> None:
    found = verify("IndexFollows", out, seed, kind=kind)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())


@on_some_seeds
def test_a_key_that_is_not_found_is_no_absence(out: Path, seed: int) -> None:
    """The lookup answers 404 at once, and the search still serves the value."""
    found = verify("IndexStays", out, seed)
    assert all(wait.visible_absence is not None and not wait.pending for wait in found.waited())
    assert found.cell("storage").episodes.events == 0
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")


@on_some_seeds
def test_a_removal_that_answers_404_removed_nothing(out: Path, seed: int) -> None:
    found = verify("NotFound", out, seed)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert any(note.startswith("5 of 5 removal requests were not accepted") for note in found.result.notes)


@on_some_seeds
def test_a_suppressed_answer_fails_by_what_was_retrieved(out: Path, seed: int) -> None:
    found = verify("SuppressesAndShows", out, seed)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.cell("answer").episodes.events == 0
    assert found.cell("retrieval").episodes.events == 5


@on_some_seeds
def test_a_suppressed_answer_alone_is_non_use_of_the_answer_alone(out: Path, seed: int) -> None:
    """No more than was looked at: without retrieval and tools, the claim covers the answers, and says so."""
    found = verify("Suppresses", out, seed, **BOTH)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert {"answer"} <= set(found.claim("non_use").covered) <= {"answer", "memory_writes", "summary"}
    assert "Not covered, because unavailable: retrieval" in found.claim("non_use").statement
    assert found.claim("erasure").verdict == "fails"


@on_some_seeds
def test_a_reset_that_keeps_is_a_contaminated_control(out: Path, seed: int) -> None:
    found = verify("ResetKeeps", out, seed, **ALL)
    assert (found.verdict, found.decided().name) == ("unassessable", "control")
    assert "of full_reset" in found.decided().reason


@on_some_seeds
def test_reset_and_sham_of_an_agent_that_forgets(out: Path, seed: int) -> None:
    found = verify("Forgets", out, seed, **ALL)
    assert found.verdict == "limited_evidence"
    assert found.leaking("full_reset") == set()
    assert found.cell("answer", "sham_removal").episodes.events == 5
    assert not any(s.shifted for s in found.result.shifts)


@on_some_seeds
def test_without_its_wait_option_a_removal_is_awaited_by_what_is_visible(out: Path, seed: int) -> None:
    found = verify("NoWait", out, seed, pending_limit=20.0, concurrency=5)
    assert (found.verdict, found.leaking()) == ("limited_evidence", set())
    for wait in found.waited():
        assert wait.completed is None and wait.reasons["completed"] == "the agent has no poll"
        assert wait.visible_absence is not None and wait.visible_absence >= 0.1
        assert wait.looks == 2 and not wait.pending


@on_some_seeds
def test_with_its_wait_option_a_removal_is_done_when_it_answers(out: Path, seed: int) -> None:
    found = verify("Waits", out, seed)
    assert found.verdict == "limited_evidence"
    assert all(wait.completed == 0.0 and wait.looks == 1 for wait in found.waited())


@on_some_seeds
def test_bytes_that_background_cleanup_takes_later_are_no_failure_after_it(out: Path, seed: int) -> None:
    found = verify("CleansUp", out, seed, **BOTH)
    assert [c.verdict for c in found.result.claims] == ["limited_evidence", "limited_evidence"]
    assert "before it, 5 episodes still held a target" in found.claim("erasure").statement
    for wait in found.waited():
        assert wait.visible_absence is not None and wait.physical_cleanup is None


@on_some_seeds
def test_the_same_bytes_fail_erasure_where_nothing_cleans_up(out: Path, seed: int) -> None:
    found = verify("CleansUp", out, seed, **BOTH, maintain=False)
    assert found.claim("non_use").verdict == "limited_evidence"
    assert (found.claim("erasure").verdict, found.decided("erasure").name) == ("fails", "disclosure")
    assert found.cell("storage").grades == {"dead_bytes": 5}
