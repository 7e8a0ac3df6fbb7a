from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multinomial

from vestige.stats import (
    clopper_pearson,
    equivalence,
    equivalence_power,
    pairs_for_bound,
    pairs_for_equivalence,
    reachable,
    tango_interval,
    zero_event_upper_bound,
)

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"))


@pytest.mark.parametrize(
    "n, margin, p10, p01",
    [(29, 0.1, 0.02, 0.02), (46, 0.1, 0.03, 0.02), (18, 0.2, 0.2, 0.0), (30, 0.15, 0.1, 0.05)],
)
def test_power_is_the_weight_of_all_tables_that_the_test_itself_passes(n, margin, p10, p01):
    weight = 0.0
    for n10 in range(n + 1):
        for n01 in range(n + 1 - n10):
            a, b = np.zeros(n), np.zeros(n)
            a[:n10], b[n10 : n10 + n01] = 1, 1
            if abs(n10 - n01) < n * margin and equivalence(a, b, margin=margin).equivalent:
                weight += multinomial.pmf([n10, n01, n - n10 - n01], n, [p10, p01, 1 - p10 - p01])
    power = equivalence_power(n, margin, p10 + p01, difference=p10 - p01)
    assert power == pytest.approx(weight, abs=1e-10)


def test_power_at_its_ends():
    assert equivalence_power(29, 0.1, 0.0) == 1
    assert equivalence_power(28, 0.1, 0.0) == 0
    assert equivalence_power(60, 0.1, 1.0) < 1e-6
    # the largest n of one-sided zero events, as a check from elsewhere: only no discordant pair passes at n = 29
    assert equivalence_power(29, 0.1, 0.1, difference=0.1) == pytest.approx(0.9**29)
    assert 0.9**29 < 0.05 < 0.9**28


