"""The report of a verification as one HTML file: no script, no network, every text escaped by the template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

from vestige.report import palette
from vestige.report.figures import svg
from vestige.report.safe import Clipped
from vestige.report.tables import ALIKE_NOTE
from vestige.report.verification.view import View
from vestige.report.wording import plural

__all__ = ["contents", "render"]


def render(view: View) -> str:
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
    marker = _Marker(view.placeholders)
    filters = cast("dict[str, Any]", environment.filters)
    filters |= {
        "tied": _tied,
        "breakable": _breakable,
        "marked": marker,
        "cut": _cut,
        "plural": plural,
        "svg": _svg,
    }
    templates = resources.files("vestige.report").joinpath("templates")
    style = "".join(
        templates.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "verification.css")
    )
    return environment.get_template("verification.html.j2").render(
        view=view, contents=contents(view), style=Markup(style), deep=palette.DEEP, alike_note=ALIKE_NOTE
    )


def contents(view: View) -> list[tuple[str, str]]:
    """The sections, by anchor."""
    entries = [("summary", "Verdict")]
    for claim in view.claims:
        suffix = f", {claim.name.lower()}" if len(view.claims) > 1 else ""
        entries += [
            (f"{claim.anchor}-rules", f"Rules{suffix}"),
            (f"{claim.anchor}-channels", f"Channels{suffix}"),
        ]
        if claim.drawings or claim.influence:
            entries.append((f"{claim.anchor}-influence", f"Decisions{suffix}"))
    return [
        *entries,
        ("controls", "Controls"),
        ("usefulness", "Usefulness"),
        ("pairs", "Pairs side by side"),
        ("ledger", "Removal ledger"),
        ("limits", "Limits"),
        ("words", "Words"),
        ("check", "Checking it again"),
    ]


class _Marker:
    """Marks the places where a target stands, or stood."""

    def __init__(self, placeholders: Sequence[str]) -> None:
        parts = "|".join(re.escape(p) for p in sorted(set(placeholders), key=lambda p: (-len(p), p)))
        self._places = re.compile(f"({parts})") if parts else None

    def __call__(self, text: str) -> Any:
        from markupsafe import Markup, escape

        if self._places is None:
            return escape(str(text))
        pieces = self._places.split(str(text))
        marked = (
            Markup("<mark>{}</mark>").format(piece) if index % 2 else escape(piece)
            for index, piece in enumerate(pieces)
        )
        return Markup("").join(marked)


def _svg(drawing: Any) -> Any:
    from markupsafe import Markup

    # Ours, with its texts escaped by matplotlib; `svg` leaves shapes, text and style alone.
    return Markup(svg(drawing))


def _cut(text: Clipped) -> str:
    """What is said of a text that was shortened; nothing of a whole one."""
    return f"shortened: {text.characters:,} characters in full" if text.cut else ""


def _tied(text: str) -> str:
    """The text with real minus signs, and no line break around equals signs or before percent signs."""
    text = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%").replace("≤ ", "≤\u00a0")


def _breakable(text: str) -> Any:
    """A name that may break after its underscores."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(piece) for piece in text.split("_"))
