"""Agents whose membership leaks in a known way, through the same calls as the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige import attacking, workflow
from vestige.audits.membership.results import AttackRow, MembershipResult
from vestige.datasets.units import UnitMix, generate_units
from vestige.errors import AgentError
from vestige.membership_options import MembershipOptions
from vestige.records import Reply
from vestige.runs.store import read_lines

HELPERS = Path(__file__).resolve().parents[2] / "helpers" / "planted_memory.py"
ALL = ("mrmmia", "naive", "ia", "loss", "mink", "reference")


def audit(name: str, out: Path, users: int = 4, **more: Any) -> MembershipResult:
    given: dict[str, Any] = {"embedder": "hashing", "quiet": True, "per_user": 6, "concurrency": 1, **more}
    options = MembershipOptions(agent=f"{HELPERS}:{name}", out=out, **given)
    data = generate_units(users, seed=7, mix=UnitMix(near_duplicate=0, inferable=0, common_knowledge=0))
    folder, _ = workflow.run(attacking.make_plan(options, data), options)
    result = workflow.conclude(folder)
    assert isinstance(result, MembershipResult)
    return result


def row(result: MembershipResult, attack: str, setting: str) -> AttackRow:
    return next(r for r in result.rows if (r.attack, r.setting) == (attack, setting))


def test_an_agent_that_answers_exactly_from_members_is_told_apart_in_all_settings(tmp_path: Path) -> None:
    result = audit("Recalls", tmp_path / "run")
    for setting in ("black", "gray", "white"):
        assert row(result, "mrmmia", setting).auc.value == 1.0, setting
        assert row(result, "naive", setting).auc.interval[0] > 0.5
        assert row(result, "ia", setting).auc.value == 1.0
    assert "black-box 1.000" in result.statement
    assert result.counts.remembered_by == {"remember": len(result.users) * 3}  # 12 candidates in chunks of 5


def test_an_agent_that_never_uses_its_memory_is_chance(tmp_path: Path) -> None:
    result = audit("Ignores", tmp_path / "run", users=8)
    for attack in ALL:
        for setting in ("black", "gray", "white"):
            found = next((r for r in result.rows if (r.attack, r.setting) == (attack, setting)), None)
            if found is None or found.unavailable:
                continue
            low, high = found.auc.interval or (0.0, 1.0)
            assert low <= 0.5 <= high, (attack, setting, found.auc)


@pytest.mark.parametrize("logprob", [5.0, -1e308])
def test_a_log_probability_that_cannot_be_is_no_evidence(tmp_path: Path, logprob: float) -> None:
    agent = tmp_path / "odd.py"
    agent.write_text(
        "from vestige.records import Reply, TokenLogprob\n"
        "class Odd:\n"
        "    def converse(self, user, messages): pass\n"
        "    def ask(self, user, prompt, options):\n"
        f"        return Reply(text='x', logprobs=(TokenLogprob(token='x', logprob={logprob}),))\n"
        "    def forget(self, user, value): pass\n"
        "    def reset(self, user): pass\n"
    )
    options = MembershipOptions(
        agent=f"{agent}:Odd", out=tmp_path / "run", embedder="hashing", quiet=True, attacks=("mrmmia",)
    )
    data = generate_units(2, seed=7, mix=UnitMix(near_duplicate=0, inferable=0, common_knowledge=0))
    with pytest.raises(AgentError, match="log-probability"):
        workflow.run(attacking.make_plan(options, data), options)


def test_a_constant_reply_hides_from_the_outside_alone(tmp_path: Path) -> None:
    result = audit("Constant", tmp_path / "run")
    for attack in ("mrmmia", "ia"):
        assert row(result, attack, "black").auc.value == 0.5
    assert row(result, "mrmmia", "white").auc.value == 1.0


def test_an_agent_without_remember_is_told_in_a_conversation(tmp_path: Path) -> None:
    result = audit("TakesConversations", tmp_path / "run", users=2)
    assert set(result.counts.remembered_by) == {"conversation"}
    assert row(result, "mrmmia", "black").auc.value == 1.0
    assert any("told to it in a conversation" in note for note in result.notes)


def test_the_agent_is_never_told_who_is_a_member(tmp_path: Path) -> None:
    audit("Recalls", tmp_path / "run", users=2)
    for blob in (tmp_path / "run" / "blobs").iterdir():
        assert b"member" not in blob.read_bytes() or b'"id"' in blob.read_bytes()
        assert b'"member":' not in blob.read_bytes()


def test_a_stop_at_the_budget_leaves_whole_candidates(tmp_path: Path) -> None:
    options = MembershipOptions(
        agent=f"{HELPERS}:Recalls",
        out=tmp_path / "run",
        embedder="hashing",
        quiet=True,
        per_user=6,
        concurrency=1,
    )
    data = generate_units(4, seed=7)
    asked = iter([None, None, None, "that is enough"])
    planned = attacking.make_plan(options, data)
    folder, summary = workflow.run(planned, options, stop=lambda: next(asked, "over"))
    assert summary.stopped == "that is enough" and summary.done == 3
    part = workflow.conclude(folder)
    assert isinstance(part, MembershipResult)
    assert part.counts.candidates == 15 and part.counts.planned == 48
    assert "9 of 12 episodes were never begun" in part.stopped
    # the rest, and the same bytes as a run in one go
    workflow.run(planned, options.model_copy(update={"resume": True}))
    whole = workflow.conclude(folder)
    other = options.model_copy(update={"out": tmp_path / "other"})
    folder2, _ = workflow.run(attacking.make_plan(other, data), other)
    assert workflow.conclude(folder2) == whole


def test_repeats_have_seeds_of_their_own_and_an_sd(tmp_path: Path) -> None:
    result = audit("Recalls", tmp_path / "run", users=2, repeats=2)
    assert row(result, "mrmmia", "black").auc.sd == 0.0
    assert result.counts.candidates == 24


def test_probes_are_never_written_back(tmp_path: Path) -> None:
    """The reference agent after an audit holds the members and nothing else."""
    options = MembershipOptions(out=tmp_path / "run", embedder="hashing", quiet=True, per_user=3)
    folder, _ = workflow.run(attacking.make_plan(options, generate_units(2, seed=7)), options)
    replies = [Reply.model_validate(x.body["reply"]) for x in read_lines(folder.path) if x.kind == "exchange"]
    assert replies and all(r.memory_writes in ((), None) for r in replies)
    stored = {u.text for reply in replies for u in reply.retrieved or ()}
    told = {u.text for u in generate_units(2, seed=7) if u.member}
    assert stored <= told


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": "soon"}, "expected a time such as 30m"),
        ({"attacks": ("mrmmia", "mrmmia")}, "twice"),
        ({"questions": 0}, "greater than or equal to 1"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MembershipOptions(**given)
