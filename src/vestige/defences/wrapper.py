"""What every defence is: an agent around an agent."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from vestige.agents.protocol import Agent, AgentDescription, describe
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, Session

__all__ = ["Defended", "generator_of"]


class Defended:
    """Passes everything through, the optional methods of the agent inside as well; a defence overrides what it changes.

    Args:
        agent: The agent inside.
        label: The defence as plans and reports name it: `output_filter:0.7`.
    """

    def __init__(self, agent: Agent, label: str) -> None:
        self._inner, self._label = agent, label

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also while there is no agent inside yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    def describe(self) -> AgentDescription:
        """That of the agent inside, with the defence in its configuration."""
        inside = describe(self._inner)
        return inside.model_copy(update={"configuration": {**inside.configuration, "defence": self._label}})

    async def converse(self, user: str, session: Session) -> None:
        """See `Agent`."""
        await self._inner.converse(user, session)

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        """See `Agent`."""
        return await self._inner.ask(user, prompt, options)

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """See `Agent`."""
        return await self._inner.forget(user, request)

    async def reset(self, user: str) -> None:
        """See `Agent`."""
        await self._inner.reset(user)


def generator_of(seed: int, *names: str) -> np.random.Generator:
    """A generator spawned from a seed by names, so that the order in which texts come has no influence."""
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "replace")).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
