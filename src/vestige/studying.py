"""`vestige frontier` and `vestige residue` as a plan: everything fixed before the first exchange."""

from __future__ import annotations

from typing import Any

from vestige import __version__
from vestige.agents.opening import check_agent, settings_of
from vestige.audits import frontier, residue
from vestige.audits.residue import ResidueSettings
from vestige.audits.study import StudySettings, build_study, data_ref
from vestige.datasets import load
from vestige.datasets.instance import Dataset
from vestige.datasets.loading import FORMATS
from vestige.memory.settings import MemorySettings
from vestige.models.resolve import refuse_credentials
from vestige.options import AuditOptions, naming
from vestige.probes.measures import judge_version
from vestige.records import JsonScalar
from vestige.rewriters import defence_facts
from vestige.runs.plan import AgentSpec, ModelSpec, Plan
from vestige.runs.steps import Episode
from vestige.workflow import Planned, model_identity

__all__ = ["DEFAULT_K", "NEEDS", "load_data", "make_plan"]

DEFAULT_K = {"frontier": (1, 3, 6, 10, 25), "residue": (6,)}
"""The paper's k for the frontier (arXiv 2606.10062, section 3.1); its ladder does not say which."""

NEEDS = {"frontier": ("configure",), "residue": ("configure", "snapshot", "restore", "inspect")}
"""Optional methods of an agent that an audit cannot do without."""


def load_data(options: AuditOptions) -> Dataset:
    """The data that the options name.

    Raises:
        ConfigError: There is none of that name or format.
        DataError: It cannot be read.
    """
    unknown = options.format is not None and options.format not in FORMATS
    with naming("format", options.format) if unknown else naming("data", options.data):
        if options.data == "synthetic":
            return load(options.data, options.format, n=options.instances, seed=options.seed)
        return load(options.data, options.format, seed=options.seed)


def _check_knobs(options: AuditOptions) -> None:
    """Refuse what the memory cannot be set to."""
    for level in options.levels:
        with naming("levels", level):
            MemorySettings(level=level)
        with naming("retrieve_from", options.retrieve_from):
            MemorySettings(level=level, retrieve_from=options.retrieve_from)
    lists = {
        "k": ("k", options.k or ()),
        "granularity": ("granularity", options.granularity),
        "modes": ("deletion", options.modes),
        "supersede": ("supersede", options.supersede),
    }
    for name, (knob, values) in lists.items():
        for value in values:
            with naming(name, value):
                MemorySettings.model_validate({knob: value})


def make_plan(audit: str, options: AuditOptions, dataset: Dataset | None = None) -> Planned:
    """Fix everything before the first exchange.

    Raises:
        ConfigError: An option cannot be met.
        DataError: The data cannot be read.
    """
    check_agent(options.agent, NEEDS[audit])
    _check_knobs(options)
    for flag, names in (
        ("model", (options.model,)),
        ("judge", (options.judge or "",)),
        ("embedder", options.embedder),
    ):
        with naming(flag):
            for name in names:
                refuse_credentials(name)
    with naming("model", options.model):
        identity = model_identity(options.model)
    dataset = dataset or load_data(options)
    settings = StudySettings(
        instances=options.instances,
        levels=options.levels,
        k=options.k or DEFAULT_K[audit],
        probes=options.probes,
        all_paraphrases=options.all_paraphrases,
        planted=options.planted,
        tau=options.tau,
        granularity=options.granularity,
        embedder=options.embedder,
        horizon=options.horizon,
        include_unanswerable=options.include_unanswerable,
    )
    study = build_study(
        dataset, settings, options.seed, utility=audit == "frontier", judge=options.judge is not None
    )
    facts = defence_facts(options.spec())
    extra: dict[str, Any] = {"defence": facts} if facts else {}
    episodes: tuple[Episode, ...]
    if audit == "residue":
        ladder = ResidueSettings(modes=options.modes, supersede=options.supersede)
        episodes = residue.episodes(study, ladder)
        extra["residue"] = ladder.model_dump(mode="json")
    else:
        episodes = frontier.episodes(study)
        if options.judge is not None:
            extra["judge_prompt_version"] = judge_version()
    knobs: dict[str, JsonScalar] = {
        "temperature": options.temperature,
        "retrieve_from": options.retrieve_from,
        "scrub": options.scrub,
    }
    plan = Plan(
        audit=audit,
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
            scorer_embedder=options.embedder[0],
            judge=options.judge if audit == "frontier" else None,
            temperature=options.temperature,
            deterministic=options.deterministic,
        ),
        data=data_ref(dataset),
        settings={"study": settings.model_dump(mode="json"), "notes": study.notes, **extra},
        fixtures={name: f.model_dump(mode="json") for name, f in study.fixtures.items()},
        probes=study.probes,
        episodes=episodes,
    )
    return Planned(plan=plan, blobs=study.blobs, notes=tuple(study.notes))
