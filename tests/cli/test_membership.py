"""`vestige membership` as somebody at a terminal has it: an audit of two users, mistakes, and a stop at a budget."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vestige.cli.main import app

SMALL = ("--data", "synthetic:2", "--embedder", "hashing", "--per-user", "3")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def vestige(*argv: str) -> Any:
    return CliRunner().invoke(app, ["membership", *argv])


def test_an_audit_says_what_it_found_and_where_the_report_is(tmp_path: Path) -> None:
    done = vestige(*SMALL, "--attacks", "mrmmia,ia", "--out", "run")
    assert done.exit_code == 0, done.output
    said = done.stderr + done.stdout
    assert "candidates of 2 users" in said and "0.5 is chance" in said
    for name in ("report.html", "report.md", "report.json", "scores.csv", "result.json", "findings.jsonl"):
        assert (tmp_path / "run" / name).stat().st_size > 0, name
    result = json.loads((tmp_path / "run" / "result.json").read_text("utf-8"))
    assert {r["attack"] for r in result["rows"]} == {"mrmmia", "ia"}
    assert result["counts"]["candidates"] == 12
    with (tmp_path / "run" / "scores.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 12


def test_json_is_the_result_and_nothing_else(tmp_path: Path) -> None:
    done = vestige(*SMALL, "--attacks", "naive", "--out", "run", "--json", "--quiet")
    assert done.exit_code == 0, done.output
    assert done.stdout == (tmp_path / "run" / "result.json").read_text("utf-8")


def test_a_stored_run_is_scored_concluded_and_reported_again(tmp_path: Path) -> None:
    assert vestige(*SMALL, "--attacks", "mrmmia", "--out", "run", "--quiet").exit_code == 0
    names = ("findings.jsonl", "result.json", "report.html", "report.md", "scores.csv")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in names}
    for name in names:
        (tmp_path / "run" / name).unlink()
    runner = CliRunner()
    scored = runner.invoke(app, ["score", "run"])
    assert scored.exit_code == 0 and f"{6 * 2 + 4} findings" in scored.stderr + scored.stdout
    assert runner.invoke(app, ["conclude", "run"]).exit_code == 0
    assert runner.invoke(app, ["report", "run"]).exit_code == 0
    assert {name: (tmp_path / "run" / name).read_bytes() for name in names} == before


def test_a_dry_run_counts_and_makes_nothing(tmp_path: Path) -> None:
    done = vestige(*SMALL, "--dry-run", "--out", "run")
    assert done.exit_code == 0, done.output
    assert "12 candidates" in done.stderr and "nothing was run" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "value", "expected"),
    [
        ("--budget soon", "'soon'", "expected a time such as 30m, 2h or 90s"),
        ("--budget -5m", "'-5m'", "expected a time such as 30m, 2h or 90s"),
        ("--budget=", "--budget: ''", "is empty"),
        ("--auxiliary extractive", "extractive", "name a language model"),
        ("--generator extractive", "--generator extractive", "leave it out"),
        ("--attacks mrmia", "'mrmia'", "'mrmmia'"),
        ("--attacks mrmmia,mrmmia", "'mrmmia,mrmmia'", "twice"),
        ("--attacks ,", "--attacks", "at least one value"),
        ("--questions 0", "'0'", "greater than or equal to 1"),
        ("--questions 99", "'99'", "less than or equal to 16"),
        ("--users 0", "'0'", "greater than or equal to 1"),
        ("--users 7", "--users 7", "the data has 2; ask for at most that many"),
        ("--per-user 0", "'0'", "greater than or equal to 1"),
        ("--repeats 0", "'0'", "greater than or equal to 1"),
        ("--chunk 0", "'0'", "greater than or equal to 1"),
        ("--w-p nan", "--w-p: 'nan'", "finite number"),
        ("--w-m -1", "'-1.0'", "greater than or equal to 0"),
        ("--scoring papers", "'papers'", "'reference-code'"),
        ("--rule fuzzy", "'fuzzy'", "'equivalence'"),
        ("--unscored zero", "'zero'", "'lowest'"),
        ("--data nowhere.json", "nowhere.json", ""),
        ("--data synthetic:0", "synthetic:0", ""),
        ("--format locomotive", "locomotive", ""),
        ("--agent nowhere.py:Agent", "nowhere.py", ""),
        ("--embedder no-such", "no-such", ""),
        ("--level 7", "--level 7", "0, 1, 2"),
        ("--k 0", "'0'", "greater than or equal to 1"),
        ("--tau 2", "'2.0'", "less than or equal to 1"),
        ("--model http://user:pass@127.0.0.1:1/v1#m", "--model", ""),
        ("--auxiliary http://user:pass@127.0.0.1:1/v1#m", "--", ""),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    tmp_path: Path, flags: str, value: str, expected: str
) -> None:
    done = vestige(*SMALL, *flags.split(), "--out", "run")
    assert done.exit_code == 2, (done.exit_code, done.output)
    assert done.stdout == "" and "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert value in line and expected in line, line
    assert len(line) < 400
    assert "pass@" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_flag_is_a_mistake_too() -> None:
    done = vestige("--attack", "mrmmia")
    assert done.exit_code == 2 and "--attack" in done.stderr


def test_a_run_of_other_options_in_the_folder_is_refused(tmp_path: Path) -> None:
    assert vestige(*SMALL, "--attacks", "naive", "--out", "run", "--quiet").exit_code == 0
    again = vestige(*SMALL, "--attacks", "ia", "--out", "run", "--quiet", "--resume")
    assert again.exit_code == 2 and again.stderr.startswith("vestige: ")


def test_a_budget_that_is_used_up_stops_and_the_rest_is_done_later(tmp_path: Path) -> None:
    flags = (*SMALL, "--attacks", "naive", "--chunk", "1", "--concurrency", "1", "--out", "run", "--quiet")
    stopped = vestige(*flags, "--budget", "0s")
    assert stopped.exit_code == 3, stopped.output  # nothing was asked: nothing can be said
    whole = vestige(*flags, "--resume")
    assert whole.exit_code == 0, whole.output
    result = json.loads((tmp_path / "run" / "result.json").read_text("utf-8"))
    assert result["counts"]["candidates"] == 12 and result["stopped"] == ""
