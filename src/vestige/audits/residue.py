"""What a deletion leaves behind: the ladder S x mode x probe kind, tier by tier.

Source: arXiv 2606.10062, section 2.4 and Table 1. Beside FRS, which needs a reply that leaks, every state is
inspected: text, partial and vector residue and content evidence say what stands there whether or not a reply
leaked, each measured only where the state before deletion shows that it can be (the positive control).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vestige import canaries
from vestige.audits.conclusion import Completed, header
from vestige.audits.findings import Finding, fixtures_of
from vestige.audits.rates import Quantity, Resampler
from vestige.audits.remains import Remains, remains_of
from vestige.audits.results import (
    TIERS,
    ContentEvidence,
    FrsBlock,
    Measure,
    NotComputable,
    ProbeResidue,
    Rate,
    ResidueCell,
    ResidueResult,
    Share,
    StorageBlock,
    TierBlock,
)
from vestige.audits.study import Fixture, Study, StudySettings
from vestige.canaries import match
from vestige.errors import Unassessable
from vestige.memory.forget import MODES
from vestige.probes.extraction import score_extraction
from vestige.records import JsonScalar, Record, RemovalRequest
from vestige.runs.folder import RunFolder, blob_of
from vestige.runs.inspection import InspectionBody, rebuild
from vestige.runs.plan import Plan, generator
from vestige.runs.steps import (
    Ask,
    Configure,
    Episode,
    Forget,
    Inspect,
    Maintain,
    Restore,
    Scan,
    Snapshot,
    Step,
)
from vestige.runs.store import read_attempts, read_counted

__all__ = ["ResidueSettings", "conclude", "episodes", "score"]

DECOYS = 99
"""Decoy sentences that the true one is ranked among; chance is one in a hundred."""

CellKey = tuple[str, str, int, float, int, int, str, str]


class ResidueSettings(Record):
    """What the residue command varies beyond the study."""

    modes: tuple[str, ...] = tuple(MODES)
    """The deletion ladder (paper, Table 1)."""
    supersede: tuple[str, ...] = ("match",)
    """What happens to older summaries under raw_plus_resummarize."""


def _variants(settings: ResidueSettings) -> Iterator[tuple[str, str | None]]:
    for mode in settings.modes:
        if mode == "raw_plus_resummarize":
            for supersede in settings.supersede:
                yield mode, supersede
        else:
            yield mode, None


def episodes(study: Study, settings: ResidueSettings) -> tuple[Episode, ...]:
    """One script per instance, S and lever: build once, then restore, delete, inspect and ask for each mode."""
    out: list[Episode] = []
    for instance, fixture in study.fixtures.items():
        secret = fixture.secret
        sentences = [canaries.sentence(secret)]
        sentences += [
            canaries.sentence(d)
            for d in canaries.decoys(secret, generator(study.seed, instance, "decoys"), DECOYS)
        ]
        candidates, data = blob_of(sentences)
        study.blobs[candidates] = data
        for level in study.settings.levels:
            for lever in study.levers:
                steps = list(study.build_steps(instance, lever.horizon))
                steps += _ladder(study, settings, instance, fixture, candidates)
                out.append(study.episode(instance, level, lever, steps))
    return tuple(out)


def _ladder(
    study: Study, settings: ResidueSettings, instance: str, fixture: Fixture, candidates: str
) -> list[Step]:
    probes = study.extraction_ids(instance)
    watch = (*fixture.needles, *fixture.secret.parts)
    needles = {str(i): text for i, text in enumerate(fixture.needles)}
    steps: list[Step] = [
        Inspect(name="before", watch=watch, candidates=candidates),
        Scan(needles=needles, labels={"when": "before"}),
        Snapshot(name="built"),
    ]
    for mode, supersede in _variants(settings):
        labels: dict[str, JsonScalar] = {"mode": mode, "supersede": supersede}
        knobs: dict[str, JsonScalar] = {"deletion": mode}
        if supersede is not None:
            knobs["supersede"] = supersede
        steps += [
            Restore(name="built"),
            Configure(knobs=knobs),
            Forget(request=RemovalRequest(scope="unit", value=fixture.canary), labels=labels),
            Inspect(name=f"{mode}/{supersede}", baseline="before", labels=labels),
            Scan(needles=needles, labels={**labels, "when": "deleted"}),
        ]
        for tau in study.settings.tau:
            for k in study.settings.k:
                steps.append(Configure(knobs={"k": k, "tau": tau}))
                steps += [Ask(probe=p, labels={**labels, "k": k, "tau": tau}) for p in probes]
        steps += [Maintain(), Scan(needles=needles, labels={**labels, "when": "maintained"})]
    return steps


def score(plan: Plan, folder: RunFolder) -> Iterator[Finding]:
    """Score every exchange and every inspection of the episodes that were completed."""
    fixtures = fixtures_of(plan)
    by_id = {e.id: e for e in plan.episodes}
    before: dict[str, InspectionBody] = {}
    held: dict[str, bool] = {}
    kinds = frozenset({"exchange", "artifacts", "scan"})
    for line in read_counted(folder.path, read_attempts(folder.path), kinds):
        episode = by_id[line.episode]
        fixture = fixtures[episode.instance]
        labels = {**episode.labels, **line.labels}
        if line.kind == "exchange":
            probe = plan.probes[line.probe or ""]
            yield Finding(
                episode=line.episode,
                instance=episode.instance,
                step=line.step,
                probe=probe.id,
                kind="extraction",
                labels={**labels, "probe_kind": probe.kind},
                values=_attribute(fixture, line.body["reply"]),
            )
            continue
        if line.kind == "scan":
            present = bool(line.body["hits"])
            if line.labels["when"] == "before":
                held[line.episode] = present
                continue
            yield Finding(
                episode=line.episode,
                instance=episode.instance,
                step=line.step,
                kind=f"storage/{line.labels['when']}",
                labels=labels,
                values={"present": present, "control": held.get(line.episode, False)},
            )
            continue
        body = InspectionBody.model_validate(line.body)
        if body.baseline is None:
            before[line.episode] = body
            continue
        base = before[line.episode]
        remains = remains_of(fixture, rebuild(base, None), rebuild(body, base), base.candidate_vectors)
        for tier in TIERS:
            yield Finding(
                episode=line.episode,
                instance=episode.instance,
                step=line.step,
                kind=f"residue/{tier}",
                labels={**labels, "tier": tier},
                values=remains[tier].model_dump(),
            )


def _attribute(fixture: Fixture, reply: dict[str, Any]) -> dict[str, JsonScalar]:
    """Whether a reply leaks, and which tiers' retrieved units held what it leaks."""
    found = score_extraction(fixture.secret, fixture.countable, reply["text"])
    if reply["retrieved"] is None:
        raise Unassessable("the agent does not show what it retrieved: no leak can be attributed to a tier")
    holding: set[str] = set()
    for unit in reply["retrieved"] or ():
        hit = match(fixture.secret, unit["text"])
        if hit.verbatim or hit.normalised:
            holding.add(unit["tier"])
    values: dict[str, JsonScalar] = {**found.model_dump()}
    for tier in TIERS:
        values[tier] = found.verbatim and tier in holding
    values["unattributed"] = found.verbatim and not holding
    return values


