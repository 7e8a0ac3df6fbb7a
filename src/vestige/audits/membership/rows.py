"""The rows of the result: attack by setting, comparisons, ablations, users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vestige.attacks.terms import Setting, Weights
from vestige.audits.membership.metrics import Sample, compared
from vestige.audits.membership.results import (
    Ablation,
    AtFpr,
    AttackRow,
    Comparison,
    Estimate,
    Threshold,
    UserRow,
)
from vestige.audits.membership.scored import FIRST, Scored
from vestige.audits.membership.settings import SETTINGS, Attack, MembershipSettings, QuestionSet
from vestige.audits.membership.thresholds import threshold_of
from vestige.errors import IntegrityError
from vestige.runs.plan import Plan
from vestige.stats import pr_auc
from vestige.stats.grouped import group_aucs

__all__ = ["WEIGHTS", "Rows"]

Floats = NDArray[np.float64]
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Values of w_p and w_m in the ablation."""
_TPR_AT = 0.01
"""False positive rate of an ablation's TPR, where there are negatives enough."""


def _whole(square: Floats) -> NDArray[np.bool_]:
    """Candidates with a score in every repeat."""
    return np.asarray(np.isfinite(square).all(axis=1), dtype=bool)


@dataclass
class Rows:
    """Makes the rows of the result."""

    scored: Scored
    settings: MembershipSettings
    seed: int

    def __post_init__(self) -> None:
        table = self.scored.table
        repeats = self.settings.repeats
        if len(table.candidates) % repeats or any(
            table.candidates[i] != table.candidates[i - i % repeats] for i in range(len(table.candidates))
        ):
            raise IntegrityError("a candidate lacks one of its repeats")
        self._first = np.arange(0, len(table.candidates), repeats)
        self._users = np.array(table.users, dtype=str)[self._first]
        self._member = table.member[self._first]
        self._fold = self.scored.fold[self._first]

    def _square(self, scores: Floats) -> Floats:
        return scores.reshape(-1, self.settings.repeats)

    def _sample(
        self, scores: Floats, keep: NDArray[np.bool_] | None = None
    ) -> tuple[Sample, NDArray[np.bool_]]:
        """Candidates with a score in every repeat; those without are left out, or ranked below all."""
        square = self._square(scores)
        known = _whole(square)
        if self.settings.unscored == "lowest" and known.any():
            # The authors' code scores them 0, where all scores are at least 0.
            low = 0.0 if self.settings.mode == "reference-code" else float(square[known].min()) - 1.0
            square = np.where(np.isfinite(square), square, low)
            known = np.ones(len(square), dtype=bool)
        if keep is not None:
            known = known & keep
        sample = Sample(
            scores=square[known],
            member=self._member[known],
            users=self._users[known],
            confidence=self.settings.confidence,
            seed=self.seed,
            fprs=self.settings.fprs,
        )
        return sample, known

    def row(self, attack: Attack, setting: Setting) -> AttackRow:
        """One attack in one setting."""
        why = self.scored.unavailable(attack, setting)
        if why:
            nothing = Estimate(value=None, reason=why)
            none = Threshold(gammas=None, accuracy=None, tpr=None, fpr=None, users=0, reason=why)
            return AttackRow(
                attack=attack,
                setting=setting,
                members=0,
                non_members=0,
                unscored=len(self._member),
                auc=nothing,
                auc_users=nothing,
                pr_auc=nothing,
                at_fpr=tuple(AtFpr(target=t, tpr=None, refused=why) for t in self.settings.fprs),
                threshold=none,
                unavailable=why,
            )
        scores = self.scored.scores(attack, setting)
        sample, known = self._sample(scores)
        return AttackRow(
            attack=attack,
            setting=setting,
            members=int(sample.member.sum()),
            non_members=int((~sample.member).sum()),
            unscored=int((~_whole(self._square(scores))).sum()),
            auc=sample.auc(),
            auc_users=sample.auc_users(),
            pr_auc=sample.pr_auc(),
            at_fpr=tuple(sample.at_fpr(t) for t in self.settings.fprs),
            threshold=threshold_of(sample, self._fold[known]),
            left_out=""
            if setting == "black" or self.scored.confident(FIRST[attack])
            else "log-probabilities are not shown: w_p counts as 0",
        )

    def comparisons(self) -> Iterable[Comparison]:
        """MRMMIA with every other attack of the same setting, on candidates that both score."""
        main: Attack = "mrmmia" if "mrmmia" in self.settings.attacks else self.settings.attacks[0]
        for setting in SETTINGS:
            if self.scored.unavailable(main, setting):
                continue
            ours = self.scored.scores(main, setting)
            for other in self.settings.attacks:
                if other == main or self.scored.unavailable(other, setting):
                    continue
                theirs = self.scored.scores(other, setting)
                both = _whole(self._square(ours)) & np.isfinite(self._square(theirs)).all(axis=1)
                first, _ = self._sample(ours, both)
                second, _ = self._sample(theirs, both)
                difference, p_value = compared(first, second)
                yield Comparison(
                    setting=setting, attack=main, baseline=other, difference=difference, p_value=p_value
                )

    def ablations(self) -> Iterable[Ablation]:
        """MRMMIA with one thing changed."""
        if "mrmmia" not in self.settings.attacks:
            return
        w = self.settings.weights
        for setting in SETTINGS:
            if self.scored.unavailable("mrmmia", setting):
                continue
            for k in range(1, self.settings.questions + 1):
                yield self._ablation(
                    "questions", setting, k, self.scored.scores("mrmmia", setting, questions=k), w
                )
            if "plain" in self.settings.sets():
                for with_it, plain in ((1, False), (0, True)):
                    scores = self.scored.scores("mrmmia", setting, plain=plain)
                    yield self._ablation("follow_up", setting, with_it, scores, w)
            # Without log-probabilities w_p weighs nothing.
            for value in WEIGHTS if setting != "black" and self.scored.confident("recall") else ():
                changed = Weights(r=w.r, p=value, m=w.m)
                scores = self.scored.scores("mrmmia", setting, weights=changed)
                yield self._ablation("w_p", setting, value, scores, changed)
            if setting != "white":
                continue
            for value in WEIGHTS:
                changed = Weights(r=w.r, p=w.p, m=value)
                scores = self.scored.scores("mrmmia", setting, weights=changed)
                yield self._ablation("w_m", setting, value, scores, changed)
            for units in range(1, self.scored.table.sets["recall"].memory.shape[2] + 1):
                scores = self.scored.scores("mrmmia", setting, units=units)
                yield self._ablation("retrieved", setting, units, scores, w)

    def _ablation(
        self, name: Any, setting: Setting, value: float, scores: Floats, weights: Weights
    ) -> Ablation:
        sample, _ = self._sample(scores)
        rates = sorted({_TPR_AT, *(t for t in self.settings.fprs if t > _TPR_AT)})
        fpr = next((t for t in rates if sample.tpr(t) is not None), None)
        precision = (
            float(np.mean([pr_auc(s, sample.member) for s in sample.by_repeat()])) if sample.usable else None
        )
        return Ablation(
            name=name,
            setting=setting,
            value=float(value),
            auc=sample.auc(),
            pr_auc=precision,
            tpr=None if fpr is None else sample.tpr(fpr),
            fpr=fpr,
            weights=weights,
        )

    def users(self, plan: Plan) -> Iterable[UserRow]:
        """User by user."""
        names = sorted(set(self._users))
        values: dict[str, dict[str, float | None]] = {name: {} for name in names}
        for setting in SETTINGS:
            for attack in self.settings.attacks:
                if self.scored.unavailable(attack, setting):
                    continue
                sample, _ = self._sample(self.scored.scores(attack, setting))
                each = dict.fromkeys(names, None) | {
                    str(n): (None if np.isnan(v) else float(v))
                    for n, v in zip(
                        np.unique(sample.users),
                        np.mean(
                            [group_aucs(s, sample.member, sample.users) for s in sample.by_repeat()], axis=0
                        ),
                        strict=True,
                    )
                }
                for name in names:
                    values[name][f"{attack}/{setting}"] = each[name]
        for name in names:
            own = self._users == name
            yield UserRow(
                user=name,
                stored=int(plan.fixtures[name].get("n_stored", 0)),
                members=int(self._member[own].sum()),
                non_members=int((~self._member[own]).sum()),
                auc=values[name],
            )

    def cut_offs(self) -> dict[str, tuple[float, float]]:
        """Over the folds, of the questions that MRMMIA, or the first attack, reads."""
        out: dict[str, tuple[float, float]] = {}
        sets = self.scored.table.sets
        name: QuestionSet | None = next((s for s in ("recall", "similar", "naive") if s in sets), None)
        if name is None:
            return out
        for part, on, cuts in (
            ("response", self.scored.rules[0], self.scored.response_cut_offs),
            ("memory", self.scored.rules[1], self.scored.memory_cut_offs),
        ):
            if not on:
                continue
            found = list(cuts(name).values())
            for which in ("middle", "high"):
                values = [getattr(c, which) for c in found]
                out[f"{part} {which}"] = (min(values), max(values))
        return out
