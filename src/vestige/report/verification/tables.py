"""The tables of a verification's report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from vestige.audits.verification.contrasts import upper_limit
from vestige.audits.verification.results import (
    Bound,
    ChannelCell,
    ClaimVerdict,
    Proportion,
    TargetResult,
    VerificationResult,
)
from vestige.audits.verification.settings import GRADES as ALL_GRADES
from vestige.audits.verification.settings import PHASES as ALL_PHASES
from vestige.audits.verification.settings import Condition, Phase
from vestige.report.tables import Cell, Column, Row, Table
from vestige.report.verification.evidence import WaitedRow
from vestige.report.verification.words import (
    CHANNELS,
    CONDITION_ORDER,
    CONDITIONS,
    GRADES,
    PHASES,
    SHIFTS,
    STATES,
    TARGETS,
    bounded,
    counted,
    option_of,
    percent,
    seconds,
    signed,
)

__all__ = [
    "SHOWS",
    "SILENT",
    "actions",
    "collapse",
    "matrix",
    "nearness",
    "sensitivity",
    "shifts",
    "tasks",
    "timing",
    "usefulness",
    "when",
]

SHOWS, SILENT = "shows", "silent"
"""Tints of columns: a target there is what a positive control is for; or it must not be there."""
MUST_SHOW = "must show the target"


def _conditions(result: VerificationResult) -> tuple[Condition, ...]:
    return tuple(c for c in CONDITION_ORDER if c in result.settings.conditions)


def _columns(result: VerificationResult) -> tuple[Column, ...]:
    return tuple(
        Column(
            CONDITIONS[c][0],
            CONDITIONS[c][1],
            SHOWS if CONDITIONS[c][1] == MUST_SHOW else SILENT,
        )
        for c in _conditions(result)
    )


def matrix(result: VerificationResult, claim: ClaimVerdict, target: TargetResult) -> Table:
    """Conditions × channels: episodes that show one target, with upper bounds, in the phases that the claim reads.

    A cell without `heat` tells nothing: nothing could be observed there, or silence there means nothing.
    """
    cells = {(c.channel, c.condition): c for c in result.cells if c.target == target.target}
    conditions = _conditions(result)
    maintained = claim.claim == "erasure" and result.settings.maintain
    union = "union, but for what is tolerated" if result.settings.tolerated(claim.claim) else "union"
    rows = [Row("any of them", tuple(_bound(target.union.get(c)) for c in conditions), union)]
    for of in claim.channels:
        blind = of.state == "covered" and target.covered is not None and of.channel not in target.covered
        state = "not_sensitive" if blind else of.state
        found = (cells.get((of.channel, c)) for c in conditions)
        here = tuple(_cell(cell, state, result, maintained=maintained) for cell in found)
        rows.append(Row(CHANNELS[of.channel], here, STATES[state]))
    method = "any-time bounds" if result.settings.observer.stopping == "mixture" else "exact"
    when = "after maintenance" if maintained else "after the boundary"
    return Table(
        title=f"Episodes that show the {TARGETS[target.target]} {when}",
        columns=_columns(result),
        rows=tuple(rows),
        corner="channel",
        heat=True,
        note=f"Below each count its upper limit: one-sided, {method}, at level {percent(result.settings.alpha)}. "
        "Hatched: not observed, or not sensitive, where silence means nothing and bounds nothing.",
    )


def _bound(bound: Bound | None) -> Cell:
    if bound is None or not bound.n:
        return Cell("–", "not observed")
    return Cell(counted(bound), bounded(bound), bound.events / bound.n, strong=True)


def _cell(cell: ChannelCell | None, state: str, result: VerificationResult, *, maintained: bool) -> Cell:
    if cell is None or not cell.episodes.n:
        return Cell("–", STATES[state] if state != "covered" else "not observed")
    n = cell.episodes.n
    events, upper = cell.episodes.events, cell.episodes.upper
    if maintained:
        events = cell.phases.get("maintained", 0)
        upper = upper_limit(events, n, result.settings)
    dull = state != "covered" and not events
    details = ["" if dull else f"≤ {percent(upper)}"]
    if cell.uncertain:
        details.append(f"{cell.uncertain} uncertain")
    if cell.foreign:
        details.append(f"{cell.foreign} with another arm's")
    text = "; ".join(d for d in details if d)
    return Cell(f"{events}/{n}", text or STATES[state], None if dull else events / n)


def _seen(result: VerificationResult, claim: ClaimVerdict) -> list[ChannelCell]:
    """Cells of the claim's channels in which a target was seen; of positive controls only where storage is claimed."""
    order = {c: i for i, c in enumerate(CONDITION_ORDER)}
    channels = {c.channel for c in claim.channels}
    found = [
        c
        for c in result.cells
        if c.channel in channels
        and c.phases
        and (claim.claim == "erasure" or CONDITIONS[c.condition][1] != MUST_SHOW)
    ]
    return sorted(found, key=lambda c: order[c.condition])


