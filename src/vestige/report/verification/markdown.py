"""The report of a verification as Markdown: the same facts, tables for figures, replies in fences they cannot leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vestige.report.markdown import escape, fence, table
from vestige.report.verification.ledger import LedgerTarget
from vestige.report.verification.sidebyside import ShownArm, ShownPair, ShownRow
from vestige.report.verification.view import ClaimView, View

__all__ = ["render"]

MARKS = {"fails": "✕", "limited_evidence": "◐", "unassessable": "?"}


def render(view: View) -> str:
    """The document."""
    return "\n".join(_lines(view)).rstrip() + "\n"


def _lines(view: View) -> Iterator[str]:
    yield f"# {escape(view.title)}"
    yield ""
    yield f"**{MARKS[view.verdict]} {view.words}** (`{view.verdict}`)"
    yield ""
    if view.unmasked:
        yield "**This report shows the removal targets unmasked.**"
        yield ""
    for claim in view.claims:
        yield from _verdict(claim, several=len(view.claims) > 1)
    if view.open:
        yield "Uncertain findings wait for a person (`vestige adjudicate RUN`):"
        yield ""
        yield from _bullets(view.open)
    if view.reach:
        yield escape(view.reach)
        yield ""
    yield from _pairs_of(view.facts)
    for claim in view.claims:
        yield from _claim(claim, several=len(view.claims) > 1)
    yield "## Controls"
    yield ""
    for one in (*(t for claim in view.claims for t in claim.controls), *view.procedure, *view.timing):
        yield from table(one)
    yield "## Retained usefulness"
    yield ""
    for one in view.usefulness:
        yield from table(one)
    yield "## Pairs side by side"
    yield ""
    yield escape(view.pairs_note)
    yield ""
    for pair in view.pairs:
        yield from _pair(pair)
    yield "## Removal ledger"
    yield ""
    yield escape(view.ledger_note)
    yield ""
    for target in view.ledger:
        yield from _target(target)
    yield from _limits(view)
    yield "## The words"
    yield ""
    yield from (f"- **{escape(word)}**: {escape(meaning)}" for word, meaning in view.definitions)
    yield ""
    yield "## Checking it again"
    yield ""
    yield "With no agent, model or network, from the packet (PACKET) or the run folder (RUN):"
    yield ""
    width = max(len(command) for command, _ in view.commands)
    yield "```sh"
    yield from (f"{command.ljust(width)}  # {what}" for command, what in view.commands)
    yield "```"
    yield ""
    yield from _pairs_of(view.provenance)


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    yield from (f"- {escape(line)}" for line in lines)
    yield ""


def _pairs_of(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from _bullets(f"{name}: {value}" for name, value in rows)


def _verdict(claim: ClaimView, *, several: bool) -> Iterator[str]:
    if several:
        yield f"**{escape(claim.name)}: {MARKS[claim.verdict]} {claim.words}** (`{claim.verdict}`)"
        yield ""
    yield escape(claim.statement)
    yield ""
    yield f"Why: {escape(claim.why)}"
    yield ""
    if claim.mends:
        yield "What would make it assessable:"
        yield ""
        yield from _bullets(claim.mends)
    yield "What it covers:"
    yield ""
    yield from _pairs_of(claim.coverage)


def _claim(claim: ClaimView, *, several: bool) -> Iterator[str]:
    suffix = f": {escape(claim.name)}" if several else ""
    yield f"## The rules in their order{suffix}"
    yield ""
    yield "| rule | question | outcome | reason |"
    yield "| --- | --- | --- | --- |"
    for rule in claim.rules:
        name = f"{rule.number} {rule.name}" + (f", {rule.target}" if rule.target else "")
        outcome = f"**{rule.words}** (decides)" if rule.decides else rule.words
        reason = " ".join(
            part for part in (rule.reason, f"To mend it: {rule.mend}" if rule.mend else "") if part
        )
        yield f"| {escape(name)} | {escape(rule.question)} | {outcome} | {escape(reason)} |"
    yield ""
    yield f"## Conditions and channels{suffix}"
    yield ""
    for one in claim.matrices:
        yield from table(one)
    yield "| channel | state | reason |"
    yield "| --- | --- | --- |"
    for state in claim.states:
        yield f"| {escape(state.channel)} | {escape(state.words)} | {escape(state.reason)} |"
    yield ""
    for one in claim.places:
        yield from table(one)
    if claim.drawings or claim.influence:
        yield f"## Decisions{suffix}"
        yield ""
        for drawing in claim.drawings:
            yield escape(f"Figure, in report.html: {drawing.caption} {drawing.alt}")
            yield ""
        for one in claim.influence:
            yield from table(one)


def _pair(pair: ShownPair) -> Iterator[str]:
    yield f"### {escape(pair.pair)}: {escape(pair.why)}"
    yield ""
    for row in (*pair.rows, *pair.rest):
        yield from _row(row)


def _row(row: ShownRow) -> Iterator[str]:
    yield f"#### {escape(row.title)} ({escape(row.what)})"
    yield ""
    if row.prompt is not None:
        yield from fence(row.prompt)
        yield ""
    for arm in row.arms:
        yield from _arm(arm)


def _arm(arm: ShownArm) -> Iterator[str]:
    said = "; ".join((*(tag.text for tag in arm.tags), *((arm.outcome,) if arm.outcome else ())))
    yield f"**{escape(arm.name)}**" + (f": {escape(said)}" if said else "")
    yield ""
    if arm.missing:
        yield f"- {escape(arm.missing)}"
        yield ""
        return
    if arm.asked is not None:
        yield "Asked:"
        yield ""
        yield from fence(arm.asked)
        yield ""
    for text in arm.said:
        label = f", {escape(text.label)}" if text.label else ""
        length = f" ({text.text.characters:,} characters, shortened)" if text.text.cut else ""
        yield f"{escape(text.channel)}{label}{length}:"
        yield ""
        yield from fence(text.text)
        yield ""
    holding = [unit for unit in arm.units if unit.marked]
    if arm.units:
        yield f"{len(arm.units)} units retrieved, {len(holding)} with a target" + (":" if holding else ".")
        yield ""
        yield from (f"- {escape(unit.label)}: {escape(unit.text)}" for unit in holding)
        if holding:
            yield ""


def _target(target: LedgerTarget) -> Iterator[str]:
    yield f"### {escape(target.target_id)}"
    yield ""
    yield from _pairs_of(target.common)
    own = [title for title, _ in target.entries[0].own]
    yield "| " + " | ".join(("layer", "state", "reason", *own)) + " |"
    yield "|" + " --- |" * (3 + len(own))
    for entry in target.entries:
        cells = (entry.layer, entry.words, entry.reason, *(value for _, value in entry.own))
        yield "| " + " | ".join(escape(cell) for cell in cells) + " |"
    yield ""


def _limits(view: View) -> Iterator[str]:
    yield "## Limits"
    yield ""
    yield "Not observed:"
    yield ""
    yield from _bullets(view.not_observed)
    yield "What this verdict is not:"
    yield ""
    yield from _bullets(view.verdict_is_not)
    if view.notes:
        yield "Notes of the run:"
        yield ""
        yield from _bullets(view.notes)
    yield "Left out:"
    yield ""
    yield from _bullets((*view.exclusions, *((view.failed,) if view.failed else ())) or ("nothing",))
