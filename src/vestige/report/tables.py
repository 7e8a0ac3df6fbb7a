"""Tables as data: one description that HTML, Markdown and the terminal draw."""

from __future__ import annotations

from dataclasses import dataclass

from vestige.audits.results import ContentEvidence, Measure, NotComputable, Rate
from vestige.report.wording import ALL_ALIKE, count, interval_of, share

__all__ = ["ALIKE_NOTE", "Cell", "Column", "Row", "Table", "cell", "empty", "rate_cell"]

ALIKE_NOTE = (
    "All alike: every instance gave the same, so a bootstrap has nothing to vary. That is no certainty; "
    "the exact intervals of the counts say what n allows."
)


@dataclass(frozen=True)
class Cell:
    """What stands in one cell."""

    text: str
    detail: str = ""
    """Smaller, below: a count, an interval."""
    heat: float | None = None
    """0 to 1: how deep to colour the cell; None: not at all."""
    reason: str = ""
    """Why there is no value; such a cell is hatched."""
    strong: bool = False


@dataclass(frozen=True)
class Column:
    """A column's heading, and the heading that it shares with its neighbours."""

    text: str
    group: str = ""
    tint: str = ""
    """A class name for its colour: `s0`, `s1`, …; `theirs` for published numbers."""


@dataclass(frozen=True)
class Row:
    """A row; one without cells is a heading over those that follow."""

    header: str
    cells: tuple[Cell, ...] = ()
    hint: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its title, and a note for below."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    corner: str = ""
    """The heading of the row headers."""
    note: str = ""
    heat: bool = False
    """Drawn as a heat map."""

    @property
    def groups(self) -> tuple[tuple[str, int, str], ...]:
        """The shared headings as (text, columns spanned, tint); empty where no column has one."""
        if not any(column.group for column in self.columns):
            return ()
        groups: list[tuple[str, int, str]] = []
        for column in self.columns:
            if groups and groups[-1][0] == column.group:
                tint = column.tint if column.tint == groups[-1][2] else ""
                groups[-1] = (column.group, groups[-1][1] + 1, tint)
            else:
                groups.append((column.group, 1, column.tint))
        return tuple(groups)

    @property
    def alike(self) -> bool:
        """Whether a cell has no interval because every instance agrees."""
        return any(ALL_ALIKE in cell.detail for row in self.rows for cell in row.cells)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why cells have no value, each reason once."""
        found = (cell.reason for row in self.rows for cell in row.cells if cell.reason)
        return tuple(dict.fromkeys(found))


def empty(reason: str = "") -> Cell:
    """A cell without a value."""
    return Cell("–" if not reason else "n/c", reason=reason)


def cell(measure: Measure | None, *, heat: bool = False, strong: bool = False) -> Cell:
    """Any measure with its interval: exact for a rate, bootstrap for a derived quantity."""
    if measure is None:
        return empty()
    if isinstance(measure, NotComputable):
        return empty(measure.not_computable)
    depth = min(max(measure.value, 0.0), 1.0) if heat else None
    detail = interval_of(measure)
    if isinstance(measure, ContentEvidence):
        rank = "no vector left" if measure.mean_rank is None else f"rank {measure.mean_rank:.3g}"
        detail = f"{count(measure)}, {rank}"
    elif heat:
        detail = count(measure) if isinstance(measure, Rate) else detail.replace(ALL_ALIKE, "")
    return Cell(share(measure.value), detail, depth, strong=strong)


def rate_cell(rate: Rate | None, *, heat: bool = False) -> Cell:
    """A rate as its count, with the exact interval below."""
    if rate is None:
        return empty()
    return Cell(count(rate), interval_of(rate), min(max(rate.value, 0.0), 1.0) if heat else None)
