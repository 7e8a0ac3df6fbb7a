"""Reads the brief of a run: all but findings that a conclusion needs, and nothing a target could be read from."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from vestige.agents.protocol import AgentDescription
from vestige.audits.conclusion import check_plan
from vestige.audits.results import Exclusion
from vestige.audits.verification.brief import Brief, PairBrief
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.settings import TARGETS, VerificationSettings
from vestige.audits.verification.tally import NOT_RUN
from vestige.errors import IntegrityError, complaint
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.store import Attempts, read_attempts, read_counted

__all__ = ["AGAIN", "brief_of", "pairs_of", "settings_of"]

AGAIN = "R-"
"""What names of pairs of an earlier packet begin with."""


def settings_of(plan: Plan) -> VerificationSettings:
    """The plan's own settings, typed.

    Raises:
        IntegrityError: They cannot be read.
    """
    try:
        return VerificationSettings.model_validate(plan.settings.get("verification", {}))
    except ValidationError as error:
        raise IntegrityError(f"plan.json: settings cannot be read: {complaint(error)}") from None


def pairs_of(plan: Plan) -> dict[str, Pair]:
    """The plan's fixtures, typed.

    Raises:
        IntegrityError: One cannot be read.
    """
    try:
        return {name: Pair.model_validate(data) for name, data in plan.fixtures.items()}
    except ValidationError as error:
        raise IntegrityError(f"plan.json: fixtures cannot be read: {complaint(error)}") from None


def brief_of(plan: Plan, folder: RunFolder) -> Brief:
    """What `conclude` reads besides findings.

    Raises:
        IntegrityError: The record is not one of this plan.
    """
    attempts = read_attempts(folder.path)
    check_plan(folder, attempts)
    pairs = pairs_of(plan)
    episodes: dict[str, list[str]] = {name: [] for name in pairs}
    for episode in plan.episodes:
        if episode.instance not in episodes:
            raise IntegrityError("plan.json: an episode is about no pair of the plan")
        episodes[episode.instance].append(episode.id)
    missing = _missing(episodes, attempts)
    idle = sum(all(missing.get(e) == NOT_RUN for e in ids) for ids in episodes.values() if ids)
    return Brief(
        plan_sha256=folder.plan_sha256,
        vestige_version=plan.vestige_version,
        agent=plan.agent.name,
        agent_configuration=dict(plan.agent.knobs),
        model=plan.models.agent,
        embedder=plan.models.scorer_embedder,
        judge=plan.models.judge,
        data=plan.data.name,
        data_sha256=plan.data.sha256,
        analysis_seed=int(folder.plan_sha256[:13], 16),
        settings=settings_of(plan),
        description=_description(folder, attempts),
        pairs={
            name: PairBrief(
                cluster=pair.cluster,
                fingerprint=pair.fingerprint,
                arms=pair.arms,
                # what the pair holds, which is what was asked for
                targets=tuple(t for t in TARGETS if t in pair.nonces or t in pair.preferences),
                favoured_first=None
                if pair.preference is None
                else pair.preference.order[0] == pair.preference.favoured,
                earlier=name.startswith(AGAIN) and plan.settings.get("previous") is not None,
                complete=bool(episodes[name]) and not any(e in missing for e in episodes[name]),
            )
            for name, pair in pairs.items()
        },
        exclusions=tuple(Exclusion(episode=e, reason=r) for e, r in sorted(missing.items())),
        failed_attempts=sum(_failures(ids, attempts) for ids in episodes.values()),
        stopped=f"{idle} of {len(pairs)} pairs were never begun" if idle else "",
        notes=tuple(str(n) for n in (*plan.settings.get("notes", ()), *plan.data.notes)),
    )


def _missing(episodes: Mapping[str, list[str]], attempts: Attempts) -> dict[str, str]:
    """Why each episode that does not count does not."""
    out: dict[str, str] = {}
    for ids in episodes.values():
        touched = any(e in attempts.begun for e in ids)
        for episode in ids:
            if episode not in attempts.done:
                why = "its pair was not run to its end" if touched else NOT_RUN
                out[episode] = attempts.failed.get(episode, why)
    return out


def _failures(ids: list[str], attempts: Attempts) -> int:
    return len({n for e in ids for n in attempts.failed_attempts.get(e, ())})


def _description(folder: RunFolder, attempts: Attempts) -> AgentDescription | None:
    """The agent's own words, of the first episode by name, whatever the order in which they ran."""
    found: dict[tuple[str, int], object] = {}
    for line in read_counted(folder.path, attempts, frozenset({"description"}), failed=True):
        found[line.episode, line.attempt] = line.body
    if not found:
        return None
    try:
        return AgentDescription.model_validate(found[min(found)])
    except ValidationError as error:
        raise IntegrityError(f"a record is not the description of an agent: {complaint(error)}") from None
