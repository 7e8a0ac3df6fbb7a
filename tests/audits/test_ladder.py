"""What each way of deleting leaves behind, on a real memory with the extractive reader: the values that are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.studies import Ran, people, run

from vestige.audits.results import ContentEvidence, Measure, NotComputable, Rate, ResidueCell

N = 5
KINDS = ("direct", "indirect", "jailbreak")
ERASING = ("full_purge", "tombstone")


def value(measure: Measure) -> float | None:
    return None if isinstance(measure, NotComputable) else measure.value


def why(measure: Measure) -> str:
    assert isinstance(measure, NotComputable)
    return measure.not_computable


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("ladder") / "run"
    return run("residue", folder, people(N), levels="0,1,2", k="1,3", supersede="append,match,replace")


@pytest.fixture(scope="module")
def frontier(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run("frontier", tmp_path_factory.mktemp("frontier") / "run", people(N), levels="0,1,2", k="1,3")


def cells(made: Ran, mode: str, *, level: int | None = None) -> list[ResidueCell]:
    found = [c for c in made.residue.cells if c.mode == mode and level in (None, c.S)]
    assert found
    return found


def test_a_cell_for_each_level_k_mode_and_policy(ladder: Ran) -> None:
    variants = {
        ("noop", None),
        ("raw_only", None),
        *[("raw_plus_resummarize", s) for s in ("append", "match", "replace")],
        ("full_purge", None),
        ("tombstone", None),
    }
    keys = [(c.S, c.k, (c.mode, c.supersede)) for c in ladder.residue.cells]
    assert len(keys) == len(set(keys)) == 3 * 2 * 7
    assert set(keys) == {(s, k, v) for s in (0, 1, 2) for k in (1, 3) for v in variants}


def test_noop_equals_the_frontier_at_the_same_s_and_k(ladder: Ran, frontier: Ran) -> None:
    """The control deletes nothing, so that each probe kind leaks as often as in the frontier."""
    aer = {(c.S, c.k): c.AER for c in frontier.frontier.configurations}
    assert any(
        0 < block.indirect.value < 1 for block in aer.values() if block.indirect
    )  # else equality is cheap
    for cell in cells(ladder, "noop"):
        block = aer[cell.S, cell.k]
        for kind in KINDS:
            assert cell.by_probe[kind].any == getattr(block, kind)
        assert cell.unattributed.events == 0
        assert cell.FRS.worst.value == block.max.value
        assert (cell.FRS.summary if cell.S else cell.FRS.raw) == block.max
        assert (cell.FRS.raw if cell.S else cell.FRS.summary).value == 0.0


def test_noop_shows_everything_that_can_be_seen(ladder: Ran) -> None:
    """The positive control: what a residue of 0 is worth is that it was 1 before."""
    for cell in cells(ladder, "noop"):
        for block in (cell.text_residue, cell.partial_residue, cell.content_evidence):
            assert value(block.raw) == 1.0
        # Its vectors fit their texts: nothing was forgotten to be re-embedded.
        assert value(cell.vector_residue.raw) == 0.0


@pytest.mark.parametrize("mode", ERASING)
def test_erasing_modes_leave_no_text_and_no_vector_in_any_tier(ladder: Ran, mode: str) -> None:
    for cell in cells(ladder, mode):
        for block in (cell.text_residue, cell.partial_residue, cell.vector_residue):
            assert value(block.raw) == 0.0
            assert value(block.summary) == (0.0 if _summarised(ladder, cell) else None)
        assert cell.FRS.worst.value == 0.0 and cell.unattributed.events == 0
        evidence = cell.content_evidence.raw
        assert isinstance(evidence, ContentEvidence) and evidence.value < 0.5
        text = cell.text_residue.raw
        assert isinstance(text, Rate) and (text.n, text.events) == (N, 0)


def _summarised(made: Ran, cell: ResidueCell) -> bool:
    """Whether the canary came through the summary of any instance at this level, as noop shows it."""
    noop = next(c for c in cells(made, "noop", level=cell.S) if c.k == cell.k)
    return not isinstance(noop.text_residue.summary, NotComputable)


def test_raw_only_leaves_the_summary_tier_as_noop_does(ladder: Ran) -> None:
    for level in (1, 2):
        for cell, noop in zip(
            cells(ladder, "raw_only", level=level), cells(ladder, "noop", level=level), strict=True
        ):
            assert cell.text_residue.summary == noop.text_residue.summary
            assert cell.partial_residue.summary == noop.partial_residue.summary
            assert cell.content_evidence.summary == noop.content_evidence.summary
            assert cell.FRS.summary == noop.FRS.summary and cell.FRS.worst == noop.FRS.worst
            assert {k: p.any for k, p in cell.by_probe.items()} == {
                k: p.any for k, p in noop.by_probe.items()
            }


def test_raw_only_scrubs_the_text_and_leaves_the_vector(ladder: Ran) -> None:
    for cell in cells(ladder, "raw_only"):
        assert value(cell.text_residue.raw) == value(cell.partial_residue.raw) == 0.0
        assert value(cell.vector_residue.raw) == 1.0
        assert value(cell.content_evidence.raw) == 1.0


def test_at_level_zero_scrubbing_the_raw_text_is_all_there_is_to_do(ladder: Ran) -> None:
    for mode in ("raw_only", "raw_plus_resummarize", *ERASING):
        for cell in cells(ladder, mode, level=0):
            assert cell.FRS.worst.value == 0.0


def test_there_is_no_summary_tier_at_level_zero(ladder: Ran) -> None:
    for cell in (c for c in ladder.residue.cells if c.S == 0):
        for block in (cell.text_residue, cell.partial_residue, cell.vector_residue, cell.content_evidence):
            assert why(block.summary) == "S = 0 keeps no summaries"
            assert not isinstance(block.raw, NotComputable)


def test_what_becomes_of_older_summaries_is_the_policy_s(ladder: Ran) -> None:
    """append keeps the summary that holds the canary, replace drops it; neither is match."""
    by = {c.supersede: c for c in cells(ladder, "raw_plus_resummarize", level=1) if c.k == 3}
    assert value(by["append"].text_residue.summary) == 1.0
    assert value(by["replace"].text_residue.summary) == 0.0
    assert (
        by["append"].FRS.summary.value
        == next(c for c in cells(ladder, "noop", level=1) if c.k == 3).FRS.summary.value
    )
    assert by["replace"].FRS.summary.value == 0.0
    for cell in by.values():
        assert value(cell.text_residue.raw) == value(cell.vector_residue.raw) == 0.0


def test_without_a_control_nothing_is_claimed(tmp_path: Path) -> None:
    """base64: the parts stand nowhere before deletion, so their absence after means nothing; the value stays whole."""
    made = run(
        "residue", tmp_path / "r", people(2), levels="0", k="3", planted="base64", modes="noop,full_purge"
    )
    for cell in made.residue.cells:
        assert value(cell.text_residue.raw) == 1.0
        assert isinstance(cell.storage.maintained, Rate) and cell.storage.maintained.events == 2
        assert (
            why(cell.partial_residue.raw) == "before deletion the raw tier held a part of it in no instance"
        )
        assert cell.FRS.worst.value == 0.0


def test_residue_is_read_from_the_state_not_from_k(ladder: Ran) -> None:
    for cell in ladder.residue.cells:
        twin = next(
            c
            for c in ladder.residue.cells
            if (c.S, c.mode, c.supersede) == (cell.S, cell.mode, cell.supersede) and c.k != cell.k
        )
        assert cell.text_residue == twin.text_residue and cell.vector_residue == twin.vector_residue


def test_dead_bytes_stand_in_the_files_until_maintenance(ladder: Ran) -> None:
    for cell in ladder.residue.cells:
        deleted, maintained = cell.storage.deleted, cell.storage.maintained
        assert isinstance(deleted, Rate) and isinstance(maintained, Rate)
        assert (deleted.events, deleted.n) == (N, N)  # the write-ahead log keeps what was
        if cell.mode in ERASING:
            assert maintained.events == 0
        if cell.mode == "noop":
            assert maintained.events == N
