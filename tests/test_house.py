"""The house keeps its rules: layers, sizes, names, imports, dependencies, and what the wheel carries."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import vestige

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "vestige"

FLOORS = {
    "errors": 1,
    "records": 1,
    "text": 1,
    "canaries": 1,
    "stats": 1,
    "memory": 2,
    "models": 2,
    "datasets": 2,
    "agents": 3,
    "runs": 4,
    "probes": 4,
    "channels": 4,
    "attacks": 4,
    "audits": 5,
    "report": 6,
    "packet": 6,
    "options": 6,
    "verify_options": 6,
    "hosts": 6,
    "services": 6,
    "workflow": 6,
    "verifying": 6,
    "reaching": 6,
    "attacking": 6,
    "interviewing": 6,
    "membership_options": 6,
    "retesting": 6,
    "api": 7,
    "cli": 7,
}
"""Every room of the house and the floor it stands on: a room imports from its own floor or from below."""

PUBLIC = [
    "Agent",
    "AgentDescription",
    "Artifact",
    "AskOptions",
    "FrontierResult",
    "Receipt",
    "RemovalRequest",
    "Reply",
    "ResidueResult",
    "RetrievedUnit",
    "Session",
    "Turn",
    "UserError",
    "VerificationResult",
    "VestigeError",
    "__version__",
    "datasets",
    "frontier",
    "residue",
    "stats",
    "verify",
]

HEAVY = {"aiohttp", "jinja2", "matplotlib", "numpy", "pydantic", "rich", "scipy", "typer"}


# ---------------------------------------------------------------------------------------------- layers


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def sources() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_by(name: str, path: Path) -> Iterator[str]:
    """Every module of the package that a file imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "vestige")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                parent = parent[: len(parent) - node.level + 1]
                base = ".".join([*parent, base] if base else parent)
            if base.split(".")[0] != "vestige":
                continue
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield whole if whole in sources() else base


@cache
def graph() -> dict[str, set[str]]:
    return {name: set(imported_by(name, path)) - {name} for name, path in sources().items()}


