"""A paragraph on how memories may be used."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from vestige.agents.protocol import Agent, describe
from vestige.defences.wrapper import Defended
from vestige.records import AskOptions, Reply

__all__ = ["PromptDefence", "paragraph", "texts"]


@cache
def texts() -> dict[str, Any]:
    """The file of texts."""
    return tomllib.loads(files("vestige.defences").joinpath("texts.toml").read_text(encoding="utf-8"))


def paragraph(strength: int) -> str:
    """What strength 1 or 2 says."""
    said: dict[str, str] = texts()["prompt"]
    return said["broad"] if strength < 2 else f"{said['broad']}\n\n{said['fixed'].strip()}"


class PromptDefence(Defended):
    """Puts the paragraph into the system prompt of an agent with the knob `instructions`, else before each question.

    Source: the defence of arXiv 2605.27825, section 6; the wording is ours. Before the question it also stands in what
    the agent searches its memory with, which may cost some retrieval.
    """

    def __init__(self, agent: Agent, label: str, strength: int) -> None:
        super().__init__(agent, label)
        self._paragraph = paragraph(strength)
        self._inside = "instructions" in describe(agent).knobs

    async def prepare(self) -> None:
        """Hand the paragraph over, where the agent takes it."""
        if self._inside:
            await self._inner.configure(instructions=self._paragraph)  # type: ignore[attr-defined]

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        """See `Agent`."""
        if not self._inside:
            prompt = f"{self._paragraph}\n\n{prompt}"
        return await self._inner.ask(user, prompt, options)
