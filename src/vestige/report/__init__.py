"""Reports: what a result says, as a page, as Markdown, as JSON and as lines for a terminal.

`write` makes the three files; `summary_lines` gives the summary alone; `figures.save` the figures as files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestige.report.evidence import LeakExchange
    from vestige.report.findings import summary_lines
    from vestige.report.writing import ReportPaths, write

__all__ = ["LeakExchange", "ReportPaths", "summary_lines", "write"]

_HOME = {
    "LeakExchange": "evidence",
    "ReportPaths": "writing",
    "summary_lines": "findings",
    "write": "writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
