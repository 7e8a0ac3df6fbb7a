"""A run killed at any moment and resumed ends with the same bytes as one that was left alone."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers.echo import Echo
from tests.helpers.nursery import CALM, Nursery
from tests.helpers.studies import people, run

from vestige.runs.store import read_attempts, read_counted, read_lines

SMALL = (
    "--data",
    "synthetic:2",
    "--embedder",
    "hashing",
    "--levels",
    "0,1",
    "--k",
    "1,3",
    "--concurrency",
    "2",
)
KILLED = -9
EXCHANGES = frozenset({"exchange"})


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as found:
        yield found


def result(folder: Path) -> bytes:
    return (folder / "result.json").read_bytes()


def resumed(nursery: Nursery, folder: Path, *argv: str) -> bytes:
    """Take up a run where it was killed, or begin it where it had no folder yet."""
    log = folder.with_suffix(".log")
    code = nursery.run(*argv, "--out", str(folder), "--resume", log=log)
    assert code == 0, log.read_text()
    return result(folder)


def calm(nursery: Nursery, folder: Path, *argv: str) -> Path:
    """A run that was left alone."""
    log = folder.with_suffix(".log")
    assert nursery.run(*argv, "--out", str(folder), log=log) == 0, log.read_text()
    return folder


def moments(seed: int, count: int) -> list[float]:
    """Shares of a run, one in each equal part of it."""
    draws = np.random.default_rng(seed).random(count)
    return [float((i + u) / count) for i, u in enumerate(draws)]


def written(folder: Path) -> int:
    """Bytes that a run has written so far: plan, blobs and records."""
    total = 0
    for path in (folder, folder / "blobs"):
        with contextlib.suppress(FileNotFoundError), os.scandir(path) as files:
            for file in files:
                if file.name.endswith((".json", ".jsonl")):
                    with contextlib.suppress(FileNotFoundError):
                        total += file.stat().st_size
    return total


@pytest.mark.slow
@pytest.mark.parametrize("audit", ["plain-frontier", "plain-residue"])
def test_sigkill_at_ten_moments_with_the_extractive_reader(
    nursery: Nursery, tmp_path: Path, audit: str
) -> None:
    """Ten moments each, so twenty in all: while the plan is frozen, while episodes run, while it concludes."""
    alone = calm(nursery, tmp_path / "calm", audit, *SMALL)
    whole, struck = written(alone), 0
    for number, moment in enumerate(moments(20, 10)):
        folder = tmp_path / f"killed-{number}"
        argv = (audit, *SMALL, "--out", str(folder))
        code = nursery.killed_when(
            lambda f=folder, m=moment: written(f) >= m * whole, *argv, log=folder.with_suffix(".log")
        )
        struck += code == KILLED
        assert resumed(nursery, folder, audit, *SMALL) == result(alone), f"killed after {moment:.1%}"
        assert (folder / "findings.jsonl").read_bytes() == (alone / "findings.jsonl").read_bytes()
    assert struck >= 5, "the kills came too late to mean anything"


@pytest.mark.slow
def test_sigkill_at_five_moments_of_an_interview(nursery: Nursery, tmp_path: Path) -> None:
    """Questions are made up and replies judged during the run: a membership audit ends the same all the same."""
    argv = ("membership", "--data", "synthetic:2", "--embedder", "hashing", "--per-user", "5", "--chunk", "2")
    argv = (*argv, "--repeats", "2", "--concurrency", "2", "--quiet")
    alone = calm(nursery, tmp_path / "calm", *argv)
    whole, struck = written(alone), 0
    for number, moment in enumerate(moments(4, 5)):
        folder = tmp_path / f"killed-{number}"
        code = nursery.killed_when(
            lambda f=folder, m=moment: written(f) >= m * whole,
            *argv,
            "--out",
            str(folder),
            log=folder.with_suffix(".log"),
        )
        struck += code == KILLED
        assert resumed(nursery, folder, *argv) == result(alone), f"killed after {moment:.1%}"
        for name in ("findings.jsonl", "scores.csv"):
            assert (folder / name).read_bytes() == (alone / name).read_bytes(), name
    assert struck >= 3, "the kills came too late to mean anything"


@pytest.mark.slow
def test_killed_again_and_again_until_it_is_done(nursery: Nursery, tmp_path: Path) -> None:
    """Each time it may write more before it is killed, until its episodes, which are atomic, are done."""
    alone = calm(nursery, tmp_path / "calm", "plain-residue", *SMALL)
    step = written(alone) / 6
    folder, code, kills = tmp_path / "killed", KILLED, 0
    while code == KILLED:
        goal = written(folder) + step
        code = nursery.killed_when(
            lambda g=goal: written(folder) >= g,
            "plain-residue",
            *SMALL,
            "--resume",
            "--out",
            str(folder),
            log=tmp_path / "log",
        )
        kills, step = kills + (code == KILLED), 1.3 * step
    assert code == 0, (tmp_path / "log").read_text()
    assert kills >= 3 and result(folder) == result(alone)


@pytest.mark.slow
def test_sigkill_anywhere_in_the_command_itself(nursery: Nursery, tmp_path: Path) -> None:
    """The report is written last: a kill just before it, too, leaves a folder that --resume completes."""
    alone = calm(nursery, tmp_path / "calm", "frontier", *SMALL, "--quiet")
    last = {"records": "records-0000.jsonl", "findings": "findings.jsonl", "result": "result.json"}
    for name, file in last.items():
        folder = tmp_path / f"killed-{name}"
        log, argv = folder.with_suffix(".log"), ("frontier", *SMALL, "--quiet", "--out", str(folder))
        nursery.killed_when((folder / file).exists, *argv, log=log)
        assert resumed(nursery, folder, "frontier", *SMALL, "--quiet") == result(alone)
        assert (folder / "report.json").read_bytes() == (alone / "report.json").read_bytes()
        assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_sigkill_at_five_moments_with_an_endpoint(nursery: Nursery, tmp_path: Path) -> None:
    """Replies come from a server that answers each request always alike, as recorded replies do."""
    with Echo(delay=0.01) as server:
        argv = ("plain-residue", *SMALL, "--model", server.model)
        alone = calm(nursery, tmp_path / "calm", *argv)
        calls = len(server.asked)
        for number, moment in enumerate(moments(7, 5)):
            folder, before = tmp_path / f"killed-{number}", len(server.asked)
            goal = before + max(1, round(moment * calls))
            code = nursery.killed_when(
                lambda g=goal: len(server.asked) >= g,
                *argv,
                "--out",
                str(folder),
                log=folder.with_suffix(".log"),
            )
            assert code == KILLED or moment > 0.8
            assert resumed(nursery, folder, *argv) == result(alone)
            assert len(server.asked) - before < 2 * calls  # what was answered is not all asked again
        assert b'"value": 1.0' in result(alone)


WITH_A_MODEL = """
import sys
from pathlib import Path
from vestige import studying, workflow
from vestige.datasets.instance import Dataset
from vestige.options import options_from

