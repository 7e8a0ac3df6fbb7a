"""Help pages with their commands and flags in groups, drawn without `rich`, which would take longer than the help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["AUDITS", "DATA", "STORED", "PanelCommand", "PanelGroup"]

AUDITS, STORED, DATA = "Audits", "Stored runs", "Models and data"
"""The groups of commands, in the order of the help page."""


def _write(formatter: Any, entries: Iterable[tuple[Any, tuple[str, str] | None]], rest: str) -> None:
    """A section for each panel; what is in no panel comes under `rest`, last."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for item, row in entries:
        if row is not None:
            panel = getattr(item, "rich_help_panel", None)
            panels.setdefault(panel if isinstance(panel, str) else rest, []).append(row)
    if rest in panels:
        panels[rest] = panels.pop(rest)
    widest = max((len(name) for rows in panels.values() for name, _ in rows), default=0)
    for title, rows in panels.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(widest), text) for name, text in rows])


class PanelGroup(TyperGroup):
    """Commands by their `rich_help_panel`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, command) for name, command in found if command is not None and not command.hidden]
        rows = [(command, (name, command.get_short_help_str(limit=300))) for name, command in shown]
        _write(formatter, rows, "Commands")


class PanelCommand(TyperCommand):
    """Flags by their `rich_help_panel`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and flags."""
        _write(formatter, [(p, p.get_help_record(ctx)) for p in self.get_params(ctx)], "Other")
