"""From the record to findings: which target was seen where, and what else every reply shows. Pure.

Attempts that failed are read too: what was seen in them was seen. They are labelled `complete: false`, and no rate
counts them.
"""

from __future__ import annotations

from collections.abc import Iterator

from vestige.audits.conclusion import check_plan
from vestige.audits.findings import Finding
from vestige.audits.verification.adjudication import apply_adjudications, last_decisions, read_adjudications
from vestige.audits.verification.arm import Arm
from vestige.audits.verification.looking import Known, owners_of
from vestige.audits.verification.reading import pairs_of, settings_of
from vestige.errors import IntegrityError
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.store import read_attempts, read_counted

__all__ = ["score"]

KINDS = frozenset(
    {
        "exchange",
        "model_requests",
        "artifacts",
        "scan",
        "receipt",
        "removal_failed",
        "waited",
        "unavailable",
        "episode_end",
    }
)


def score(plan: Plan, folder: RunFolder) -> Iterator[Finding]:
    """Score every attempt that was completed or ended with a failure, with people's decisions applied.

    Findings come in the order of their keys, whatever the order of execution was.

    Raises:
        IntegrityError: A record is not one of this plan.
    """
    attempts = read_attempts(folder.path)
    check_plan(folder, attempts)
    pairs, settings = pairs_of(plan), settings_of(plan)
    owners = owners_of(pairs)
    episodes = {e.id: e for e in plan.episodes}
    arms: dict[tuple[str, int], Arm] = {}
    known: dict[str, Known] = {}
    for line in read_counted(folder.path, attempts, KINDS, failed=True):
        episode = episodes.get(line.episode)
        if episode is None or episode.instance not in pairs:
            raise IntegrityError(f"a record is about {line.episode[:60]!r}, which is no episode of the plan")
        key = (line.episode, line.attempt)
        if key not in arms:
            arms[key] = Arm(
                plan,
                episode,
                pairs[episode.instance],
                settings,
                owners,
                line.attempt,
                line.counted,
                known.setdefault(episode.instance, {}),
            )
        arms[key].read(line)
    found = [finding for key in sorted(arms) for finding in arms[key].findings]
    found.sort(key=_order)
    decisions = last_decisions(read_adjudications(folder.path))
    yield from apply_adjudications(found, decisions)


def _order(finding: Finding) -> tuple[str, int, str, int, int]:
    labels = finding.labels
    return (*finding.key, int(labels.get("attempt") or 0), int(labels.get("repeat") or 0))