@pytest.mark.parametrize("discordance, pairs", [(0.0, 29), (0.05, 69), (0.1, 104), (0.2, 178)])
def test_pairs_for_eighty_percent_power(discordance, pairs):
    assert pairs_for_equivalence(0.1, discordance=discordance) == pairs
    powers = [equivalence_power(n, 0.1, discordance) for n in range(pairs - 1, pairs + pairs // 4)]
    assert powers[0] < 0.8 <= min(powers[1:])


def test_more_is_needed_for_more():
    assert pairs_for_equivalence(0.05, discordance=0.1) > pairs_for_equivalence(0.1, discordance=0.1)
    assert pairs_for_equivalence(0.1, 0.95, 0.1) > pairs_for_equivalence(0.1, 0.8, 0.1)
    assert pairs_for_equivalence(0.1, 0.8, 0.1, alpha=0.01) > pairs_for_equivalence(0.1, 0.8, 0.1)


def test_beyond_what_is_counted_the_approximation_goes_on_where_counting_stopped():
    counted, estimated = (pairs_for_equivalence(m, discordance=0.02) for m in (0.0145, 0.0135))
    assert counted < 1000 < estimated
    assert 1 <= estimated * 0.0135**2 / (counted * 0.0145**2) < 1.1


# ---------------------------------------------------------------------------------------- size of the test


@pytest.mark.parametrize(
    "first, last, size, n", [(20, 29, 0.0718, 25), (30, 99, 0.0678, 42), (100, 200, 0.0587, 138)]
)
def test_the_interval_alone_would_err_too_often_at_a_margin_of_a_tenth(first, last, size, n):
    worst, where, q = SCRIPT["worst_of_range"](SCRIPT["worst_size_alone"], first, last, 0.1)
    assert worst == pytest.approx(size, abs=5e-5)
    # it is where no pair at all disagrees in the other direction
    assert (where, q) == (n, 0)


@pytest.mark.parametrize("margin", SCRIPT["MARGINS"])
@pytest.mark.parametrize("first, last, most", [(20, 29, 0.07), (30, 99, 0.06), (100, 200, 0.06)])
def test_the_size_over_every_number_of_pairs(margin, first, last, most):
    worst, _, _ = SCRIPT["worst_of_range"](SCRIPT["worst_size"], first, last, margin)
    assert worst <= most


@pytest.mark.parametrize("n, margin", [(52, 0.05), (25, 0.1), (42, 0.1), (48, 0.2), (118, 0.2)])
def test_the_size_holds_on_a_fine_grid_and_for_either_sign(n, margin):
    grid = np.linspace(0, (1 - margin) / 2, 601)
    for sign in (1, -1):
        sizes = [
            equivalence_power(n, margin, min(1.0, margin + 2 * q), difference=sign * margin) for q in grid
        ]
        assert max(sizes) <= 0.06


def test_the_grid_of_the_nuisance_parameter_is_fine_enough():
    fine = [equivalence_power(60, 0.1, 0.1 + 2 * q, difference=0.1) for q in np.linspace(0, 0.45, 1801)]
    assert max(fine) == pytest.approx(SCRIPT["worst_size"](60, 0.1)[0], abs=5e-4)


@pytest.mark.parametrize("p", SCRIPT["RATES"])
@pytest.mark.parametrize("n", SCRIPT["RATE_SIZES"])
def test_clopper_pearson_covers_by_enumeration(p, n):
    assert SCRIPT["coverage_of_a_rate"](p, n) >= 0.95


def test_the_tables_stand_in_the_documentation():
    text = SCRIPT["PAGE"].read_text(encoding="utf-8")
    assert SCRIPT["BEGIN"] + SCRIPT["tables"]() + SCRIPT["END"] in text, (
        "run benchmarks/interval_coverage.py --write"
    )


# --------------------------------------------------------------------------------------------- reachable


def test_six_pairs_can_fail_or_be_unassessable_and_nothing_else():
    reach = reachable(6)
    assert (reach.leakage, reach.equivalence, reach.sensitivity, reach.all) == (False, False, True, False)
    assert reach.pairs_needed == 59
    assert reachable(59).all and not reachable(58).all


def test_a_hundred_pairs_reach_the_defaults():
    reach = reachable(100)
    assert reach.all
    assert reach.leakage_upper == zero_event_upper_bound(100)
    assert reach.residual == tango_interval(0, 0, 0, 100, 0.90)
    assert reach.sensitivity_lower == clopper_pearson(100, 100).low


@pytest.mark.parametrize(
    "margin, bound, sensitivity, alpha",
    [(0.1, 0.05, 0.5, 0.05), (0.2, 0.3, 0.8, 0.07), (0.05, 0.01, 0.9, 0.01)],
)
def test_the_fewest_pairs_are_where_each_criterion_is_first_met(margin, bound, sensitivity, alpha):
    def at(n: int):
        return reachable(n, margin=margin, bound=bound, sensitivity=sensitivity, alpha=alpha)

    first = at(1)
    for pairs in (first.pairs_for_leakage, first.pairs_for_equivalence, first.pairs_for_sensitivity):
        for n in (pairs, max(1, pairs - 1)):
            reach = at(n)
            assert reach.leakage == (reach.leakage_upper <= bound * (1 + 1e-12))
            assert reach.equivalence == (reach.residual.high < margin and (1 - margin) ** n < alpha)
            assert reach.sensitivity == (reach.sensitivity_lower >= sensitivity * (1 - 1e-12))


def test_pairs_for_a_bound():
    assert (pairs_for_bound(0.05), pairs_for_bound(0.01), pairs_for_bound(0.05, 0.99)) == (59, 299, 90)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: reachable(0), "n=0"),
        (lambda: reachable(10, margin=1.0), "margin=1"),
        (lambda: reachable(10, alpha=0.5), "alpha=0.5"),
        (lambda: reachable(10, sensitivity=50), "sensitivity=50"),
        (lambda: reachable(10, bound=0), "bound=0"),
        (lambda: equivalence_power(10, 0.1, 0.05, difference=0.1), "cannot exceed"),
        (lambda: equivalence_power(10, 0.1, 1.5), "discordance=1.5"),
        (lambda: pairs_for_equivalence(0.1, power=1), "power=1"),
        (lambda: pairs_for_equivalence(0.1, discordance=-1), "discordance=-1"),
    ],
)
def test_what_is_out_of_range_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
