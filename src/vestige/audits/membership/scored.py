"""Scores of every attack and setting from the one table of evidence, with cut-offs from users that are not scored.

Source: arXiv 2605.27825, equations 1 to 3; METHODS of the model-free ladder in docs/reference/methods.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vestige.attacks import terms
from vestige.attacks.cutoffs import (
    DEFAULT_MEMORY,
    DEFAULT_RESPONSE,
    CutOffs,
    calibrated,
    snap_memory,
    snap_response,
)
from vestige.attacks.terms import Setting, Weights
from vestige.audits.membership.evidence import Table
from vestige.audits.membership.settings import GRAY_ONLY, SETS, Attack, MembershipSettings, QuestionSet
from vestige.runs.plan import generator

__all__ = ["FIRST", "Scored", "folds_of"]

Floats = NDArray[np.float64]
FIRST: dict[Attack, QuestionSet] = {a: sets[0] for a, sets in SETS.items()}
"""The question set whose replies an attack judges."""


def folds_of(users: int, wanted: int, seed: int) -> NDArray[np.int64]:
    """The fold of each user: as even as can be, drawn by the seed; all 0 where there are fewer than two users."""
    out = np.zeros(users, dtype=np.int64)
    if users > 1:
        out[generator(seed, "folds").permutation(users)] = np.arange(users) % min(wanted, users)
    return out


@dataclass
class Scored:
    """What the attacks make of a table.

    Args:
        table: One row a candidate and repeat.
        settings: The plan's own settings.
        seed: Of the folds.
        rules: Whether replies, and retrieved units, were judged by rules, so that cut-offs decide.
    """

    table: Table
    settings: MembershipSettings
    seed: int
    rules: tuple[bool, bool]
    _judged: dict[QuestionSet, Floats] = field(default_factory=dict[QuestionSet, Floats])
    _remembered: dict[QuestionSet, Floats] = field(default_factory=dict[QuestionSet, Floats])
    _cuts: dict[tuple[str, QuestionSet], dict[int, CutOffs]] = field(
        default_factory=dict[tuple[str, QuestionSet], dict[int, CutOffs]]
    )

    @cached_property
    def fold(self) -> NDArray[np.int64]:
        """Of each row, by its user."""
        names, index = self.table.users_index()
        return folds_of(len(names), self.settings.calibration_folds, self.seed)[index]

    @property
    def folds(self) -> list[int]:
        """All of them."""
        return sorted({int(f) for f in self.fold})

    # ----------------------------------------------------------------------------------------- terms

    def judged(self, name: QuestionSet) -> Floats:
        """M_r, shape (rows, K): a model's scores, or what was measured, snapped by cut-offs of the other folds."""
        if name not in self._judged:
            held = self.table.sets[name].terms
            self._judged[name] = held["r"] if not self.rules[0] else self._snapped(name)
        return self._judged[name]

    def _snapped(self, name: QuestionSet) -> Floats:
        held = self.table.sets[name].terms
        key, similarity, hedged = held["key"], held["sim"], held["hedge"]
        out = np.full(key.shape, np.nan)
        for fold, cut in self.response_cut_offs(name).items():
            own = self.fold == fold
            out[own] = snap_response(key[own], similarity[own], hedged[own], cut)
        return out

    def response_cut_offs(self, name: QuestionSet) -> dict[int, CutOffs]:
        """By fold, calibrated on all others; replies that are compared with one another are judged by the same ones."""
        alike: dict[QuestionSet, QuestionSet] = {"absent": "naive", "plain": "recall"}
        same = alike.get(name)
        if same is not None and same in self.table.sets:
            return self.response_cut_offs(same)
        held = self.table.sets[name].terms
        key, similarity, hedged = held["key"], held["sim"], held["hedge"]

        def score(rows: NDArray[np.bool_], cut: CutOffs) -> Floats:
            return terms.recalled(
                snap_response(key[rows], similarity[rows], hedged[rows], cut), setting="black"
            )

        return self._by_fold(("response", name), similarity, score, DEFAULT_RESPONSE)

    def memory_cut_offs(self, name: QuestionSet) -> dict[int, CutOffs]:
        """By fold, calibrated on all others."""
        memory = self.table.sets[name].memory

        def score(rows: NDArray[np.bool_], cut: CutOffs) -> Floats:
            return terms.recalled(_highest(snap_memory(memory[rows], cut), None), setting="black")

        return self._by_fold(("memory", name), memory, score, DEFAULT_MEMORY)

    def _by_fold(
        self,
        what: tuple[str, QuestionSet],
        measured: Floats,
        score: Callable[[NDArray[np.bool_], CutOffs], Floats],
        default: CutOffs,
    ) -> dict[int, CutOffs]:
        if len(self.folds) < 2:
            return dict.fromkeys(self.folds, default)
        if what in self._cuts:
            return self._cuts[what]
        out = self._cuts[what] = {}
        for fold in self.folds:
            others = self.fold != fold

            def on_others(cut: CutOffs, rows: NDArray[np.bool_] = others) -> Floats:
                return score(rows, cut)

            out[fold] = calibrated(measured[others], self.table.member[others], on_others, default)
        return out

    def confidence(self, name: QuestionSet) -> Floats:
        """Log P̄, shape (rows, K)."""
        return self.table.sets[name].terms["p"]

    def nearest(self, name: QuestionSet, units: int | None = None) -> Floats:
        """Max M_m over the first `units` retrieved, shape (rows, K); 0 where nothing was retrieved, NaN where the agent
        does not show it.
        """
        rows = self.table.sets[name]
        memory = self._snapped_memory(name) if self.rules[1] else rows.memory
        return np.where(np.isnan(rows.found), np.nan, _highest(memory, units))

    def _snapped_memory(self, name: QuestionSet) -> Floats:
        if name not in self._remembered:
            measured = self.table.sets[name].memory
            out = self._remembered[name] = np.full(measured.shape, np.nan)
            for fold, cut in self.memory_cut_offs(name).items():
                own = self.fold == fold
                out[own] = snap_memory(measured[own], cut)
        return self._remembered[name]

    # ---------------------------------------------------------------------------------------- scores

    def unavailable(self, attack: Attack, setting: Setting) -> str:
        """Why an attack has no score in a setting; empty: it has."""
        if attack in GRAY_ONLY and setting != "gray":
            return "it is made of log-probabilities and exists in gray alone"
        name = FIRST[attack]
        if name not in self.table.sets or not len(self.table.member):
            return "no candidate was asked about"
        asked = ~np.isnan(self._asked(name))
        if not asked.any():
            return "no valid question could be made"
        if setting == "gray" and not self.confident(name):
            return "the agent shows no log-probabilities"
        if setting == "white" and np.isnan(self.table.sets[name].found[asked]).all():
            return "the agent does not show what it retrieves"
        return ""

    def confident(self, name: QuestionSet) -> bool:
        """Whether any reply came with log-probabilities."""
        return bool(np.isfinite(self.confidence(name)).any())

    def _asked(self, name: QuestionSet) -> Floats:
        if name == "yes_no":
            return self.table.sets[name].terms["a"]
        held = self.table.sets[name].terms
        return held["key"] if self.rules[0] else held["r"]

    def scores(
        self,
        attack: Attack,
        setting: Setting,
        *,
        weights: Weights | None = None,
        questions: int | None = None,
        units: int | None = None,
        plain: bool = False,
    ) -> Floats:
        """One score a row; NaN where there is none.

        Args:
            attack: Which.
            setting: What the attacker sees.
            weights: Others than the plan's.
            questions: The first so many alone.
            units: The first so many retrieved units alone.
            plain: Of MRMMIA, the questions without their follow-up.
        """
        w, mode = weights or self.settings.weights, self.settings.mode
        name: QuestionSet = "plain" if plain else FIRST[attack]
        p = self.confidence(name)
        if attack == "loss":
            return terms.loss(p[:, 0])
        if attack == "mink":
            return terms.mink(self.table.sets[name].terms["min"][:, 0])
        if attack == "reference":
            r, without = self.judged("naive"), self.judged("absent")
            return terms.reference(r[:, 0], without[:, 0], p[:, 0], self.confidence("absent")[:, 0])
        if not self.confident(name):  # white alone: its gray term is left out, and the result says so
            p, w = np.zeros_like(p), Weights(r=w.r, p=0.0, m=w.m)
        r = self.table.sets[name].terms["a"] if attack == "ia" else self.judged(name)
        m = self.nearest(name, units) if setting == "white" else None
        score = terms.interrogated if attack == "ia" else terms.recalled
        return score(r, p, m, setting=setting, weights=w, mode=mode, questions=questions)


def _highest(memory: Floats, units: int | None) -> Floats:
    """Over the last axis, 0 where there is nothing."""
    some = memory[..., :units] if units is not None else memory
    if some.shape[-1] == 0:
        return np.zeros(some.shape[:-1])
    return np.nanmax(np.where(np.isnan(some), 0.0, some), axis=-1)
