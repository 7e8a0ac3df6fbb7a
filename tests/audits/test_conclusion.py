"""Which instances count, and what is said when none does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.studies import conclude, options, people, run

from vestige import studying, workflow
from vestige.agents.reference import ReferenceAgent
from vestige.errors import AgentError, Unassessable
from vestige.records import AskOptions, Reply
from vestige.runs.folder import RunFolder


@pytest.fixture
def fails_for(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Users whose agents raise; filled by the test."""
    unlucky: set[str] = set()
    real = ReferenceAgent.ask

    async def ask(self: ReferenceAgent, user: str, prompt: str, options: AskOptions | None = None) -> Reply:
        if any(user.startswith(name) for name in unlucky) and self.settings.level == 1:
            raise RuntimeError("a bad day")
        return await real(self, user, prompt, options)

    monkeypatch.setattr(ReferenceAgent, "ask", ask)
    return unlucky


def test_an_instance_with_a_failed_episode_is_in_no_number(tmp_path: Path, fails_for: set[str]) -> None:
    """Its S = 0 is complete, its S = 1 is not: neither counts, or S would be compared over different people."""
    fails_for.add("001-person-1")
    made = run("frontier", tmp_path / "r", people(4))
    assert (made.result.n_instances, made.result.n_complete) == (4, 3)
    assert {c.PR.n for c in made.frontier.configurations} == {3}
    (excluded,) = made.result.exclusions
    assert excluded.episode == "001-person-1/S1"
    assert excluded.reason == "AgentError: ask: the agent raised RuntimeError"
    assert any("1 of 4 instances are not in the numbers" in note for note in made.result.notes)


def test_the_next_resume_completes_it(tmp_path: Path, fails_for: set[str]) -> None:
    whole = run("frontier", tmp_path / "whole", people(4))
    fails_for.add("001-person-1")
    run("frontier", tmp_path / "r", people(4))
    fails_for.clear()
    again = run("frontier", tmp_path / "r", people(4), resume=True)
    assert again.bytes == whole.bytes


def test_nothing_completed_supports_no_conclusion(tmp_path: Path, fails_for: set[str]) -> None:
    fails_for.update(("000", "001"))
    with pytest.raises(
        Unassessable, match=r"no instance was completed \(AgentError: ask.*continue the run with --resume"
    ):
        run("frontier", tmp_path / "r", people(2))
    assert Unassessable.exit_code == 3
    assert not (tmp_path / "r" / "result.json").exists()


def test_nothing_works_at_all(tmp_path: Path, fails_for: set[str]) -> None:
    fails_for.update(f"{i:03d}" for i in range(20))
    with pytest.raises(AgentError, match="the agent raised RuntimeError"):
        run("frontier", tmp_path / "r", people(20), levels="1", concurrency=1)


def test_a_run_that_was_not_begun_supports_no_conclusion(tmp_path: Path) -> None:
    planned = studying.make_plan("frontier", options(), people(2))
    RunFolder.create(tmp_path / "r", planned.plan, planned.blobs, resume=False).close()
    with pytest.raises(Unassessable, match="not run to its end"):
        conclude(tmp_path / "r")


def test_people_who_share_a_conversation_are_one_cluster(tmp_path: Path) -> None:
    """Six questions over two conversations: the bootstrap draws conversations, and the result says so."""
    bound = run("frontier", tmp_path / "bound", people(6, clusters=2), levels="0", k="1")
    free = run("frontier", tmp_path / "free", people(6), levels="0", k="1")
    assert (bound.result.clusters, free.result.clusters) == (2, None)
    alone = run("frontier", tmp_path / "alone", people(6, clusters=6), levels="0", k="1")
    assert alone.result.clusters is None  # six clusters of one are no clusters
    for ours, theirs in zip(bound.frontier.configurations, free.frontier.configurations, strict=True):
        assert ours.AER.indirect is not None and theirs.AER.indirect is not None
        assert ours.AER.indirect.exact == theirs.AER.indirect.exact


def test_the_result_says_what_was_run(tmp_path: Path) -> None:
    made = run(
        "residue", tmp_path / "r", people(3), seed=8, temperature=0.0, retrieve_from="both", levels="1", k="2"
    )
    stored = json.loads(made.bytes)
    assert stored["audit"] == "residue" and stored["seed"] == 8
    assert (stored["agent"], stored["model"], stored["embedder"]) == ("reference", "extractive", "hashing")
    assert stored["plan_sha256"] == made.plan.sha256
    assert stored["data"] == "people" and stored["n_instances"] == stored["n_complete"] == 3
    assert stored["agent_configuration"]["retrieve_from"] == "both"
    assert workflow.stored_result(made.folder) == made.result
