"""Rates and derived quantities against scipy, against `vestige.stats.bootstrap`, and against loops written out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as scipy_stats

from vestige.audits.rates import Quantity, Resampler
from vestige.stats import bootstrap, privacy_utility_auc, resample_indices

RNG = np.random.default_rng(17)
N = 24
A, B, C = (RNG.random(N) < p for p in (0.3, 0.45, 0.9))


def by_hand(
    columns: list[np.ndarray], of: Callable[..., float], *, seed: int, clusters: list[str] | None = None
) -> tuple[float, float]:
    """Percentiles of a statistic of the means, over the draws, in plain loops."""
    values = []
    for rows in resample_indices(N, clusters=clusters, n_resamples=1000, seed=seed):
        values.append(of(*(sum(float(c[i]) for i in rows) / len(rows) for c in columns)))
    ordered = sorted(values)

    def percentile(p: float) -> float:
        place = p * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return percentile(0.025), percentile(0.975)


@pytest.mark.parametrize("events", [A, B, C, np.zeros(N, bool), np.ones(N, bool)])
def test_a_rate_s_exact_interval_is_scipy_s(events: np.ndarray) -> None:
    rate = Resampler(N, seed=1).rate(events)
    k = int(events.sum())
    exact = scipy_stats.binomtest(k, N).proportion_ci(0.95, method="exact")
    assert (rate.n, rate.events, rate.value) == (N, k, pytest.approx(k / N))
    assert rate.exact == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_nothing_in_thirty_leaves_room_for_eleven_percent() -> None:
    """1 - 0.025^(1/30) = 0.1157: where a deletion claim lives, an interval of [0, 0] would be a lie."""
    rate = Resampler(30, seed=0).rate(np.zeros(30, bool))
    assert rate.exact == pytest.approx((0.0, 1 - 0.025 ** (1 / 30)))
    assert rate.exact[1] == pytest.approx(0.1157, abs=5e-5)


@pytest.mark.parametrize("seed", [0, 5])
def test_a_rate_s_bootstrap_is_that_of_stats(seed: int) -> None:
    found = bootstrap(A.astype(float), n_resamples=1000, seed=seed)
    assert Resampler(N, seed=seed).rate(A).bootstrap == pytest.approx((found.low, found.high), abs=1e-12)


def test_whole_clusters_are_resampled() -> None:
    clusters = [f"c{i // 6}" for i in range(N)]
    alike = np.repeat(np.array([True, False, True, False]), 6)
    draws = Resampler(N, seed=3, clusters=clusters)
    found = bootstrap(alike.astype(float), clusters=clusters, n_resamples=1000, seed=3)
    assert draws.rate(alike).bootstrap == pytest.approx((found.low, found.high), abs=1e-12)
    free = Resampler(N, seed=3).rate(alike).bootstrap
    bound = draws.rate(alike).bootstrap
    assert bound[1] - bound[0] > 1.5 * (free[1] - free[0])


def test_clusters_in_any_order_of_rows() -> None:
    """Rows of a cluster need not stand together, nor its label sort where it first appears."""
    clusters = ["z", "a", "m", "z"] * 6
    found = bootstrap(A.astype(float), clusters=clusters, n_resamples=1000, seed=3)
    assert Resampler(N, seed=3, clusters=clusters).rate(A).bootstrap == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("clusters", [None, [f"c{i % 5}" for i in range(N)]])
def test_derived_quantities_are_recomputed_in_every_draw(clusters: list[str] | None) -> None:
    draws = Resampler(N, seed=9, clusters=clusters)
    a, b, c = (draws.quantity(x.astype(float)) for x in (A, B, C))
    cases: list[tuple[Quantity, Callable[..., float]]] = [
        (Quantity.max([a, b, c]), max),
        (Quantity.mean([a, b, c]), lambda x, y, z: (x + y + z) / 3),
        (a - b, lambda x, y, z: x - y),
        (abs(a - b), lambda x, y, z: abs(x - y)),
        (Quantity.combine(lambda x, y, z: x * y - z, [a, b, c]), lambda x, y, z: x * y - z),
    ]
    for quantity, of in cases:
        assert quantity.value == pytest.approx(of(A.mean(), B.mean(), C.mean()))
        assert quantity.bounds == pytest.approx(by_hand([A, B, C], of, seed=9, clusters=clusters), abs=1e-12)
        assert quantity.derived().model_dump() == {"value": quantity.value, "bootstrap": quantity.bounds}


def test_the_maximum_s_interval_is_not_the_interval_of_the_larger() -> None:
    """Which of two near rates is the larger differs from draw to draw: the maximum lies above either."""
    draws = Resampler(N, seed=2)
    a, b = draws.quantity(A.astype(float)), draws.quantity(np.roll(A, 7).astype(float))
    assert a.value == b.value
    assert Quantity.max([a, b]).bounds[0] > max(a.bounds[0], b.bounds[0]) - 1e-12
    assert Quantity.max([a, b]).draws.mean() > a.draws.mean() + 0.01


def area(points: list[tuple[float, float]]) -> float:
    """∫₀¹ max{PR : AER ≤ a} da by the definition, between every two values of AER."""
    edges = sorted({0.0, 1.0, *(aer for _, aer in points)})
    total = 0.0
    for low, high in pairwise(edges):
        total += (high - low) * max([pr for pr, aer in points if aer <= low], default=0.0)
    return total


def test_pua_is_recomputed_in_every_draw() -> None:
    draws = Resampler(N, seed=4)
    parts = [draws.quantity(x.astype(float)) for x in (A, C, B, np.roll(C, 3))]  # PR, PR, AER, AER
    pua = Quantity.combine(lambda p, q, x, y: privacy_utility_auc([(p, x), (q, y)]), parts)

    def of(p: float, q: float, x: float, y: float) -> float:
        return area([(p, x), (q, y)])

    assert pua.value == pytest.approx(of(A.mean(), C.mean(), B.mean(), C.mean()))
    assert pua.bounds == pytest.approx(by_hand([A, C, B, np.roll(C, 3)], of, seed=4), abs=1e-12)


def test_a_share_of_the_instances_alone_counts() -> None:
    """Where only some instances could be measured, n is theirs, and a draw without any of them says nothing."""
    where = np.zeros(N, bool)
    where[:3] = True
    events = np.array([True, False, True, *[True] * (N - 3)])
    draws = Resampler(N, seed=6)
    rate = draws.rate(events, where)
    assert (rate.n, rate.events, rate.value) == (3, 2, pytest.approx(2 / 3))
    values = []
    for rows in resample_indices(N, n_resamples=1000, seed=6):
        kept = [float(events[i]) for i in rows if where[i]]
        if kept:
            values.append(sum(kept) / len(kept))
    assert len(values) < 1000
    assert rate.bootstrap == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])))


def test_one_instance_has_no_spread_to_show() -> None:
    rate = Resampler(1, seed=0).rate([True])
    assert rate.bootstrap == (1.0, 1.0) and rate.exact == pytest.approx((0.025, 1.0))
