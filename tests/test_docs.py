"""The documentation is true: its commands run, its generated pages are current, its links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]*?) -->\n\s*)?"
    r"(?:^<!-- ends with (?P<code>\d+): [^\n]*? -->\n\s*)?"
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[\w.-]+)\")?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page: commands, Python, or a file that the page tells the reader to write."""

    page: str
    language: str
    title: str | None
    body: str
    reason: str | None
    code: int
    """What the last command of the block ends with."""

    def commands(self) -> list[list[str]]:
        joined = re.sub(r"\\\n(?:> )?\s*", "", self.body)
        return [shlex.split(line[2:], comments=True) for line in joined.splitlines() if line.startswith("$ ")]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [
        Block(name(page), m["language"], m["title"], m["body"], m["reason"], int(m["code"] or 0))
        for m in found
    ]


ALL = [block for page in PAGES for block in blocks(page)]


def runs(block: Block) -> bool:
    return block.reason is None and (
        block.title is not None
        or block.language == "python"
        or (block.language == "console" and bool(block.commands()))
    )


def environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": path, "HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1"}


PORT = "8765"
"""The port that pages start a service on; here a free one is taken in its place."""
FINDING = re.compile(r"^[0-9a-f]{16}(?=  )", re.MULTILINE)
"""An id as `vestige adjudicate` lists it: it takes the place of the word FINDING in the commands after it."""


@dataclass
class Shell:
    """What the commands of one page share."""

    folder: Path
    env: dict[str, str]
    port: str = PORT
    finding: str = "FINDING"
    services: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def do(self, command: list[str], code: int, page: str) -> None:
        """Run one command, and hold it to its exit code."""
        command = [w.replace(PORT, self.port).replace("FINDING", self.finding) for w in command]
        if command[0] == "export":
            self.env |= dict(word.split("=", 1) for word in command[1:])
            return
        if command[-1] == "&":
            self.serve(command[:-1])
            return
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == code, (
            f"{page}: {shlex.join(command)[:300]} ended with {done.returncode}, not {code}\n{said}"
        )
        if "adjudicate" in command and (found := FINDING.search(done.stderr)):
            self.finding = found[0]

    def serve(self, command: list[str]) -> None:
        """Start a service, and wait until it listens."""
        self.services.append(subprocess.Popen(command, cwd=self.folder, env=self.env))
        for _ in range(200):
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"{shlex.join(command)}: does not listen")


@contextmanager
def shell(folder: Path, home: Path) -> Iterator[Shell]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    made = Shell(folder, environment(home), port)
    try:
        yield made
    finally:
        for service in made.services:
            service.kill()
            service.wait()


@pytest.mark.parametrize("page", sorted({block.page for block in ALL if runs(block)}))
def test_what_a_page_tells_to_run_runs(page: str, tmp_path: Path) -> None:
    """Every block in the order of the page, in one folder: files are written, commands and Python are run."""
    folder = tmp_path / "work"
    folder.mkdir()
    with shell(folder, tmp_path) as here:
        for block in (b for b in ALL if b.page == page and runs(b)):
            if block.title is not None:
                (folder / block.title).write_text(block.body, encoding="utf-8")
                continue
            commands = (
                [[sys.executable, "-c", block.body]] if block.language == "python" else block.commands()
            )
            for number, command in enumerate(commands, 1):
                here.do(command, block.code if number == len(commands) else 0, page)


EXAMPLES = {path.name: path for path in sorted((ROOT / "docs" / "examples").iterdir())}


def test_an_example_that_a_page_shows_is_the_file() -> None:
    shown = {block.title: block for block in ALL if block.title in EXAMPLES}
    assert set(shown) == set(EXAMPLES)
    for block in ALL:
        if block.title in EXAMPLES:
            assert block.body == EXAMPLES[block.title].read_text(encoding="utf-8"), (
                f"{block.page}: {block.title}"
            )


def test_the_tutorials_agent_is_short() -> None:
    assert len(EXAMPLES["notebook_agent.py"].read_text(encoding="utf-8").splitlines()) <= 30


PUBLIC = re.compile(r"^## vestige (.+)$", re.MULTILINE)


