"""Everything a report says, in its order: what the page, the Markdown and the JSON are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vestige.audits.results import Exclusion, FrontierResult, ResidueResult
from vestige.report import frontier_tables, residue_tables
from vestige.report.evidence import EvidenceGroup, LeakExchange, Mask, collect, masker
from vestige.report.figures import Drawing, drawings
from vestige.report.findings import Finding, findings, headline
from vestige.report.glossary import DEFINITIONS
from vestige.report.limits import not_observed, observed
from vestige.report.meters import Meter, meters
from vestige.report.paper_table import beside_the_paper
from vestige.report.published import CAVEATS, CITATION
from vestige.report.slices import frontier_slices, residue_slices
from vestige.report.tables import Table
from vestige.report.wording import listing, plural

__all__ = ["Block", "Part", "View", "view"]

Result = FrontierResult | ResidueResult

STORED_INTRO = (
    "What the stores still hold, whether or not a reply showed it. Each is measured only where the state "
    "before deletion showed it at all; elsewhere it is not computable (n/c)."
)


@dataclass(frozen=True)
class Block:
    """One setting of the levers: figures, tables, and tables that open on demand."""

    label: str
    figures: tuple[Drawing, ...] = ()
    tables: tuple[Table, ...] = ()
    small: tuple[Table, ...] = ()
    small_title: str = "What is still stored"
    small_intro: str = STORED_INTRO
    more: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Part:
    """One result."""

    anchor: str
    title: str
    subtitle: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class View:
    """A whole report; every text in it is masked and neutralised, none is escaped."""

    title: str
    kind: str
    headline: str
    results: tuple[Result, ...]
    meters: tuple[tuple[Meter, ...], ...]
    findings: tuple[tuple[str, tuple[Finding, ...]], ...]
    """For each result its name (empty where there is one result alone) and its sentences."""
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    paper: tuple[Table, ...]
    caveats: tuple[str, ...]
    citation: str
    observed: tuple[str, ...]
    not_observed: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    evidence: tuple[EvidenceGroup, ...]
    evidence_note: str
    definitions: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    version: str
    unmasked: bool
    placeholders: tuple[str, ...]
    """What stands where a secret stood (or the secrets themselves, unmasked): to be marked."""


def view(
    results: Sequence[Result], exchanges: Sequence[LeakExchange], *, show_canaries: bool, title: str | None
) -> View:
    """Mask, count, word and order everything."""
    secrets = {exchange.canary for exchange in exchanges}
    masked = masker(secrets, show=show_canaries)
    clean = tuple(_clean(result, masked) for result in results)
    kinds = list(dict.fromkeys(result.audit for result in clean))
    evidence = collect(exchanges, masked)
    return View(
        title=masked(title)
        if title
        else "Memory audit: " + " and ".join(_TITLES[kind].lower() for kind in kinds),
        kind="Vestige · " + " · ".join(kinds),
        headline=headline(clean),
        results=clean,
        meters=meters(clean),
        findings=tuple((_TITLES[r.audit] if len(clean) > 1 else "", findings(r)) for r in clean),
        facts=_facts(clean),
        parts=_parts(clean),
        paper=_paper(clean),
        caveats=CAVEATS,
        citation=CITATION,
        observed=observed(clean),
        not_observed=not_observed(clean),
        exclusions=tuple(dict.fromkeys(exclusion for result in clean for exclusion in result.exclusions)),
        evidence=evidence,
        evidence_note=_evidence_note(exchanges, show_canaries),
        definitions=DEFINITIONS,
        provenance=_provenance(clean),
        version=", ".join(dict.fromkeys(result.vestige_version for result in clean)),
        unmasked=show_canaries and bool(secrets),
        placeholders=_placeholders(secrets, masked),
    )


_TITLES = {"frontier": "Privacy–utility frontier", "residue": "Deletion residue"}


def _clean(result: Result, masked: Mask) -> Result:
    """The result with every text and key in it masked and neutralised."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return masked(value)
        if isinstance(value, dict):
            return {masked(key): walk(inner) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list) else value

    return type(result).model_validate(walk(result.model_dump(mode="json")))


def _placeholders(secrets: Iterable[str], masked: Mask) -> tuple[str, ...]:
    """What `masked` writes for a whole secret and for a part of one."""
    found: set[str] = set()
    for secret in secrets:
        part = secret.rpartition("-")[0]
        found |= {masked(secret), *({shown} if part and (shown := masked(part)) != part else ())}
    return tuple(sorted(found - {""}))


