from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from vestige.stats.grouped import auc_draws, group_aucs, metric_draws, operating_draws, t_interval, t_p_value
from vestige.stats.ranking import pr_auc, roc_auc, tpr_at_fpr
from vestige.stats.resampling import percentile_interval


def made(seed: int, groups: int = 25, each: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(groups), each)
    y = rng.random(len(g)) < 0.5
    return np.round(rng.normal(size=len(g)) + y, 1), y, g


def test_a_draw_is_the_auc_of_its_groups() -> None:
    """Against drawing the candidates themselves, with the same picks."""
    x, y, g = made(3)
    draws = auc_draws([x, -x], y, g, n_resamples=20, seed=5)
    picks = np.random.default_rng(5).integers(0, 25, size=(20, 25))
    for row, chosen in zip(draws, picks, strict=True):
        rows = np.concatenate([np.flatnonzero(g == c) for c in chosen])
        assert row[0] == pytest.approx(roc_auc(x[rows], y[rows]))
        assert row[1] == pytest.approx(1 - row[0])


def test_groups_of_one_class_have_no_value() -> None:
    values = group_aucs([3, 1, 2, 5], [1, 0, 1, 1], ["a", "a", "b", "b"])
    assert values[0] == 1.0 and np.isnan(values[1])


def test_the_t_interval_is_scipys() -> None:
    x = np.array([0.6, 0.7, 0.55, 0.8])
    low, high = student.interval(0.9, 3, loc=x.mean(), scale=x.std(ddof=1) / 2)
    found = t_interval(x, 0.9)
    assert (found.low, found.high) == pytest.approx((low, high))
    with pytest.raises(ValueError, match="at least two"):
        t_interval([0.5])


def test_the_t_test_is_scipys_and_never_certain() -> None:
    x = np.array([0.1, 0.02, -0.05, 0.2])
    assert t_p_value(x) == pytest.approx(ttest_1samp(x, 0).pvalue)
    assert t_p_value(-x) == pytest.approx(t_p_value(x))
    assert t_p_value(1 + 1e-15 * np.arange(200)) > 0
    with pytest.raises(ValueError, match="that differ"):
        t_p_value([0.3, 0.3])


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_operating_draws_are_those_of_any_metric_without_sorting_again(digits: int) -> None:
    x, y, g = made(5, groups=22)
    x = np.round(x + np.random.default_rng(1).normal(size=len(x)), digits)
    found = operating_draws([x, -x], y, g, (0.1, 0.03), n_resamples=60, seed=8)
    for k, metric in enumerate(
        (pr_auc, lambda s, t: tpr_at_fpr(s, t, 0.1), lambda s, t: tpr_at_fpr(s, t, 0.03))
    ):
        assert found[:, :, k] == pytest.approx(metric_draws(metric, [x, -x], y, g, n_resamples=60, seed=8))


def test_operating_draws_without_a_class_have_no_value() -> None:
    found = operating_draws([[2.0, 1.0]], [1, 0], ["a", "b"], (0.5,), n_resamples=200)
    assert 60 < np.isnan(found[:, 0, 0]).sum() < 140
    assert (np.isnan(found[:, :, 0]) == np.isnan(found[:, :, 1])).all()


def test_any_metric_is_drawn_from_the_same_users() -> None:
    x, y, g = made(9)
    names = np.array([f"user-{i}" for i in range(25)])[g]
    ours = metric_draws(roc_auc, [x, -x], y, names, n_resamples=50, seed=2)
    assert ours == pytest.approx(auc_draws([x, -x], y, names, n_resamples=50, seed=2))
    same = metric_draws(pr_auc, [x, np.exp(x)], y, g, n_resamples=50, seed=2)
    assert same[:, 0] == pytest.approx(same[:, 1])


def test_a_difference_of_two_attacks_is_told_from_none_where_they_share_candidates() -> None:
    rng = np.random.default_rng(6)
    _, y, g = made(4, groups=30, each=40)
    shared = rng.normal(size=len(y))
    strong, weak = shared + 1.5 * y, shared + 1.0 * y
    for metric in (pr_auc, lambda s, t: tpr_at_fpr(s, t, 0.1)):
        draws = metric_draws(metric, [strong, weak], y, g, n_resamples=300)
        assert percentile_interval(draws[:, 0] - draws[:, 1]).low > 0
        # each alone is less certain than their difference
        widths = [
            float(np.ptp(np.quantile(d, [0.025, 0.975]))) for d in (draws[:, 0] - draws[:, 1], *draws.T)
        ]
        assert widths[0] < min(widths[1:])


def test_a_draw_without_one_of_the_classes_has_no_value() -> None:
    draws = metric_draws(pr_auc, [[2.0, 1.0]], [1, 0], ["a", "b"], n_resamples=200)
    assert 60 < np.isnan(draws).sum() < 140  # half of the draws take one user twice
    assert np.nanmin(draws) == 1.0


def test_permuted_labels_cover_one_half_with_users_too() -> None:
    rng = np.random.default_rng(1)
    runs, users, each = 400, 20, 20
    held = np.zeros(2)
    for _ in range(runs):
        g = np.repeat(np.arange(users), each)
        x = np.round(rng.normal(size=len(g)) + rng.normal(size=users)[g], 1)
        y = np.concatenate([rng.permutation(np.arange(each) < each // 2) for _ in range(users)])
        draws = auc_draws([x], y, g, seed=int(rng.integers(2**31)))[:, 0]
        low, high = percentile_interval(draws[np.isfinite(draws)])
        held[0] += low <= 0.5 <= high
        low, high = t_interval(group_aucs(x, y, g))
        held[1] += low <= 0.5 <= high
    bootstrap, student_t = held / runs
    error = np.sqrt(0.05 * 0.95 / runs)  # 0.011
    # a percentile bootstrap of 20 users is a little narrow
    assert 0.95 - 0.02 - 3 * error < bootstrap < 0.95 + 3 * error
    assert student_t == pytest.approx(0.95, abs=3 * error)


@pytest.mark.parametrize("draw", [auc_draws, lambda *a: metric_draws(pr_auc, *a)])
def test_what_does_not_fit_is_named(draw) -> None:
    with pytest.raises(ValueError, match="3 groups"):
        draw([[1.0, 2.0]], [1, 0], ["a", "b", "c"])
    with pytest.raises(ValueError, match="no finite numbers"):
        draw([[1.0, np.nan]], [1, 0], ["a", "b"])
    with pytest.raises(ValueError, match="one class"):
        draw([[1.0, 2.0]], [1, 1], ["a", "b"])
