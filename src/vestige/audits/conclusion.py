"""What every conclusion starts from: which instances are complete, and what the result says of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vestige.audits.findings import fixtures_of
from vestige.audits.results import Exclusion
from vestige.errors import IntegrityError, Unassessable
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.store import Attempts, read_attempts

__all__ = ["Completed", "check_plan", "completed", "header"]


@dataclass(frozen=True)
class Completed:
    """The instances whose every episode was completed: the only ones in the numbers."""

    instances: tuple[str, ...]
    clusters: tuple[str, ...] | None
    """Cluster of each instance; None where all are independent."""
    total: int
    exclusions: tuple[Exclusion, ...]
    plan_sha256: str = ""
    """Of the stored plan; empty: of the plan at hand."""


def check_plan(folder: RunFolder, attempts: Attempts) -> None:
    """Make sure that the records were made under the plan that lies beside them.

    Raises:
        IntegrityError: The plan was changed after the run.
    """
    if any(sha != folder.plan_sha256 for sha in attempts.plans):
        raise IntegrityError(
            f"{folder.path}: plan.json is not the plan the records were made under ({attempts.plans[0][:12]}…); "
            "it was changed after the run"
        )


def completed(folder: RunFolder) -> Completed:
    """Read which instances count.

    Raises:
        Unassessable: None does.
        IntegrityError: The plan was changed after the run.
    """
    plan = folder.plan
    attempts = read_attempts(folder.path)
    check_plan(folder, attempts)
    missing: dict[str, str] = {}
    broken: set[str] = set()
    for episode in plan.episodes:
        if episode.id not in attempts.done:
            missing[episode.id] = attempts.failed.get(episode.id, "not run to its end")
            broken.add(episode.instance)
    fixtures = fixtures_of(plan)
    instances = tuple(name for name in fixtures if name not in broken)
    if not instances:
        reason = next(iter(missing.values()), "the plan has no episodes")
        raise Unassessable(
            f"{folder.path}: no instance was completed ({reason}); continue the run with --resume"
        )
    clusters = tuple(fixtures[name].cluster for name in instances)
    return Completed(
        instances=instances,
        clusters=clusters if len(set(clusters)) < len(clusters) else None,
        total=len(fixtures),
        exclusions=tuple(Exclusion(episode=e, reason=r) for e, r in sorted(missing.items())),
        plan_sha256=folder.plan_sha256,
    )


def header(plan: Plan, done: Completed) -> dict[str, Any]:
    """The fields of `ResultBase`."""
    notes = [str(n) for n in plan.settings.get("notes", ())]
    if done.exclusions:
        left = done.total - len(done.instances)
        notes.append(
            f"{left} of {done.total} instances are not in the numbers: an episode of theirs was not completed."
        )
    return {
        "plan_sha256": done.plan_sha256 or plan.sha256,
        "vestige_version": plan.vestige_version,
        "agent": plan.agent.name,
        "agent_configuration": dict(plan.agent.knobs),
        "model": plan.models.agent,
        "embedder": plan.models.scorer_embedder,
        "data": plan.data.name,
        "data_sha256": plan.data.sha256,
        "n_instances": done.total,
        "n_complete": len(done.instances),
        "clusters": None if done.clusters is None else len(set(done.clusters)),
        "seed": plan.seed,
        "exclusions": done.exclusions,
        "notes": tuple(notes),
    }
