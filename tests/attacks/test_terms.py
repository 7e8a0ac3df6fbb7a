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


# --------------------------------------------------------------------------------------- edge cases


def test_a_term_is_the_mean_over_the_questions_that_have_it() -> None:
    r = np.array([[1.0, 0.0]])
    p = np.array([[-1.0, np.nan]])  # an empty reply has no tokens
    assert terms.recalled(r, p, setting="gray") == pytest.approx([0.5 - 1.0])
    assert np.isnan(terms.recalled(r, np.full((1, 2), np.nan), setting="gray")[0])
    assert np.isnan(terms.recalled(r, p, np.full((1, 2), np.nan), setting="white")[0])


def test_a_term_of_no_weight_still_needs_its_setting_to_show_it() -> None:
    r, p = np.array([[1.0]]), np.array([[-3.0]])
    assert terms.recalled(r, p, setting="gray", weights=Weights(p=0.0)) == pytest.approx([1.0])
    for mode in ("paper", "reference-code"):
        found = terms.recalled(
            r, p, np.array([[1.0]]), setting="white", weights=Weights(r=0, p=0, m=0), mode=mode
        )
        assert found == pytest.approx([0.0])


def test_the_authors_code_divides_by_the_weights_of_the_setting() -> None:
    r, p, m = np.array([[1.0]]), np.array([[-2.0]]), np.array([[0.5]])
    w = Weights(r=2.0, p=1.0, m=3.0)
    code = {"weights": w, "mode": "reference-code"}
    assert terms.recalled(r, setting="black", **code) == pytest.approx([1.0])
    assert terms.recalled(r, p, setting="gray", **code) == pytest.approx([(2 + 0.5) / 3])
    assert terms.recalled(r, p, m, setting="white", **code) == pytest.approx([(2 + 0.5 + 1.5) / 6])


def test_more_questions_than_there_are_is_all_of_them() -> None:
    assert terms.recalled(R, setting="black", questions=8) == pytest.approx(
        terms.recalled(R, setting="black")
    )


def test_no_candidate_has_no_score() -> None:
    assert terms.recalled(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), setting="white").shape == (0,)


def test_logarithms_of_any_size_stay_in_range() -> None:
    p = np.array([-1e308, -1000.0, 0.0, 1000.0])
    with np.errstate(all="raise", under="ignore"):
        for squashed in (terms.loss(p), terms.mink(p)):
            assert (squashed >= 0.0).all() and (squashed <= 1.0).all() and (np.diff(squashed) >= 0).all()


def test_mink_takes_a_fifth_and_never_nothing() -> None:
    for n, taken in ((1, 1), (4, 1), (5, 1), (9, 1), (10, 2), (15, 3)):
        x = -np.arange(n, 0, -1.0)
        assert terms.mink_raw(x[::-1]) == pytest.approx(np.mean(x[:taken])), n
    assert np.isnan(terms.mink_raw(np.array([])))


def test_interrogation_counts_a_refusal_against_membership() -> None:
    answers = np.array([[1.0, 1.0], [0.0, 0.0], [-1.0, -1.0], [1.0, -1.0]])
    found = terms.interrogated(answers, setting="black")
    assert list(found) == [1.0, 0.0, -1.0, 0.0]


def test_reference_has_no_value_where_one_of_the_two_is_missing() -> None:
    one, none = np.array([1.0]), np.array([np.nan])
    assert np.isnan(terms.reference(one, none, one, one)[0])
    assert np.isnan(terms.reference(one, one, one, none)[0])
    assert terms.reference(one, one, np.array([-9.0]), np.array([-0.1]))[0] == -1.0  # clipped below too
