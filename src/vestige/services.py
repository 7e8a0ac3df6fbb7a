"""The models of a run, opened once and shared by all its episodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vestige.agents.opening import Opener
from vestige.agents.protocol import Agent
from vestige.defences.building import defended
from vestige.errors import ConfigError
from vestige.models import catalog
from vestige.models.base import ChatModel, Embedder
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.proxy import Taps
from vestige.models.resolve import open_embedder, open_model
from vestige.options import naming
from vestige.probes.adaptive import AdaptivePolicy
from vestige.probes.measures import CosineMeasure, JudgeMeasure, LeaningMeasure, SemanticJudge
from vestige.records import MemoryUnit
from vestige.rewriters import REWRITERS
from vestige.runs.plan import Plan
from vestige.runs.services import Interviewer, Measure, Policy, Services
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
    named = (
        ("model", plan.models.agent),
        ("judge", plan.models.judge),
        ("auxiliary", plan.models.adaptive),
        *plan.models.auxiliary.items(),
    )
    for flag, name in named:
        if name is not None:
            with naming(flag, name):
                open_model(name, deterministic=plan.models.deterministic)
                if name.startswith("local/"):
                    from vestige.models.local import engine_name

                    catalog.locate(name)
                    engine_name()
    for name in _embedders(plan):
        with naming("embedder", name):
            open_embedder(name)


def _guard_of(plan: Plan) -> Callable[[Episode, str], str | None]:
    """Refuses a question of an auxiliary model that would tell the agent the target."""
    from vestige.audits.verification.reading import pairs_of
    from vestige.audits.verification.scripts import secret_values
    from vestige.probes.disclosure import guard

    values = {name: secret_values(pair) for name, pair in pairs_of(plan).items()}
    return lambda episode, question: guard(question, values[episode.instance])


def pool_of(plan: Plan, episode: Episode, blobs: Mapping[str, bytes]) -> list[MemoryUnit]:
    """The statements that might be stored of an episode's user: what is stored, and what is asked about."""
    fixture = plan.fixtures.get(episode.instance, {})
    found: dict[str, MemoryUnit] = {}
    for part in ("stored", "candidates"):
        for unit in json.loads(blobs.get(str(fixture.get(part)), b"[]")):
            found.setdefault(str(unit["text"]), MemoryUnit(id=str(unit["id"]), text=str(unit["text"])))
    return list(found.values())


def _refuse_foreign(cache: Path) -> None:
    """A damaged cache is moved aside and begun anew; a file that never was one is somebody's own.

    Raises:
        ConfigError: It is such a file.
    """
    try:
        with cache.open("rb") as file:
            head = file.read(16)
    except OSError:  # not there yet, or told with its reason when it is opened
        return
    if head and not head.startswith(b"SQLite format 3") and cache.suffix != ".sqlite":
        raise ConfigError(f"--cache {cache}: is another file, and no response cache; name a file of its own")


class Models:
    """What a plan's agents, measures and judge answer with.

    Args:
        plan: Names the models.
        cache: Where replies are kept; shared between runs that name the same file.
        concurrency: Calls in flight at once.
    """

    def __init__(self, plan: Plan, *, cache: Path, concurrency: int) -> None:
        _refuse_foreign(cache)
        self._cache = ResponseCache(cache)
        names = plan.models
        self._chat: dict[str, ChatModel] = {}
        helpers = (names.judge, names.adaptive, *names.auxiliary.values())
        for name in dict.fromkeys(n for n in (names.agent, *helpers) if n is not None):
            model = open_model(name, deterministic=names.deterministic, concurrency=concurrency)
            self._chat[name] = model if name == "extractive" else CachedModel(model, self._cache)
        self._embedders: dict[str, Embedder] = {name: open_embedder(name) for name in _embedders(plan)}
        self._taps = Taps()

    async def start(self) -> None:
        """Start what takes time to start, so that a mistake shows before the first episode."""
        for model in self._chat.values():
            start = getattr(model, "start", None)
            if start is not None:
                await start()
        for embedder in self._embedders.values():
            await embedder.embed(["ready"])

    def services(self, plan: Plan, blobs: Mapping[str, bytes] | None = None) -> Services:
        """What the engine needs to run `plan`; `blobs` are its payloads by hash, which a defence may draw from."""
        opener = Opener(
            plan.agent.name,
            model=self._chat[plan.models.agent],
            embedders=self._embedders,
            knobs=plan.agent.knobs,
            top_logprobs=int(plan.settings.get("top_logprobs", 0)),
            # Whoever reads no traces is given the models' own URLs: nothing then stands between.
            taps=self._taps if any(probe.trace for probe in plan.probes.values()) else None,
        )

        scorer = self._embedders[plan.models.scorer_embedder]

        async def open_agent(episode: Episode, storage: Path) -> Agent:
            agent = await opener.open(episode.knobs, storage)
            if plan.agent.defence is None:
                return agent
            return await defended(
                agent,
                plan.agent.defence,
                seed=plan.seed,
                embedder=scorer,
                rewriters=REWRITERS,
                pool=pool_of(plan, episode, blobs or {}),
            )

        measures: dict[str, Measure] = {
            "cosine": CosineMeasure(scorer),
            "leaning": LeaningMeasure(scorer),
        }
        if plan.models.judge is not None:
            measures["judge"] = JudgeMeasure(self._chat[plan.models.judge])
            measures["semantic_judge"] = SemanticJudge(self._chat[plan.models.judge])
        policies: dict[str, Policy] = {}
        if plan.models.adaptive is not None:
            policies["adaptive"] = AdaptivePolicy(self._chat[plan.models.adaptive])
        return Services(
            open_agent=open_agent,
            embedder_of=lambda episode: opener.embedder(str(episode.knobs["embedder"])),
            measures=measures,
            policies=policies,
            interviewers=self._interviewers(plan, scorer),
            guard=_guard_of(plan) if policies else None,
        )

    def _interviewers(self, plan: Plan, embedder: Embedder) -> dict[str, Interviewer]:
        if plan.audit != "membership":
            return {}
        from vestige.audits.membership.scripts import PROBE
        from vestige.interviewing import interviewer_of

        return {PROBE: interviewer_of(plan, self._chat, embedder)}

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
        if sent := self._taps.facts():
            out["sent by agents"] = sent
        return out

    async def close(self) -> None:
        """Close everything."""
        await self._taps.close()
        for model in self._chat.values():
            await model.close()
        for embedder in self._embedders.values():
            await embedder.close()
        self._cache.close()