def room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def circle(edges: dict[str, set[str]]) -> list[str]:
    """One circle in a graph, or an empty list."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for following in sorted(edges.get(node, ())):
            if found := walk(following, [*path, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(edges) if (found := walk(node, []))), [])


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_every_room_has_a_floor() -> None:
    rooms = {room(name) for name in sources()} - {"", "__main__"}
    assert rooms <= set(FLOORS), f"give {sorted(rooms - set(FLOORS))} a floor in {Path(__file__).name}"


def test_imports_go_downward() -> None:
    upward = [
        f"{name} (floor {FLOORS[room(name)]}) imports {target} (floor {FLOORS[room(target)]})"
        for name, targets in graph().items()
        for target in sorted(targets)
        if room(name) in FLOORS and room(target) in FLOORS and FLOORS[room(target)] > FLOORS[room(name)]
    ]
    assert not upward, "\n".join(upward)


def test_no_circle_between_modules() -> None:
    below = {name: targets for name, targets in graph().items() if name != "vestige"}
    assert not circle(below)


def test_no_circle_between_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for name, targets in graph().items():
        if room(name) in FLOORS:
            rooms.setdefault(room(name), set()).update({room(t) for t in targets} - {room(name), ""})
    assert not circle(rooms)


def test_the_root_is_imported_for_its_version_alone() -> None:
    """A module that took a public name from `vestige` would reach upward through the lazy table."""
    for name, path in sources().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "vestige" and not node.level:
                taken = {a.name for a in node.names if f"vestige.{a.name}" not in sources()}
                assert taken <= {"__version__"}, f"{name} imports {sorted(taken)} from vestige"


# ---------------------------------------------------------------------------------------- files and names


def test_no_file_is_over_400_lines() -> None:
    long = {n: lines for n, p in sources().items() if (lines := len(p.read_text("utf-8").splitlines())) > 400}
    assert not long


def test_no_room_is_empty() -> None:
    bare = [
        folder.name
        for folder in PACKAGE.iterdir()
        if folder.is_dir()
        and folder.name != "__pycache__"
        and {p.name for p in folder.glob("*.py")} == {"__init__.py"}
        if len((folder / "__init__.py").read_text(encoding="utf-8").split()) < 20
    ]
    assert not bare


@pytest.mark.parametrize("name", sorted(sources()))
def test_a_module_says_what_it_is_for(name: str) -> None:
    assert ast.get_docstring(ast.parse(sources()[name].read_text(encoding="utf-8")))


def test_the_public_names_are_exactly_these() -> None:
    assert vestige.__all__ == PUBLIC
    assert dir(vestige) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(vestige, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'forntier'"):
        vestige.forntier  # noqa: B018


@pytest.mark.parametrize("name", sorted(set(sources()) - {"vestige"}))
def test_all_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public), f"{name}.__all__ names {public}"


# ----------------------------------------------------------------------------------------------- imports


def loaded_after(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded once it ran `code`."""
    report = (
        "import atexit, json, sys; "
        "atexit.register(lambda: sys.stderr.write('\\n' + json.dumps(sorted(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{report}\n{code}"], capture_output=True, text=True, timeout=60, check=True
    )
    return {name.split(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def test_import_vestige_loads_nothing_heavy() -> None:
    assert not loaded_after("import vestige") & HEAVY


def test_help_loads_nothing_that_computes() -> None:
    code = "import sys; sys.argv = ['vestige', '--help']\nfrom vestige.cli.main import main\nmain()"
    loaded = loaded_after(code)
    assert "vestige" in loaded
    assert not loaded & (HEAVY - {"typer", "rich"})


# ------------------------------------------------------------------------------------------ dependencies


def closure(distribution: str) -> set[str]:
    """The distributions that installing one brings in, itself left out, on this platform and Python."""
    seen: set[str] = set()
    waiting = [(distribution, frozenset[str]())]
    visited: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        for line in metadata.requires(name) or ():
            need = Requirement(line)
            if any(need.marker is None or need.marker.evaluate({"extra": e}) for e in ("", *extras)):
                key = re.sub(r"[-_.]+", "-", need.name).lower()
                seen.add(key)
                waiting.append((key, frozenset(need.extras)))
    return seen


def test_the_core_install_is_small() -> None:
    packages = closure("vestige")
    assert {"numpy", "scipy", "pydantic", "aiohttp", "typer", "rich", "jinja2", "matplotlib"} <= packages
    assert len(packages) <= 40, sorted(packages)
    assert not packages & {"torch", "scikit-learn", "pandas", "transformers", "onnxruntime", "xllamacpp"}


def test_the_version_is_one() -> None:
    assert metadata.version("vestige") == vestige.__version__


# ------------------------------------------------------------------------------------------------- wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True, timeout=120)
    (built,) = folder.glob("vestige-*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_carries_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "vestige/py.typed" in files
    carried = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert carried == files


def test_the_wheel_names_its_command_and_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    (entry,) = [n for n in names if n.endswith("/entry_points.txt")]
    assert "vestige = vestige.cli.main:main" in wheel.read(entry).decode()
    (licence,) = [n for n in names if n.endswith("/LICENSE")]
    assert b"Apache License" in wheel.read(licence)


# --------------------------------------------------------------------------------------- tracked files


def tracked() -> list[Path]:
    """The files git tracks, or would track; every file that is no build output where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_path_of_a_machine_is_in_the_project() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:home/[a-z]|root/|work/|farm/|Users/[A-Za-z]|tmp/w)")
    found: list[str] = []
    for path in tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert not found, "\n".join(found)


def test_no_large_file_is_tracked() -> None:
    large = {str(p.relative_to(ROOT)): size for p in tracked() if (size := p.stat().st_size) > 2_000_000}
    assert not large
