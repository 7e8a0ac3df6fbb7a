from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from vestige.stats.grouped import auc_draws, group_aucs, t_interval
from vestige.stats.ranking import roc_auc


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
