"""Small real verifications: made-up users, the reference agent, the extractive reader, no model file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vestige.agents.protocol import Agent
from vestige.audits.study import data_ref
from vestige.audits.verification.fixtures import build_pairs, synthetic_users
from vestige.audits.verification.scripts import build_scripts
from vestige.audits.verification.settings import VerificationSettings
from vestige.records import JsonScalar
from vestige.runs.engine import Services, execute
from vestige.runs.folder import RunFolder
from vestige.runs.plan import AgentSpec, ModelSpec, Plan
from vestige.runs.steps import Episode
from vestige.services import Models

Wrap = Callable[[Agent, Episode], Agent]


def make_plan(
    settings: VerificationSettings, seed: int = 0, **knobs: JsonScalar
) -> tuple[Plan, dict[str, bytes]]:
    data = synthetic_users(settings.pairs, seed)
    material, notes = build_pairs(data, settings, seed)
    built = build_scripts(material, settings, seed, {"embedder": "hashing"})
    plan = Plan(
        audit="verification",
        vestige_version="test",
        seed=seed,
        agent=AgentSpec(name="reference", knobs={"level": 0, "k": 6, "deletion": "full_purge", **knobs}),
        models=ModelSpec(agent="extractive", scorer_embedder="hashing"),
        data=data_ref(data),
        settings={"verification": settings.model_dump(mode="json"), "notes": notes},
        fixtures={item.id: item.pair.model_dump(mode="json") for item in material},
        probes=built.probes,
        episodes=tuple(built.episodes),
    )
    return plan, built.blobs


def run(
    path: Path, settings: VerificationSettings, wrap: Wrap | None = None, **knobs: Any
) -> tuple[Plan, RunFolder]:
    """Run it to its end; `wrap` puts a planted behaviour around each episode's agent."""
    plan, blobs = make_plan(settings, **knobs)
    folder = RunFolder.create(path, plan, blobs, resume=False)

    async def act() -> None:
        models = Models(plan, cache=path / "responses.sqlite", concurrency=4)
        await models.start()
        try:
            services = models.services(plan)

            async def opened(episode: Episode, storage: Path) -> Agent:
                agent = await services.open_agent(episode, storage)
                return agent if wrap is None else wrap(agent, episode)

            given = Services(open_agent=opened, embedder_of=services.embedder_of, measures=services.measures)
            await execute(plan, folder, given, concurrency=2)
        finally:
            await models.close()

    asyncio.run(act())
    folder.close()
    return plan, folder
