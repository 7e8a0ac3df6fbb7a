"""The conclusion: pure over the record, complete in what it says, and refused where it has nothing to say."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from vestige import attacking, workflow
from vestige.audits.findings import Finding
from vestige.audits.membership.conclusion import conclude
from vestige.audits.membership.results import MembershipResult
from vestige.datasets.units import generate_units
from vestige.errors import IntegrityError, Unassessable
from vestige.membership_options import MembershipOptions
from vestige.runs.folder import RunFolder
from vestige.runs.plan import canonical_json

HELPERS = Path(__file__).resolve().parents[2] / "helpers" / "planted_memory.py"


def made(out: Path, users: int = 3, **more: Any) -> RunFolder:
    given: dict[str, Any] = {
        "agent": f"{HELPERS}:Recalls",
        "embedder": "hashing",
        "quiet": True,
        "per_user": 3,
        "repeats": 2,
        "concurrency": 1,
        **more,
    }
    options = MembershipOptions(out=out, **given)
    folder, _ = workflow.run(attacking.make_plan(options, generate_units(users, seed=7)), options)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("conclusion") / "run", ablate_follow_up=True)


@pytest.fixture(scope="module")
def findings(ran: RunFolder) -> list[Finding]:
    return list(workflow.score(ran))


def concluded(folder: RunFolder, findings: Iterable[Finding]) -> MembershipResult:
    return conclude(folder.plan, folder, findings)


def bytes_of(result: MembershipResult) -> bytes:
    return canonical_json(result.model_dump(mode="json"))


def test_the_order_of_findings_and_where_they_lie_change_nothing(
    ran: RunFolder, findings: list[Finding]
) -> None:
    once = bytes_of(concluded(ran, findings))
    shuffled = list(findings)
    random.Random(3).shuffle(shuffled)
    assert bytes_of(concluded(ran, iter(shuffled))) == once
    assert bytes_of(concluded(ran, workflow.score(ran))) == once
    # a plan that is read back has its keys in another order
    again = RunFolder.open(ran.path)
    assert bytes_of(concluded(again, findings)) == once
    assert MembershipResult.model_validate_json(once) == concluded(ran, findings)


def test_a_report_made_again_has_the_same_bytes(ran: RunFolder, tmp_path: Path) -> None:
    names = ("report.html", "report.md", "report.json", "scores.csv")
    attacking.finish(ran, out=tmp_path / "one")
    attacking.finish(RunFolder.open(ran.path), out=tmp_path / "two")
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_every_attack_stands_in_every_setting_it_exists_in(ran: RunFolder, findings: list[Finding]) -> None:
    result = concluded(ran, findings)
    rows = [(r.attack, r.setting) for r in result.rows]
    assert rows == [
        *((a, "black") for a in ("mrmmia", "naive", "ia")),
        *((a, "gray") for a in ("mrmmia", "naive", "ia", "loss", "mink", "reference")),
        *((a, "white") for a in ("mrmmia", "naive", "ia")),
    ]
    assert {(c.setting, c.attack) for c in result.comparisons} == {
        ("black", "mrmmia"),
        ("gray", "mrmmia"),
        ("white", "mrmmia"),
    }
    for row in result.rows:
        assert (row.members, row.non_members) == (9, 9) and row.unscored == 0
        assert row.auc.interval is not None and row.auc.method in ("t over users", "delong")
        assert [p.target for p in row.at_fpr] == [0.1, 0.01, 0.001]
        assert all(p.refused for p in row.at_fpr)  # nine others show no rate of 10 %


def test_ablations_are_prefixes_and_parts_of_the_one_pass(ran: RunFolder, findings: list[Finding]) -> None:
    result = concluded(ran, findings)
    by: dict[tuple[str, str], list[float]] = {}
    for a in result.ablations:
        by.setdefault((a.name, a.setting), []).append(a.value)
    assert by["questions", "black"] == [1, 2, 3, 4, 5]
    assert by["follow_up", "white"] == [1, 0]
    assert by["w_p", "gray"] == by["w_m", "white"] == [0, 0.25, 0.5, 1, 2, 4]
    assert ("w_p", "black") not in by and ("w_m", "gray") not in by
    rows = {(r.attack, r.setting): r.auc for r in result.rows}
    for a in result.ablations:  # where nothing is changed, the ablation is the table
        if (a.name, a.value) in {("questions", 5), ("follow_up", 1), ("w_p", 1), ("w_m", 1)}:
            assert a.auc == rows["mrmmia", a.setting]


def test_an_ablations_rate_names_the_false_positive_rate_it_is_at(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", users=2, per_user=8, repeats=1)
    result = concluded(folder, workflow.score(folder))
    assert {(a.fpr, a.tpr is not None) for a in result.ablations} == {(0.1, True)}  # 16 others


def test_a_candidate_without_one_of_its_repeats_is_refused(ran: RunFolder, findings: list[Finding]) -> None:
    fewer = list(findings)
    fewer.remove(next(f for f in findings if f.labels.get("repeat") == 1))
    with pytest.raises(IntegrityError, match="a candidate lacks one of its repeats"):
        concluded(ran, fewer)


def test_nothing_completed_is_no_result(ran: RunFolder) -> None:
    with pytest.raises(Unassessable, match="no candidate was completed"):
        concluded(ran, [])


def test_records_of_another_plan_are_refused(ran: RunFolder, findings: list[Finding], tmp_path: Path) -> None:
    shutil.copytree(ran.path, tmp_path / "run")
    path = tmp_path / "run" / "plan.json"
    plan = json.loads(path.read_text("utf-8"))
    plan["seed"] += 1
    path.write_text(json.dumps(plan), "utf-8")
    folder = RunFolder.open(tmp_path / "run")
    with pytest.raises(IntegrityError, match="changed after the run"):
        concluded(folder, findings)


def test_candidates_without_a_question_are_counted_and_left_out_or_ranked_lowest(
    ran: RunFolder, findings: list[Finding], tmp_path: Path
) -> None:
    """The questions of one member are taken away, as if none could be made."""
    gone = next(
        f.labels["candidate"] for f in findings if f.labels.get("member") is True and f.kind == "candidate"
    )

    def without(f: Finding) -> Finding:
        if f.labels.get("candidate") != gone:
            return f
        kept = {k: v for k, v in f.values.items() if not k.startswith(("recall", "plain", "asked:recall"))}
        return f.model_copy(update={"values": kept})

    fewer = [without(f) for f in findings]
    result = concluded(ran, fewer)
    row = next(r for r in result.rows if (r.attack, r.setting) == ("mrmmia", "black"))
    assert (row.members, row.non_members, row.unscored) == (8, 9, 1)
    assert result.counts.without_questions == 1
    assert "1 candidates have no valid recall question and are left out." in result.notes
    ia = next(r for r in result.rows if (r.attack, r.setting) == ("ia", "black"))
    assert (ia.members, ia.unscored) == (9, 0)

    settings = {**ran.plan.settings["membership"], "unscored": "lowest"}
    lowest = ran.plan.model_copy(update={"settings": {**ran.plan.settings, "membership": settings}})
    low = next(r for r in conclude(lowest, ran, fewer).rows if (r.attack, r.setting) == ("mrmmia", "black"))
    assert (low.members, low.unscored) == (9, 1)
    # below all others: that member loses against every non-member
    assert low.auc.value == pytest.approx((row.auc.value or 0.0) * 8 / 9)


def test_what_was_not_run_to_its_end_is_told(tmp_path: Path) -> None:
    options = MembershipOptions(
        agent=f"{HELPERS}:Recalls",
        embedder="hashing",
        quiet=True,
        per_user=3,
        chunk=3,
        concurrency=1,
        out=tmp_path / "run",
    )
    folder, _ = workflow.run(attacking.make_plan(options, generate_units(1, seed=7)), options)
    path = folder.path / "records-0000.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    last = max(i for i, line in enumerate(lines) if line["kind"] == "episode_end")
    lines[last]["body"].update(status="failed", reason="the agent hung up")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    result = workflow.conclude(RunFolder.open(folder.path))
    assert isinstance(result, MembershipResult)
    assert [e.reason for e in result.exclusions] == ["the agent hung up"]
    assert (result.counts.candidates, result.counts.planned) == (3, 6)
    assert any(n.startswith("One user: cut-offs are the defaults") for n in result.notes)
    row = result.rows[0]
    assert row.threshold.gammas is None and "γ needs others to be chosen on" in row.threshold.reason


def test_the_statement_covers_no_more_than_was_asked(ran: RunFolder, findings: list[Finding]) -> None:
    result = concluded(ran, findings)
    assert "on 18 candidates of 3 users" in result.statement
    assert "that a stronger attacker learns no more does not follow" in result.statement
    assert result.n_complete == 3 and result.counts.candidates == 18
    assert [u.user for u in result.users] == sorted(ran.plan.fixtures)
    assert all((u.members, u.non_members) == (3, 3) and u.stored >= 3 for u in result.users)
    assert list(result.parts) == sorted(result.parts) == ["generator", "memory", "paraphraser", "responses"]
