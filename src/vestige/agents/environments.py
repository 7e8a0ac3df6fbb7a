"""Environments of the adapters: one folder a memory system, with exactly the packages that were tested.

They lie under ``VESTIGE_AGENTS_DIR``, else ``$XDG_CACHE_HOME/vestige/agents``, else ``~/.cache/vestige/agents``.
Nothing outside of that folder is changed, but for the installer's own cache of downloads.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vestige.errors import ConfigError, StorageError

__all__ = [
    "ADAPTERS",
    "Adapter",
    "Progress",
    "adapter",
    "agents_dir",
    "install",
    "interpreter",
    "remove",
    "state",
]

HERE = Path(__file__).with_name("adapters")

Progress = Callable[[int, int, str], None]
"""Called with the packages that are here, how many there are, and what is being done."""

State = Literal["installed", "stale", "absent"]
"""`stale`: installed, and the pinned packages are others now, or its interpreter is gone."""

_LOOK_SECONDS = 60
_NETWORK = re.compile(
    r"connection|temporary failure|name resolution|network|timed? ?out|unreachable|proxy|dns error|retries",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Adapter:
    """A memory system that Vestige can run."""

    name: str
    """As in `--agent NAME`; its file is `adapters/NAME.py`, its packages are pinned in `adapters/NAME.txt`."""
    kind: str
    """The class in that file."""
    package: str
    """The system's own package, whose version is shown."""
    title: str

    @property
    def file(self) -> Path:
        """Where the adapter is written."""
        return HERE / f"{self.name}.py"

    @property
    def requirements(self) -> tuple[str, ...]:
        """What is installed, as `package==version`."""
        lines = (line.partition("#")[0].strip() for line in self._pins().splitlines())
        return tuple(line for line in lines if line)

    @property
    def version(self) -> str:
        """Of the system, as it is pinned."""
        wanted = _normal(self.package)
        pins = (line.partition("==") for line in self.requirements)
        return next((version for name, _, version in pins if _normal(name) == wanted), "unknown")

    @property
    def requirements_sha256(self) -> str:
        """Of the pinned packages; comments do not count."""
        return hashlib.sha256("\n".join(self.requirements).encode()).hexdigest()

    @property
    def sha256(self) -> str:
        """Of the adapter's file, and of all in the folder `parts` beside it, which adapters share."""
        whole = hashlib.sha256(self.file.read_bytes())
        for part in sorted(self.file.parent.glob("parts/*.py")):
            whole.update(hashlib.sha256(part.read_bytes()).digest())
        return whole.hexdigest()

    def _pins(self) -> str:
        return self.file.with_suffix(".txt").read_text(encoding="utf-8")


ADAPTERS: tuple[Adapter, ...] = (
    Adapter("mem0", "Mem0Agent", "mem0ai", "Mem0 with embedded Qdrant and its SQLite history"),
    Adapter("langgraph", "LangGraphAgent", "langgraph", "LangGraph's store and checkpoints on SQLite"),
)
"""Every adapter, in the order in which they are listed."""


def adapter(name: str) -> Adapter:
    """The adapter of that name.

    Raises:
        ConfigError: There is none; the message lists what there is and guesses.
    """
    known = {item.name: item for item in ADAPTERS}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"no agent {name!r} to install: {guess}known are {', '.join(known)}")


def agents_dir() -> Path:
    """Where environments lie."""
    if own := os.environ.get("VESTIGE_AGENTS_DIR"):
        return Path(own).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return ((Path(cache) if cache else Path.home() / ".cache") / "vestige" / "agents").absolute()


