"""A result on a terminal: its sentences, and one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestige.audits.results import FrontierResult, ResidueResult
from vestige.report import frontier_tables, residue_tables
from vestige.report.findings import findings
from vestige.report.safe import one_line
from vestige.report.slices import frontier_slices, residue_slices
from vestige.report.tables import Cell, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["render"]

MARKS = {"leak": ("●", "red"), "clear": ("○", "green"), "caution": ("◆", "yellow"), "plain": ("·", "dim")}


def render(result: FrontierResult | ResidueResult) -> RenderableType:
    """The result as something that `rich` prints: the table of its first setting, then what it says."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    if isinstance(result, FrontierResult):
        tables = [frontier_tables.configurations(part) for part in frontier_slices(result)]
        labels = [part.label for part in frontier_slices(result)]
    else:
        tables = [residue_tables.frs(part) for part in residue_slices(result)]
        labels = [
            " · ".join(w for w in (part.label, f"k = {part.k}") if w) for part in residue_slices(result)
        ]
    lines = Grid.grid(padding=(0, 1, 0, 0))
    for finding in findings(result):
        mark, style = MARKS[finding.tone]
        lines.add_row(Text(mark, style=style), Text(one_line(finding.text)))
    return Group(*(_grid(table, label) for table, label in zip(tables, labels, strict=True)), Text(""), lines)


def _grid(table: Table, label: str) -> RenderableType:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    title = one_line(f"{table.title}, {label}" if label else table.title)
    grid = Grid(title=Text(title, style="bold"), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    grid.add_column(Text(table.corner), no_wrap=True)
    several = len({column.group for column in table.columns}) > 1
    for column in table.columns:
        over = one_line(column.group.rpartition(", ")[2])
        name = one_line(column.text)
        grid.add_column(Text(f"{over}\n{name}" if several else name), justify="right")
    for row in table.rows:
        if row.cells:
            grid.add_row(Text(one_line(row.header)), *(_text(cell) for cell in row.cells))
        else:
            grid.add_row(Text(one_line(row.header), style="bold"))
    return grid


def _text(cell: Cell) -> RenderableType:
    from rich.text import Text

    if cell.reason:
        return Text(cell.text, style="dim")
    text = Text(cell.text, style="bold red" if cell.heat else "")
    if cell.detail:
        text.append(f"\n{cell.detail}", style="dim")
    return text
