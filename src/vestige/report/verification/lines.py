"""The verdict on a terminal, in a few lines."""

from __future__ import annotations

from collections import Counter

from vestige.audits.verification.results import ClaimVerdict, VerificationResult
from vestige.report.safe import one_line
from vestige.report.verification.words import CHANNELS, CLAIMS, TARGETS, VERDICTS, rule_name
from vestige.report.wording import plural

__all__ = ["deciding", "mends", "uncertain_episodes", "verification_lines"]


def deciding(claim: ClaimVerdict) -> str:
    """The rule that decided, with its reason."""
    rule = claim.rules[claim.decided_by]
    return f"rule {rule_name(rule)}: {rule.reason}"


def mends(claim: ClaimVerdict) -> tuple[str, ...]:
    """What would make the claim assessable, each once; nothing where it is."""
    if claim.verdict != "unassessable":
        return ()
    found = [r.mend for r in claim.rules if r.outcome == "unassessable" and r.mend]
    return tuple(dict.fromkeys(found))


def uncertain_episodes(result: VerificationResult) -> dict[str, int]:
    """Episodes of the removed arm with an uncertain sighting and no confirmed one, by channel and target."""
    return {
        f"{TARGETS[cell.target]} in {CHANNELS[cell.channel]}": cell.uncertain
        for cell in result.cells
        if cell.condition == "exposed_removed" and cell.uncertain
    }


def verification_lines(result: VerificationResult) -> list[str]:
    """What a person must know of a verification: the verdict, its words, why, and what is still open."""
    lines = [f"verdict: {VERDICTS[result.verdict].lower()}"]
    for claim in result.claims:
        name = CLAIMS[claim.claim][0]
        lines.append(f"{name.lower()}: {VERDICTS[claim.verdict].lower()}. {claim.statement}")
        if claim.rules[claim.decided_by].reason not in claim.statement:
            lines.append(f"decided by {deciding(claim)}")
        lines += [f"to make it assessable: {mend}" for mend in mends(claim)]
    if waiting := uncertain_episodes(result):
        where = ", ".join(f"{what} ({count})" for what, count in waiting.items())
        lines.append(
            f"uncertain findings wait for a person: {where}; decide them with `vestige adjudicate RUN`"
        )
    if result.exclusions:
        # The kind of error alone: the message of an agent's error may hold what it was told.
        reasons = Counter(x.reason.partition(":")[0] for x in result.exclusions)
        most, _ = min(reasons.items(), key=lambda item: (-item[1], item[0]))
        lines.append(f"left out: {plural(len(result.exclusions), 'episode')}, most often: {most}")
    if result.failed_attempts:
        lines.append(f"failed attempts: {result.failed_attempts}; what was seen in them counts")
    if not result.reachable.limited_evidence and result.verdict != "fails":
        lines.append(
            f"with {plural(result.reachable.n, 'distinct pair')} limited evidence is out of reach: "
            + "; ".join(result.reachable.reasons)
        )
    return [one_line(line) for line in lines]