data = Dataset.model_validate_json(Path(sys.argv[1]).read_bytes())
given = {"model": "local/smollm2-135m", "deterministic": True, "embedder": "hashing", "levels": "0,1", "k": "1,3"}
options = options_from({**given, "probes": "direct", "quiet": True, "resume": True, "out": Path(sys.argv[2])})
planned = studying.make_plan("frontier", options, data)
short = {"max_tokens": 8, "summary_max_tokens": 24}  # so that the test takes seconds
agent = planned.plan.agent.model_copy(update={"knobs": {**planned.plan.agent.knobs, **short}})
plan = planned.plan.model_copy(update={"agent": agent})
folder, _ = workflow.run(workflow.Planned(plan=plan, blobs=planned.blobs), options)
workflow.conclude(folder)
"""


@pytest.mark.model("smollm2-135m")
@pytest.mark.slow
def test_sigkill_at_three_moments_with_a_model_on_this_machine(tmp_path: Path) -> None:
    """llama.cpp with one slot and no prompt cache; its server dies with the run and is started again."""
    (tmp_path / "data.json").write_text(people(2).model_dump_json())

    def go(folder: Path, until: float = math.inf) -> int:
        """Run; killed once the run's records hold `until` exchanges."""
        argv = [sys.executable, "-c", WITH_A_MODEL, str(tmp_path / "data.json"), str(folder)]
        process = subprocess.Popen(argv, env={**os.environ, **CALM})
        while process.poll() is None:
            if sum(line.kind == "exchange" for line in read_lines(folder)) >= until:
                process.kill()
            time.sleep(0.02)
        return process.wait()

    assert go(tmp_path / "calm") == 0
    replies = [
        line.body["reply"]["text"] for line in read_lines(tmp_path / "calm") if line.kind == "exchange"
    ]
    assert len(replies) == 2 * 2 * 2 * 2 and len(set(replies)) > 2
    for number, exchanges in enumerate((1, 6, 13)):
        folder = tmp_path / f"killed-{number}"
        assert go(folder, exchanges) == KILLED
        assert go(folder) == 0
        assert result(folder) == result(tmp_path / "calm")
        again = [
            line.body["reply"]["text"] for line in read_counted(folder, read_attempts(folder), EXCHANGES)
        ]
        assert sorted(again) == sorted(replies)


