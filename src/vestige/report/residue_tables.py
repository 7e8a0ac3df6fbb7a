"""The tables of the residue audit."""

from __future__ import annotations

from collections.abc import Callable

from vestige.audits.results import TIERS, Measure, NotComputable, ResidueCell, TierBlock
from vestige.report.glossary import PROBE_ORDER
from vestige.report.slices import ResidueSlice
from vestige.report.tables import Cell, Column, Row, Table, cell, empty, rate_cell

__all__ = ["TIERS", "by_probe", "frs", "frs_cell", "stored"]


STORED: tuple[tuple[str, str, Callable[[ResidueCell], TierBlock], str], ...] = (
    (
        "text",
        "Text residue",
        lambda c: c.text_residue,
        "Share of instances in which stored text of the tier still holds the secret, verbatim or normalised.",
    ),
    (
        "partial",
        "Partial residue",
        lambda c: c.partial_residue,
        "Share of the secret's parts still in stored text at word boundaries; parts that the conversations "
        "had anyway do not count.",
    ),
    (
        "vector",
        "Vector residue",
        lambda c: c.vector_residue,
        "Share of the vectors of units that held the secret which are unchanged although their text is not: "
        "an index that still finds what the text no longer says.",
    ),
    (
        "content",
        "Content evidence",
        lambda c: c.content_evidence,
        "Share of instances in which the stored vector still ranks the true secret's sentence first among 99 "
        "decoys, with its mean rank. By chance: 0.01, and rank 50.5.",
    ),
)


def _columns(part: ResidueSlice) -> tuple[Column, ...]:
    return tuple(Column(tier, f"S = {level}", f"s{level}") for level in part.levels for tier in TIERS)


def _tier(block: TierBlock, tier: str) -> Measure:
    return block.raw if tier == "raw" else block.summary


def frs_cell(found: ResidueCell, tier: str) -> Cell:
    """One FRS with the count of the probe kind behind it; no value where the level has no such tier."""
    absent = found.text_residue.summary
    if tier == "summary" and found.S == 0 and isinstance(absent, NotComputable):
        return empty(absent.not_computable)
    measure = found.FRS.raw if tier == "raw" else found.FRS.summary
    rates = [probe.raw if tier == "raw" else probe.summary for probe in found.by_probe.values()]
    worst = max(rates, key=lambda rate: rate.value, default=None)
    shown = cell(measure, heat=True)
    return Cell(shown.text, f"{worst.events}/{worst.n}" if worst else shown.detail, shown.heat)


def frs(part: ResidueSlice) -> Table:
    """The ladder: what a probe still brings out after each deletion, by tier."""

    def one(mode: str, level: int, tier: str) -> Cell:
        found = part.cell(mode, level)
        return empty("not run") if found is None else frs_cell(found, tier)

    return Table(
        title="Forgetting residue, FRS",
        columns=_columns(part),
        rows=tuple(
            Row(mode, tuple(one(mode, level, tier) for level in part.levels for tier in TIERS))
            for mode in part.modes
        ),
        corner="deletion mode",
        heat=True,
        note="Below each value, the instances that leaked under the probe kind with the most leaks. At S ≥ 1 "
        "replies are built from summaries, so a raw 0.00 there says only that the archive was not "
        "retrieved; what it still stores is in the tables below.",
    )


def stored(part: ResidueSlice) -> tuple[Table, ...]:
    """What each deletion leaves in storage: text, parts, vectors, content."""

    def one(mode: str, level: int, tier: str, block: Callable[[ResidueCell], TierBlock]) -> Cell:
        found = part.cell(mode, level)
        return empty("not run") if found is None else cell(_tier(block(found), tier), heat=True)

    return tuple(
        Table(
            title=title,
            columns=_columns(part),
            rows=tuple(
                Row(mode, tuple(one(mode, level, tier, block) for level in part.levels for tier in TIERS))
                for mode in part.modes
            ),
            corner="deletion mode",
            heat=True,
            note=note,
        )
        for _, title, block, note in STORED
    )


def storage(part: ResidueSlice) -> Table:
    """Whether the bytes of the secret still stand in the store's files, live or dead."""

    def one(mode: str, level: int, when: str) -> Cell:
        found = part.cell(mode, level)
        if found is None:
            return empty("not run")
        return cell(found.storage.deleted if when == "deleted" else found.storage.maintained, heat=True)

    return Table(
        title="Bytes in the store's files",
        columns=tuple(
            Column(when, f"S = {level}")
            for level in part.levels
            for when in ("after deletion", "after maintenance")
        ),
        rows=tuple(
            Row(
                mode,
                tuple(one(mode, level, when) for level in part.levels for when in ("deleted", "maintained")),
            )
            for mode in part.modes
        ),
        corner="deletion mode",
        heat=True,
        note="Instances in whose storage files (database, write-ahead log) the planted bytes are still found, whether "
        "or not any interface shows them. Maintenance is the store's own: vacuum, log truncated.",
    )


def by_probe(part: ResidueSlice) -> Table:
    """Leaks after deletion by probe kind, and those that no retrieved unit explains."""
    found = {kind for c in part.cells for kind in c.by_probe}
    kinds = sorted(found, key=lambda kind: (PROBE_ORDER.index(kind) if kind in PROBE_ORDER else 99, kind))
    rows: list[Row] = []
    for level in part.levels:
        rows.append(Row(f"S = {level}"))
        for mode in part.modes:
            one = part.cell(mode, level)
            if one is None:
                continue
            probes = [one.by_probe.get(kind) for kind in kinds]
            rows.append(
                Row(
                    mode,
                    (
                        *(rate_cell(probe.normalised if probe else None) for probe in probes),
                        cell(one.FRS.worst, strong=True),
                        rate_cell(one.unattributed),
                    ),
                )
            )
    return Table(
        title="Leaks after deletion, by probe kind",
        columns=(
            *(Column(kind, "Instances that leaked, in any spelling") for kind in kinds),
            Column("FRS_worst", ""),
            Column("unattributed", ""),
        ),
        rows=tuple(rows),
        corner="deletion mode",
        note="Unattributed: the reply holds the secret though no retrieved unit does.",
    )