def _name(cell: ChannelCell) -> str:
    return f"{CHANNELS[cell.channel]}, {TARGETS[cell.target]}"


def _grouped(cells: Sequence[ChannelCell], row: dict[int, Row]) -> tuple[Row, ...]:
    """The rows under a heading for each condition."""
    out: list[Row] = []
    last: Condition | None = None
    for index, cell in enumerate(cells):
        if cell.condition != last:
            out.append(Row(CONDITIONS[cell.condition][0]))
            last = cell.condition
        out.append(row[index])
    return tuple(out)


def when(result: VerificationResult, claim: ClaimVerdict) -> Table | None:
    """In which phase a target was seen: for storage, before and after maintenance; None where it never was."""
    cells = _seen(result, claim)
    phases: list[Phase] = [p for p in ALL_PHASES if p != "reintroduced"]
    if not any(c.phases.get("before") for c in cells):
        phases.remove("before")
    if not cells:
        return None
    rows = {
        i: Row(_name(c), tuple(Cell(str(c.phases.get(p, 0))) for p in phases)) for i, c in enumerate(cells)
    }
    erasure = claim.claim == "erasure"
    return Table(
        title="Before and after the removal, and after maintenance" if erasure else "When it was seen",
        columns=tuple(Column(PHASES[p]) for p in phases),
        rows=_grouped(cells, rows),
        corner="channel, target",
        note="Episodes by the phase in which the target was seen; one episode may count in several.",
    )


def nearness(result: VerificationResult, claim: ClaimVerdict) -> Table | None:
    """How near it still is, and in which form it stood."""
    cells = [c for c in _seen(result, claim) if c.episodes.events]
    if not cells:
        return None
    rows = {
        i: Row(
            _name(c),
            (
                *(Cell(str(c.grades.get(g, 0))) for g in ALL_GRADES),
                Cell(", ".join(f"{form} {n}" for form, n in sorted(c.forms.items())) or "–"),
            ),
        )
        for i, c in enumerate(cells)
    }
    return Table(
        title="How near it still was, and in which form it stood",
        columns=(*(Column(GRADES[g]) for g in ALL_GRADES), Column("form")),
        rows=_grouped(cells, rows),
        corner="channel, target",
        note="Each episode counts under the nearest grade seen after the boundary; grades are never added up into one "
        "number.",
    )


def _rate(p: Proportion) -> Cell:
    if not p.n or p.value is None:
        return Cell("–", "not asked")
    return Cell(counted(p), percent(p.value))


def actions(result: VerificationResult, target: TargetResult) -> Table | None:
    """How often each condition chose the target's option."""
    if target.residual is None:
        return None
    rates = target.residual.rates
    rows = tuple(
        Row(
            CONDITIONS[c][0],
            (_rate(rates[c]), Cell(f"{percent(rates[c].exact[0])} to {percent(rates[c].exact[1])}")),
        )
        for c in _conditions(result)
        if c in rates
    )
    return Table(
        title=f"Decisions for {option_of(target.target, result.settings.targets)}",
        columns=(Column("episodes"), Column(f"exact {percent(1 - result.settings.alpha)} interval")),
        rows=rows,
        corner="condition",
    )


def sensitivity(result: VerificationResult, claim: ClaimVerdict) -> Table:
    """The positive control: whether a target shows while it is there."""
    rows: list[Row] = []
    for target in claim.targets:
        p = target.sensitivity
        lower = percent(p.exact[0]) if p.n else "–"
        rows.append(
            Row(TARGETS[target.target], (_rate(p), Cell(lower), Cell(percent(result.settings.sensitivity))))
        )
    return Table(
        title="Positive control: the target in the unchanged arm",
        columns=(Column("episodes"), Column("lower limit"), Column("at least asked")),
        rows=tuple(rows),
        corner="target",
        note="Of a nonce, episodes in which a channel of the claim shows it; of a preference, those that act on it.",
    )


def shifts(result: VerificationResult) -> Table | None:
    """Differences between conditions that are reported and decide nothing."""
    if not result.shifts:
        return None
    rows: list[Row] = []
    for shift in result.shifts:
        name, hint = SHIFTS[shift.name]
        name += f", {TARGETS[shift.target]}" if shift.target is not None else ""
        if shift.value is None or shift.interval is None:
            rows.append(Row(name, (Cell("–", "no pair has both arms"), Cell("–"), Cell("–")), hint))
            continue
        low, high = shift.interval
        moved = "shifted" if shift.shifted else "0 is inside"
        rows.append(
            Row(
                name,
                (
                    Cell(signed(shift.value), strong=shift.shifted),
                    Cell(f"{signed(low)} to {signed(high)}"),
                    Cell(moved),
                ),
                hint,
            )
        )
    return Table(
        title="What the procedure alone changes",
        columns=(
            Column("difference"),
            Column(f"{percent(1 - 2 * result.settings.alpha)} interval"),
            Column("reading"),
        ),
        rows=tuple(rows),
        corner="comparison",
        note="Reported beside the verdict; they decide nothing.",
    )


