"""What an interval is of: the mean over repeats, by user where users tell, labelled where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from vestige.audits.membership.metrics import Sample, compared
from vestige.audits.membership.thresholds import threshold_of
from vestige.stats import auc_interval, clopper_pearson, pr_auc, roc_auc, tpr_at_fpr
from vestige.stats.grouped import group_aucs, metric_draws, t_interval
from vestige.stats.resampling import percentile_interval

FPRS = (0.1, 0.01, 0.001)


def sample(
    users: int, each: int = 20, repeats: int = 1, *, seed: int = 0, apart: float = 1.0, levels: float = 0.0
) -> Sample:
    """Users of `each` candidates, half of them members; `levels` is how far users' scores stand apart."""
    rng = np.random.default_rng(seed)
    member = np.tile(np.arange(each) % 2 == 0, users)
    names = np.repeat([f"user-{i:03d}" for i in range(users)], each)
    level = np.repeat(rng.normal(size=users) * levels, each)
    shared = rng.normal(size=len(member)) + level + apart * member
    scores = shared[:, None] + rng.normal(size=(len(member), repeats))
    return Sample(scores=scores, member=member, users=names, confidence=0.95, seed=3, fprs=FPRS)


def with_scores(first: Sample, scores: np.ndarray) -> Sample:
    return Sample(scores, first.member, first.users, first.confidence, first.seed, first.fprs)


# ------------------------------------------------------------------------------------- many users


def test_many_users_are_resampled_and_each_draw_is_the_mean_over_the_repeats() -> None:
    s = sample(25, repeats=3)
    found = s.auc()
    draws = metric_draws(roc_auc, s.by_repeat(), s.member, s.users, seed=s.seed).mean(axis=1)
    assert found.interval == pytest.approx(tuple(percentile_interval(draws)))
    assert (found.method, found.n, found.centre) == ("bootstrap over users", 25, None)
    assert found.value == pytest.approx(np.mean([roc_auc(c, s.member) for c in s.scores.T]))
    assert found.sd == pytest.approx(np.std([roc_auc(c, s.member) for c in s.scores.T], ddof=1))


def test_precision_and_rates_are_resampled_by_user_too() -> None:
    s = sample(25, repeats=2)
    draws = metric_draws(pr_auc, s.by_repeat(), s.member, s.users, seed=s.seed).mean(axis=1)
    assert s.pr_auc().interval == pytest.approx(tuple(percentile_interval(draws)))
    point = s.at_fpr(0.1)
    draws = metric_draws(
        lambda x, y: tpr_at_fpr(x, y, 0.1), s.by_repeat(), s.member, s.users, seed=s.seed
    ).mean(axis=1)
    assert point.interval == pytest.approx(tuple(percentile_interval(draws)))
    assert point.method == "bootstrap over users" and point.interval[0] < point.tpr < point.interval[1]


def test_a_perfect_attack_on_many_users_is_not_certain() -> None:
    s = sample(25, apart=100.0)
    found = s.auc()
    assert found.value == 1.0 and found.method == "delong"
    assert found.interval == pytest.approx((clopper_pearson(250, 250).low, 1.0))
    assert "every draw of users gives the same value" in found.reason
    point = s.at_fpr(0.01)
    assert (point.tpr, point.method) == (1.0, "exact")
    assert point.interval == pytest.approx((clopper_pearson(250, 250).low, 1.0))
    assert s.pr_auc().interval is None and s.pr_auc().reason


# -------------------------------------------------------------------------------------- few users


def test_ten_users_give_a_t_interval_of_their_own_aucs() -> None:
    s = sample(10, repeats=3)
    own = np.mean([group_aucs(c, s.member, s.users) for c in s.scores.T], axis=0)
    found = s.auc()
    assert found.interval == pytest.approx(tuple(t_interval(own)))
    assert (found.method, found.n) == ("t over users", 10)
    assert found.centre == pytest.approx(own.mean())
    assert "10 users are too few to resample" in found.reason
    users = s.auc_users()
    assert users.interval == found.interval and users.value == pytest.approx(found.centre)
    assert users.centre is None and users.reason == ""


