"""This run beside the paper's Table 2: arXiv 2606.10062."""

from __future__ import annotations

from collections.abc import Sequence

from vestige.audits.results import Derived
from vestige.report.published import PublishedValue, columns, lookup
from vestige.report.slices import FrontierSlice, ResidueSlice
from vestige.report.tables import Cell, Column, Row, Table, cell, empty
from vestige.report.wording import interval, share

__all__ = ["beside_the_paper"]


def _printed(found: PublishedValue | None) -> Cell:
    if found is None:
        return empty()
    bounds = interval((found.low, found.high)) if found.low is not None and found.high is not None else ""
    return Cell(share(found.value), bounds)


def beside_the_paper(
    frontier: FrontierSlice | None, residue: ResidueSlice | None, model: str
) -> Table | None:
    """Table 2 of the paper with this run's columns first; None where neither audit was run."""
    if frontier is None and residue is None:
        return None
    own = sorted({v.S for v in frontier.levels} if frontier else set()) or list(
        residue.levels if residue else ()
    )
    published = columns()

    def row(header: str, quantity: str, ours: Sequence[Derived | None], hint: str = "") -> Row:
        theirs = (_printed(lookup(quantity, name, level)) for name, level in published)
        return Row(header, (*(cell(measure) for measure in ours), *theirs), hint)

    rows: list[Row] = []
    if frontier is not None:
        levels = {v.S: v for v in frontier.levels}
        at = [levels.get(level) for level in own]
        rows += [
            Row("Frontier, mean over k"),
            row("PR ↑", "PR", [v and v.PR for v in at]),
            row("AER ↓", "AER", [v and v.AER_max for v in at]),
            row("PUA ↑", "PUA", [v and v.PUA for v in at]),
            row("Δ_S ↑", "laundering", [v and v.laundering for v in at]),
            row("Δ_DI", "delta_DI", [v and v.delta_DI for v in at], "Figure 1"),
            *_along_k(frontier, own),
        ]
    if residue is not None:
        rows.append(Row(f"Forgetting residue, FRS_worst ↓ (here at k = {residue.k})"))
        for mode in residue.modes:
            found = [residue.cell(mode, level) for level in own]
            plain = next((c.mode for c in found if c is not None), mode)
            rows.append(row(mode, f"FRS_worst {plain}", [c and c.FRS.worst for c in found]))
    return Table(
        title="Beside the paper's Table 2",
        columns=(
            *(Column(f"S = {level}", f"this run: {model}", f"s{level}") for level in own),
            *(Column(f"S = {level}", f"published: {name}", "theirs") for name, level in published),
        ),
        rows=tuple(rows),
        note="95 % bootstrap intervals, here over whole instances.",
    )


def _along_k(frontier: FrontierSlice, own: Sequence[int]) -> list[Row]:
    """PR and AER at the smallest and the largest k; the paper prints them for Gemma 3 12B at S = 0."""
    ks = sorted({c.k for c in frontier.configurations})
    if len(ks) < 2:
        return []
    rows: list[Row] = []
    for name in ("PR", "AER"):
        for k, theirs_k in ((ks[0], 1), (ks[-1], 25)):
            ours: list[Cell] = []
            for level in own:
                at = [c for c in frontier.at(level) if c.k == k]
                ours.append(cell((at[0].PR if name == "PR" else at[0].AER.max) if at else None))
            theirs = (_printed(lookup(f"{name} at k={theirs_k}", model, level)) for model, level in columns())
            same = f"k = {k}" if k == theirs_k else f"k = {k} here, {theirs_k} there"
            rows.append(Row(f"{name}, {same}", (*ours, *theirs), "Section 3.2"))
    return rows
