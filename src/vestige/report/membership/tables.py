"""The tables of a membership report, as data, and the report in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vestige.audits.membership.results import Ablation, AtFpr, Estimate, MembershipResult
from vestige.report.markdown import escape, table
from vestige.report.membership.lines import ATTACK_NAMES, bounds
from vestige.report.membership.published import beside
from vestige.report.membership.worst import Worst
from vestige.report.safe import one_line
from vestige.report.tables import Cell, Column, Row, Table

__all__ = ["LIMITS", "markdown", "tables"]

SETTINGS = {
    "black": "Black-box: replies",
    "gray": "Gray-box: log-probabilities too",
    "white": "White-box: retrieved units too",
}
ABLATIONS = {
    "questions": "K, the number of questions",
    "follow_up": "with (1) and without (0) the question for the source",
    "w_p": "w_p, the weight of the log-probability",
    "w_m": "w_m, the weight of the nearest retrieved unit",
    "retrieved": "number of retrieved units looked at",
}
LIMITS = (
    "A high AUC says that these questions tell members from others, on these statements. A low one says that these "
    "questions do not; a stronger attacker may.",
    "Non-members must be as likely as members but for being stored. Where they differ in anything else (topic, style, "
    "length), an attack can use that, and the AUC says nothing of the memory.",
    "Statements that follow from stored ones, or that any model knows, can score like members without being stored.",
    "Questions are put with `write_back` off. Whether the agent keeps to that is not checked here: one that notes its "
    "questions makes members of what it is asked about.",
    "Questions made and judged by rules miss what a model would see, and are cheap; the parts stand in the result.",
)


def tables(result: MembershipResult) -> list[Table]:
    """All of them, in the order of the report."""
    found = [_main(result), _thresholds(result)]
    paper = beside(result, ATTACK_NAMES)
    if paper is not None:
        found.append(paper)
    if result.comparisons:
        found.append(_comparisons(result))
    found += [one for name in ABLATIONS if (one := _ablation(result, name)) is not None]
    found += [_users(result), _counts(result)]
    return found


def _estimated(estimate: Estimate) -> Cell:
    if estimate.value is None:
        return Cell("n/c", reason=estimate.reason or "cannot be computed")
    return Cell(f"{estimate.value:.3f}", detail=_around(estimate))


def _around(found: Estimate | AtFpr) -> str:
    """`± 0.012 [0.912, 0.968]`, with the mean of the users' own values where the interval is of that."""
    parts = [f"± {found.sd:.3f}"] if found.sd is not None else []
    return " ".join([*parts, *filter(None, [bounds(found)])])


def _rate(point: AtFpr) -> Cell:
    if point.tpr is None:
        return Cell("refused", reason=point.refused)
    low, high = point.exact or (0.0, 1.0)
    reached = f"FPR {100 * (point.achieved or 0):.2g} % [{100 * low:.2g}, {100 * high:.2g}]"
    return Cell(f"{point.tpr:.3f}", detail="; ".join(filter(None, (_around(point), reached))))


def _main(result: MembershipResult) -> Table:
    rows: list[Row] = []
    rates = [f"TPR at FPR {100 * t:g} %" for t in result.settings.fprs]
    for setting, title in SETTINGS.items():
        rows.append(Row(title))
        for row in (r for r in result.rows if r.setting == setting):
            n = f"{row.members} + {row.non_members}" + (f", {row.unscored} unscored" if row.unscored else "")
            cells = (
                _estimated(row.auc),
                _estimated(row.auc_users),
                _estimated(row.pr_auc),
                *(_rate(p) for p in row.at_fpr),
                Cell(n),
            )
            rows.append(Row(ATTACK_NAMES[row.attack], cells, row.left_out))
    named = [
        (name, found)
        for row in result.rows
        for name, found in (
            ("AUC", row.auc),
            ("mean of users", row.auc_users),
            ("PR-AUC", row.pr_auc),
            *(("TPR", p) for p in row.at_fpr),
        )
    ]
    methods = dict.fromkeys(
        f"{name} by {found.method} (n = {found.n})" + (f": {found.reason}" if found.reason else "")
        for name, found in named
        if found.interval is not None
    )
    centred = (
        " “[…] of x”: the interval is of x, the mean of the users' own values."
        if any(found.centre is not None for _, found in named)
        else ""
    )
    return Table(
        title="Attacks by access setting",
        columns=tuple(Column(t) for t in ("AUC", "AUC, mean of users", "PR-AUC", *rates, "members + others")),
        rows=tuple(rows),
        corner="attack",
        note=f"Intervals at {100 * result.settings.confidence:g} %. {'; '.join(methods)}.{centred} Beside each rate "
        "the false positive rate that was really reached, with its exact interval.",
    )