def test_where_users_stand_on_levels_of_their_own_the_interval_says_what_it_is_of() -> None:
    """Pooled, the levels drown what each user's own ranking shows: the interval is not of that number, and says so."""
    s = sample(10, levels=30.0, apart=4.0)
    found = s.auc()
    assert found.value is not None and found.interval is not None
    assert found.value < found.interval[0] < found.centre < found.interval[1]


def test_a_user_with_one_class_alone_leaves_candidates_as_independent() -> None:
    s = sample(10, repeats=2)
    member = s.member.copy()
    member[s.users == "user-004"] = True
    s = Sample(s.scores, member, s.users, 0.95, 3, FPRS)
    found = s.auc()
    assert found.method == "delong" and found.n == 200
    assert found.interval == pytest.approx(tuple(auc_interval(s.scores, member)))
    assert "some have one class alone: candidates are taken as independent" in found.reason
    users = s.auc_users()
    assert users.n == 9 and "1 users with one class alone are left out" in users.reason
    assert s.pr_auc().interval is None


def test_one_user_has_no_interval_over_users() -> None:
    s = sample(1, each=60)
    assert s.auc().method == "delong" and "one user" in s.auc().reason
    assert s.auc_users().interval is None and s.auc_users().reason
    assert s.pr_auc().interval is None


def test_users_who_are_all_alike_give_no_interval_without_width() -> None:
    s = sample(6, apart=100.0)
    assert s.auc().method == "delong" and s.auc().interval[0] < 1.0
    assert s.auc_users().interval is None and "all alike" in s.auc_users().reason
    constant = with_scores(s, np.zeros_like(s.scores))
    assert constant.auc().value == 0.5
    low, high = constant.auc().interval
    assert low < 0.4 and high > 0.6
    point = constant.at_fpr(0.1)
    assert (point.tpr, point.threshold, point.method) == (0.0, None, "exact")
    assert point.interval == pytest.approx((0.0, clopper_pearson(0, 60).high))


def test_rates_of_few_users_are_their_own_at_the_pooled_threshold() -> None:
    s = sample(8, each=40)
    point = s.at_fpr(0.1)
    called = s.scores[:, 0] >= point.threshold
    own = np.array([called[s.member & (s.users == u)].mean() for u in np.unique(s.users)])
    assert point.interval == pytest.approx(tuple(t_interval(own)))
    assert point.centre == pytest.approx(own.mean()) == pytest.approx(point.tpr)
    assert (point.method, point.n) == ("t over users", 8)


def test_permuted_labels_of_ten_users_cover_one_half_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(2)
    runs, held = 400, 0
    for _ in range(runs):
        s = sample(10, levels=1.0, apart=0.0, seed=int(rng.integers(2**31)), repeats=2)
        low, high = s.auc().interval
        held += low <= 0.5 <= high
    # three standard errors of the simulation: 0.033
    assert held / runs == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / runs))


# ---------------------------------------------------------------------------- false positive rates


def test_the_achieved_rate_is_the_worst_repeats_and_repeats_are_no_more_negatives() -> None:
    member = np.r_[np.ones(20, bool), np.zeros(20, bool)]
    users = np.tile(["a", "b"], 20)
    clean = np.r_[np.full(20, 2.0), np.zeros(20)]
    two_above = clean.copy()
    two_above[20:22] = 2.0
    s = Sample(np.stack([clean, two_above], axis=1), member, users, 0.95, 0, (0.1,))
    point = s.at_fpr(0.1)
    assert point.achieved == 0.1 and point.tpr == 1.0
    assert point.exact == pytest.approx(tuple(clopper_pearson(2, 20)))
    assert point.accuracy == pytest.approx((1.0 + 0.95) / 2)


