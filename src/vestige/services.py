"""The models of a run, opened once and shared by all its episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vestige.agents.opening import Opener
from vestige.agents.protocol import Agent
from vestige.models import catalog
from vestige.models.base import ChatModel, Embedder
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.resolve import open_embedder, open_model
from vestige.probes.measures import CosineMeasure, JudgeMeasure
from vestige.runs.engine import Measure, Services
from vestige.runs.plan import Plan
from vestige.runs.steps import Episode

__all__ = ["Models", "check_models"]


def _embedders(plan: Plan) -> list[str]:
    return sorted({str(e.knobs["embedder"]) for e in plan.episodes} | {plan.models.scorer_embedder})


def check_models(plan: Plan) -> None:
    """Refuse a plan whose models are not to be had, before it is frozen; nothing is started or sent.

    Raises:
        ConfigError: A name is unknown, a key is missing, or a model file is not here.
        MissingDependency: An optional package is not installed.
    """
    for name in (plan.models.agent, plan.models.judge):
        if name is not None:
            open_model(name, deterministic=plan.models.deterministic)
            if name.startswith("local/"):
                catalog.locate(name)
    for name in _embedders(plan):
        open_embedder(name)


class Models:
    """What a plan's agents, measures and judge answer with.

    Args:
        plan: Names the models.
        cache: Where replies are kept; shared between runs that name the same file.
        concurrency: Calls in flight at once.
    """

    def __init__(self, plan: Plan, *, cache: Path, concurrency: int) -> None:
        self._cache = ResponseCache(cache)
        names = plan.models
        self._chat: dict[str, ChatModel] = {}
        for name in dict.fromkeys(n for n in (names.agent, names.judge) if n is not None):
            model = open_model(name, deterministic=names.deterministic, concurrency=concurrency)
            self._chat[name] = model if name == "extractive" else CachedModel(model, self._cache)
        self._embedders: dict[str, Embedder] = {name: open_embedder(name) for name in _embedders(plan)}

    async def start(self) -> None:
        """Start what takes time to start, so that a mistake shows before the first episode."""
        for model in self._chat.values():
            start = getattr(model, "start", None)
            if start is not None:
                await start()
        for embedder in self._embedders.values():
            await embedder.embed(["ready"])

    def services(self, plan: Plan) -> Services:
        """What the engine needs to run `plan`."""
        opener = Opener(
            plan.agent.name,
            model=self._chat[plan.models.agent],
            embedders=self._embedders,
            knobs=plan.agent.knobs,
        )

        async def open_agent(episode: Episode, storage: Path) -> Agent:
            return await opener.open(episode.knobs, storage)

        measures: dict[str, Measure] = {"cosine": CosineMeasure(self._embedders[plan.models.scorer_embedder])}
        if plan.models.judge is not None:
            measures["judge"] = JudgeMeasure(self._chat[plan.models.judge])
        return Services(
            open_agent=open_agent,
            embedder_of=lambda episode: opener.embedder(str(episode.knobs["embedder"])),
            measures=measures,
        )

    def facts(self) -> dict[str, Any]:
        """Counts and server settings, for host.json."""
        out: dict[str, Any] = {"cache": self._cache.counted.model_dump()}
        for name, model in self._chat.items():
            inner = model.model if isinstance(model, CachedModel) else model
            out[name] = {
                key: getattr(inner, key)
                for key in ("calls", "retries", "prompt_tokens", "completion_tokens", "settings")
                if hasattr(inner, key)
            }
        return out

    async def close(self) -> None:
        """Close everything."""
        for model in self._chat.values():
            await model.close()
        for embedder in self._embedders.values():
            await embedder.close()
        self._cache.close()
