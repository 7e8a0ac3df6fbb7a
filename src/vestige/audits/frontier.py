"""The privacy–utility frontier: personalization recall against adversarial extraction over S and k.

Source: arXiv 2606.10062, section 2.3. `plan` writes one script per instance and S, in which every k meets the same
built state; `score` reads the record; `conclude` computes the result. The last two are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from vestige.audits.conclusion import Completed, header
from vestige.audits.findings import Finding, fixtures_of
from vestige.audits.rates import Quantity, Resampler
from vestige.audits.results import (
    AerBlock,
    FrontierConfiguration,
    FrontierLevel,
    FrontierResult,
    JudgeAgreement,
    Rate,
)
from vestige.audits.study import Study, StudySettings
from vestige.probes.extraction import KINDS, score_extraction
from vestige.probes.utility import score_recall
from vestige.records import JsonScalar
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.steps import Ask, Configure, Episode, Step
from vestige.runs.store import read_attempts, read_counted
from vestige.stats import cohen_kappa, privacy_utility_auc

__all__ = ["conclude", "episodes", "score"]

ConfigKey = tuple[int, str, str, int, float | None, int]
"""(S, granularity, embedder, horizon, τ, k)."""


def episodes(study: Study) -> tuple[Episode, ...]:
    """One script per instance, S and lever: build the state, then ask everything at every τ and k."""
    s = study.settings
    out: list[Episode] = []
    for instance in study.fixtures:
        probes = [f"{instance}/utility", *study.extraction_ids(instance)]
        for level in s.levels:
            for lever in study.levers:
                steps: list[Step] = list(study.build_steps(instance, lever.horizon))
                for tau in s.tau:
                    for k in s.k:
                        steps.append(Configure(knobs={"k": k, "tau": tau}))
                        steps += [Ask(probe=p, labels={"k": k, "tau": tau}) for p in probes]
                out.append(study.episode(instance, level, lever, steps))
    return tuple(out)


def score(plan: Plan, folder: RunFolder) -> Iterator[Finding]:
    """Score every exchange of the episodes that were completed."""
    fixtures = fixtures_of(plan)
    by_id = {e.id: e for e in plan.episodes}
    for line in read_counted(folder.path, read_attempts(folder.path), frozenset({"exchange"})):
        episode = by_id[line.episode]
        probe = plan.probes[line.probe or ""]
        fixture = fixtures[episode.instance]
        reply: str = line.body["reply"]["text"]
        values: dict[str, JsonScalar]
        if probe.kind in KINDS:
            values = score_extraction(fixture.secret, fixture.countable, reply).model_dump()
        else:
            measured: dict[str, Any] = line.body["measures"]
            recall = score_recall(
                fixture.question,
                fixture.expected,
                reply,
                similarity=measured.get("cosine"),
                abstention=fixture.abstention,
            )
            values = recall.model_dump() | {"similarity": measured.get("cosine")}
            if "judge" in probe.measures:
                values["judge"] = measured.get("judge")
        yield Finding(
            episode=line.episode,
            instance=episode.instance,
            step=line.step,
            probe=probe.id,
            kind="extraction" if probe.kind in KINDS else "recall",
            labels={**episode.labels, **line.labels, "probe_kind": probe.kind},
            values=values,
        )


class _Table:
    """Findings as arrays over instances: one value an instance for each configuration and quantity."""

    def __init__(self, instances: Sequence[str], findings: Iterable[Finding]) -> None:
        self.index = {name: i for i, name in enumerate(instances)}
        self.configs: dict[ConfigKey, dict[str, np.ndarray]] = {}
        self.judged: list[tuple[str, bool, bool | None]] = []
        for f in findings:
            if f.instance not in self.index:
                continue
            cells = self.configs.setdefault(_key(f.labels), {})
            position = self.index[f.instance]
            if f.kind == "recall":
                for name in ("paper", "strict", "cosine", "words"):
                    self._cell(cells, name)[position] = bool(f.values[name])
                if "judge" in f.values:
                    verdict = f.values["judge"]
                    self._cell(cells, "judge")[position] = verdict is True
                    self._cell(cells, "judged")[position] = verdict is not None
                    self.judged.append(
                        (f.instance, bool(f.values["paper"]), verdict if isinstance(verdict, bool) else None)
                    )
            else:
                kind = str(f.labels["probe_kind"])
                for name in ("verbatim", "normalised"):
                    self._cell(cells, f"{name}/{kind}")[position] |= bool(f.values[name])
                self._cell(cells, f"partial/{kind}")[position] |= float(f.values["partial"] or 0) > 0

    def _cell(self, cells: dict[str, np.ndarray], name: str) -> np.ndarray:
        return cells.setdefault(name, np.zeros(len(self.index), dtype=bool))


def _key(labels: dict[str, JsonScalar]) -> ConfigKey:
    tau = labels.get("tau")
    return (
        int(labels["S"] or 0),
        str(labels["granularity"]),
        str(labels["embedder"]),
        int(labels["horizon"] or 0),
        None if tau is None else float(tau),
        int(labels["k"] or 0),
    )


def _levers(key: ConfigKey) -> dict[str, Any]:
    level, granularity, embedder, horizon, tau, _ = key
    return {"S": level, "granularity": granularity, "embedder": embedder, "horizon": horizon, "tau": tau}


def _order(key: ConfigKey) -> tuple[Any, ...]:
    level, granularity, embedder, horizon, tau, k = key
    return (granularity, embedder, horizon, -2.0 if tau is None else tau, level, k)


def _aer(cells: dict[str, np.ndarray], name: str, kinds: Sequence[str], draws: Resampler) -> AerBlock:
    hits = {kind: cells[f"{name}/{kind}"] for kind in kinds}
    rates = {kind: draws.rate(h) for kind, h in hits.items()}
    worst = Quantity.max([draws.quantity(h) for h in hits.values()])
    return AerBlock(any=draws.rate(np.any(list(hits.values()), axis=0)), max=worst.derived(), **rates)


def _configuration(
    key: ConfigKey, cells: dict[str, np.ndarray], kinds: Sequence[str], draws: Resampler
) -> FrontierConfiguration:
    judged = cells.get("judged")  # an opinion that could not be read is none, not a no
    judge: Rate | None = None
    if judged is not None and judged.any():
        judge = draws.rate(cells["judge"], judged)
    return FrontierConfiguration(
        **_levers(key),
        k=key[-1],
        PR=draws.rate(cells["paper"]),
        PR_strict=draws.rate(cells["strict"]),
        PR_cosine=draws.rate(cells["cosine"]),
        PR_words=draws.rate(cells["words"]),
        PR_halves_disagree=draws.rate(cells["cosine"] ^ cells["words"]),
        PR_judge=judge,
        AER=_aer(cells, "verbatim", kinds, draws),
        AER_normalised=_aer(cells, "normalised", kinds, draws),
        AER_partial=_aer(cells, "partial", kinds, draws),
    )


class _Level:
    """The quantities of one S, by k, before they are reported."""

    def __init__(
        self, cells: Sequence[dict[str, np.ndarray]], kinds: Sequence[str], draws: Resampler
    ) -> None:
        self.pr = [draws.quantity(c["paper"]) for c in cells]
        self.strict = [draws.quantity(c["strict"]) for c in cells]
        self.by_kind = {kind: [draws.quantity(c[f"verbatim/{kind}"]) for c in cells] for kind in kinds}
        self.aer_max = [Quantity.max([q[i] for q in self.by_kind.values()]) for i in range(len(cells))]

    def area(self) -> Quantity:
        """PUA over the points (PR(k), AER_max(k)) (paper, eq. 2), again in every draw."""
        n = len(self.pr)
        return Quantity.combine(
            lambda *xs: privacy_utility_auc(list(zip(xs[:n], xs[n:], strict=True))), [*self.pr, *self.aer_max]
        )


def _level_row(key: ConfigKey, level: _Level, base: _Level | None) -> FrontierLevel:
    kinds = {kind: Quantity.mean(q) for kind, q in level.by_kind.items()}
    signed = kinds["direct"] - kinds["indirect"] if {"direct", "indirect"} <= kinds.keys() else None
    aer = Quantity.mean(level.aer_max)
    laundering = None if base is None or key[0] == 0 else Quantity.mean(base.aer_max) - aer
    return FrontierLevel(
        **_levers(key),
        PR=Quantity.mean(level.pr).derived(),
        PR_strict=Quantity.mean(level.strict).derived(),
        AER_max=aer.derived(),
        AER={kind: q.derived() for kind, q in kinds.items()},
        PUA=level.area().derived(),
        laundering=None if laundering is None else laundering.derived(),
        delta_DI=None if signed is None else abs(signed).derived(),
        delta_DI_signed=None if signed is None else signed.derived(),
    )


def _judge(table: _Table, model: str | None) -> JudgeAgreement | None:
    if model is None:
        return None
    usable = [(rule, verdict) for _, rule, verdict in sorted(table.judged, key=str) if verdict is not None]
    if not usable:
        return JudgeAgreement(
            model=model,
            n=0,
            agreement=None,
            kappa=None,
            judge_only=0,
            rule_only=0,
            unparsed=len(table.judged),
        )
    rules, verdicts = [r for r, _ in usable], [v for _, v in usable]
    return JudgeAgreement(
        model=model,
        n=len(usable),
        agreement=sum(r == v for r, v in usable) / len(usable),
        kappa=cohen_kappa(rules, verdicts),
        judge_only=sum(v and not r for r, v in usable),
        rule_only=sum(r and not v for r, v in usable),
        unparsed=len(table.judged) - len(usable),
    )


def conclude(plan: Plan, done: Completed, findings: Iterable[Finding]) -> FrontierResult:
    """Compute the result from findings alone; the same findings give the same bytes."""
    settings = StudySettings.model_validate(plan.settings["study"])
    kinds = settings.probes
    table = _Table(done.instances, findings)
    draws = Resampler(len(done.instances), seed=plan.seed, clusters=done.clusters)
    keys = sorted(table.configs, key=_order)
    groups: dict[tuple[Any, ...], list[ConfigKey]] = {}
    for key in keys:
        groups.setdefault(key[:-1], []).append(key)
    levels = {g: _Level([table.configs[k] for k in ks], kinds, draws) for g, ks in groups.items()}
    rows = tuple(_level_row(ks[0], levels[g], levels.get((0, *g[1:]))) for g, ks in groups.items())
    audit: Literal["frontier"] = "frontier"
    return FrontierResult(
        audit=audit,
        **header(plan, done),
        configurations=tuple(_configuration(k, table.configs[k], kinds, draws) for k in keys),
        levels=rows,
        judge=_judge(table, plan.models.judge),
    )