def test_a_rate_without_negatives_enough_is_refused_with_the_number_needed() -> None:
    s = sample(10)  # 100 non-members
    assert s.at_fpr(0.01).tpr is not None
    refused = s.at_fpr(0.001)
    assert refused.tpr is None and refused.interval is None
    assert refused.refused == "100 non-members; a rate of 0.001 needs 1000"
    assert s.tpr(0.001) is None and s.tpr(0.1) == s.at_fpr(0.1).tpr


def test_one_class_has_no_metric() -> None:
    s = sample(3)
    alone = Sample(s.scores[s.member], s.member[s.member], s.users[s.member], 0.95, 0, FPRS)
    assert alone.auc().value is None and alone.auc_users().value is None and alone.pr_auc().value is None
    assert alone.at_fpr(0.1).tpr is None and alone.at_fpr(0.1).refused
    assert compared(alone, alone)[0].value is None


# -------------------------------------------------------------------------------------- comparisons


def test_two_attacks_on_few_users_are_compared_by_the_paired_t_test() -> None:
    strong = sample(10, repeats=2)
    weak = with_scores(strong, strong.scores - 0.8 * strong.member[:, None])
    difference, p = compared(strong, weak)
    own = np.mean(
        [
            group_aucs(a, strong.member, strong.users) - group_aucs(b, strong.member, strong.users)
            for a, b in zip(strong.by_repeat(), weak.by_repeat(), strict=True)
        ],
        axis=0,
    )
    assert difference.method == "t over users" and difference.centre == pytest.approx(own.mean())
    assert difference.interval == pytest.approx(tuple(t_interval(own)))
    assert p == pytest.approx(ttest_1samp(own, 0).pvalue)


def test_two_attacks_on_many_users_share_their_draws() -> None:
    strong = sample(25)
    weak = with_scores(strong, strong.scores - 0.3 * strong.member[:, None])
    difference, p = compared(strong, weak)
    assert p is None and difference.method == "bootstrap over users"
    # the two are nearly one score, so the difference is far surer than either
    assert np.ptp(difference.interval) < 0.7 * np.ptp(strong.auc().interval)


def test_an_attack_compared_with_itself_is_no_evidence_and_no_certainty() -> None:
    for users in (8, 25):
        s = sample(users)
        difference, p = compared(s, s)
        assert difference.value == 0.0 and p == 1.0
        assert difference.interval[0] < 0.0 < difference.interval[1]


# -------------------------------------------------------------------------------------- thresholds


def test_a_threshold_decides_about_users_it_was_not_chosen_on_in_every_repeat() -> None:
    s = sample(10, apart=8.0, repeats=2)
    fold = np.repeat(np.arange(10) % 5, 20)
    found = threshold_of(s, fold)
    called = np.zeros(s.scores.shape, bool)
    for r in range(2):
        for f in range(5):
            own = fold == f
            grid = np.unique(s.scores[~own, r])
            y = s.member[~own]
            gains = [(s.scores[~own, r] >= g)[y].mean() - (s.scores[~own, r] >= g)[~y].mean() for g in grid]
            gamma = grid[::-1][int(np.argmax(gains[::-1]))]
            called[own, r] = s.scores[own, r] >= gamma
    assert found.accuracy == pytest.approx((called == s.member[:, None]).mean()) and found.accuracy > 0.95
    assert found.tpr == pytest.approx(called[s.member].mean())
    assert found.fpr == pytest.approx(called[~s.member].mean())


def test_no_threshold_without_other_users() -> None:
    s = sample(1)
    found = threshold_of(s, np.zeros(20, dtype=np.int64))
    assert found.gammas is None and found.reason == "1 user: γ needs others to be chosen on"
    one_class = Sample(s.scores, s.member, s.users, 0.95, 0)
    found = threshold_of(one_class, one_class.member.astype(np.int64))
    assert found.gammas is None and "members alone" in found.reason
