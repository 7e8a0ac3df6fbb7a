"""The report as Markdown: the same facts, tables for figures, replies in fences that they cannot leave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vestige.report.evidence import EvidenceGroup, Exchange
from vestige.report.html import group_title
from vestige.report.safe import one_line
from vestige.report.tables import ALIKE_NOTE, Cell, Table
from vestige.report.view import View
from vestige.report.wording import listing, plural

__all__ = ["escape", "fence", "render"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&=:@-])")
_BARE_LINK = re.compile(r"(?i)\b(https?|ftp|www)(?=[:.])")


def escape(text: str) -> str:
    """One line of untrusted text in which no Markdown or HTML is left."""
    line = one_line(text)
    linkless = _BARE_LINK.sub(lambda m: m[1][0] + "\u2060" + m[1][1:], line)
    return _SPECIAL.sub(r"\\\1", linkless)


def _plain(text: str) -> str:
    """Our own words: only what would break a table cell or start markup is escaped."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", one_line(text))


def fence(text: str) -> list[str]:
    """Untrusted text as a code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}text", *text.splitlines(), ticks]


def _cell(cell: Cell) -> str:
    return _plain(f"{cell.text} ({cell.detail})" if cell.detail else cell.text)


def table(one: Table) -> Iterator[str]:
    """A pipe table with its title and notes."""
    yield f"**{_plain(one.title)}**"
    yield ""
    names = [f"{c.group}: {c.text}" if c.group else c.text for c in one.columns]
    yield "| " + " | ".join((_plain(one.corner) or " ", *(_plain(name) for name in names))) + " |"
    yield "|" + " --- |" + " ---: |" * len(names)
    for row in one.rows:
        if row.cells:
            yield "| " + " | ".join((_plain(row.header), *(_cell(cell) for cell in row.cells))) + " |"
        else:
            yield "| **" + _plain(row.header) + "** |" + " |" * len(names)
    yield ""
    if one.note:
        yield _plain(one.note)
        yield ""
    if one.alike:
        yield ALIKE_NOTE
        yield ""
    if one.reasons:
        yield _plain("n/c, not computable: " + "; ".join(one.reasons) + ".")
        yield ""


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"- {_plain(line)}"
    yield ""


def render(view: View) -> str:
    """The document."""
    return "\n".join(_lines(view)).rstrip() + "\n"


def _lines(view: View) -> Iterator[str]:
    yield f"# {_plain(view.title)}"
    yield ""
    yield _plain(view.headline)
    yield ""
    if view.unmasked:
        yield "**This report shows the planted secrets unmasked.**"
        yield ""
    for name, group in view.findings:
        if name:
            yield f"**{_plain(name)}**"
            yield ""
        yield from _bullets(finding.text for finding in group)
    yield from _bullets(f"{name}: {value}" for name, value in view.facts)
    for part in view.parts:
        yield f"## {_plain(part.title)}"
        yield ""
        yield _plain(part.subtitle)
        yield ""
        for block in part.blocks:
            if block.label:
                yield f"### {_plain(block.label)}"
                yield ""
            for figure in block.figures:
                yield _plain(f"Figure, in report.html: {figure.caption}")
                yield ""
            for one in (*block.tables, *block.small, *block.more):
                yield from table(one)
    if view.paper:
        yield "## Beside the paper"
        yield ""
        yield _plain(view.citation)
        yield ""
        for one in view.paper:
            yield from table(one)
        for caveat in view.caveats:
            yield _plain(caveat)
            yield ""
    yield "## What was and was not observed"
    yield ""
    yield "Observed:"
    yield ""
    yield from _bullets(view.observed)
    yield "Not shown by these numbers:"
    yield ""
    yield from _bullets(view.not_observed)
    yield "Left out:"
    yield ""
    yield from (
        _bullets(f"{x.episode}: {x.reason}" for x in view.exclusions)
        if view.exclusions
        else ("- nothing", "")
    )
    yield from _evidence(view)
    yield "## The words and measures"
    yield ""
    yield from (f"- **{_plain(word)}**: {_plain(meaning)}" for word, meaning in view.definitions)
    yield ""
    yield "## Checking it again"
    yield ""
    yield "All of it is computed from the records in the run folder (RUN), with no agent, model or network:"
    yield ""
    yield from ("```sh", "vestige score RUN", "vestige conclude RUN", "vestige report RUN", "```", "")
    yield from _bullets(f"{name}: {value}" for name, value in view.provenance)


def _evidence(view: View) -> Iterator[str]:
    yield "## The exchanges behind the numbers"
    yield ""
    yield _plain(view.evidence_note)
    yield ""
    for group in view.evidence:
        yield f"### {escape(group_title(group))}"
        yield ""
        tally = (
            f"{plural(group.n_exchanges, 'exchange')}, {plural(group.n_instances, 'instance')}: {group.what}."
        )
        yield _plain(tally)
        yield ""
        for exchange in group.exchanges:
            yield from _exchange(exchange)
        yield from _rows(group)


def _exchange(exchange: Exchange) -> Iterator[str]:
    yield f"**{escape(exchange.instance)}**, k = {listing(exchange.ks)}. Asked:"
    yield ""
    yield from fence(exchange.prompt)
    yield ""
    length = f" ({exchange.reply.characters:,} characters, shortened)" if exchange.reply.cut else ""
    yield f"Answered{length}:"
    yield ""
    yield from fence(exchange.reply)
    yield ""
    holders = [unit for unit in exchange.units if unit.holds]
    if exchange.units:
        yield (
            f"{plural(len(exchange.units), 'memory unit')} retrieved, {len(holders)} with the secret"
            + (":" if any(unit.text for unit in holders) else ".")
        )
        yield ""
        for unit in holders:
            if unit.text is not None:
                yield f"- {escape(unit.tier)}, similarity {unit.score:.2f}: {escape(unit.text)}"
        yield ""


def _rows(group: EvidenceGroup) -> Iterator[str]:
    if not group.rows:
        return
    yield "| instance | k | from the reply |"
    yield "| --- | --- | --- |"
    for row in group.rows:
        yield f"| {escape(row.instance)} | {listing(row.ks)} | {escape(row.reply)} |"
    yield ""
