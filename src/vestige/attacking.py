"""`vestige membership` as calls: plan, run, conclude, and what is written of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vestige import __version__, workflow
from vestige.agents.opening import AGENTS, check_agent, settings_of
from vestige.audits.membership.results import MembershipResult
from vestige.audits.membership.scripts import build_scripts
from vestige.datasets.units import UnitDataset, load_units
from vestige.errors import ConfigError
from vestige.interviewing import part_names
from vestige.membership_options import MembershipOptions
from vestige.memory.settings import MemorySettings
from vestige.models.resolve import refuse_credentials
from vestige.options import naming
from vestige.records import JsonScalar
from vestige.rewriters import defence_facts
from vestige.runs.folder import RunFolder
from vestige.runs.plan import AgentSpec, DataRef, ModelSpec, Plan
from vestige.workflow import Planned, model_identity

__all__ = ["Written", "finish", "load_data", "make_plan", "stopper"]

TOP_LOGPROBS = 5
"""As the paper asks for."""


def make_plan(options: MembershipOptions, data: UnitDataset | None = None) -> Planned:
    """Fix everything before the first exchange.

    Raises:
        ConfigError: An option cannot be met.
        DataError: The data cannot be read.
    """
    check_agent(options.agent)
    knobs = _knobs(options)
    parts = options.parts()
    for flag, name in (("model", options.model), ("embedder", options.embedder), *parts.items()):
        with naming(flag):
            refuse_credentials(name)
    for part, name in parts.items():
        if name == "extractive":
            raise ConfigError(
                f"--{part} extractive: the extractive reader answers from memories and writes nothing; leave it out "
                "for rules, or name a language model"
            )
    data = data or load_data(options)
    settings = options.settings()
    if settings.per_user is None and data.per_user is not None:
        settings = settings.model_copy(update={"per_user": data.per_user})
    built = build_scripts(data, settings, options.seed, {"embedder": options.embedder})
    with naming("model", options.model):
        identity = model_identity(options.model)
    plan = Plan(
        audit="membership",
        vestige_version=__version__,
        seed=options.seed,
        agent=AgentSpec(
            name=options.agent,
            knobs=knobs,
            settings=settings_of(options.agent, knobs),
            defence=options.spec(),
        ),
        models=ModelSpec(
            agent=options.model,
            agent_identity=identity,
            scorer_embedder=options.embedder,
            auxiliary=parts,
            temperature=options.temperature,
            deterministic=options.deterministic,
        ),
        data=DataRef(
            name=data.name, source=data.source, sha256=data.sha256, license=data.license, notes=data.notes
        ),
        settings={
            "membership": settings.model_dump(mode="json"),
            "notes": built.notes,
            "parts": part_names(parts, options.embedder),
            "shared": data.counts.shared_members + data.counts.shared_non_members + data.dropped,
            "top_logprobs": TOP_LOGPROBS,
            **({"defence": facts} if (facts := defence_facts(options.spec())) else {}),
        },
        fixtures=built.fixtures,
        probes=built.probes,
        episodes=tuple(built.episodes),
    )
    return Planned(plan=plan, blobs=built.blobs, notes=tuple(built.notes))


def _knobs(options: MembershipOptions) -> dict[str, JsonScalar]:
    """What the reference agent is set to; a user's own agent has its own settings."""
    if options.agent not in AGENTS:
        return {}
    knobs: dict[str, JsonScalar] = {
        "level": options.level,
        "k": options.k,
        "tau": options.tau,
        "temperature": options.temperature,
    }
    for name, value in knobs.items():
        with naming(name, value):
            MemorySettings.model_validate({name: value})
    return knobs


def load_data(options: MembershipOptions) -> UnitDataset:
    """The statements that the options name.

    Raises:
        ConfigError: There are none of that name or format.
        DataError: They cannot be read.
    """
    with naming("data", options.data):
        return load_units(
            options.data,
            options.format,
            seed=options.split_seed,
            drop_duplicates=options.drop_shared,
            extractor=options.extractor,
            cache=options.cache,
        )


def stopper(seconds: float | None) -> Callable[[], str | None]:
    """Says that the budget is used up, once it is; begins to count now."""
    began = time.monotonic()

    def stop() -> str | None:
        if seconds is not None and time.monotonic() - began >= seconds:
            return f"the budget of {seconds:g} s is used up"
        return None

    return stop


@dataclass(frozen=True)
class Written:
    """An audit with what was written of it."""

    result: MembershipResult
    report: Path
    scores: Path


def finish(folder: RunFolder, *, out: Path | None = None, title: str | None = None) -> Written:
    """Score and conclude a stored run, and write its report and its scores.

    Raises:
        Unassessable: No candidate was completed.
        IntegrityError: The record cannot be read.
        StorageError: Something cannot be written.
    """
    from vestige.report.membership import write_membership

    findings = workflow.score(folder)
    result = workflow.conclude(folder, findings)
    assert isinstance(result, MembershipResult)
    paths = write_membership(folder, findings, result, out or folder.path, title=title)
    return Written(result, paths.html, paths.scores)