def _cell_key(labels: dict[str, JsonScalar], k: int, tau: JsonScalar) -> CellKey:
    return (
        str(labels["granularity"]),
        str(labels["embedder"]),
        int(labels["horizon"] or 0),
        -2.0 if tau is None else float(tau),
        int(labels["S"] or 0),
        k,
        str(labels["mode"]),
        str(labels["supersede"] or ""),
    )


class _Cells:
    """Findings as one array over instances for each cell, probe kind and flag."""

    def __init__(self, instances: Sequence[str], findings: Iterable[Finding]) -> None:
        self.index = {name: i for i, name in enumerate(instances)}
        self.leaks: dict[CellKey, dict[str, NDArray[np.bool_]]] = {}
        self.remains: dict[tuple[CellKey, str], dict[int, Remains]] = defaultdict(dict)
        self.storage: dict[tuple[CellKey, str], dict[int, bool]] = defaultdict(dict)
        for f in findings:
            if f.instance not in self.index:
                continue
            position = self.index[f.instance]
            if f.kind == "extraction":
                key = _cell_key(f.labels, int(f.labels["k"] or 0), f.labels["tau"])
                cell = self.leaks.setdefault(key, {})
                for flag in ("raw", "summary", "verbatim", "normalised", "unattributed"):
                    name = f"{flag}/{f.labels['probe_kind']}"
                    column = cell.setdefault(name, np.zeros(len(self.index), dtype=bool))
                    column[position] |= bool(f.values.get(flag))
            else:
                what, where = f.kind.split("/")
                state = (_cell_key(f.labels, 0, None), where)
                if what == "residue":
                    self.remains[state][position] = Remains.model_validate(f.values)
                elif f.values["control"] or f.values["present"]:
                    self.storage[state][position] = bool(f.values["present"])

    def state(self, key: CellKey) -> CellKey:
        """The state a cell asks about: it depends neither on k nor on τ."""
        granularity, embedder, horizon, _, level, _, mode, supersede = key
        return (granularity, embedder, horizon, -2.0, level, 0, mode, supersede)


