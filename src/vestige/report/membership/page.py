"""The report of a membership audit as one HTML file: no script, no network, every text escaped by the template."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

from vestige.audits.membership.results import MembershipResult
from vestige.report import palette
from vestige.report.figures import svg
from vestige.report.membership.charts import drawings
from vestige.report.membership.scores import Scores
from vestige.report.membership.tables import LIMITS, tables
from vestige.report.membership.worst import Worst
from vestige.report.safe import one_line
from vestige.report.tables import ALIKE_NOTE

__all__ = ["html"]


def html(result: MembershipResult, scores: Scores, worst: Sequence[Worst], heading: str) -> str:
    """The page."""
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
    figures = [(d, Markup(svg(d))) for d in drawings(result, scores)]
    return environment.get_template("membership.html.j2").render(
        title=one_line(heading),
        statement=one_line(result.statement),
        result=result,
        tables=tables(result),
        figures=figures,
        worst=worst,
        limits=[one_line(line) for line in (*LIMITS, *result.notes)],
        style=Markup(style),
        deep=palette.DEEP,
        alike_note=ALIKE_NOTE,
    )