def test_every_command_is_shown_in_use() -> None:
    """Each public command stands in a block that a test runs, but for those that fetch something."""
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    fetching = {"demo", "models pull", "agents install"}
    used = [" ".join(words[1:]) for b in ALL if runs(b) and b.language == "console" for words in b.commands()]
    missing = {
        command
        for command in PUBLIC.findall(reference)
        if not any(line == command or line.startswith(f"{command} ") for line in used)
    }
    assert missing <= fetching


def test_most_commands_are_run() -> None:
    """A block that is not run says why, and those are few."""
    commands = [block for block in ALL if block.language == "console" and block.commands()]
    left_out = [block for block in commands if block.reason is not None]
    assert all(block.reason for block in left_out)
    assert len(left_out) <= 12
    assert len(commands) - len(left_out) >= 12


def options_of(command: str) -> set[str]:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## vestige {re.escape(command)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert section, f"docs/reference/cli.md has no section on vestige {command}"
    return set(re.findall(r"`(--?[a-z][\w-]*)", section[1]))


def test_every_option_in_the_docs_exists() -> None:
    """Also in blocks that are not run."""
    for block in ALL:
        for words in block.commands() if block.language == "console" else ():
            if words[0] != "vestige" or len(words) < 2 or words[1].startswith("-"):
                continue
            command = " ".join(words[1:3]) if words[1] in ("agents", "models", "packet") else words[1]
            given = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert given <= options_of(command) | {"--help"}, f"{block.page}: {shlex.join(words)}"


# ---------------------------------------------------------------------------------------- generated pages


def script(stem: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(stem, ROOT / "scripts" / f"{stem}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("stem", ["write_schemas", "write_cli_reference"])
def test_generated_pages_are_current(stem: str) -> None:
    for path, text in script(stem).outputs().items():
        assert path.read_text(encoding="utf-8") == text, f"{name(path)}: run python scripts/{stem}.py"


def test_every_field_of_a_result_is_explained() -> None:
    module = script("write_schemas")
    for result in module.RESULTS.values():
        for model in module.reachable(result).values():
            assert set(model.model_fields) <= set(module.field_texts(model)), model.__name__


def test_the_coverage_table_is_what_its_script_prints() -> None:
    script_path = ROOT / "benchmarks" / "bootstrap_coverage.py"
    printed = subprocess.run(
        [sys.executable, script_path], capture_output=True, text=True, check=True, timeout=60
    )
    assert len(printed.stdout.splitlines()) > 10
    assert printed.stdout in (ROOT / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")


STUDY = ["--data", "synthetic:3", "--embedder", "hashing", "--k", "1,3", "--levels", "0,1"]
VERIFICATION = ["--pairs", "3", "--embedder", "hashing", "--claims", "non_use,erasure"]


@pytest.mark.parametrize(
    ("audit", "command", "code"),
    [
        ("frontier", ["frontier", *STUDY], 0),
        ("residue", ["residue", *STUDY], 0),
        ("verification", ["verify", *VERIFICATION], 3),
        ("verification", ["verify", *VERIFICATION, "--task", "correction", "--mode", "raw_only"], 1),
    ],
)
def test_the_published_schema_is_what_results_satisfy(
    audit: str, command: list[str], code: int, tmp_path: Path
) -> None:
    schema = json.loads(
        (ROOT / "docs" / "reference" / "schema" / f"{audit}.json").read_text(encoding="utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    done = subprocess.run(
        ["vestige", *command, "--out", "run", "--quiet"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    result = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    validator.validate(result)
    broken = {**result, "n_instances": "three"}
    assert not validator.is_valid(broken)
    del result["plan_sha256"]
    assert not validator.is_valid(result)


# ------------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:|#", target):
            continue
        assert (page.parent / target.split("#")[0]).exists(), f"{name(page)} links to {target}"


def test_pages_load_nothing_from_elsewhere() -> None:
    """The built site works without a network: no web font, no script or style of another host."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert not re.search(r"extra_(?:javascript|css)", settings)
    for page in PAGES:
        assert not re.search(r"<(?:script|link|iframe)\b", page.read_text(encoding="utf-8"))