def conclude(plan: Plan, done: Completed, findings: Iterable[Finding]) -> ResidueResult:
    """Compute the result from findings alone; the same findings give the same bytes."""
    study = StudySettings.model_validate(plan.settings["study"])
    settings = ResidueSettings.model_validate(plan.settings["residue"])
    cells = _Cells(done.instances, findings)
    draws = Resampler(len(done.instances), seed=plan.seed, clusters=done.clusters)
    order = {v: i for i, v in enumerate((m, s or "") for m, s in _variants(settings))}
    keys = sorted(cells.leaks, key=lambda key: (*key[:6], order[key[6], key[7]]))
    return ResidueResult(
        **header(plan, done), cells=tuple(_cell(key, cells, study.probes, draws) for key in keys)
    )


def _cell(key: CellKey, cells: _Cells, kinds: Sequence[str], draws: Resampler) -> ResidueCell:
    granularity, embedder, horizon, tau, level, k, mode, supersede = key
    leaks = cells.leaks[key]
    tiers = {
        tier: Quantity.max([draws.quantity(leaks[f"{tier}/{kind}"].astype(float)) for kind in kinds])
        for tier in TIERS
    }
    state = cells.state(key)
    blocks = {tier: _measures(level, tier, cells.remains.get((state, tier), {}), draws) for tier in TIERS}
    return ResidueCell(
        S=level,
        k=k,
        mode=mode,
        supersede=supersede or None,
        tau=None if tau < -1 else tau,
        granularity=granularity,
        embedder=embedder,
        horizon=horizon,
        FRS=FrsBlock(
            raw=tiers["raw"].derived(),
            summary=tiers["summary"].derived(),
            worst=Quantity.max(list(tiers.values())).derived(),
        ),
        by_probe={
            kind: ProbeResidue(
                raw=draws.rate(leaks[f"raw/{kind}"]),
                summary=draws.rate(leaks[f"summary/{kind}"]),
                any=draws.rate(leaks[f"verbatim/{kind}"]),
                normalised=draws.rate(leaks[f"verbatim/{kind}"] | leaks[f"normalised/{kind}"]),
            )
            for kind in kinds
        },
        unattributed=draws.rate(np.any([leaks[f"unattributed/{kind}"] for kind in kinds], axis=0)),
        storage=StorageBlock(
            deleted=_storage(cells.storage.get((state, "deleted"), {}), draws),
            maintained=_storage(cells.storage.get((state, "maintained"), {}), draws),
        ),
        **{
            name: TierBlock(raw=blocks["raw"][name], summary=blocks["summary"][name])
            for name in ("text_residue", "partial_residue", "vector_residue", "content_evidence")
        },
    )


def _share(draws: Resampler, values: NDArray[np.float64], where: NDArray[np.bool_]) -> Share:
    quantity = draws.quantity(values, where)
    return Share(value=quantity.value, bootstrap=quantity.bounds, n=int(where.sum()))


def _storage(seen: dict[int, bool], draws: Resampler) -> Rate | NotComputable:
    """Over the instances in whose storage the canary's bytes were found before the deletion."""
    if not seen:
        return NotComputable(not_computable="no storage in which the canary's bytes were found before")
    present, where = np.zeros(draws.n, dtype=bool), np.zeros(draws.n, dtype=bool)
    for position, there in seen.items():
        where[position], present[position] = True, there
    return draws.rate(present, where)


def _measures(level: int, tier: str, state: dict[int, Remains], draws: Resampler) -> dict[str, Measure]:
    """The four residues of one tier, each over the instances whose state before deletion shows it can be seen."""

    def column(name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        values = np.full(draws.n, np.nan)
        for position, remains in state.items():
            value = getattr(remains, name)
            if value is not None:
                values[position] = float(value)
        return np.nan_to_num(values), ~np.isnan(values)

    def absent(what: str) -> NotComputable:
        if not state:
            return NotComputable(not_computable="the agent shows no stored artifacts")
        if tier == "summary" and level == 0:
            return NotComputable(not_computable="S = 0 keeps no summaries")
        return NotComputable(not_computable=f"before deletion {what} in no instance")

    out: dict[str, Measure] = {}
    text, where = column("text")
    out["text_residue"] = (
        draws.rate(text > 0, where) if where.any() else absent(f"the {tier} tier held the canary")
    )
    partial, where = column("partial")
    out["partial_residue"] = (
        _share(draws, partial, where) if where.any() else absent(f"the {tier} tier held a part of it")
    )
    vector, where = column("vector")
    out["vector_residue"] = (
        _share(draws, vector, where) if where.any() else absent(f"the {tier} tier held a vector of it")
    )
    rank, ranked = column("rank")
    first, where = column("first")
    if where.any():
        rate = draws.rate(first > 0, where)
        mean_rank = float(rank[ranked].mean()) if ranked.any() else None
        out["content_evidence"] = ContentEvidence(**rate.model_dump(), mean_rank=mean_rank)
    else:
        out["content_evidence"] = absent("a stored vector ranked the true sentence first")
    return out
