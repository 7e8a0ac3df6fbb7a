"""The scores' closed forms: arXiv 2605.27825, equations 1 to 3, and what its authors' code makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from vestige.attacks import terms
from vestige.attacks.cutoffs import CutOffs, snap_memory, snap_response
from vestige.attacks.terms import Weights

R = np.array([[1.0, 0.33, np.nan], [0.0, 0.0, 0.67]])
P = np.array([[-0.1, -0.3, np.nan], [-1.0, -2.0, -3.0]])
M = np.array([[1.0, 1.0, np.nan], [0.0, 0.33, 0.0]])


def test_the_settings_drop_terms() -> None:
    black = terms.recalled(R, setting="black")
    assert black == pytest.approx([(1 + 0.33) / 2, 0.67 / 3])
    assert terms.recalled(R, P, setting="gray") == pytest.approx(black + np.array([-0.2, -2.0]))
    assert terms.recalled(R, P, M, setting="white") == pytest.approx(
        black + np.array([-0.2, -2.0]) + np.array([1.0, 0.11])
    )


def test_weights_and_prefixes() -> None:
    w = Weights(r=2, p=0.5, m=4)
    assert terms.recalled(R, P, M, setting="white", weights=w, questions=1) == pytest.approx(
        [2 * 1.0 - 0.05 + 4.0, 0.0 - 0.5 + 0.0]
    )


def test_the_authors_code_divides_and_squashes() -> None:
    found = terms.recalled(R, P, setting="gray", mode="reference-code", questions=1)
    assert found == pytest.approx([(1 + expit(1.9)) / 2, (0 + expit(1.0)) / 2])


def test_a_unit_without_questions_has_no_score() -> None:
    assert np.isnan(terms.recalled(np.full((1, 2), np.nan), setting="black")[0])
    with pytest.raises(ValueError, match="needs log-probabilities"):
        terms.recalled(R, setting="gray")


def test_mink_and_loss_and_reference() -> None:
    raw = terms.mink_raw(np.arange(-10.0, 0.0))
    assert raw == -9.5
    assert terms.mink(np.array([raw]))[0] == pytest.approx(0.00150, abs=5e-6)
    assert terms.loss(np.array([-0.5]))[0] == pytest.approx(expit(1.5))
    one = terms.reference(np.array([1.0]), np.array([0.33]), np.array([-0.1]), np.array([-9.0]))
    assert one[0] == pytest.approx(0.67 + 1.0)  # 8.9 / 5 is clipped
    assert np.isnan(terms.mean_logprob(np.array([]))) and terms.mink_raw(np.array([-2.0])) == -2.0


def test_the_ladder_of_the_rules() -> None:
    cut = CutOffs(middle=0.5, high=0.8)
    key = np.array([1.0, 1.0, 1.0, 0.5, 0.0, 1.0, np.nan])
    similar = np.array([0.9, 0.6, 0.2, 0.9, 0.9, 0.9, np.nan])
    hedged = np.array([0, 0, 0, 0, 0, 1, np.nan])
    found = snap_response(key, similar, hedged, cut)
    assert found[:-1] == pytest.approx([1, 0.67, 0.33, 0.33, 0, 0.33]) and np.isnan(found[-1])
    assert snap_memory(np.array([3.0, 2.0, 0.9, 0.6, 0.1]), cut) == pytest.approx([1, 1, 0.67, 0.33, 0])