def state(item: Adapter) -> State:
    """Whether its environment is here and holds what it should."""
    try:
        note = json.loads(_note(item).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "absent"
    here = isinstance(note, dict) and _python(item).exists()
    return "installed" if here and note.get("requirements_sha256") == item.requirements_sha256 else "stale"


def interpreter(item: Adapter, where: str = "") -> Path:
    """The Python of its environment.

    Raises:
        ConfigError: It is not installed, or no longer what it should be; one line with the command that mends it.
    """
    match state(item):
        case "installed":
            return _python(item)
        case "stale":
            raise ConfigError(
                f"{where}{item.name} was installed for another version: vestige agents install {item.name}"
            )
        case _:
            raise ConfigError(f"{where}{item.name} is not installed: vestige agents install {item.name}")


def install(
    name: str,
    *,
    python: str | None = None,
    tool: Literal["uv", "pip"] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Make the environment of an adapter, anew where it is not what it should be; its interpreter.

    Args:
        name: Of the adapter.
        python: An interpreter, or a version such as `3.12`; default: the one that runs this.
        tool: What installs; default: `uv` where it is on the PATH, else `pip`.
        progress: Called as packages come.

    Raises:
        ConfigError: There is no such adapter, interpreter or tool, or the packages cannot be had.
        StorageError: The folder cannot be written.
    """
    item = adapter(name)
    if tool == "uv" and shutil.which("uv") is None:
        raise ConfigError("--uv: there is no uv on the PATH; leave it out, and pip is used")
    tool = tool or ("uv" if shutil.which("uv") else "pip")
    home = agents_dir() / item.name
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _lock(home):
            if state(item) == "installed" and python is None:
                return _python(item)
            found = _interpreter(python, needs_pip=tool == "pip")
            shutil.rmtree(_environment(item), ignore_errors=True)
            _note(item).unlink(missing_ok=True)
            try:
                _make(item, found, tool, progress)
            except BaseException:
                shutil.rmtree(_environment(item), ignore_errors=True)
                raise
            note = {"requirements_sha256": item.requirements_sha256, "version": item.version, "tool": tool}
            _note(item).write_text(json.dumps(note, sort_keys=True), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {home}: {error.strerror}") from error
    return _python(item)


def remove(name: str) -> bool:
    """Delete the environment of an adapter; whether there was one.

    Raises:
        ConfigError: There is no such adapter.
        StorageError: It cannot be deleted.
    """
    home = agents_dir() / adapter(name).name
    if not home.exists():
        return False
    try:
        shutil.rmtree(home)
    except OSError as error:
        raise StorageError(f"cannot delete {home}: {error.strerror}") from error
    return True


# --- making one ---------------------------------------------------------------------------------------------


def _environment(item: Adapter) -> Path:
    return agents_dir() / item.name / "environment"


def _note(item: Adapter) -> Path:
    return agents_dir() / item.name / "installed.json"


def _python(item: Adapter) -> Path:
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return _environment(item).joinpath(*inside)


def _interpreter(wanted: str | None, *, needs_pip: bool) -> str:
    """The interpreter that an environment is made of.

    Raises:
        ConfigError: It is not there, too old, or cannot make one.
    """
    if wanted is None:
        found: str | None = sys.executable
    else:
        name = f"python{wanted}" if re.fullmatch(r"\d+(\.\d+)?", wanted) else wanted
        found = shutil.which(name)
    said = f"--python {wanted}: " if wanted is not None else f"{found}: "
    if found is None:
        raise ConfigError(
            f"{said}there is no such interpreter; expected a path, a command or a version such as 3.12"
        )
    modules = "venv, ensurepip" if needs_pip else "sys"
    look = f"import {modules}; import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(
            [found, "-I", "-c", look], capture_output=True, text=True, timeout=_LOOK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise ConfigError(f"{said}it cannot be run; expected a Python interpreter") from None
    if done.returncode != 0:
        if "No module named" in done.stderr:
            raise ConfigError(
                f"{said}it cannot make environments (no venv or ensurepip: on Debian, install python3-venv); "
                "or put uv on the PATH, or give another --python"
            )
        raise ConfigError(f"{said}it cannot be run; expected a Python interpreter")
    version = tuple(int(part) for part in done.stdout.split())
    if version < (3, 11):
        raise ConfigError(f"{said}is Python {'.'.join(map(str, version))}, expected 3.11 or newer")
    return found


def _make(item: Adapter, python: str, tool: str, progress: Progress | None) -> None:
    target, pins = _environment(item), str(item.file.with_suffix(".txt"))
    total = len(item.requirements)

    def tell(done: int, what: str) -> None:
        if progress is not None:
            progress(done, total, what)

    tell(0, "making the environment")
    if tool == "uv":
        _run(item, ["uv", "venv", "--quiet", "--python", python, str(target)], lambda line: None)
        command = ["uv", "pip", "install", "--compile-bytecode", "--python", str(_python(item)), "-r", pins]
    else:
        _run(item, [python, "-I", "-m", "venv", str(target)], lambda line: None)
        command = [
            str(_python(item)),
            "-I",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
        ]
        command += ["--progress-bar", "off", "-r", pins]
    if not total:
        return
    seen: set[str] = set()

    def follow(line: str) -> None:
        if package := re.match(
            r"\s*(?:Collecting |Processing \S*/|\+ )([A-Za-z0-9._-]+?)(?=[=<>~!\s]|-\d|$)", line
        ):
            seen.add(_normal(package[1]))
            tell(min(len(seen), total), package[1])

    _run(item, command, follow)


def _run(item: Adapter, command: list[str], follow: Callable[[str], None]) -> None:
    """Run one step of an installation.

    Raises:
        ConfigError: It failed; what the tool said last, in one line.
    """
    tool = Path(command[0]).name if command[0] == "uv" else ("pip" if "pip" in command else "venv")
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=_quiet(),
        )
    except OSError as error:
        raise ConfigError(f"{item.name} was not installed: {tool} cannot be run: {error.strerror}") from None
    lines: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line.strip())
            follow(line)
        code = process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
    if code != 0:
        raise ConfigError(f"{item.name} was not installed: {tool}: {_reason(lines, code)}")


def _reason(lines: list[str], code: int) -> str:
    """What went wrong, of all that an installer said; addresses may hold a credential and are left out."""
    said = [re.sub(r"\w+://\S+", "…", line) for line in lines if line]
    warned = [line for line in said if re.match(r"WARNING|ERROR|error|×|╰|Caused by", line)]
    if any(map(_NETWORK.search, warned)):
        return (
            "the package index cannot be reached; check the network, a proxy, or the index that it is set to"
        )
    if any("No space left" in line for line in said):
        return "the disk is full"
    errors = [line for line in warned if not line.startswith("WARNING")]
    return (errors or said or [f"exit code {code}"])[0 if errors else -1][:300]


def _quiet() -> dict[str, str]:
    """Our environment without what would make an installer write elsewhere."""
    elsewhere = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV")
    ours = {n: v for n, v in os.environ.items() if n not in elsewhere and not n.startswith("PYTHON")}
    ours.pop("VIRTUAL_ENV", None)
    return {**ours, "UV_PYTHON_DOWNLOADS": "never", "PYTHONUNBUFFERED": "1"}


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package.strip()).lower()


@contextlib.contextmanager
def _lock(home: Path) -> Generator[None]:
    """Let one process at a time install."""
    try:
        import fcntl
    except ImportError:  # no such lock on Windows
        yield
        return
    with (home / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
