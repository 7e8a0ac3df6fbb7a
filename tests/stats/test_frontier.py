from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.stats import frontier_steps, privacy_utility_auc

rate = st.integers(0, 1000).map(lambda i: i / 1000)
points = st.lists(st.tuples(rate, rate), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "given_points, area",
    [
        ([(0.42, 0.70), (0.60, 0.80), (0.66, 0.86)], 0.42 * 0.10 + 0.60 * 0.06 + 0.66 * 0.14),
        ([(0.66, 0.86), (0.42, 0.70), (0.60, 0.80), (0.30, 0.90)], 0.1704),
        ([(0.58, 0.20)], 0.464),
        ([(0.5, 0.0)], 0.5),
        ([(0.9, 1.0)], 0.0),
        ([(1.0, 0.0)], 1.0),
        ([(0.3, 0.5), (0.7, 0.5)], 0.35),
    ],
)
def test_areas_with_a_closed_form(given_points: list[tuple[float, float]], area: float):
    assert privacy_utility_auc(given_points) == pytest.approx(area, abs=1e-12)


@given(points)
def test_the_area_is_the_integral_of_the_best_recall_affordable(pts: list[tuple[float, float]]):
    # PR* is constant between thousandths here, so a sum over them is the integral.
    grid = [(round(pr * 1000), round(aer * 1000)) for pr, aer in pts]
    total = sum(max((pr for pr, aer in grid if aer <= a), default=0) for a in range(1000))
    assert privacy_utility_auc(pts) == pytest.approx(float(Fraction(total, 10**6)), abs=1e-12)


@given(points, st.randoms(use_true_random=False))
def test_order_does_not_matter(pts: list[tuple[float, float]], random):
    shuffled = list(pts)
    random.shuffle(shuffled)
    assert privacy_utility_auc(shuffled) == privacy_utility_auc(pts)


@given(points, rate, rate, st.data())
def test_a_dominated_point_changes_nothing(pts, less, more, data):
    pr, aer = data.draw(st.sampled_from(pts))
    assert privacy_utility_auc([*pts, (min(pr, less), max(aer, more))]) == privacy_utility_auc(pts)


@given(points, rate, rate)
def test_another_point_never_lowers_the_area(pts, pr, aer):
    area = privacy_utility_auc(pts)
    assert 0 <= area <= privacy_utility_auc([*pts, (pr, aer)]) + 1e-12 <= 1 + 2e-12


@given(points)
def test_steps_rise_in_both(pts):
    steps = frontier_steps(pts)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(steps))
    assert {(pr, aer) for aer, pr in steps} <= set(pts)


def test_a_mean_a_rounding_error_above_one_is_a_rate():
    assert privacy_utility_auc([(1.0000000000000002, -1e-17)]) == 1.0


@pytest.mark.parametrize("bad", [(1.2, 0.5), (0.5, -0.1), (math.nan, 0.5), (0.5, math.nan), (50, 20)])
def test_what_is_no_rate_is_refused_with_its_value(bad):
    with pytest.raises(ValueError, match=r"=(1\.2|-0\.1|nan|50|20)"):
        privacy_utility_auc([(0.5, 0.5), bad])


def test_no_points_have_no_area():
    with pytest.raises(ValueError, match="at least one"):
        privacy_utility_auc([])
