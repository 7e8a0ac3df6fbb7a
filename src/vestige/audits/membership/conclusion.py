"""The conclusion of a membership audit: tables, comparisons and ablations, all from the one recorded pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from vestige.agents.protocol import AgentDescription
from vestige.audits.conclusion import check_plan
from vestige.audits.findings import Finding
from vestige.audits.membership.evidence import Table
from vestige.audits.membership.results import (
    AttackRow,
    MembershipResult,
    UnitCounts,
)
from vestige.audits.membership.rows import Rows
from vestige.audits.membership.scored import Scored
from vestige.audits.membership.scoring import settings_of
from vestige.audits.membership.settings import GRAY_ONLY, SETTINGS, MembershipSettings, QuestionSet
from vestige.audits.results import Exclusion
from vestige.errors import IntegrityError, Unassessable, complaint
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.steps import AskAbout
from vestige.runs.store import Attempts, read_attempts, read_counted

__all__ = ["conclude", "scored_of", "sizes_of"]

Floats = NDArray[np.float64]


@dataclass
class _Counted:
    """What findings say besides scores."""

    questions: Counter[str] = field(default_factory=Counter[str])
    rejected: Counter[str] = field(default_factory=Counter[str])
    remembered: Counter[str] = field(default_factory=Counter[str])
    without: int = 0
    reworded: int = 0
    unchanged: int = 0


def conclude(plan: Plan, folder: RunFolder, findings: Iterable[Finding]) -> MembershipResult:
    """Compute the result; the same findings give the same bytes.

    Raises:
        Unassessable: No candidate was completed.
        IntegrityError: A finding is not one of this run.
    """
    settings = settings_of(plan)
    seed = int(folder.plan_sha256[:13], 16)
    attempts = read_attempts(folder.path)
    check_plan(folder, attempts)
    counted = _Counted()
    table = Table.of(_counting(findings, counted, settings), sizes_of(settings))
    if not table.candidates:
        reason = next(iter(attempts.failed.values()), "nothing was run to its end")
        raise Unassessable(
            f"{folder.path}: no candidate was completed ({reason}); continue the run with --resume"
        )
    parts: dict[str, str] = {str(k): str(v) for k, v in sorted(plan.settings.get("parts", {}).items())}
    scored = scored_of(table, settings, seed, parts)
    maker = Rows(scored, settings, seed)
    rows = tuple(
        maker.row(a, s) for s in SETTINGS for a in settings.attacks if a not in GRAY_ONLY or s == "gray"
    )
    planned = sum(isinstance(step, AskAbout) for e in plan.episodes for step in e.steps)
    left = [e.id for e in plan.episodes if e.id not in attempts.done]
    idle = [e for e in left if e not in attempts.begun]
    stopped = f"{len(idle)} of {len(plan.episodes)} episodes were never begun" if idle else ""
    return MembershipResult(
        plan_sha256=folder.plan_sha256,
        vestige_version=plan.vestige_version,
        agent=plan.agent.name,
        agent_configuration=dict(plan.agent.knobs),
        model=plan.models.agent,
        embedder=plan.models.scorer_embedder,
        data=plan.data.name,
        data_sha256=plan.data.sha256,
        n_instances=len(plan.fixtures),
        n_complete=len(set(table.users)),
        clusters=None,
        seed=plan.seed,
        exclusions=tuple(
            Exclusion(episode=e, reason=attempts.failed.get(e, "not run to its end"))
            for e in sorted(left)
            if e not in set(idle)
        ),
        notes=tuple(_notes(plan, settings, table, counted, stopped)),
        statement=_statement(rows, table, plan),
        rows=rows,
        comparisons=tuple(maker.comparisons()),
        ablations=tuple(maker.ablations()),
        users=tuple(maker.users(plan)),
        counts=_counts(plan, settings, table, counted, planned),
        parts=parts,
        cut_offs=maker.cut_offs(),
        stopped=stopped,
        settings=settings,
        agent_description=_description(folder, attempts),
    )


def scored_of(table: Table, settings: MembershipSettings, seed: int, parts: Mapping[str, str]) -> Scored:
    """The scores of a table; rules are told by the names of the parts."""
    rules = (parts.get("responses", "").startswith("rules"), parts.get("memory", "").startswith("rules"))
    return Scored(table, settings, seed, rules)


def sizes_of(settings: MembershipSettings) -> dict[QuestionSet, int]:
    """Question sets with the most questions that each can have."""
    single = ("naive", "absent")
    return {name: 1 if name in single else settings.questions for name in settings.sets()}


def _counting(
    findings: Iterable[Finding], counted: _Counted, settings: MembershipSettings
) -> Iterable[Finding]:
    recall = next((s for s in ("recall", "similar") if s in settings.sets()), None)
    for finding in findings:
        if finding.kind == "remembered":
            counted.remembered[str(finding.values.get("by", ""))] += 1
        elif finding.kind == "candidate" and finding.labels.get("repeat") == 0:
            for name, value in finding.values.items():
                what, _, which = name.partition(":")
                if what in ("asked", "rejected") and isinstance(value, int):
                    (counted.questions if what == "asked" else counted.rejected)[which] += value
            if "unchanged" in finding.values:
                counted.reworded += 1
                counted.unchanged += bool(finding.values["unchanged"])
            if recall is not None and not finding.values.get(f"asked:{recall}"):
                counted.without += 1
        yield finding


def _counts(
    plan: Plan, settings: MembershipSettings, table: Table, counted: _Counted, planned: int
) -> UnitCounts:
    first = table.repeat == 0
    member = table.member[first]
    kinds = Counter(kind for kind, m, f in zip(table.kinds, table.member, first, strict=True) if f and not m)
    return UnitCounts(
        users=len(set(table.users)),
        candidates=int(first.sum()),
        planned=planned,
        members=int(member.sum()),
        non_members=int((~member).sum()),
        shared=int(plan.settings.get("shared", 0)),
        shared_left_out=settings.drop_shared,
        kinds=dict(sorted(kinds.items())),
        questions=dict(sorted(counted.questions.items())),
        rejected=dict(sorted(counted.rejected.items())),
        without_questions=counted.without,
        remembered_by=dict(sorted(counted.remembered.items())),
        reworded=counted.reworded,
        unchanged=counted.unchanged,
    )


def _notes(
    plan: Plan, settings: MembershipSettings, table: Table, counted: _Counted, stopped: str
) -> Iterable[str]:
    yield from (str(n) for n in plan.settings.get("notes", ()))
    yield from plan.data.notes
    if counted.unchanged:
        yield (
            f"{counted.unchanged} of {counted.reworded} candidates have no paraphrase: the attacker held their own "
            "words there, where the attack is said to hold others."
        )
    if stopped:
        yield f"{stopped}: the numbers are those of the candidates that were completed."
    if counted.without:
        what = "ranked below all others" if settings.unscored == "lowest" else "left out"
        yield f"{counted.without} candidates have no valid recall question and are {what}."
    if counted.remembered.get("conversation"):
        yield (
            "The agent stores no statement directly: members were told to it in a conversation, of which it keeps "
            "what it keeps."
        )
    if len(set(table.users)) < 2:
        yield "One user: cut-offs are the defaults, and no threshold could be chosen on others."


def _statement(rows: Iterable[AttackRow], table: Table, plan: Plan) -> str:
    """The main finding: the strongest attack of each setting."""
    parts: list[str] = []
    for setting in SETTINGS:
        best = max(
            (r for r in rows if r.setting == setting and r.auc.value is not None),
            key=lambda r: r.auc.value or 0.0,
            default=None,
        )
        if best is None or best.auc.value is None:
            continue
        text = f"{setting}-box {best.auc.value:.3f} ({best.attack.replace('_', ' ')})"
        if best.auc.interval is not None:
            low, high = best.auc.interval
            centre = best.auc.centre
            of = "" if centre is None else f"users' own mean {centre:.3f} "
            text = f"{text[:-1]}, {of}[{low:.3f}, {high:.3f}])"
        parts.append(text)
    n = len(set(table.candidates))
    who = f"agent {plan.agent.name} with model {plan.models.agent}"
    if not parts:
        return f"No attack could be scored on {n} candidates of {who}."
    return (
        f"The best ROC-AUC of membership inference on {n} candidates of {len(set(table.users))} users, for {who}: "
        f"{'; '.join(parts)}. 0.5 is chance. It covers these questions, these candidates and this agent as it was "
        "configured; that a stronger attacker learns no more does not follow."
    )


def _description(folder: RunFolder, attempts: Attempts) -> dict[str, Any]:
    found: dict[tuple[str, int], object] = {}
    for line in read_counted(folder.path, attempts, frozenset({"description"})):
        key = (line.episode, line.attempt)
        if not found or key < min(found):
            found = {key: line.body}
    if not found:
        return {}
    try:
        return AgentDescription.model_validate(found[min(found)]).model_dump(mode="json")
    except ValidationError as error:
        raise IntegrityError(f"a record is not the description of an agent: {complaint(error)}") from None
