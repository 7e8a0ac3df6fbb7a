"""From the record to findings: what counts, what is refused, and how little is held meanwhile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vestige import attacking, workflow
from vestige.audits.membership.scoring import labels_of, score, settings_of
from vestige.datasets.units import generate_units
from vestige.errors import IntegrityError
from vestige.membership_options import MembershipOptions
from vestige.runs.folder import RunFolder

USERS, EACH, CHUNK = 2, 3, 2


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scoring") / "run"
    options = MembershipOptions(
        embedder="hashing", quiet=True, per_user=EACH, chunk=CHUNK, repeats=2, concurrency=1, out=out
    )
    folder, _ = workflow.run(attacking.make_plan(options, generate_units(USERS, seed=7)), options)
    return folder.path


def changed(ran: Path, to: Path, change: Callable[[list[dict[str, Any]]], None]) -> RunFolder:
    """A copy of the run with other lines."""
    shutil.copytree(ran, to)
    path = to / "records-0000.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return RunFolder.open(to)


def test_every_candidate_and_repeat_is_one_finding_with_its_label(ran: Path) -> None:
    folder = RunFolder.open(ran)
    found = [f for f in score(folder.plan, folder) if f.kind == "candidate"]
    assert len(found) == USERS * 2 * EACH * 2
    labels = labels_of(folder.plan)
    for f in found:
        assert f.labels["member"] == labels[f.instance][str(f.labels["candidate"])][0]
        asked = sum(v for k, v in f.values.items() if k.startswith("asked:"))
        assert f.values["exchanges"] == asked > 5
    first = [f for f in found if f.labels["repeat"] == 0]
    assert {f.labels["candidate"] for f in first} == {f.labels["candidate"] for f in found}


def test_a_candidate_is_a_finding_once_its_episode_has_ended(ran: Path, tmp_path: Path) -> None:
    """No more is held than the steps under way: what is read later cannot keep earlier findings back."""

    def spoil(lines: list[dict[str, Any]]) -> None:
        last = max(i for i, line in enumerate(lines) if line["kind"] == "exchange")
        lines[last]["labels"].pop("question")

    folder = changed(ran, tmp_path / "run", spoil)
    found = []
    with pytest.raises(IntegrityError, match="an exchange without its question"):
        for f in score(folder.plan, folder):
            found.append(f)
    # all but the two repeats of the last candidate
    assert sum(f.kind == "candidate" for f in found) == USERS * 2 * EACH * 2 - 2


def test_an_episode_that_was_not_completed_gives_no_finding(ran: Path, tmp_path: Path) -> None:
    def cut(lines: list[dict[str, Any]]) -> None:
        last = max(i for i, line in enumerate(lines) if line["kind"] == "episode_end")
        del lines[last:]

    folder = changed(ran, tmp_path / "run", cut)
    found = [f for f in score(folder.plan, folder) if f.kind == "candidate"]
    assert len(found) == (USERS * 2 * EACH - CHUNK) * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line.update(step=0), "not a question of the plan"),
        (lambda line: line.update(step=99), "not a question of the plan"),
        (lambda line: line["labels"].update(question=7), "an exchange without its question"),
        (lambda line: line["labels"].update(repeat="1"), "an exchange without its question"),
        (lambda line: line["body"].update(reply={"text": 5}), "not the record of an exchange"),
    ],
)
def test_a_record_that_was_changed_is_refused(
    ran: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    folder = changed(
        ran,
        tmp_path / "run",
        lambda lines: change(next(line for line in lines if line["kind"] == "exchange")),
    )
    with pytest.raises(IntegrityError, match=message):
        list(score(folder.plan, folder))
    with pytest.raises(IntegrityError, match=message):
        workflow.score(folder)
    assert not (folder.path / "findings.jsonl").exists()


def test_a_plan_whose_labels_cannot_be_read_is_refused(ran: Path) -> None:
    plan = RunFolder.open(ran).plan
    user = next(iter(plan.fixtures))
    for labels, message in (
        (None, "have no labels"),
        ({"c": [1, "plain"]}, "the label of candidate 'c' cannot be read"),
        ({"c": [True]}, "the label of candidate 'c' cannot be read"),
    ):
        spoilt = plan.model_copy(update={"fixtures": {user: {**plan.fixtures[user], "labels": labels}}})
        with pytest.raises(IntegrityError, match=message):
            labels_of(spoilt)
    spoilt = plan.model_copy(update={"settings": {"membership": {"questions": 0}}})
    with pytest.raises(IntegrityError, match="settings cannot be read"):
        settings_of(spoilt)
