"""The conclusion of a comparison of defences, from the concluded audits of every arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vestige.attacks.terms import Setting
from vestige.audits.defence.results import ArmAttack, DefenceArm, DefenceResult
from vestige.audits.membership.metrics import Sample, compared
from vestige.audits.membership.results import AttackRow, Estimate, MembershipResult
from vestige.audits.membership.scored import Scored
from vestige.audits.membership.settings import Attack, QuestionSet
from vestige.audits.results import FrontierResult
from vestige.defences.spec import DEFENCES, DefenceSpec
from vestige.errors import IntegrityError

__all__ = ["REFUSALS", "ArmRuns", "best_attack", "conclude", "told_apart"]

REFUSALS = "counting refusals"


@dataclass(frozen=True)
class ArmRuns:
    """The two audits of an arm."""

    spec: DefenceSpec | None
    membership: MembershipResult
    scored: Scored
    frontier: FrontierResult | None = None
    not_asked: str = ""
    facts: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def label(self) -> str:
        """`none`, or `NAME:STRENGTH`."""
        return "none" if self.spec is None else str(self.spec)


def conclude(runs: Sequence[ArmRuns], plan_sha256: str, k: int, level: int) -> DefenceResult:
    """Compute the result; the first of `runs` is the agent alone.

    Raises:
        IntegrityError: It is not, or an arm asked about other candidates.
    """
    alone = runs[0]
    if alone.spec is not None:
        raise IntegrityError("the first arm is not the agent without a defence")
    arms = tuple(_arm(run, alone) for run in runs)
    base = alone.membership
    questions = alone.frontier
    notes = dict.fromkeys(
        (
            "Every arm asks the same questions about the same candidates; changes are paired over them.",
            *(
                ()
                if questions is None
                else ("Retained questions and canaries are those of a frontier audit.",)
            ),
            *base.notes,
        )
    )
    return DefenceResult(
        plan_sha256=plan_sha256,
        vestige_version=base.vestige_version,
        agent=base.agent,
        agent_configuration=base.agent_configuration,
        model=base.model,
        embedder=base.embedder,
        data=base.data,
        data_sha256=base.data_sha256,
        n_instances=base.n_instances,
        n_complete=min(run.membership.n_complete for run in runs),
        seed=base.seed,
        exclusions=tuple(
            e.model_copy(update={"episode": f"{run.label}: {e.episode}"})
            for run in runs
            for e in (*run.membership.exclusions, *(run.frontier.exclusions if run.frontier else ()))
        ),
        notes=tuple(notes),
        statement=_statement(arms, base),
        arms=arms,
        questions_data=None if questions is None else questions.data,
        questions_data_sha256=None if questions is None else questions.data_sha256,
        k=k,
        level=level,
    )


def _arm(run: ArmRuns, alone: ArmRuns) -> DefenceArm:
    spec = run.spec
    kind = None if spec is None else DEFENCES[spec.name]
    asked = None if run.frontier is None else run.frontier.configurations[0]
    return DefenceArm(
        label=run.label,
        defence=None if spec is None else spec.name,
        strength=None if spec is None else spec.strength,
        means="" if kind is None else f"{kind.says}; strength: {kind.strength}",
        candidates=run.membership.counts.candidates,
        attacks=tuple(_attack(row, run, alone) for row in run.membership.rows),
        refusals=_refusals(run),
        PR_strict=None if asked is None else asked.PR_strict,
        AER_any=None if asked is None else asked.AER.any,
        AER_max=None if asked is None else asked.AER.max,
        not_asked=run.not_asked,
        membership_plan=run.membership.plan_sha256,
        frontier_plan=None if run.frontier is None else run.frontier.plan_sha256,
        facts=run.facts,
    )


def _refusals(run: ArmRuns) -> Estimate | None:
    """How well the filter's own sentence tells a member: an attacker who knows the filter counts it."""
    table = run.scored.table
    order: tuple[QuestionSet, ...] = ("recall", "similar", "naive")
    name: QuestionSet | None = next((n for n in order if n in table.sets), None)
    if name is None or not np.isfinite(table.sets[name].terms["block"]).any():
        return None
    counted = np.nan_to_num(table.sets[name].terms["block"], nan=0.0).mean(axis=1)
    repeats = run.membership.settings.repeats
    return Sample(
        scores=counted.reshape(-1, repeats),
        member=table.member[::repeats],
        users=np.array(table.users, dtype=str)[::repeats],
        confidence=run.membership.settings.confidence,
        seed=int(run.membership.plan_sha256[:13], 16),
    ).auc()


