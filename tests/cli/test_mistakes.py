"""A user's mistake ends in one clear line, exit code 2, no traceback, and nothing left behind."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vestige.cli.main import app
from vestige.models import catalog

SMALL = ("--data", "synthetic:2", "--embedder", "hashing", "--levels", "0", "--k", "1")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def vestige(*argv: str) -> Any:
    return CliRunner().invoke(app, list(argv))


def refused(folder: Path, *argv: str) -> str:
    """Run a command that must be refused; the line it says."""
    before = sorted(p.name for p in folder.iterdir())
    done = vestige(*argv)
    assert done.exit_code == 2, (done.exit_code, done.output)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in folder.iterdir()) == before, "a mistake left something behind"
    line = done.stderr.strip().splitlines()[-1]
    if line.startswith("vestige: "):
        assert len(done.stderr.strip().splitlines()) == 1
    else:  # the parser of flags prints the usage above its line
        assert line.startswith("Error: ")
    assert len(line) < 400
    return line


@pytest.mark.parametrize(
    ("flags", "value", "expected"),
    [
        ("--levels x", "'x'", "valid integer"),
        ("--levels 7", "--levels 7:", "choose one of 0, 1, 2"),
        ("--levels -1", "--levels -1:", "choose one of 0, 1, 2"),
        ("--levels 0,0", "'0,0'", "twice"),
        ("--k 0", "'0'", "greater than or equal to 1"),
        ("--k 20000", "--k 20000:", "1 to 10000"),
        ("--k ,", "--k", "at least one value"),
        ("--k 1,,2", "--k: '1,,2'", "one of these values is empty"),
        ("--embedder hashing,", "--embedder: 'hashing,'", "one of these values is empty"),
        ("--data=", "--data: ''", "is empty"),
        ("--model=", "--model: ''", "is empty"),
        ("--judge=", "--judge: ''", "is empty"),
        ("--cache=", "'--cache'", "is empty"),
        ("--config=", "'--config'", "is empty"),
        ("--out=", "'--out'", "is empty"),
        ("--seed -1", "'-1'", "greater than or equal to 0"),
        ("--seed abc", "--seed", "valid integer"),
        ("--instances 0", "'0'", "greater than or equal to 1"),
        ("--instances 99", "99", "at most that many"),
        ("--probes dirct", "'dirct'", "'direct', 'indirect' or 'jailbreak'"),
        ("--planted upper", "'upper'", "'base64'"),
        ("--tau 2", "'2'", "less than or equal to 1"),
        ("--tau nan", "--tau: 'nan'", "finite number"),
        ("--tau x", "--tau: 'x'", "valid number"),
        ("--granularity word", "--granularity word:", "tokens:N"),
        ("--granularity tokens:0", "--granularity tokens:0:", "tokens:N"),
        ("--horizon -1", "'-1'", "greater than or equal to 0"),
        ("--horizon 500", "500", "sessions of other instances"),
        ("--temperature 9", "'9.0'", "less than or equal to 2"),
        ("--temperature nan", "--temperature: 'nan'", "finite number"),
        ("--concurrency 0", "'0'", "greater than or equal to 1"),
        ("--retrieve-from nowhere", "'nowhere'", "'both'"),
        ("--retrieve-from summary", "--retrieve-from summary:", "level 0"),
        ("--agent letta", "letta", "no such agent"),
        ("--model gpt", "--model gpt:", "known are extractive"),
        ("--model local/nope", "--model local/nope:", "known are smollm2-135m"),
        ("--model openai/gpt-4o-mini", "--model openai/gpt-4o-mini:", "set OPENAI_API_KEY"),
        ("--model http://127.0.0.1:9/v1", "--model http://127.0.0.1:9/v1:", "#model"),
        ("--embedder minlm", "--embedder minlm:", "did you mean 'minilm'?"),
        ("--judge gpt", "--judge gpt:", "known are"),
        ("--data nowhere.json", "'nowhere.json'", "expected a path, or one of"),
        ("--data synthetic:0", "--data synthetic:0:", "expected 1 to"),
        ("--format csv", "--format csv:", "expected one of longmemeval, locomo"),
        ("--modes noop", "--modes", "No such option"),
        ("--leevls 0", "--leevls", "No such option"),
    ],
)
def test_a_bad_flag(elsewhere: Path, flags: str, value: str, expected: str) -> None:
    line = refused(elsewhere, "frontier", *SMALL, "--out", "r", *flags.split(" "))
    assert value in line and expected in line


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("residue --modes purge", "--modes purge:"),
        ("residue --supersede never", "--supersede never:"),
        ("demo --out=", "'--out': is empty"),
        ("report nowhere --out=", "'--out': is empty"),
        ("datasets ", "no data file ''"),
        ("residue --judge extractive", "No such option"),
        ("score nowhere", "no run here"),
        ("conclude nowhere", "no run here"),
        ("report nowhere", "give the folder that --out named"),
        ("report", "Missing argument 'RUN...'"),
        ("nonsense", "No such command 'nonsense'"),
        ("models pull nope", "'nope'"),
        ("datasets nowhere.json", "'nowhere.json'"),
    ],
)
def test_a_bad_command(elsewhere: Path, argv: str, expected: str) -> None:
    assert expected in refused(elsewhere, *argv.split(" "))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"x": [', "record 0"),
        ("[]", "data.json"),
        ('[{"question_id": "a"}]', "record 0 (id a), field"),
        ("\ufeff<html>", "data.json"),
        ('[{"question_id": "a", "answer": ' + "9" * 6000 + "}]", "record 0 (id a), field"),
    ],
)
def test_malformed_data_names_file_and_record(elsewhere: Path, content: str, expected: str) -> None:
    (elsewhere / "data.json").write_text(content, encoding="utf-8")
    line = refused(elsewhere, "frontier", "--data", "data.json", "--embedder", "hashing", "--out", "r")
    assert expected in line and "data.json" in line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("levels = [0,", "not TOML"),
        ("levles = [0]", "levles: no such option; did you mean 'levels'?"),
        ("xyzzy = 1", "known are data"),
        ('levels = "x"', "levels: 'x'"),
        ("levels = [[0]]", "levels"),
        ("[frontier]\nlevels = [0]", "frontier: no such option"),
        ('json = "yes"', "json: 'yes': expected true or false"),
        ("k = 0", "k: '0'"),
        ('k = "1,,2"', "k: '1,,2': one of these values is empty"),
        ('embedder = ["hashing", ""]', "embedder: 'hashing,': one of these values is empty"),
        ('data = " "', "data: ' ': is empty"),
        ("levels = " + "[" * 5000 + "]" * 5000, "nested too deep"),
        ("levels = " + "[" * 150 + "]" * 150, "levels"),
        ("seed = " + "9" * 6000, "a number too long"),
        ("seed = 0x" + "f" * 6000, "seed: too long to be shown"),
    ],
)
def test_a_bad_configuration_file_is_named(elsewhere: Path, content: str, expected: str) -> None:
    (elsewhere / "audit.toml").write_text(content)
    line = refused(elsewhere, "frontier", *SMALL, "--out", "r", "--config", "audit.toml")
    assert line.startswith("vestige: --config audit.toml: ") and expected in line


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--model gpt", "--model gpt: unknown model"),
        ("--model openai/gpt-4o-mini", "set OPENAI_API_KEY"),
        ("--model http://127.0.0.1:9/v1", "#model"),
        ("--embedder minlm", "did you mean 'minilm'?"),
        ("--judge gpt", "--judge gpt: unknown model"),
    ],
)
def test_a_dry_run_refuses_the_models_that_the_run_would(elsewhere: Path, flags: str, expected: str) -> None:
    argv = ["frontier", *SMALL, "--out", "r", *flags.split(" ")]
    dry = refused(elsewhere, *argv, "--dry-run")
    assert expected in dry and dry == refused(elsewhere, *argv)


def test_a_local_model_without_an_engine_is_refused_before_anything_is_frozen(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "locate", lambda name, folder=None: elsewhere)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    line = refused(elsewhere, "frontier", *SMALL, "--out", "r", "--model", "local/smollm2-135m")
    assert "pip install 'vestige[local]'" in line


def test_a_credential_is_refused_and_not_repeated(elsewhere: Path) -> None:
    line = refused(elsewhere, "frontier", *SMALL, "--out", "r", "--model", "http://me:hunter2@host/v1#m")
    assert line.startswith("vestige: --model: ") and "hunter2" not in line


def test_a_configuration_file_that_is_none(elsewhere: Path) -> None:
    assert "cannot be read" in refused(elsewhere, "frontier", "--config", "absent.toml")
    assert "cannot be read" in refused(elsewhere, "frontier", "--config", ".")
    (elsewhere / "latin.toml").write_bytes(b'data = "caf\xe9"')
    assert "not UTF-8" in refused(elsewhere, "frontier", "--config", "latin.toml")
    (elsewhere / "huge.toml").write_bytes(b"#" * (2 << 20))
    assert "larger than" in refused(elsewhere, "frontier", "--config", "huge.toml")


def test_a_folder_that_is_taken(elsewhere: Path) -> None:
    (elsewhere / "thesis").mkdir()
    (elsewhere / "thesis" / "chapter.tex").write_text("mine")
    assert "is not empty and holds no run" in refused(elsewhere, "frontier", *SMALL, "--out", "thesis")
    (elsewhere / "file").write_text("mine")
    assert "is a file" in refused(elsewhere, "frontier", *SMALL, "--out", "file")
    assert vestige("frontier", *SMALL, "--out", "r", "--quiet").exit_code == 0
    assert "--resume" in refused(elsewhere, "frontier", *SMALL, "--out", "r")
    assert "holds another plan (differs in seed" in refused(
        elsewhere, "frontier", *SMALL, "--out", "r", "--resume", "--seed", "4"
    )
    assert "differs in audit" in refused(elsewhere, "residue", *SMALL, "--out", "r", "--resume")


def test_after_a_mistake_the_mended_command_runs(elsewhere: Path) -> None:
    """A wrong model must not freeze a plan in the folder that the right one is then refused."""
    refused(elsewhere, "frontier", *SMALL, "--out", "r", "--model", "extractiv")
    assert vestige("frontier", *SMALL, "--out", "r", "--quiet").exit_code == 0


def test_a_model_that_is_not_here_says_how_to_fetch_it(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIGE_MODELS_DIR", str(elsewhere / "none"))
    line = refused(elsewhere, "frontier", *SMALL, "--out", "r", "--model", "local/smollm2-135m")
    assert "vestige models pull smollm2-135m" in line


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--resume", "--resume: say with --out which run is to go on"),
        (
            "--auxiliary extractive",
            "--auxiliary extractive: writes adaptive questions, and none are asked for",
        ),
        ("--sign nowhere", "--sign: key nowhere: cannot be read"),
        ("--recipient nowhere", "--recipient: key nowhere: cannot be read"),
        ("--tolerate live_row --claims erasure", "--tolerate: 'live_row': input should be 'old_version'"),
        ("--tolerate dead_bytes", "--tolerate: dead_bytes: only the claim of erasure can tolerate residue"),
        ("--correlated-policy prohibited", "a plain fixture has no facts that imply the target"),
        ("--token-budget 10", "--token-budget 10: an episode asks"),
        ("--required logs", "--required: logs is in no claim of the plan"),
        ("--fixture two_sources", "needs --kind source or derivations"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_what_a_verification_refuses_it_refuses_before_it_measures(
    elsewhere: Path, flags: str, expected: str, dry: bool
) -> None:
    argv = [
        "verify",
        "--pairs",
        "2",
        "--embedder",
        "hashing",
        *flags.split(),
        *(["--dry-run"] if dry else []),
    ]
    assert expected in refused(elsewhere, *argv)