def _facts(results: Sequence[Result]) -> tuple[tuple[str, str], ...]:
    def each(name: str) -> str:
        return ", ".join(dict.fromkeys(str(getattr(result, name)) for result in results))

    instances = dict.fromkeys(f"{r.n_complete} of {r.n_instances} complete" for r in results)
    return (
        ("Agent", each("agent")),
        ("Model", each("model")),
        ("Data", each("data")),
        ("Instances", ", ".join(instances)),
        ("Scoring embedder", each("embedder")),
        ("Seed", each("seed")),
    )


def _provenance(results: Sequence[Result]) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    for result in results:
        name = _TITLES[result.audit]
        rows.append((f"{name}, plan SHA-256", result.plan_sha256))
        rows.append((f"{name}, data SHA-256", result.data_sha256))
        if knobs := _knobs(result):
            rows.append((f"{name}, agent configuration", ", ".join(knobs)))
    rows.append(("Vestige", ", ".join(dict.fromkeys(result.vestige_version for result in results))))
    return tuple(dict.fromkeys(rows))


def _knobs(result: Result) -> list[str]:
    """The agent's settings, and what the deletion ladder gave it for `raw_plus_resummarize`."""
    knobs = [f"{key} = {value}" for key, value in sorted(result.agent_configuration.items())]
    if isinstance(result, ResidueResult):
        used = sorted({cell.supersede for cell in result.cells if cell.supersede})
        if used:
            knobs.append(f"supersede = {listing(used)} (raw_plus_resummarize alone)")
    return knobs


def _parts(results: Sequence[Result]) -> tuple[Part, ...]:
    parts: list[Part] = []
    several = len({result.audit for result in results}) < len(results)
    for index, result in enumerate(results):
        anchor = f"{result.audit}-{index + 1}" if several else result.audit
        subtitle = f"{plural(result.n_complete, 'instance')}, {result.model}"
        blocks = _frontier(result, anchor) if isinstance(result, FrontierResult) else _residue(result, anchor)
        parts.append(Part(anchor, _TITLES[result.audit], subtitle, blocks))
    return tuple(parts)


def _named(drawn: Sequence[Drawing], anchor: str) -> list[Drawing]:
    """The drawings under names of their own in the page."""
    return [Drawing(f"{anchor}-{d.name}", d.figure, d.caption, d.alt) for d in drawn]


def _frontier(result: FrontierResult, anchor: str) -> tuple[Block, ...]:
    drawn = _named(drawings(result), anchor)
    judged = frontier_tables.judge(result)
    return tuple(
        Block(
            label=part.label,
            figures=tuple(drawn[2 * index : 2 * index + 2]),
            tables=(frontier_tables.levels(part),),
            more=(
                frontier_tables.configurations(part),
                frontier_tables.halves(part),
                frontier_tables.wider(part),
                *((judged,) if judged and index == 0 else ()),
            ),
        )
        for index, part in enumerate(frontier_slices(result))
    )


def _residue(result: ResidueResult, anchor: str) -> tuple[Block, ...]:
    parts = residue_slices(result)
    ks = {part.k for part in parts}
    return tuple(
        Block(
            label=" · ".join(w for w in (part.label, f"k = {part.k}" if len(ks) > 1 else "") if w),
            figures=(drawing,),
            tables=(residue_tables.by_probe(part),),
            small=(*residue_tables.stored(part), residue_tables.storage(part)),
        )
        for part, drawing in zip(parts, _named(drawings(result), anchor), strict=True)
    )


def _paper(results: Sequence[Result]) -> tuple[Table, ...]:
    """A table for each model, with the first slice of its audits."""
    tables: list[Table] = []
    for model in dict.fromkeys(result.model for result in results):
        of_model = [result for result in results if result.model == model]
        frontier = next(
            (s for r in of_model if isinstance(r, FrontierResult) for s in frontier_slices(r)), None
        )
        residue = next((s for r in of_model if isinstance(r, ResidueResult) for s in residue_slices(r)), None)
        table = beside_the_paper(frontier, residue, model)
        if table is not None:
            tables.append(table)
    return tuple(tables)


def _evidence_note(exchanges: Sequence[LeakExchange], show_canaries: bool) -> str:
    if not exchanges:
        return "No leak was recorded, so there is no exchange to show."
    secrets = "Planted secrets are shown." if show_canaries else "Planted secrets are masked."
    return (
        f"{plural(len(exchanges), 'exchange')}. {secrets} Exchanges that differ in k alone and brought the "
        "same reply are shown once; the run folder holds every one in full."
    )
