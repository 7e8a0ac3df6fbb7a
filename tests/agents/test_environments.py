"""Environments of adapters: made once with what is pinned, seen to be stale, removed; an agent in one of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vestige.agents import environments
from vestige.agents.environments import Adapter, adapter, agents_dir, install, interpreter, remove, state
from vestige.agents.opening import Opener, check_agent, settings_of
from vestige.agents.protocol import AgentDescription
from vestige.cli.main import app
from vestige.errors import ConfigError
from vestige.models.extractive import ExtractiveReader
from vestige.records import MemoryUnit, Reply

TOY = """
class ToyAgent(Notes):
    def open(self):
        import toy_system

        self.system = toy_system
        super().open()

    def describe(self):
        return {
            "name": "toy",
            "version": self.system.__version__,
            "configuration": {k: v for k, v in self.settings.items() if k != "api_key"},
            "capabilities": ["remember", "inspect", "storage", "configure"],
            "tiers": ["raw"],
            "channels": ["answer", "retrieval", "memory_writes", "storage"],
            "knobs": ["k"],
        }
"""


def write_wheel(folder: Path, version: str) -> None:
    """A package of one module, as an installer takes it."""
    folder.mkdir(exist_ok=True)
    info = f"toy_system-{version}.dist-info"
    files = {
        "toy_system.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toy-system\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
        f"{len(text)}\n"
        for name, text in files.items()
    )
    with zipfile.ZipFile(folder / f"toy_system-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")


def installed_here() -> list[str]:
    """The packages of the interpreter that runs this."""
    return sorted(f"{d.name} {d.version}" for d in metadata.distributions())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    """An adapter of a system that is a wheel beside it, and no package index."""
    home = tmp_path_factory.mktemp("toy")
    write_wheel(home / "wheels", "1.0")
    (home / "adapters").mkdir()
    notes = (Path(__file__).parents[1] / "helpers" / "far_agents.py").read_text(encoding="utf-8")
    (home / "adapters" / "toy.py").write_text(notes + TOY, encoding="utf-8")
    (home / "adapters" / "toy.txt").write_text("# as tested\nToy_System==1.0  # pinned\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        item = Adapter("toy", "ToyAgent", "toy-system", "A toy")
        patch.setattr(environments, "HERE", home / "adapters")
        patch.setattr(environments, "ADAPTERS", (item,))
        patch.setenv("VESTIGE_AGENTS_DIR", str(home / "agents"))
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "UV_INDEX_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(home / "wheels"))
        yield item


def test_the_environments_lie_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VESTIGE_AGENTS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert agents_dir() == tmp_path / "vestige" / "agents"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert agents_dir() == tmp_path / "home" / ".cache" / "vestige" / "agents"
    monkeypatch.setenv("VESTIGE_AGENTS_DIR", "~/here")
    assert agents_dir() == tmp_path / "home" / "here"


def test_an_unknown_name_is_guessed() -> None:
    with pytest.raises(ConfigError, match="no agent 'mem' to install: did you mean 'mem0'"):
        adapter("mem")


def test_what_is_pinned(toy: Adapter) -> None:
    assert toy.requirements == ("Toy_System==1.0",)
    assert toy.version == "1.0"


async def talk(name: str, folder: Path) -> tuple[Reply, AgentDescription]:
    """Store something with an agent, ask for it, and let the agent say what it is."""
    agent: Any = await Opener(name, model=ExtractiveReader(), embedders={}, knobs={}).open({}, folder)
    try:
        await agent.remember("u", [MemoryUnit(id="a", text="the bicycle is green")])
        return await agent.ask("u", "which bicycle is it?"), agent.describe()
    finally:
        await agent.close()


@pytest.mark.slow
def test_an_agent_in_an_environment_of_its_own(toy: Adapter, tmp_path: Path) -> None:
    said: list[tuple[int, int, str]] = []
    before = installed_here()
    assert state(toy) == "absent"
    with pytest.raises(ConfigError, match=r"^--agent toy is not installed: vestige agents install toy$"):
        check_agent("toy")

    python = install("toy", tool="pip", progress=lambda *news: said.append(news))
    assert state(toy) == "installed"
    assert interpreter(toy) == python
    assert python.is_relative_to(agents_dir())
    assert said[0] == (0, 1, "making the environment")
    assert said[-1] == (1, 1, "toy_system")
    assert installed_here() == before
    stamp = python.stat().st_ctime_ns
    assert install("toy", tool="pip") == python
    assert python.stat().st_ctime_ns == stamp, "what is here is left alone"

    reply, described = asyncio.run(talk("toy,k=1", tmp_path))
    assert reply.text == "the bicycle is green"
    assert (described.name, described.version) == ("toy", "1.0")
    assert described.configuration["k"] == 1
    assert described.configuration["model"] == "extractive"
    assert {"snapshot", "restore", "restart", "inspect"} <= set(described.capabilities)
    assert settings_of("toy,k=1", {}) == {
        "adapter": "toy",
        "version": "1.0",
        "sha256": toy.sha256,
        "requirements_sha256": toy.requirements_sha256,
        "settings": {"k": 1},
    }
    check_agent("toy", ("configure", "snapshot", "restore", "inspect"))
    with pytest.raises(ConfigError, match="this audit needs poll, which ToyAgent does not have"):
        check_agent("toy", ("poll",))

    runner = CliRunner()
    listed = runner.invoke(app, ["agents", "list"])
    assert listed.stdout.split()[-4:] == ["A", "toy", "1.0", "yes"]
    checked = runner.invoke(app, ["agents", "check", "toy"])
    assert checked.exit_code == 0, checked.output
    assert "toy: 15 ok, 4 missing, 0 failed" in checked.output
    installed = runner.invoke(app, ["agents", "install", "toy"])
    assert installed.output == "toy: here (toy-system 1.0)\n"

    pins = toy.file.with_suffix(".txt")
    pinned = pins.read_text(encoding="utf-8")
    try:
        pins.write_text("# another comment\n" + pinned, encoding="utf-8")
        assert state(toy) == "installed"
        pins.write_text("toy-system==2.0\n", encoding="utf-8")
        assert state(toy) == "stale"
        with pytest.raises(
            ConfigError, match="toy was installed for another version: vestige agents install toy"
        ):
            interpreter(toy)
        failed = runner.invoke(app, ["agents", "install", "toy", "--pip"])
        assert failed.exit_code == 2
        (line,) = [x for x in failed.output.splitlines() if x.startswith("vestige: ")]
        assert "toy was not installed: pip: ERROR: Could not find a version that satisfies" in line
        assert state(toy) == "absent", "nothing half-made is left"
    finally:
        pins.write_text(pinned, encoding="utf-8")
    assert runner.invoke(app, ["agents", "remove", "toy"]).output == "toy: removed\n"
    assert runner.invoke(app, ["agents", "remove", "toy"]).output == "toy: not installed\n"
    assert not (agents_dir() / "toy").exists()


def test_an_environment_whose_interpreter_is_gone_is_stale(
    toy: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIGE_AGENTS_DIR", str(tmp_path))
    (tmp_path / "toy").mkdir()
    note = tmp_path / "toy" / "installed.json"
    note.write_text(json.dumps({"requirements_sha256": toy.requirements_sha256}))
    assert state(toy) == "stale"
    note.write_text("{")
    assert state(toy) == "absent"


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        (
            "9.99",
            "--python 9.99: there is no such interpreter; expected a path, a command or a version such as 3.12",
        ),
        ("{folder}/fails", "--python {folder}/fails: it cannot be run; expected a Python interpreter"),
        ("{folder}/old", "--python {folder}/old: is Python 3.8, expected 3.11 or newer"),
        ("{folder}/bare", "--python {folder}/bare: it cannot make environments (no venv or ensurepip"),
    ],
)
def test_an_interpreter_that_will_not_do_is_one_line(
    python: str, expected: str, toy: Adapter, tmp_path: Path
) -> None:
    for name, script in (
        ("fails", "exit 1"),
        ("old", "echo 3 8"),
        ("bare", "echo \"ModuleNotFoundError: No module named 'ensurepip'\" >&2; exit 1"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        install("toy", python=python.format(folder=tmp_path), tool="pip")
    assert expected.format(folder=tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_network_the_line_says_so(
    toy: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIGE_AGENTS_DIR", str(tmp_path))
    fake = tmp_path / "bin" / "uv"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = venv ]; then exit 0; fi\n'
        "echo 'error: Failed to fetch: `https://user:secret@index.example/simple/toy/`'\n"
        "echo '  Caused by: dns error: failed to lookup address information'\n"
        "exit 2\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ConfigError) as caught:
        install("toy")
    assert str(caught.value) == (
        "toy was not installed: uv: the package index cannot be reached; check the network, a proxy, or the index that "
        "it is set to"
    )
    fake.write_text(
        "#!/bin/sh\nif [ \"$1\" = venv ]; then exit 0; fi\necho 'error: no https://u:secret@i.example'\nexit 2\n"
    )
    with pytest.raises(ConfigError) as caught:
        install("toy", tool="uv")
    assert str(caught.value) == "toy was not installed: uv: error: no …"


def test_uv_is_asked_for_and_is_not_there(
    toy: Adapter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="--uv: there is no uv on the PATH"):
        install("toy", tool="uv")
    assert remove("toy") in (True, False)
