"""`vestige defend` from end to end: what is bought and what it costs, as far as it is known beforehand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import vestige
from vestige import defending
from vestige.audits.defence.results import DefenceArm, DefenceResult
from vestige.defend_options import DefendOptions
from vestige.errors import ConfigError, IntegrityError

FAST: dict[str, Any] = {
    "embedder": "hashing",
    "data": "synthetic:3",
    "questions_data": "synthetic:3",
    "attacks": ("mrmmia",),
    "questions": 2,
    "quiet": True,
}


def options(out: Path, *defences: str, **more: Any) -> DefendOptions:
    return DefendOptions(**{**FAST, "defences": defences, "out": out, **more})


def done(chosen: DefendOptions) -> DefenceResult:
    return defending.finish(defending.run(defending.make_plans(chosen), chosen)).result


def auc(arm: DefenceArm, setting: str) -> float:
    (found,) = [a.auc.value for a in arm.attacks if a.setting == setting]
    assert found is not None
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("defend")


@pytest.fixture(scope="module")
def result(home: Path) -> DefenceResult:
    return done(options(home / "run", "output_filter:0.5", "generalise:1", "randomised_response:0"))


def test_the_agent_alone_stands_first_and_leaks(result: DefenceResult) -> None:
    alone = result.arms[0]
    assert [a.label for a in result.arms] == [
        "none",
        "output_filter:0.5",
        "generalise:1",
        "randomised_response:0",
    ]
    assert auc(alone, "white") > 0.95
    assert all(a.change is None for a in alone.attacks)
    assert alone.AER_any is not None and alone.AER_any.events == 3


def test_a_filter_of_replies_hides_from_outside_alone(result: DefenceResult) -> None:
    alone, filtered = result.arms[:2]
    assert auc(filtered, "black") < auc(alone, "black") - 0.2
    assert auc(filtered, "white") == pytest.approx(auc(alone, "white"), abs=0.05)
    (change,) = [a.change for a in filtered.attacks if a.setting == "black"]
    assert change is not None and change.value is not None
    assert change.value == pytest.approx(auc(filtered, "black") - auc(alone, "black"), abs=1e-6)
    assert filtered.PR_strict is not None and alone.PR_strict is not None
    assert filtered.PR_strict.events <= alone.PR_strict.events


def test_an_attacker_who_counts_refusals_is_reported(result: DefenceResult) -> None:
    filtered = result.arms[1]
    assert filtered.refusals is not None and filtered.refusals.value is not None
    assert filtered.refusals.value > auc(filtered, "black")
    assert all(arm.refusals is None for arm in result.arms if arm.defence != "output_filter")


def test_vague_memories_tell_no_secret_and_answer_nothing(result: DefenceResult) -> None:
    vague = result.arms[2]
    assert vague.AER_any is not None and vague.AER_any.events == 0
    assert vague.PR_strict is not None and vague.PR_strict.events == 0


def test_at_epsilon_zero_nothing_tells_a_member_from_another(result: DefenceResult) -> None:
    """Stored with probability 1/2 whether or not it was said: the best attack is chance, 60 members and 60 others."""
    blind = result.arms[3]
    sd = math.sqrt((60 + 60 + 1) / (12 * 60 * 60))
    for setting in ("black", "white"):
        assert abs(auc(blind, setting) - 0.5) < 4 * sd


def test_it_is_written_and_read_again_with_the_same_bytes(home: Path, result: DefenceResult) -> None:
    folder = home / "run"
    before = {
        n: (folder / n).read_bytes() for n in ("result.json", "report.html", "report.md", "report.json")
    }
    assert defending.finish(folder).result == result
    assert before == {n: (folder / n).read_bytes() for n in before}
    assert DefenceResult.model_validate_json(before["result.json"]) == result
    for arm in ("none", "output_filter-0.5"):
        assert (folder / "arms" / arm / "membership" / "report.html").is_file()
        assert (folder / "arms" / arm / "frontier" / "report.html").is_file()


def test_a_second_call_needs_resume_and_measures_nothing_again(home: Path, result: DefenceResult) -> None:
    folder = home / "run"
    chosen = options(folder, "output_filter:0.5", "generalise:1", "randomised_response:0")
    plans = defending.make_plans(chosen)
    with pytest.raises(ConfigError, match="continue it with --resume"):
        defending.run(plans, chosen)
    records = {p: p.read_bytes() for p in folder.rglob("records-*.jsonl")}
    assert len(records) == 8
    defending.run(plans, chosen.model_copy(update={"resume": True}))
    assert records == {p: p.read_bytes() for p in folder.rglob("records-*.jsonl")}
    other = options(folder, "generalise:1", resume=True)
    with pytest.raises(ConfigError, match="the options differ"):
        defending.run(defending.make_plans(other), other)


def test_an_arm_that_was_swapped_is_noticed(home: Path, result: DefenceResult) -> None:
    folder = home / "run"
    path = folder / "defence.json"
    whole = path.read_bytes()
    plan = json.loads(whole)
    plan["arms"][1]["membership"] = plan["arms"][2]["membership"]
    try:
        path.write_text(json.dumps(plan))
        with pytest.raises(IntegrityError, match="holds the plan"):
            defending.finish(folder)
        plan["arms"][1]["label"] = "../../elsewhere"
        path.write_text(json.dumps(plan))
        with pytest.raises(IntegrityError, match="an arm has the name"):
            defending.finish(folder)
        for arms in ([], plan["arms"][2:], [plan["arms"][0]] * 2):
            path.write_text(json.dumps({**json.loads(whole), "arms": arms}))
            with pytest.raises(IntegrityError, match="the agent alone stands first"):
                defending.finish(folder)
    finally:
        path.write_bytes(whole)


def test_an_agent_without_knobs_is_attacked_and_the_rest_says_why_not(tmp_path: Path) -> None:
    helper = Path(__file__).resolve().parents[2] / "helpers" / "planted_memory.py"
    found = done(options(tmp_path / "run", "output_filter:0.6", agent=f"{helper}:Recalls", per_user=5))
    alone, filtered = found.arms
    assert auc(alone, "black") == 1.0
    assert auc(filtered, "black") < 0.7
    assert alone.PR_strict is None and "configure" in alone.not_asked


def test_a_cache_that_is_somebodys_file_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text('{"a": 1}')
    chosen = options(tmp_path / "run", "threshold:0.5", cache=mine)
    with pytest.raises(ConfigError, match="is another file, and no response cache"):
        defending.run(defending.make_plans(chosen), chosen)
    assert [p.name for p in tmp_path.glob("mine*")] == ["mine.json"]
    assert mine.read_text() == '{"a": 1}'


def test_it_is_a_python_call() -> None:
    found = vestige.defend("reference", ["threshold:0.5"], **{k: v for k, v in FAST.items() if k != "quiet"})
    assert [a.label for a in found.arms] == ["none", "threshold:0.5"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"defences": ("mirror",)}, "--defences: 'mirror': no such defence"),
        ({"defences": ("prompt", "prompt:1")}, "prompt:1 stands there twice"),
        ({"agent": "nobody"}, "no such agent"),
    ],
)
def test_a_mistake_is_one_clear_line_before_anything_runs(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        defending.make_plans(DefendOptions(**{**FAST, "out": tmp_path / "run", **given}))
    assert not (tmp_path / "run").exists()
