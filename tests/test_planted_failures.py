"""Deletions that are broken on purpose must be caught, each by the measure that is there for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.studies import people, run

from vestige.audits.results import Measure, NotComputable, ResidueCell
from vestige.memory import removal
from vestige.memory.forget import MODES, RAW, Mode
from vestige.memory.removal import Removal
from vestige.memory.units import unit_id

Plant = Callable[[str, Mode], None]


@pytest.fixture
def plant() -> Iterator[Plant]:
    """Put a broken mode in the place of a good one, for one test."""
    good = dict(MODES)

    def put(name: str, mode: Mode) -> None:
        MODES.add(name, mode, replace=True)

    yield put
    for name, mode in good.items():
        MODES.add(name, mode, replace=True)


def after(out: Path, mode: str, *, level: int = 0, **given: object) -> tuple[ResidueCell, ResidueCell]:
    """The cells of noop and of a mode at k = 3."""
    given = {"modes": f"noop,{mode}", "supersede": "match", **given}
    made = run("residue", out, people(4), levels=str(level), k="3", **given)
    noop, cell = made.residue.cells
    assert (noop.mode, cell.mode) == ("noop", mode)
    return noop, cell


def value(measure: Measure) -> float:
    assert not isinstance(measure, NotComputable), measure
    return measure.value


def test_a_scrub_that_misses_a_lower_cased_copy(tmp_path: Path) -> None:
    """An exact scrub of XQ7-… leaves xq7-…: the normalised match sees it whole, and its parts stand there too."""
    _, missed = after(tmp_path / "a", "full_purge", planted="lower", scrub="exact")
    assert value(missed.text_residue.raw) == 1.0 and value(missed.partial_residue.raw) == 1.0
    _, found = after(tmp_path / "b", "full_purge", planted="lower", scrub="normalised")
    assert value(found.text_residue.raw) == value(found.partial_residue.raw) == 0.0


def test_a_scrub_that_misses_a_spaced_copy(tmp_path: Path) -> None:
    _, missed = after(tmp_path / "a", "tombstone", planted="spaced", scrub="exact")
    assert value(missed.text_residue.raw) == 1.0
    _, found = after(tmp_path / "b", "tombstone", planted="spaced", scrub="normalised")
    assert value(found.text_residue.raw) == 0.0


def test_a_copy_that_is_split_over_two_units(tmp_path: Path) -> None:
    """No unit holds the value, so that no scrubber of single units finds it; its parts stand there all the same."""
    noop, purged = after(tmp_path / "r", "full_purge", planted="split")
    for cell in (noop, purged):
        assert isinstance(cell.text_residue.raw, NotComputable)
        assert value(cell.partial_residue.raw) == 1.0


def test_a_pipeline_that_forgets_to_embed_again(tmp_path: Path, plant: Plant) -> None:
    """The text is clean in every tier, and every vector is still that of the text with the canary."""
    plant("full_purge", replace(MODES["full_purge"], reembed=False))
    noop, cell = after(tmp_path / "r", "full_purge", level=1)
    for tier in ("raw", "summary"):
        assert value(getattr(cell.text_residue, tier)) == 0.0
        assert value(getattr(cell.vector_residue, tier)) == 1.0
        assert value(getattr(cell.content_evidence, tier)) == value(getattr(noop.content_evidence, tier)) > 0


def test_a_skipped_summary_tier(tmp_path: Path, plant: Plant) -> None:
    """A purge that reaches raw records alone is clean there, and leaks through summaries exactly as noop does."""
    plant("full_purge", replace(MODES["full_purge"], reaches=RAW))
    noop, cell = after(tmp_path / "r", "full_purge", level=1)
    assert noop.FRS.summary.value > 0
    assert cell.FRS.summary == noop.FRS.summary and cell.FRS.worst == noop.FRS.worst
    assert cell.text_residue.summary == noop.text_residue.summary
    assert value(cell.text_residue.raw) == 0.0 and cell.FRS.raw.value == 0.0


def test_a_mode_that_only_says_that_it_deleted(tmp_path: Path, plant: Plant) -> None:
    plant("tombstone", Mode("Nothing, with a friendly receipt.", frozenset()))
    noop, cell = after(tmp_path / "r", "tombstone")
    assert noop.FRS.worst.value == cell.FRS.worst.value == 1.0
    assert value(cell.text_residue.raw) == value(cell.partial_residue.raw) == 1.0


def test_a_marker_that_keeps_a_part(tmp_path: Path, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redaction that leaves the last four digits, as card numbers are shown: one part of three stays."""
    real = removal.Scrubber.__call__

    def keep_digits(self: removal.Scrubber, text: str) -> str:
        return real(replace(self, replacement="****-" + self.value[-4:]), text)

    monkeypatch.setattr(removal.Scrubber, "__call__", keep_digits)
    monkeypatch.setattr("vestige.memory.scrub._ROUNDS", 1)
    _, cell = after(tmp_path / "r", "full_purge")
    assert value(cell.text_residue.raw) == 0.0
    assert value(cell.partial_residue.raw) == pytest.approx(1 / 3)


def test_a_unit_that_is_made_anew_with_its_old_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delete and insert under another id, the vector copied: the old id is gone, the old vector is not."""
    real = removal.plan_removal

    async def renamed(*args: Any, next_order: int, **given: Any) -> Removal:
        found = await real(*args, next_order=next_order, **given)
        units = {u.id: u for u in args[2]}
        updates = found.changes.updates
        again = tuple(
            replace(u, id=unit_id(u.tier, next_order + i), order=next_order + i, vector=units[u.id].vector)
            for i, u in enumerate(updates)
        )
        drops = tuple(u.id for u in updates)
        return replace(found, changes=replace(found.changes, updates=(), drops=drops, inserts=again))

    monkeypatch.setattr("vestige.memory.pipeline.plan_removal", renamed)
    _, cell = after(tmp_path / "r", "tombstone")
    assert value(cell.text_residue.raw) == 0.0
    assert value(cell.vector_residue.raw) == 1.0
    assert value(cell.content_evidence.raw) == 1.0
