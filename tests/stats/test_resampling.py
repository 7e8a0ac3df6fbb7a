from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from vestige.stats import bootstrap, percentile_interval, resample_indices

RNG = np.random.default_rng(20)
VALUES = RNG.normal(size=60)
CLUSTERS = [f"conversation {i % 13}" for i in range(60)]
STRATA = ["even" if i % 13 % 2 == 0 else "odd" for i in range(60)]


def slow_mean(values):
    return float(values.mean())


@pytest.mark.parametrize("clusters", [None, CLUSTERS])
@pytest.mark.parametrize("strata", [None, STRATA])
@pytest.mark.parametrize("values", [VALUES, RNG.normal(size=(60, 4))], ids=["n", "n×d"])
def test_bootstrap_is_what_the_shared_draws_give(values, clusters, strata):
    indices = resample_indices(60, clusters=clusters, strata=strata, n_resamples=300, seed=7)
    shared = percentile_interval([values[i].mean() for i in indices])
    for statistic in (np.mean, slow_mean):
        own = bootstrap(
            values, clusters=clusters, strata=strata, statistic=statistic, n_resamples=300, seed=7
        )
        assert tuple(own) == pytest.approx(tuple(shared), abs=1e-12)


def test_fast_and_general_paths_agree_across_blocks_of_draws():
    values = RNG.normal(size=40_000)
    fast, slow = (bootstrap(values, n_resamples=30, statistic=f, seed=3) for f in (np.mean, slow_mean))
    assert tuple(fast) == pytest.approx(tuple(slow), abs=1e-12)


def test_bootstrap_agrees_with_scipy():
    theirs = scipy_stats.bootstrap(
        (VALUES,), np.mean, n_resamples=9999, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = bootstrap(VALUES, n_resamples=9999, seed=1)
    assert tuple(ours) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_bootstrap_of_a_median_agrees_with_scipy():
    theirs = scipy_stats.bootstrap(
        (VALUES,), np.median, n_resamples=2000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = bootstrap(VALUES, statistic=np.median, n_resamples=2000, seed=1)
    assert tuple(ours) == pytest.approx((theirs.low, theirs.high), abs=0.06)


def test_same_seed_same_interval_and_another_seed_another():
    assert bootstrap(VALUES, seed=4) == bootstrap(VALUES, seed=4) == bootstrap(list(VALUES), seed=4)
    assert bootstrap(VALUES, seed=4) != bootstrap(VALUES, seed=5)
    sequence = np.random.SeedSequence(9, spawn_key=(1, 2))
    assert bootstrap(VALUES, seed=sequence) == bootstrap(VALUES, seed=sequence)
    assert bootstrap(VALUES, seed=sequence) != bootstrap(VALUES, seed=9)


def test_clusters_are_drawn_whole_and_names_do_not_matter():
    members = {c: {i for i, other in enumerate(CLUSTERS) if other == c} for c in CLUSTERS}
    draws = list(resample_indices(60, clusters=CLUSTERS, n_resamples=50, seed=1))
    for rows in draws:
        counted = np.bincount(rows, minlength=60)
        assert all(len({int(counted[i]) for i in rows_of}) == 1 for rows_of in members.values())
    renamed = list(resample_indices(60, clusters=[hash(c) for c in CLUSTERS], n_resamples=50, seed=1))
    assert all(np.array_equal(a, b) for a, b in zip(draws, renamed, strict=True))


def test_strata_keep_their_sizes():
    strata = np.array(["a"] * 10 + ["b"] * 50)
    for rows in resample_indices(60, strata=strata, n_resamples=50, seed=1):
        assert (rows < 10).sum() == 10
        assert len(rows) == 60
    groups = np.repeat(np.arange(12), 5)
    for rows in resample_indices(60, clusters=groups, strata=strata, n_resamples=50, seed=1):
        assert (rows < 10).sum() == 10


def test_rows_stay_together():
    values = np.column_stack([VALUES, VALUES])
    interval = bootstrap(values, statistic=lambda v: float(np.abs(v[:, 0] - v[:, 1]).max()), n_resamples=50)
    assert tuple(interval) == (0.0, 0.0)


def test_clusters_make_the_interval_wider_where_probes_nest():
    rng = np.random.default_rng(11)
    x = np.repeat(rng.integers(0, 2, 40), 25).astype(float)
    g = np.repeat(np.arange(40), 25)
    whole = bootstrap(x, clusters=g, n_resamples=2000, seed=1)
    naive = bootstrap(x, n_resamples=2000, seed=1)
    # 25 probes an episode that all say the same: the width grows by about √25
    assert 4 < (whole.high - whole.low) / (naive.high - naive.low) < 6


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.integers(0, 2**40))
def test_a_mean_stays_within_the_values(values, seed):
    low, high = bootstrap(values, n_resamples=50, seed=seed)
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= low <= high <= max(values) + slack


def test_one_value_has_no_width():
    assert tuple(bootstrap([0.25])) == (0.25, 0.25)


def test_many_small_bootstraps_are_fast():
    start = time.perf_counter()
    for seed in range(50):
        bootstrap(VALUES, seed=seed)
    assert (time.perf_counter() - start) / 50 < 0.02


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"values": []}, "at least one row"),
        ({"values": [[[1.0]]]}, r"shape \(1, 1, 1\)"),
        ({"values": np.ones((3, 0))}, "rows are empty"),
        ({"values": [1.0, 2.0], "clusters": ["a"]}, "1 clusters for 2 rows"),
        ({"values": [1.0, 2.0], "strata": [1, 2, 3]}, "3 strata for 2 rows"),
        ({"values": [1.0, 2.0], "clusters": [1, 1], "strata": [1, 2]}, "lies in 2 strata"),
        ({"values": [1.0, 2.0], "n_resamples": 0}, "n_resamples=0"),
        ({"values": [1.0, 2.0], "confidence": 95}, "did you mean 0.95"),
        ({"values": [1.0, float("nan")]}, "nan on"),
    ],
)
def test_misuse_is_refused_with_its_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(**arguments)


def test_draws_are_checked_before_the_first_is_taken():
    with pytest.raises(ValueError, match="n=0"):
        resample_indices(0)
