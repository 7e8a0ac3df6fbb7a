"""Tables hold every measured cell, and none where nothing was measured."""

from __future__ import annotations

import samples

from vestige.audits.results import ContentEvidence, Derived, NotComputable
from vestige.report import frontier_tables, residue_tables
from vestige.report.paper_table import beside_the_paper
from vestige.report.slices import frontier_slices, residue_slices
from vestige.report.tables import cell, rate_cell


def test_a_rate_is_its_count_and_a_derived_quantity_its_value() -> None:
    rate = samples.rate([True] * 7 + [False])
    assert (rate_cell(rate).text, rate_cell(rate).detail) == ("7/8", "0.47–0.997")
    derived = cell(Derived(value=0.625, bootstrap=(0.25, 0.875)))
    assert (derived.text, derived.detail) == ("0.63", "0.25–0.88")


def test_what_is_not_computable_is_never_a_zero() -> None:
    found = cell(NotComputable(not_computable="no vectors"), heat=True)
    assert found.text == "n/c" and found.reason == "no vectors" and found.heat is None


def test_a_tier_without_vectors_has_no_rank() -> None:
    gone = ContentEvidence(**samples.rate([False] * 8).model_dump(), mean_rank=None)
    assert cell(gone, heat=True).detail == "0/8, no vector left"


def test_every_configuration_has_a_row() -> None:
    table = frontier_tables.configurations(frontier_slices(samples.frontier())[0])
    rows = [row for row in table.rows if row.cells]
    assert len(rows) == 9 and all(len(row.cells) == len(table.columns) for row in rows)


def test_a_judge_has_its_table() -> None:
    table = frontier_tables.judge(samples.frontier())
    assert table is not None and [row.cells[0].text for row in table.rows][:3] == ["72", "0.90", "0.78"]


def test_heat_tables_hold_every_mode_tier_and_level() -> None:
    part = residue_slices(samples.residue())[0]
    text, _, vector, content = residue_tables.stored(part)
    assert [row.header for row in text.rows] == list(samples.MODES)
    assert all(len(row.cells) == 6 for row in text.rows)
    assert vector.rows[1].cells[0].text == "1.00"
    assert content.rows[0].cells[0].detail == "7/8, rank 1.4"
    assert content.reasons[0] == "there is no summary tier at S = 0"


def test_supersede_variants_have_rows_of_their_own() -> None:
    result = samples.residue(modes=("raw_plus_resummarize",), levels=(1,))
    (found,) = result.cells
    both = result.model_copy(update={"cells": (found, found.model_copy(update={"supersede": "replace"}))})
    assert residue_slices(both)[0].modes == (
        "raw_plus_resummarize (append)",
        "raw_plus_resummarize (replace)",
    )


def test_each_k_of_the_residue_audit_is_shown_six_first() -> None:
    assert [part.k for part in residue_slices(samples.residue(ks=(1, 6, 25), levels=(0,)))] == [6, 1, 25]


def test_the_papers_table_has_our_columns_first_and_then_its_own() -> None:
    frontier, residue = frontier_slices(samples.frontier())[0], residue_slices(samples.residue())[0]
    table = beside_the_paper(frontier, residue, "a model")
    assert table is not None
    assert [g[:2] for g in table.groups] == [
        ("this run: a model", 3),
        ("published: Gemma 3 12B", 3),
        ("published: GPT-4o-mini", 2),
    ]
    rows = {row.header: row.cells for row in table.rows}
    assert [c.text for c in rows["AER ↓"]] == ["0.92", "0.58", "0.00", "0.83", "0.20", "0.16", "0.72", "0.26"]
    assert rows["AER ↓"][3].detail == "0.78–0.87"
    assert [c.text for c in rows["raw_only"]] == [
        "0.00",
        "0.63",
        "0.00",
        "0.00",
        "0.20",
        "0.15",
        "0.00",
        "0.22",
    ]
    assert rows["Δ_S ↑"][0].text == "–"


def test_the_papers_table_with_one_audit_alone() -> None:
    residue = residue_slices(samples.residue(levels=(1,)))[0]
    table = beside_the_paper(None, residue, "m")
    assert table is not None and [row.header for row in table.rows if row.cells] == list(samples.MODES)
    assert beside_the_paper(None, None, "m") is None
