"""Opens the agent of an episode, with models that are shared by all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vestige.agents.protocol import Agent
from vestige.agents.reference import ReferenceAgent, prompt_versions
from vestige.errors import ConfigError
from vestige.memory.settings import MemorySettings
from vestige.models.base import ChatModel, Embedder
from vestige.records import JsonScalar

__all__ = ["AGENTS", "Opener", "check_agent", "settings_of"]

AGENTS: tuple[str, ...] = ("reference",)
"""Names that `--agent` takes."""


def check_agent(name: str) -> str:
    """The agent's name, if there is one of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in AGENTS:
        raise ConfigError(f"--agent {name}: no such agent; this version audits {', '.join(AGENTS)}")
    return name


def settings_of(name: str, knobs: dict[str, JsonScalar]) -> dict[str, Any]:
    """Every setting that an episode of the agent starts from, defaults and prompt versions among them."""
    check_agent(name)
    given: dict[str, Any] = dict(knobs)
    return {**MemorySettings(**given).model_dump(mode="json"), **prompt_versions()}


class Opener:
    """Opens one agent per episode; models and embedders stay open until `close`.

    Args:
        name: Which agent.
        model: What it answers and summarizes with.
        embedders: By name, those that episodes may ask for.
        knobs: Of every episode, before the episode's own.
    """

    def __init__(
        self, name: str, *, model: ChatModel, embedders: dict[str, Embedder], knobs: dict[str, JsonScalar]
    ) -> None:
        self._name = check_agent(name)
        self._model, self._embedders, self._knobs = model, embedders, knobs

    def embedder(self, name: str) -> Embedder:
        """The embedder of that name."""
        return self._embedders[name]

    async def open(self, knobs: dict[str, JsonScalar], storage: Path) -> Agent:
        """Open an agent with its own storage folder."""
        settings: dict[str, Any] = {**self._knobs, **knobs}
        embedder = self.embedder(str(settings.pop("embedder")))
        agent = ReferenceAgent(
            storage, model=self._model, embedder=embedder, settings=MemorySettings(**settings)
        )
        await agent.open()
        return agent
