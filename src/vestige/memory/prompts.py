"""The summary prompts, read from a versioned data file of the package."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from vestige.models.base import Message

__all__ = ["Prompt", "prompt", "prompts_version"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system message and a user message with the placeholder ``{{messages}}``."""

    system: str
    user: str

    def fill(self, turns: Sequence[str]) -> tuple[Message, ...]:
        """The chat messages for the user's turns of one session, each turn on a line of its own."""
        listed = "\n".join("- " + " ".join(turn.split()) for turn in turns)
        return (
            Message(role="system", content=self.system.strip()),
            Message(role="user", content=self.user.strip().replace("{{messages}}", listed)),
        )


@cache
def _file() -> dict[str, object]:
    return tomllib.loads(files("vestige.memory").joinpath("prompts.toml").read_text(encoding="utf-8"))


def prompts_version() -> str:
    """The version of the prompts' wording."""
    return str(_file()["version"])


@cache
def prompt(name: str) -> Prompt:
    """The prompt of a task: ``facts`` or ``sentence``."""
    section = _file()[name]
    if not isinstance(section, dict):
        raise KeyError(name)
    return Prompt(system=str(section["system"]), user=str(section["user"]))