def _attack(row: AttackRow, run: ArmRuns, alone: ArmRuns) -> ArmAttack:
    return ArmAttack(
        attack=row.attack,
        setting=row.setting,
        auc=row.auc,
        change=None if run.spec is None else _change(row.attack, row.setting, run, alone),
        at_fpr=row.at_fpr,
        unavailable=row.unavailable,
    )


def _change(attack: Attack, setting: Setting, run: ArmRuns, alone: ArmRuns) -> Estimate | None:
    """AUC of the arm minus AUC alone, over candidates that have a score in every repeat of both."""
    if run.scored.unavailable(attack, setting) or alone.scored.unavailable(attack, setting):
        return None
    ours, theirs = run.scored.table, alone.scored.table
    place = {key: i for i, key in enumerate(zip(theirs.candidates, theirs.repeat.tolist(), strict=True))}
    keys = list(zip(ours.candidates, ours.repeat.tolist(), strict=True))
    both = [i for i, key in enumerate(keys) if key in place]
    other = [place[keys[i]] for i in both]
    if not both or not np.array_equal(ours.member[both], theirs.member[other]):
        if both:
            raise IntegrityError("a candidate is a member in one arm and none in another")
        return None
    repeats = run.membership.settings.repeats
    if len(both) % repeats:
        return None
    first = run.scored.scores(attack, setting)[both].reshape(-1, repeats)
    second = alone.scored.scores(attack, setting)[other].reshape(-1, repeats)
    known = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    users = np.array(ours.users, dtype=str)[both][::repeats]
    member = ours.member[both][::repeats]

    def sample(scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Sample:
        return Sample(
            scores=scores[known],
            member=member[known],
            users=users[known],
            confidence=run.membership.settings.confidence,
            seed=int(run.membership.plan_sha256[:13], 16),
        )

    return compared(sample(first), sample(second))[0]


def told_apart(arm: DefenceArm) -> tuple[float, str] | None:
    """How far members are told from others in black-box, by the best attack or by counting refusals: AUC, or 1 − AUC
    where a score is turned round, and the attack's name; None where nothing was scored.
    """
    found = [
        (a.auc.value, str(a.attack)) for a in arm.attacks if a.setting == "black" and a.auc.value is not None
    ]
    if arm.refusals is not None and arm.refusals.value is not None:
        found.append((arm.refusals.value, REFUSALS))
    return max(((max(v, 1 - v), name) for v, name in found), default=None)


def best_attack(arm: DefenceArm, setting: Setting) -> ArmAttack | None:
    """The attack of a setting with the highest AUC; None where none has one."""
    found = [a for a in arm.attacks if a.setting == setting and a.auc.value is not None]
    return max(found, key=lambda a: a.auc.value or 0.0, default=None)


def _statement(arms: Sequence[DefenceArm], base: MembershipResult) -> str:
    alone = arms[0]
    before = told_apart(alone)
    shown = [(arm, told) for arm in arms[1:] if (told := told_apart(arm)) is not None]
    covers = (
        f"It covers these attacks, {alone.candidates} candidates of {base.n_complete} users, and agent {base.agent} "
        f"with model {base.model} as they were configured; an attacker who knows the defence may do better."
    )
    if before is None or not shown:
        return f"No black-box attack could be scored with and without a defence. {covers}"
    least = min(told[0] for _, told in shown)
    equal = [arm for arm, told in shown if told[0] == least]
    lowest = equal[0]
    among = "" if len(shown) == 1 else f", the lowest of {len(shown)}"
    more = "" if len(equal) == 1 else f" (and as low behind {', '.join(a.label for a in equal[1:])})"
    how = told_apart(lowest)
    by = f" by {REFUSALS}" if how is not None and how[1] == REFUSALS else ""
    said = (
        f"In black-box members are told apart with a ROC-AUC of {before[0]:.3f} without a defence, and of "
        f"{least:.3f}{by} behind {lowest.label}{among}{more}"
    )
    if lowest.PR_strict is not None and alone.PR_strict is not None:
        said += (
            f", which answers {lowest.PR_strict.events} of {lowest.PR_strict.n} retained questions "
            f"({alone.PR_strict.events} of {alone.PR_strict.n} without a defence)"
        )
    return f"{said}. {covers}"
