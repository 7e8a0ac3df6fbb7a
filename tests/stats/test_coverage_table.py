from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "bootstrap_coverage.py"


@pytest.fixture(scope="module")
def table():
    rows = runpy.run_path(str(SCRIPT))["table"]()
    return {(p, n): (by_bootstrap, exact) for p, n, by_bootstrap, exact in rows}


@pytest.mark.parametrize("n, percent", [(20, 18), (60, 45), (200, 87)])
def test_the_percentile_bootstrap_of_a_rare_event_covers_far_less_than_it_says(table, n, percent):
    assert round(100 * table[0.01, n][0]) == percent


def test_at_twenty_trials_it_misses_whenever_nothing_happened(table):
    # that is all it misses, but for the few runs with five events or more
    assert table[0.01, 20][0] == pytest.approx(1 - 0.99**20, abs=1e-4)


def test_clopper_pearson_covers_in_every_row(table):
    assert min(exact for _, exact in table.values()) >= 0.95
