"""The commands: what goes to which stream, what works later without models, and how each end is told."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.echo import Echo
from typer.testing import CliRunner

from vestige.agents.reference import ReferenceAgent
from vestige.canaries import GRAMMAR
from vestige.cli.main import app
from vestige.errors import IntegrityError
from vestige.models import resolve
from vestige.runs.folder import RunFolder
from vestige.runs.store import RecordWriter
from vestige.workflow import stored_result

SMALL = ("--data", "synthetic:2", "--embedder", "hashing", "--levels", "0,1", "--k", "1,3")
COMMAND = [sys.executable, "-c", "from vestige.cli.main import main; main()"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def vestige(*argv: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, list(argv))
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


def canaries(run: Path) -> list[str]:
    fixtures = json.loads((run / "plan.json").read_text())["fixtures"]
    return [f["canary"] for f in fixtures.values()]


# ----------------------------------------------------------------------------------------------- streams


def test_json_prints_exactly_the_result_and_the_rest_goes_elsewhere(elsewhere: Path) -> None:
    done = vestige("frontier", *SMALL, "--out", "r", "--json")
    assert done.stdout == (elsewhere / "r" / "result.json").read_text(encoding="utf-8")
    assert "report: " in done.stderr
    again = vestige("conclude", "r", "--json")
    assert again.stdout == done.stdout and again.stderr == ""


def test_quiet_prints_nothing(elsewhere: Path) -> None:
    done = vestige("residue", *SMALL, "--out", "r", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    both = vestige("frontier", *SMALL, "--out", "s", "--quiet", "--json")
    assert both.stderr == "" and both.stdout == (elsewhere / "s" / "result.json").read_text(encoding="utf-8")


def test_without_out_the_run_s_hash_names_the_folder(elsewhere: Path) -> None:
    vestige("frontier", *SMALL, "--quiet")
    (folder,) = (elsewhere / "runs").iterdir()
    sha = json.loads((folder / "result.json").read_text())["plan_sha256"]
    assert folder.name == f"frontier-{sha[:8]}"


def test_a_dry_run_runs_nothing_and_makes_no_folder(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*a: object, **k: object) -> None:
        raise AssertionError("an agent was used")

    monkeypatch.setattr(ReferenceAgent, "converse", never)
    monkeypatch.setattr(socket.socket, "connect", never)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    done = vestige("frontier", *SMALL, "--out", "r", "--dry-run", "--model", "openai/gpt-4o-mini")
    assert list(elsewhere.iterdir()) == []
    assert done.stdout == ""
    assert re.search(r"exchanges +32$", done.stderr, re.MULTILINE)  # 2 people x 2 levels x 2 k x 4 probes
    assert re.search(r"states built +4$", done.stderr, re.MULTILINE)
    for word in ("model calls", "tokens", "time", "cost", "naive"):
        assert word in done.stderr


def test_a_dry_run_without_a_model_estimates_none() -> None:
    done = vestige("frontier", *SMALL, "--dry-run", "--model", "extractive")
    assert re.search(r"exchanges +32$", done.stderr, re.MULTILINE)
    assert re.search(r"model calls +none", done.stderr) and re.search(
        r"cost +none$", done.stderr, re.MULTILINE
    )
    assert "tokens" not in done.stderr and "about" not in done.stderr


# ------------------------------------------------------------------------------------------ configuration


def test_a_configuration_file_says_the_same_as_flags(elsewhere: Path) -> None:
    (elsewhere / "audit.toml").write_text(
        'data = "synthetic:2"\nembedder = "hashing"\nlevels = [0, 1]\nk = "1,3"\nquiet = true\n'
        'modes = ["noop", "full_purge"]\n'
    )
    vestige("frontier", "--config", "audit.toml", "--out", "a")
    vestige("frontier", *SMALL, "--quiet", "--out", "b")
    assert (elsewhere / "a" / "result.json").read_bytes() == (elsewhere / "b" / "result.json").read_bytes()
    vestige("residue", "--config", "audit.toml", "--out", "c")
    cells = json.loads((elsewhere / "c" / "result.json").read_text())["cells"]
    assert {c["mode"] for c in cells} == {"noop", "full_purge"}


def test_flags_win(elsewhere: Path) -> None:
    (elsewhere / "audit.toml").write_text(
        'data = "synthetic:2"\nembedder = "hashing"\nlevels = [0, 1, 2]\nk = [6]\nseed = 5\njson = true\n'
        "all-paraphrases = true\n"
    )
    done = vestige("frontier", "--config", "audit.toml", "--out", "a", "--levels", "0", "--seed", "2")
    result = json.loads(done.stdout)
    assert result["seed"] == 2
    assert {(c["S"], c["k"]) for c in result["configurations"]} == {(0, 6)}
    plan = json.loads((elsewhere / "a" / "plan.json").read_text())
    assert plan["settings"]["study"]["all_paraphrases"] is True


def test_a_configuration_file_may_ask_for_a_dry_run(elsewhere: Path) -> None:
    (elsewhere / "audit.toml").write_text("dry-run = true\n")
    done = vestige("frontier", *SMALL, "--config", "audit.toml", "--out", "a")
    assert "nothing was run" in done.stderr and not (elsewhere / "a").exists()


# ---------------------------------------------------------------------------------------- without models


@pytest.mark.parametrize("audit", ["frontier", "residue"])
def test_a_stored_run_is_scored_again_without_model_and_network(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, audit: str
) -> None:
    vestige(audit, *SMALL, "--out", "r", "--quiet")
    run = elsewhere / "r"
    made = ("findings.jsonl", "result.json", "report.json", "report.md", "report.html")
    before = {name: (run / name).read_bytes() for name in made}
    for name in (*made, "responses.sqlite"):
        (run / name).unlink()
    monkeypatch.setenv("VESTIGE_MODELS_DIR", str(elsewhere / "empty"))

    def unavailable(*a: object, **k: object) -> Any:
        raise AssertionError("a model or the network was asked for")

    for name in ("open_model", "open_embedder"):
        monkeypatch.setattr(resolve, name, unavailable)
        monkeypatch.setattr("vestige.services." + name, unavailable)
    monkeypatch.setattr(socket.socket, "connect", unavailable)
    vestige("score", "r")
    assert (run / "findings.jsonl").read_bytes() == before["findings.jsonl"]
    vestige("conclude", "r")
    assert (run / "result.json").read_bytes() == before["result.json"]
    for name in ("findings.jsonl", "result.json"):
        (run / name).unlink()
    vestige("report", "r")
    assert {name: (run / name).read_bytes() for name in made} == before


def test_resume_of_a_finished_run_needs_no_model(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Echo() as server:
        model = server.model
        vestige("frontier", *SMALL, "--model", model, "--out", "r", "--quiet")
    before = (elsewhere / "r" / "result.json").read_bytes()
    vestige("frontier", *SMALL, "--model", model, "--out", "r", "--quiet", "--resume")  # the server is gone
    assert (elsewhere / "r" / "result.json").read_bytes() == before


def test_several_runs_make_one_report(elsewhere: Path) -> None:
    vestige("frontier", *SMALL, "--out", "f", "--quiet")
    vestige("residue", *SMALL, "--out", "r", "--quiet")
    vestige("report", "f", "r", "--out", "both", "--title", "Two audits")
    text = (elsewhere / "both" / "report.md").read_text()
    assert "Two audits" in text
    assert {"report.html", "report.md", "report.json"} <= {p.name for p in (elsewhere / "both").iterdir()}


# ----------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize("audit", ["frontier", "residue"])
def test_no_canary_is_shown_unless_asked_for(elsewhere: Path, audit: str) -> None:
    done = vestige(audit, *SMALL, "--out", "r", "--json")
    secrets = canaries(elsewhere / "r")
    assert len(secrets) == 2 and any(
        s in (elsewhere / "r" / "records-0000.jsonl").read_text() for s in secrets
    )
    shown = [done.stdout, done.stderr, vestige("score", "r").output, vestige("report", "r").output]
    files = ("report.html", "report.md", "report.json", "result.json", "findings.jsonl", "host.json")
    shown += [(elsewhere / "r" / name).read_text(encoding="utf-8") for name in files]
    for text in shown:
        assert not any(secret.lower() in text.lower() for secret in secrets)
        assert set(GRAMMAR.findall(text)) <= {"XQ7-VIOLET-3829"}  # the example in the glossary
    vestige("report", "r", "--show-canaries")
    assert all(s in (elsewhere / "r" / "report.html").read_text(encoding="utf-8") for s in secrets)


# ------------------------------------------------------------------------------------------- exit codes


def test_unassessable_is_three(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*a: object, **k: object) -> None:
        raise RuntimeError("XQ7-VIOLET-3829")

    monkeypatch.setattr(ReferenceAgent, "ask", never)
    done = vestige("frontier", *SMALL, "--out", "r", "--quiet", code=3)
    assert done.stderr.startswith("vestige: ") and "--resume" in done.stderr and "XQ7" not in done.stderr
    assert not (elsewhere / "r" / "result.json").exists()


def test_a_defect_of_ours_is_four_and_quotes_nobody(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*a: object, **k: object) -> None:
        raise ZeroDivisionError("XQ7-VIOLET-3829")

    monkeypatch.setattr("vestige.workflow.score", broken)
    done = vestige("frontier", *SMALL, "--out", "r", "--quiet", code=4)
    assert "internal error: ZeroDivisionError at test_commands.py:" in done.stderr
    assert "XQ7" not in done.stderr and "Traceback" not in done.stderr


def test_a_record_that_was_changed_is_four(elsewhere: Path) -> None:
    vestige("frontier", *SMALL, "--out", "r", "--quiet")
    records = elsewhere / "r" / "records-0000.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join([*lines[:2], b"{}\n", *lines[3:]]))
    done = vestige("conclude", "r", code=4)
    assert (
        done.stderr == "vestige: records-0000.jsonl:3: not a record: field schema_version: field required\n"
    )


@pytest.mark.parametrize("audit", ["frontier", "residue"])
def test_an_exchange_without_its_reply_is_named(elsewhere: Path, audit: str) -> None:
    vestige(audit, *SMALL, "--out", "r", "--quiet")
    records = elsewhere / "r" / "records-0000.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if b'"kind":"exchange"' in line)
    lines[number] = lines[number].replace(b'"text":', b'"txet":', 1)
    records.write_bytes(b"".join(lines))
    done = vestige("conclude", "r", code=4)
    place = f"records-0000.jsonl:{number + 1}"
    assert (
        done.stderr == f"vestige: {place}: not the record of an exchange: field reply.text: field required\n"
    )


def test_a_result_that_is_none_names_its_field(elsewhere: Path) -> None:
    vestige("frontier", *SMALL, "--out", "r", "--quiet")
    path = elsewhere / "r" / "result.json"
    result = json.loads(path.read_text())
    result["configurations"][0]["PR"] = "XQ7-VIOLET-3829"
    path.write_text(json.dumps(result))
    with pytest.raises(IntegrityError, match=r"not a result: field configurations\.0\.PR: ") as caught:
        stored_result(RunFolder.open(elsewhere / "r"))
    assert "XQ7" not in str(caught.value)


@pytest.mark.parametrize(("people", "code"), [("2", 3), ("6", 4)])
def test_an_endpoint_that_refuses(elsewhere: Path, people: str, code: int) -> None:
    """Few episodes: each is tried, and none is completed. Many: the run gives up with the model's error."""
    with Echo() as server:
        wrong = server.url + "/wrong"
        argv = (
            "frontier",
            *SMALL,
            "--data",
            f"synthetic:{people}",
            "--model",
            f"{wrong}#m",
            "--concurrency",
            "1",
        )
        done = vestige(*argv, "--out", "r", "--quiet", code=code)
    assert f"{wrong}/chat/completions: HTTP 404: no such path or model" in done.stderr
    assert "internal error" not in done.stderr and len(done.stderr.splitlines()) == 1
    if code == 4:
        assert "5 failed episodes in a row" in done.stderr
        assert "--resume" in done.stderr and "`vestige conclude r`" in done.stderr


