"""Writes the report on defences: HTML without script or network, Markdown, JSON."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, cast

from vestige.audits.defence.results import DefenceResult
from vestige.report import palette
from vestige.report.defence.charts import drawings
from vestige.report.defence.tables import LIMITS, tables
from vestige.report.figures import svg
from vestige.report.markdown import escape, table
from vestige.report.tables import ALIKE_NOTE
from vestige.runs.folder import write_atomic

__all__ = ["write_defence"]


def write_defence(result: DefenceResult, out: Path, *, title: str | None = None) -> Path:
    """Write `report.html`, `report.md` and `report.json`; the same result gives the same bytes.

    Returns:
        The HTML file.

    Raises:
        StorageError: The folder cannot be written.
    """
    heading = title or f"Defences of memory: {result.agent}"
    whole = {"schema_version": 1, "title": heading, "result": result.model_dump(mode="json")}
    data = json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    write_atomic(out / "report.json", data.encode())
    write_atomic(out / "report.md", _markdown(result, heading).encode())
    write_atomic(out / "report.html", _html(result, heading).encode())
    return out / "report.html"


def _markdown(result: DefenceResult, heading: str) -> str:
    parts = [f"# {escape(heading)}", escape(result.statement)]
    for one in tables(result):
        parts.append("\n".join(table(one)))
    parts += ["## What this says, and what it does not"]
    parts += ["\n".join(f"- {escape(line)}" for line in (*LIMITS, *result.notes))]
    parts += [f"Comparison {result.plan_sha256[:12]}."]
    return "\n\n".join(parts) + "\n"


def _html(result: DefenceResult, heading: str) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("vestige.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters |= {"tied": str, "breakable": str}
    style = resources.files("vestige.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return environment.get_template("defence.html.j2").render(
        title=heading,
        result=result,
        tables=tables(result),
        figures=[(d, Markup(svg(d))) for d in drawings(result)],
        limits=(*LIMITS, *result.notes),
        style=Markup(style),
        deep=palette.DEEP,
        alike_note=ALIKE_NOTE,
    )
