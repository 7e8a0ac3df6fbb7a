"""The agent's stored files as the evaluator reads them, and the evaluator's own, which the agent must not reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vestige.errors import AgentError, ConfigError
from vestige.memory.scan import Hit, scan_bytes

__all__ = ["find_texts", "refuse_shared", "stored_files", "stored_paths"]


def stored_paths(answer: Any) -> list[Path]:
    """What `storage` answered, as paths.

    Raises:
        AgentError: It is not a list of paths.
    """
    if answer is None:
        return []
    if isinstance(answer, str | Path):
        answer = [answer]
    try:
        return [Path(path) for path in answer]
    except TypeError:
        raise AgentError(f"storage: a list of paths was expected, not {type(answer).__name__}") from None


def stored_files(paths: Iterable[Path]) -> list[Path]:
    """Every file among `paths`, folders taken apart; what a link inside a folder points at is not followed."""

    def walk() -> Iterator[Path]:
        for path in paths:
            if path.is_dir():
                yield from (p for p in sorted(path.rglob("*")) if p.is_file() and not p.is_symlink())
            else:
                yield path

    return list(dict.fromkeys(walk()))


def find_texts(paths: Iterable[Path], needles: Mapping[str, str]) -> tuple[list[Path], list[Hit]]:
    """Look for texts, as UTF-8 bytes, in every file among `paths`; the files and what was found.

    Raises:
        StorageError: A file cannot be read.
    """
    files = stored_files(paths)
    return files, scan_bytes(files, {label: text.encode("utf-8") for label, text in needles.items()})


def refuse_shared(paths: Iterable[Path], run: Path) -> None:
    """Make sure that the agent does not store where the run's folder stands.

    Plans, fixtures and transcripts name what the agent should have forgotten: an agent that can read them proves
    nothing by its answers.

    Raises:
        ConfigError: The run's folder is one of `paths`, or inside one, or holds one.
    """
    run = run.resolve()
    for path in paths:
        stored = path.resolve()
        if run == stored or run.is_relative_to(stored):
            raise ConfigError(
                f"--out {run}: lies inside the agent's storage {stored}, where the agent can read it; "
                "choose a folder elsewhere"
            )
        if stored.is_relative_to(run):
            raise ConfigError(
                f"--out {run}: holds the agent's storage {stored}; choose a folder that the agent does not use"
            )