def _thresholds(result: MembershipResult) -> Table:
    rows = [
        Row(
            f"{ATTACK_NAMES[r.attack]}, {r.setting}-box",
            (
                Cell(f"{r.threshold.accuracy:.3f}" if r.threshold.accuracy is not None else "–"),
                Cell(f"{r.threshold.tpr:.3f}" if r.threshold.tpr is not None else "–"),
                Cell(f"{r.threshold.fpr:.3f}" if r.threshold.fpr is not None else "–"),
                Cell("–" if r.threshold.gammas is None else "{:.3f} to {:.3f}".format(*r.threshold.gammas)),
            ),
        )
        for r in result.rows
        if not r.unavailable
    ]
    return Table(
        title="Decisions with a threshold chosen on other users",
        columns=tuple(Column(t) for t in ("accuracy", "members found", "others called members", "γ")),
        rows=tuple(rows),
        corner="attack",
    )


def _comparisons(result: MembershipResult) -> Table:
    rows = [
        Row(
            f"{ATTACK_NAMES[c.attack]} − {ATTACK_NAMES[c.baseline]}, {c.setting}-box",
            (_estimated(c.difference), Cell("–" if c.p_value is None else f"{c.p_value:.2g}")),
        )
        for c in result.comparisons
    ]
    return Table(
        title="Differences of AUC on the same candidates",
        columns=(Column("difference"), Column("p")),
        rows=tuple(rows),
        corner="attacks",
        note="; ".join(
            dict.fromkeys(
                f"{c.difference.method} (n = {c.difference.n})"
                + (f": {c.difference.reason}" if c.difference.reason else "")
                for c in result.comparisons
                if c.difference.interval is not None
            )
        )
        + ". p is of the paired t test, or DeLong's, and not adjusted for the number of comparisons; a bootstrap has "
        "none.",
    )


def _ablation(result: MembershipResult, name: str) -> Table | None:
    held = [a for a in result.ablations if a.name == name]
    if not held:
        return None
    values = sorted({a.value for a in held})
    by: dict[tuple[str, float], Ablation] = {(a.setting, a.value): a for a in held}
    rows = [
        Row(
            SETTINGS[setting].partition(":")[0],
            tuple(_estimated(by[setting, v].auc) if (setting, v) in by else Cell("–") for v in values),
        )
        for setting in SETTINGS
        if any(s == setting for s, _ in by)
    ]
    return Table(
        title=f"MRMMIA's AUC by {ABLATIONS[name]}",
        columns=tuple(Column(f"{v:g}") for v in values),
        rows=tuple(rows),
        corner="setting",
    )


def _users(result: MembershipResult) -> Table:
    keys = [f"{r.attack}/{r.setting}" for r in result.rows if r.attack == "mrmmia" and not r.unavailable]
    return Table(
        title="MRMMIA's AUC user by user",
        columns=(*(Column(k.partition("/")[2]) for k in keys), Column("stored"), Column("tested")),
        rows=tuple(
            Row(
                one_line(u.user),
                (
                    *(Cell("–" if (v := u.auc.get(k)) is None else f"{v:.3f}") for k in keys),
                    Cell(str(u.stored)),
                    Cell(f"{u.members} + {u.non_members}"),
                ),
            )
            for u in result.users[:60]
        ),
        corner="user",
        note=f"{len(result.users) - 60} more users stand in result.json." if len(result.users) > 60 else "",
    )


def _counts(result: MembershipResult) -> Table:
    c = result.counts
    rows = [
        ("candidates", f"{c.candidates} of {c.planned} planned: {c.members} members, {c.non_members} others"),
        ("others by kind", ", ".join(f"{k.replace('_', ' ')} {n}" for k, n in c.kinds.items()) or "none"),
        ("on both sides after normalisation", f"{c.shared}" + (", left out" if c.shared_left_out else "")),
        ("questions asked", ", ".join(f"{k} {n}" for k, n in c.questions.items())),
        ("questions refused", ", ".join(f"{k} {n}" for k, n in c.rejected.items()) or "none"),
        ("without a valid recall question", str(c.without_questions)),
        ("members stored", ", ".join(f"by {k} in {n} episodes" for k, n in c.remembered_by.items())),
        *((f"part: {k}", v) for k, v in result.parts.items()),
        *((f"cut-off: {k}", f"{a:.3f} to {b:.3f} over the folds") for k, (a, b) in result.cut_offs.items()),
    ]
    return Table(
        title="What was asked",
        columns=(Column("how many, or what"),),
        rows=tuple(Row(one_line(name), (Cell(one_line(text)),)) for name, text in rows),
        corner="",
    )


def markdown(result: MembershipResult, heading: str, worst: Sequence[Worst]) -> str:
    """The report in Markdown."""
    return "\n".join(_lines(result, heading, worst)) + "\n"


def _lines(result: MembershipResult, heading: str, worst: Sequence[Worst]) -> Iterator[str]:
    yield f"# {escape(one_line(heading))}"
    yield ""
    yield escape(one_line(result.statement))
    yield ""
    for one in tables(result):
        yield from table(one)
    if worst:
        yield "## The worst errors"
        yield ""
        for entry in worst:
            yield f"**{escape(entry.title)}**"
            yield ""
            yield escape(entry.statement)
            yield ""
            for said in entry.exchanges:
                yield f"- {escape(said.prompt)}"
                yield f"  - {escape(said.reply) or 'an empty reply'}"
            yield ""
    yield "## What this says, and what it does not"
    yield ""
    for line in (*LIMITS, *result.notes):
        yield f"- {escape(one_line(line))}"
