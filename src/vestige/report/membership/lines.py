"""What a terminal is told of a membership audit."""

from __future__ import annotations

from vestige.audits.membership.results import AtFpr, AttackRow, Estimate, MembershipResult
from vestige.report.safe import neutralise

__all__ = ["ATTACK_NAMES", "bounds", "membership_lines", "plain_rate", "rate_at"]

ATTACK_NAMES = {
    "mrmmia": "MRMMIA",
    "mrmmia_s": "MRMMIA_s",
    "naive": "Naive Probe",
    "ia": "Interrogation (IA)",
    "loss": "Loss",
    "mink": "MinK",
    "reference": "Reference",
}


def membership_lines(result: MembershipResult) -> list[str]:
    """The statement, then a line an attack and setting."""
    lines = [result.statement, ""]
    head = f"{'setting':<8}{'attack':<20}{'AUC':>7}  {'interval':<25}{'PR-AUC':>7}  TPR at FPR"
    lines.append(head)
    for row in result.rows:
        if row.unavailable:
            lines.append(f"{row.setting:<8}{ATTACK_NAMES[row.attack]:<20}  not scored: {row.unavailable}")
            continue
        rates = ", ".join(f"{100 * p.target:g} %: {rate_at(p)}" for p in row.at_fpr)
        lines.append(
            f"{row.setting:<8}{ATTACK_NAMES[row.attack]:<20}{plain_rate(row.auc.value):>7}  {bounds(row.auc):<25}"
            f"{plain_rate(row.pr_auc.value):>7}  {rates}"
        )
    if any(row.auc.centre is not None for row in result.rows):
        lines.append(
            "“[…] of x”: fewer than 20 users, so the interval is Student's of their own AUCs, whose mean is x"
        )
    counts = result.counts
    lines += [
        "",
        f"{counts.candidates} of {counts.planned} candidates ({counts.members} members, {counts.non_members} others) "
        f"of {counts.users} users; {sum(counts.questions.values())} questions; parts: "
        f"{'; '.join(f'{k} by {v}' for k, v in result.parts.items())}",
    ]
    if result.stopped:
        lines.append(result.stopped)
    return [
        neutralise(line).replace("\n", " ") for line in lines
    ]  # the names of agents and parts are not ours


def rate_at(point: AtFpr) -> str:
    """`0.452 (FPR 0.9 %)`, or why it is refused."""
    if point.tpr is None:
        return f"refused ({point.refused})"
    return f"{point.tpr:.3f} (FPR {100 * (point.achieved or 0.0):.2g} %)"


def plain_rate(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "–" if value is None else f"{value:.3f}"


def bounds(estimate: Estimate | AtFpr) -> str:
    """`[0.912, 0.968]`, with `of 0.940` where it is of the mean of the users' own values; or nothing."""
    if estimate.interval is None:
        return ""
    low, high = estimate.interval
    of = f" of {estimate.centre:.3f}" if estimate.centre is not None else ""
    return f"[{low:.3f}, {high:.3f}]{of}"


def unscored(row: AttackRow) -> str:
    """How many candidates have no score."""
    return f"{row.unscored} unscored" if row.unscored else ""
