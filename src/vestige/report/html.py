"""The report as one HTML file: no script, no network, every text escaped by the template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from vestige.report import palette
from vestige.report.evidence import EvidenceGroup, Exchange, Unit
from vestige.report.figures import svg
from vestige.report.glossary import PROBE_WORDS
from vestige.report.safe import Clipped
from vestige.report.tables import ALIKE_NOTE
from vestige.report.view import Part, View
from vestige.report.wording import listing, plural

__all__ = ["group_title", "render"]


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
    style = resources.files("vestige.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    environment.filters.update(tied=_tied, breakable=_breakable)
    return environment.get_template("report.html.j2").render(
        view=_shown(view), style=Markup(style), deep=palette.DEEP, alike_note=ALIKE_NOTE
    )


class _Marker:
    """Marks the places where a secret stands, or stood."""

    def __init__(self, placeholders: Sequence[str]) -> None:
        parts = "|".join(re.escape(p) for p in sorted(placeholders, key=lambda p: (-len(p), p)))
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


def _shown(view: View) -> dict[str, Any]:
    marker = _Marker(view.placeholders)
    return {
        **{name: getattr(view, name) for name in View.__dataclass_fields__},
        "contents": _contents(view),
        "headline": _tied(view.headline),
        "findings": [
            (name, [{"text": _tied(finding.text), "tone": finding.tone} for finding in group])
            for name, group in view.findings
        ],
        "parts": [_part(part) for part in view.parts],
        "evidence": [_group(group, marker) for group in view.evidence],
    }


def _tied(text: str) -> str:
    """The text with no line break around its equals signs or before its percent signs."""
    return text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")


def _breakable(text: str) -> Any:
    """A name that may break after its underscores."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(piece) for piece in text.split("_"))


def _contents(view: View) -> list[dict[str, str]]:
    entries = [("summary", "Summary"), *((part.anchor, part.title) for part in view.parts)]
    if view.paper:
        entries.append(("paper", "Beside the paper"))
    entries += [
        ("observed", "What was observed"),
        ("exchanges", "Exchanges"),
        ("words", "Words and measures"),
        ("check", "Checking it again"),
    ]
    return [{"anchor": anchor, "text": text} for anchor, text in entries]


def _part(part: Part) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "anchor": part.anchor,
        "title": part.title,
        "subtitle": part.subtitle,
        "blocks": [
            {
                "label": block.label,
                "figures": [
                    # Ours, with its texts escaped by matplotlib; `svg` leaves shapes, text and style alone.
                    {"svg": Markup(svg(drawing)), "alt": drawing.alt, "caption": drawing.caption}
                    for drawing in block.figures
                ],
                "tables": block.tables,
                "small": block.small,
                "small_title": block.small_title,
                "small_intro": block.small_intro,
                "more": block.more,
            }
            for block in part.blocks
        ],
    }


def group_title(group: EvidenceGroup) -> str:
    """`S = 1 · indirect probe · after raw_only`, with what else tells the group from others."""
    when = "before deletion" if group.audit == "frontier" or group.mode is None else f"after {group.mode}"
    probe = "recall question" if group.probe_kind == "recall" else f"{group.probe_kind} probe"
    kind = {"normalised": "rewritten copy", "partial": "part of the secret"}.get(group.kind, "")
    return " · ".join(word for word in (f"S = {group.S}", probe, when, group.levers, kind) if word)


def _group(group: EvidenceGroup, marker: _Marker) -> dict[str, Any]:
    probe = PROBE_WORDS.get(group.probe_kind)
    intro = f"{group.what[0].upper()}{group.what[1:]}." + (f" This probe {probe}." if probe else "")
    rest = sum(len(exchange.ks) for exchange in group.rows)
    return {
        "S": group.S,
        "title": group_title(group),
        "tally": f"{plural(group.n_exchanges, 'exchange')}, {plural(group.n_instances, 'instance')}",
        "intro": intro,
        "exchanges": [_exchange(exchange, marker) for exchange in group.exchanges],
        "rows": [{"instance": e.instance, "ks": listing(e.ks), "reply": marker(e.reply)} for e in group.rows],
        "rows_note": f"{plural(rest, 'more exchange')}, shortened; the run folder holds them in full.",
    }


def _note(text: Clipped) -> str:
    return f"shortened: {text.characters:,} characters in full" if text.cut else ""


def _exchange(exchange: Exchange, marker: _Marker) -> dict[str, Any]:
    total, holding = len(exchange.units), exchange.holding
    holds = f"; {holding} of them hold{'s' if holding == 1 else ''} the secret" if total else ""
    return {
        "instance": exchange.instance,
        "ks": f"k = {listing(exchange.ks)}",
        "prompt": marker(exchange.prompt),
        "reply": marker(exchange.reply),
        "reply_note": _note(exchange.reply),
        "expected": None if exchange.expected is None else marker(exchange.expected),
        "units": [_unit(unit, marker) for unit in exchange.units],
        "units_title": f"{plural(total, 'memory unit')} retrieved{holds}",
    }


def _unit(unit: Unit, marker: _Marker) -> dict[str, Any]:
    return {
        "anchor": unit.anchor,
        "tier": unit.tier,
        "score": f"{unit.score:.2f}",
        "holds": unit.holds,
        "text": None if unit.text is None else marker(unit.text),
        "note": _note(unit.text) if unit.text is not None and unit.holds else "",
    }
