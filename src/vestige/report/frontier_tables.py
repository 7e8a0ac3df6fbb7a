"""The tables of the frontier audit."""

from __future__ import annotations

from vestige.audits.results import AerBlock, FrontierConfiguration, FrontierResult
from vestige.report.slices import FrontierSlice
from vestige.report.tables import Cell, Column, Row, Table, cell, rate_cell
from vestige.report.wording import level_name, share

__all__ = ["configurations", "halves", "judge", "levels", "wider"]

AER_COLUMNS = ("direct", "indirect", "jailbreak", "any")


def _level_heading(level: int) -> str:
    name = level_name(level)
    return f"S = {level}, {name}" if name else f"S = {level}"


def _aer_cells(block: AerBlock, *, heat: bool = False) -> tuple[Cell, ...]:
    rates = (block.direct, block.indirect, block.jailbreak, block.any)
    return (*(rate_cell(rate, heat=heat) for rate in rates), cell(block.max))


def _aer_columns(group: str) -> tuple[Column, ...]:
    return (*(Column(name, group) for name in AER_COLUMNS), Column("max", group))


def _by_level(
    part: FrontierSlice, cells_of: list[tuple[FrontierConfiguration, tuple[Cell, ...]]]
) -> tuple[Row, ...]:
    rows: list[Row] = []
    seen: set[int] = set()
    for configuration, cells in cells_of:
        if configuration.S not in seen:
            seen.add(configuration.S)
            rows.append(Row(_level_heading(configuration.S)))
        rows.append(Row(f"k = {configuration.k}", cells))
    return tuple(rows)


def configurations(part: FrontierSlice) -> Table:
    """Recall and extraction of every (S, k)."""
    judged = any(c.PR_judge is not None for c in part.configurations)
    rows = [
        (
            c,
            (
                rate_cell(c.PR),
                rate_cell(c.PR_strict),
                *((rate_cell(c.PR_judge),) if judged else ()),
                *_aer_cells(c.AER),
            ),
        )
        for c in part.configurations
    ]
    recall = ("PR", "PR_strict", *(("judge",) if judged else ()))
    return Table(
        title="Every configuration",
        columns=(*(Column(name, "Recall") for name in recall), *_aer_columns("Extraction, AER")),
        rows=_by_level(part, rows),
        note="Instances with the event, of instances measured; below, the exact 95 % interval "
        "(for max: value and bootstrap interval).",
    )


def halves(part: FrontierSlice) -> Table:
    """The two halves of the paper's recall rule, apart."""
    rows = [
        (c, (rate_cell(c.PR), rate_cell(c.PR_cosine), rate_cell(c.PR_words), rate_cell(c.PR_halves_disagree)))
        for c in part.configurations
    ]
    return Table(
        title="The two halves of PR",
        columns=(Column("PR"), Column("by cosine"), Column("by content words"), Column("halves disagree")),
        rows=_by_level(part, rows),
        note="PR counts an answer that either half accepts. Where the halves often disagree, read PR_strict "
        "and the replies.",
    )


def wider(part: FrontierSlice) -> Table:
    """Extraction when rewritten and partial copies count too."""
    rows = [
        (c, tuple(_aer_cells(c.AER_normalised)[:-1] + _aer_cells(c.AER_partial)[:-1]))
        for c in part.configurations
    ]
    return Table(
        title="Rewritten and partial leaks",
        columns=(
            *(Column(name, "Case, separators, Unicode folded") for name in AER_COLUMNS),
            *(Column(name, "At least one part of the secret") for name in AER_COLUMNS),
        ),
        rows=_by_level(part, rows),
        note="AER counts verbatim copies alone, as the paper does. These count what a person would also "
        "call a leak, and, on the right, replies with only a part of it.",
    )


def levels(part: FrontierSlice) -> Table:
    """One column for each S: means over k, areas, differences."""
    columns = tuple(Column(_level_heading(v.S), tint=f"s{v.S}") for v in part.levels)
    kinds = [k for k in ("direct", "indirect", "jailbreak") if any(k in v.AER for v in part.levels)]
    rows = (
        Row("PR", tuple(cell(v.PR) for v in part.levels), "mean over k"),
        Row("PR_strict", tuple(cell(v.PR_strict) for v in part.levels), "mean over k"),
        Row("AER_max", tuple(cell(v.AER_max) for v in part.levels), "mean over k"),
        *(Row(f"AER {k}", tuple(cell(v.AER.get(k)) for v in part.levels), "mean over k") for k in kinds),
        Row("PUA", tuple(cell(v.PUA) for v in part.levels), "area"),
        Row("Δ_S, laundering", tuple(cell(v.laundering) for v in part.levels), "AER_max at S = 0 less at S"),
        Row("Δ_DI", tuple(cell(v.delta_DI) for v in part.levels), "absolute"),
        Row("direct − indirect", tuple(cell(v.delta_DI_signed) for v in part.levels), "signed"),
    )
    return Table(
        title="By summarization level",
        columns=columns,
        rows=rows,
        note="Below each value, its 95 % bootstrap interval over instances.",
    )


def judge(result: FrontierResult) -> Table | None:
    """How the judge model and the recall rule agree, where a judge was used."""
    found = result.judge
    if found is None:
        return None
    kappa = "undefined" if found.kappa is None else share(found.kappa)
    facts = (
        ("answers judged", f"{found.n}"),
        ("agreement", "–" if found.agreement is None else share(found.agreement)),
        ("Cohen's κ", kappa),
        ("right for the judge, wrong for the rule", f"{found.judge_only}"),
        ("right for the rule, wrong for the judge", f"{found.rule_only}"),
        ("judge replies that could not be read", f"{found.unparsed}"),
    )
    return Table(
        title=f"Judge model {found.model} against the recall rule",
        columns=(Column("value"),),
        rows=tuple(Row(name, (Cell(value),)) for name, value in facts),
    )