# ------------------------------------------------------------------------------------- cut at any byte


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two people, which the cuts below are made in."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    run("frontier", folder, people(2), levels="0", k="1,3", concurrency=1)
    return folder


@pytest.mark.slow
@given(share=st.floats(0, 1))
@example(share=0.0)
@example(share=1.0)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_the_record_cut_at_any_byte_is_completed(finished: Path, share: float) -> None:
    whole = (finished / "records-0000.jsonl").read_bytes()
    _cut_and_resume(finished, round(share * len(whole)))


@pytest.mark.slow
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_the_record_cut_where_an_episode_ends(finished: Path, offset: int) -> None:
    """The line that seals an episode: whole, without its newline, and with one byte of the next."""
    whole = (finished / "records-0000.jsonl").read_bytes()
    seal = whole.index(b"\n", whole.index(b'"episode_end"')) + 1
    _cut_and_resume(finished, seal + offset)


def _cut_and_resume(finished: Path, length: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "run"
        shutil.copytree(finished, folder)
        for name in ("result.json", "findings.jsonl", "host.json", "responses.sqlite"):
            (folder / name).unlink(missing_ok=True)
        records = folder / "records-0000.jsonl"
        records.write_bytes(records.read_bytes()[:length])
        again = run("frontier", folder, people(2), levels="0", k="1,3", concurrency=1, resume=True)
        assert again.bytes == result(finished)
        assert sum(line.kind == "episode_end" for line in read_lines(folder)) == 2


# ------------------------------------------------------------------------------------------ a full disk


@pytest.fixture(scope="module")
def unharmed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calm(nursery, tmp_path_factory.mktemp("disk") / "calm", "plain-residue", *SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [2_000, 24_000, 40_000, 250_000])
def test_no_room_ends_with_exit_code_five_and_nothing_is_lost(
    nursery: Nursery, unharmed: Path, tmp_path: Path, limit: int
) -> None:
    """A limit on the size of files stands for the full disk: the operating system itself refuses to write."""
    folder = tmp_path / "small"
    command = ["residue", *SMALL, "--quiet", "--out", str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", "from vestige.cli.main import main; main()", *command],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        env={**os.environ, **CALM},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert resumed(nursery, folder, "residue", *SMALL, "--quiet") == result(unharmed)
