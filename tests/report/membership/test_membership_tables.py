"""The tables: what is refused says why, and an interval says what it is of and how it was made."""

from __future__ import annotations

import numpy as np
import pytest

from vestige.audits.membership.metrics import Sample, compared
from vestige.audits.membership.results import (
    Ablation,
    AttackRow,
    Comparison,
    MembershipResult,
    Threshold,
    UnitCounts,
    UserRow,
)
from vestige.audits.membership.settings import MembershipSettings
from vestige.audits.membership.thresholds import threshold_of
from vestige.report.membership import membership_lines
from vestige.report.membership.tables import LIMITS, markdown, tables
from vestige.report.tables import Table

SETTINGS = MembershipSettings(attacks=("mrmmia", "loss"))


def sample(users: int, seed: int = 1, repeats: int = 2) -> Sample:
    rng = np.random.default_rng(seed)
    member = np.tile(np.arange(20) % 2 == 0, users)
    scores = rng.normal(size=(20 * users, repeats)) + 1.5 * member[:, None]
    names = np.repeat([f"user-{i:03d}" for i in range(users)], 20)
    return Sample(scores, member, names, 0.95, 0, SETTINGS.fprs)


def row(attack: str, setting: str, s: Sample, **more: str) -> AttackRow:
    fold = (np.unique(s.users, return_inverse=True)[1] % 5).astype(np.int64)
    return AttackRow.model_validate(
        {
            "attack": attack,
            "setting": setting,
            "members": int(s.member.sum()),
            "non_members": int((~s.member).sum()),
            "unscored": 3,
            "auc": s.auc(),
            "auc_users": s.auc_users(),
            "pr_auc": s.pr_auc(),
            "at_fpr": tuple(s.at_fpr(t) for t in SETTINGS.fprs),
            "threshold": threshold_of(s, fold),
            **more,
        }
    )


def result(users: int) -> MembershipResult:
    s, other = sample(users), sample(users, seed=2)
    nothing = row("loss", "gray", s).model_copy(
        update={
            "unavailable": "the agent shows no log-probabilities",
            "auc": s.auc().model_copy(update={"value": None, "interval": None, "reason": "not shown"}),
            "threshold": Threshold(gammas=None, accuracy=None, tpr=None, fpr=None, users=0, reason="x"),
        }
    )
    difference, p_value = compared(s, other)
    return MembershipResult(
        plan_sha256="a" * 64,
        vestige_version="0",
        agent="reference",
        agent_configuration={},
        model="extractive",
        embedder="hashing",
        data="made",
        data_sha256="b" * 64,
        n_instances=users,
        n_complete=users,
        clusters=None,
        seed=1,
        exclusions=(),
        notes=("A note | with a pipe.",),
        statement="What was found.",
        rows=(row("mrmmia", "black", s), nothing, row("mrmmia", "white", other, left_out="w_p counts as 0")),
        comparisons=(
            Comparison(
                setting="black", attack="mrmmia", baseline="naive", difference=difference, p_value=p_value
            ),
        ),
        ablations=tuple(
            Ablation(name="questions", setting="black", value=k, auc=s.auc()) for k in (1.0, 2.0)
        ),
        users=tuple(
            UserRow(user=f"user-{i:03d}", stored=30, members=10, non_members=10, auc={"mrmmia/black": 0.75})
            for i in range(users)
        ),
        counts=UnitCounts(
            users=users,
            candidates=20 * users,
            planned=20 * users + 5,
            members=10 * users,
            non_members=10 * users,
            shared=2,
            shared_left_out=True,
            kinds={"near_duplicate": 4},
            questions={"recall": 7},
            rejected={},
            without_questions=3,
            remembered_by={"remember": 2},
        ),
        parts={"generator": "rules"},
        cut_offs={"memory high": (0.8, 0.9)},
        settings=SETTINGS,
    )


def cells(table: Table) -> dict[str, list[tuple[str, str, str]]]:
    return {r.header: [(c.text, c.detail, c.reason) for c in r.cells] for r in table.rows}


