"""The paper's numbers, as they are printed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from vestige.report.published import columns, lookup, published


def test_columns_stand_in_the_papers_order() -> None:
    assert columns() == (
        ("Gemma 3 12B", 0),
        ("Gemma 3 12B", 1),
        ("Gemma 3 12B", 2),
        ("GPT-4o-mini", 0),
        ("GPT-4o-mini", 1),
    )


def test_numbers_that_the_text_of_the_paper_repeats() -> None:
    def value(quantity: str, model: str, level: int) -> float:
        found = lookup(quantity, model, level)
        assert found is not None
        return found.value

    for model, reduction in (("Gemma 3 12B", 0.76), ("GPT-4o-mini", 0.64)):
        before, after = value("AER", model, 0), value("AER", model, 1)
        assert 1 - after / before == pytest.approx(reduction, abs=0.01)
        assert value("laundering", model, 1) == pytest.approx(before - after, abs=0.0101)
    assert lookup("delta_DI", "Gemma 3 12B", 2) is None


def test_every_interval_holds_its_value() -> None:
    bounded = [
        (row.low, row.value, row.high) for row in published() if row.low is not None and row.high is not None
    ]
    assert len(published()) == 51 and len(bounded) == 35
    assert all(low <= value <= high for low, value, high in bounded)


@pytest.mark.data
def test_the_packaged_numbers_are_those_that_were_collected(data_folder: Path) -> None:
    path = data_folder.parent / "published" / "deployment_time_memorization.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(r["quantity"], r["model"], int(r["S"]), float(r["value"])) for r in rows] == [
        (row.quantity, row.model, row.S, row.value) for row in published()
    ]