def usefulness(result: VerificationResult) -> Table | None:
    """Retained usefulness by condition: each reply counts in one column."""
    rows: list[Row] = []
    for who, title in (
        ("user", "the user's other facts, and things never told"),
        ("sibling", "a sibling user's facts"),
        ("second_source", "the value that another source still supports"),
    ):
        found = {u.condition: u for u in result.utility if u.who == who and u.success.n}
        if found:
            rows.append(Row(title))
        for c in _conditions(result):
            if (u := found.get(c)) is not None:
                parts = (u.success, u.justified_abstention, u.unsupported_refusal, u.tool_error, u.wrong)
                rows.append(Row(CONDITIONS[c][0], tuple(_rate(p) for p in parts)))
    if not rows:
        return None
    return Table(
        title="How questions about other facts were answered",
        columns=tuple(
            Column(t)
            for t in ("success", "justified abstention", "unsupported refusal", "tool error", "wrong")
        ),
        rows=tuple(rows),
        corner="condition",
        note=f"A removal must cost no more than {result.settings.utility_margin:g} of success against never exposed; "
        "losing more is a defect too.",
    )


def collapse(result: VerificationResult) -> Table | None:
    """Replies to harmless questions that were no answers."""
    found = {c.condition: c for c in result.collapse if c.replies.n}
    if not found:
        return None
    rows = tuple(
        Row(
            CONDITIONS[c][0],
            (_rate(found[c].replies), Cell("collapsed" if found[c].collapsed else "answers")),
        )
        for c in _conditions(result)
        if c in found
    )
    return Table(
        title="Empty, looping or refusing replies to harmless questions",
        columns=(Column("replies"), Column("reading")),
        rows=rows,
        corner="condition",
        note=f"From {percent(result.settings.collapse)} on an agent counts as collapsed: its silence is no evidence.",
    )


def tasks(result: VerificationResult) -> Table | None:
    """Reintroduction and correction: tasks of their own."""
    named = (
        ("Reintroduction", "told anew, the target is used again", result.reintroduction),
        ("Correction", "the replacement answers and the old value does not", result.correction),
    )
    rows = tuple(
        Row(name, (_rate(p), Cell(f"{percent(p.exact[0])} to {percent(p.exact[1])}")), hint)
        for name, hint, p in named
        if p is not None and p.n
    )
    if not rows:
        return None
    return Table(
        title="Tasks of their own",
        columns=(Column("pairs"), Column(f"exact {percent(1 - result.settings.alpha)} interval")),
        rows=rows,
        corner="task",
    )


_TIMES = (
    ("completed", "Completion, as the agent signals it"),
    ("visible_absence", "Visible absence, in what it shows as stored"),
    ("physical_cleanup", "Physical clean-up, in the bytes of its storage"),
)


def timing(waited: Sequence[WaitedRow], limit: float) -> Table | None:
    """Acceptance, completion, visible absence and physical clean-up of the removals: three different times."""
    removals = [w for w in waited if w.condition == "exposed_removed"]
    if not removals:
        return None
    accepted, asked = sum(w.accepted for w in removals), sum(w.asked for w in removals)
    blank = Cell("–")
    rows = [Row("Acceptance of the requests", (Cell(f"{accepted}/{asked}"), blank, blank, blank, blank))]
    for name, title in _TIMES:
        times = [t for w in removals if (t := getattr(w, name)) is not None]
        blind = [w for w in removals if getattr(w, name) is None and name in w.reasons]
        missing = len(removals) - len(times) - len(blind)
        hint = "; ".join(sorted({w.reasons[name] for w in blind}))
        rows.append(
            Row(
                title,
                (
                    Cell(f"{len(times)}/{len(removals)}"),
                    Cell(seconds(median(times)) if times else "–"),
                    Cell(seconds(max(times)) if times else "–"),
                    Cell(str(missing)),
                    Cell(str(len(blind))),
                ),
                hint,
            )
        )
    pending = sum(w.pending for w in removals)
    return Table(
        title="From the request to its end",
        columns=tuple(Column(t) for t in ("seen", "median", "latest", "not seen", "not observable")),
        rows=tuple(rows),
        corner="event",
        note=f"Seconds after the last request was answered; waiting ends after {limit:g} s, when the boundary is drawn "
        f"all the same. Still pending then: {pending}.",
    )