@pytest.fixture(scope="module")
def few() -> MembershipResult:
    return result(10)


def test_with_few_users_the_interval_stands_with_the_mean_it_is_of(few: MembershipResult) -> None:
    main = tables(few)[0]
    text, detail, _ = cells(main)["MRMMIA"][0]  # of the last row of that name
    auc = few.rows[2].auc
    assert text == f"{auc.value:.3f}"
    assert detail == f"± {auc.sd:.3f} [{auc.interval[0]:.3f}, {auc.interval[1]:.3f}] of {auc.centre:.3f}"
    assert "the interval is of x, the mean of the users' own values" in main.note
    assert "AUC by t over users (n = 10): 10 users are too few to resample" in main.note
    assert "Intervals at 95 %" in main.note
    lines = membership_lines(few)
    assert any(f"of {auc.centre:.3f}" in line for line in lines)
    assert any("fewer than 20 users" in line for line in lines)


def test_with_many_users_the_interval_is_of_the_value() -> None:
    many = result(24)
    main = tables(many)[0]
    assert "AUC by bootstrap over users (n = 24)" in main.note and "of x" not in main.note
    assert " of " not in cells(main)["MRMMIA"][0][1]
    assert not any("fewer than 20 users" in line for line in membership_lines(many))
    assert (
        cells(next(t for t in tables(many) if t.title.startswith("Differences")))[
            "MRMMIA − Naive Probe, black-box"
        ][1][0]
        == "–"
    )  # a bootstrap has no p


def test_a_rate_stands_with_the_rate_that_was_reached_or_is_refused(few: MembershipResult) -> None:
    point, _, refused = few.rows[2].at_fpr
    row = cells(tables(few)[0])["MRMMIA"]
    assert row[3][0] == f"{point.tpr:.3f}"
    assert f"FPR {100 * point.achieved:.2g} % [" in row[3][1]
    assert row[5] == ("refused", "", "100 non-members; a rate of 0.001 needs 1000")
    assert refused.tpr is None
    assert row[6][0] == "100 + 100, 3 unscored"


def test_what_cannot_be_scored_says_why(few: MembershipResult) -> None:
    main = tables(few)[0]
    assert cells(main)["Loss"][0] == ("n/c", "", "not shown")
    assert [r.hint for r in main.rows if r.header == "MRMMIA"] == ["", "w_p counts as 0"]
    assert any("not scored: the agent shows no log-probabilities" in line for line in membership_lines(few))


def test_a_comparison_names_its_test(few: MembershipResult) -> None:
    found = next(t for t in tables(few) if t.title.startswith("Differences"))
    assert found.columns[1].text == "p"
    assert found.note.startswith("t over users (n = 10)") and "not adjusted" in found.note


def test_thresholds_users_counts_and_ablations_are_there(few: MembershipResult) -> None:
    titles = [t.title for t in tables(few)]
    assert "MRMMIA's AUC by K, the number of questions" in titles and titles[-1] == "What was asked"
    decided = cells(tables(few)[1])
    assert "Loss, gray-box" not in decided
    assert decided["MRMMIA, black-box"][0][0] == f"{few.rows[0].threshold.accuracy:.3f}"
    asked = cells(tables(few)[-1])
    assert asked["candidates"][0][0] == "200 of 205 planned: 100 members, 100 others"
    assert asked["on both sides after normalisation"][0][0] == "2, left out"
    assert asked["cut-off: memory high"][0][0] == "0.800 to 0.900 over the folds"


def test_more_than_sixty_users_are_told_where_to_find() -> None:
    many = result(64)
    users = next(t for t in tables(many) if t.title.endswith("user by user"))
    assert len(users.rows) == 60 and users.note == "4 more users stand in result.json."


def test_markdown_holds_every_table_and_every_limit(few: MembershipResult) -> None:
    text = markdown(few, "A heading", [])
    for one in tables(few):
        assert one.title in text
    assert text.startswith("# A heading\n")
    assert text.count("\n- ") == len(LIMITS) + 1 and "A note \\| with a pipe." in text