def test_a_full_disk_is_five(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, lines = RecordWriter.write, 0

    def full(self: RecordWriter, *a: Any, **k: Any) -> None:
        nonlocal lines
        lines += 1
        if lines > 12:
            monkeypatch.setattr(
                os, "write", lambda fd, data: (_ for _ in ()).throw(OSError(28, os.strerror(28)))
            )
        try:
            real(self, *a, **k)
        finally:
            monkeypatch.setattr(os, "write", write)

    write = os.write
    monkeypatch.setattr(RecordWriter, "write", full)
    done = vestige("frontier", *SMALL, "--out", "r", "--quiet", code=5)
    assert "No space left on device" in done.stderr and "--resume" in done.stderr
    monkeypatch.undo()
    monkeypatch.chdir(elsewhere)
    vestige("frontier", *SMALL, "--out", "r", "--quiet", "--resume")
    vestige("frontier", *SMALL, "--out", "calm", "--quiet")
    assert (elsewhere / "r" / "result.json").read_bytes() == (elsewhere / "calm" / "result.json").read_bytes()


def test_a_place_that_cannot_be_written_is_five(elsewhere: Path) -> None:
    done = vestige("frontier", *SMALL, "--out", "/dev/null/r", code=5)
    assert done.stderr.startswith("vestige: --out /dev/null/r: cannot be made")


def test_interrupted_is_130_and_says_how_to_go_on(elsewhere: Path) -> None:
    with Echo(stall_after=2) as server:
        argv = [*COMMAND, "frontier", *SMALL, "--model", server.model, "--out", "r", "--concurrency", "1"]
        process = subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell starts what it runs in the background with SIGINT ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert server.reached.wait(120)
        while len(server.asked) < 3 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out == "" and "Traceback" not in err
    assert (
        err.strip().splitlines()[-1]
        == "vestige: interrupted; what was measured is kept: continue with --resume"
    )
    with Echo() as server:
        # The address is another one now, so that this is another plan: the folder says so instead of mixing them.
        vestige("frontier", *SMALL, "--model", server.model, "--out", "r", "--resume", "--quiet", code=2)


def test_interrupted_while_planning_claims_nothing(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*a: object, **k: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vestige.studying.make_plan", interrupt)
    done = vestige("frontier", *SMALL, "--out", "r", code=130)
    assert done.stderr == "vestige: interrupted; nothing new was measured\n"
    assert list(elsewhere.iterdir()) == []
    done = vestige("datasets", code=0)
    monkeypatch.setattr("vestige.datasets.loading.load", interrupt)
    assert vestige("datasets", "synthetic:2", code=130).stderr == "vestige: interrupted\n"


def test_interrupted_while_planning_to_resume_says_what_is_kept(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vestige("frontier", *SMALL, "--out", "r", "--quiet")

    def interrupt(*a: object, **k: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vestige.studying.make_plan", interrupt)
    done = vestige("frontier", *SMALL, "--out", "r", "--resume", code=130)
    assert done.stderr == "vestige: interrupted; what was measured is kept: continue with --resume\n"


def test_nothing_to_resume_is_told(elsewhere: Path) -> None:
    done = vestige("frontier", *SMALL, "--out", "r", "--resume", "--quiet")
    assert done.stderr == "vestige: --resume: there is no run in r to resume; a new one begins\n"
    assert vestige("frontier", *SMALL, "--out", "r", "--resume", "--quiet").stderr == ""


def test_a_reader_that_goes_away_is_no_error(elsewhere: Path) -> None:
    vestige("frontier", *SMALL, "--out", "r", "--quiet")
    command = " ".join(f"'{part}'" for part in [*COMMAND, "conclude", "r", "--json"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -c 10; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stdout.endswith("0\n") and done.stderr == ""


def test_help_shows_commands_and_flags_in_groups() -> None:
    text = vestige("--help").stdout
    groups = [line for line in text.splitlines() if line.endswith(":")]
    assert groups == ["Options:", "Audits:", "Stored runs:", "Models and data:"]
    for group, commands in (
        ("Audits:", ["demo", "frontier", "residue"]),
        ("Stored runs:", ["score", "conclude", "report"]),
        ("Models and data:", ["datasets", "models"]),
    ):
        within = text.partition(group)[2].partition("\n\n")[0]
        assert set(commands) <= set(re.findall(r"^  (\w+)", within, re.MULTILINE))
    assert "..." not in text.partition("Audits:")[2], "no sentence is cut"
    flags = vestige("residue", "--help").stdout
    assert [line for line in flags.splitlines() if re.match(r"\S.*:$", line)] == [
        "What is audited:",
        "Memory and probes:",
        "The run:",
        "Output:",
        "Other:",
    ]
    assert flags.count("--seed") == 1


def test_the_demo_needs_no_flag_for_its_folder(tmp_path: Path) -> None:
    done = vestige("demo", "--model", "extractive", "--embedder", "hashing", "--instances", "2", "--quiet")
    assert done.stdout.strip() == "runs/demo/report.html"
    assert (tmp_path / "runs/demo/report.html").is_file()
    assert (tmp_path / "runs/demo/verification/packet/ROOT").is_file()
    again = vestige("demo", "--model", "extractive", "--embedder", "hashing", "--instances", "2", "--quiet")
    assert again.stdout == done.stdout


def test_a_plan_for_no_pairs_is_refused() -> None:
    done = vestige("plan", "--pairs", "0", code=2)
    assert "greater than or equal to 1" in done.stderr


@pytest.mark.parametrize("flag", ["--alpha", "--margin", "--bound"])
def test_a_plan_of_numbers_that_no_run_can_meet_is_refused(flag: str) -> None:
    done = vestige("plan", flag, "1e-300", code=2)
    assert "greater than or equal to" in done.stderr and len(done.stderr.splitlines()) == 1


LOUD = """
class Loud:
    def __init__(self):
        self.told = {}
    def converse(self, user, session):
        self.told.setdefault(user, []).extend(t.content for t in session.turns)
        print("LOUD", session.turns[0].content)
    def ask(self, user, prompt, options):
        return " ".join(self.told.get(user, []))
    def forget(self, user, request):
        from vestige import Receipt
        self.told[user] = [t.replace(request.value or "", "") for t in self.told.get(user, [])]
        return Receipt(accepted=True, completed=True)
    def reset(self, user):
        self.told.pop(user, None)
"""


def test_what_an_agent_prints_reaches_no_terminal(elsewhere: Path) -> None:
    (elsewhere / "loud.py").write_text(LOUD)
    argv = [
        *COMMAND,
        "verify",
        "--agent",
        "loud.py:Loud",
        "--pairs",
        "1",
        "--embedder",
        "hashing",
        "--out",
        "run",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 3)
    assert "LOUD" not in done.stdout + done.stderr
    assert "what the agent printed, which may hold what it was told: run/agent.log" in done.stderr
    log = (elsewhere / "run" / "agent.log").read_text()
    assert log.count("LOUD") > 5
    packet = [p for p in (elsewhere / "run" / "packet").rglob("*") if p.is_file()]
    assert packet and not any(b"LOUD" in p.read_bytes() for p in packet)
