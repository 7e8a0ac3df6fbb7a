"""Scores a stored membership run: one finding a candidate and repeat, from the record alone.

A run may hold hundreds of thousands of exchanges: they are read as a stream, of which no more is held than the steps
that are being written at one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from vestige.audits.findings import Finding
from vestige.audits.membership.evidence import exchange_values
from vestige.audits.membership.settings import MembershipSettings
from vestige.errors import IntegrityError, complaint
from vestige.records import JsonScalar, Reply
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.steps import AskAbout
from vestige.runs.store import Line, read_attempts, read_counted

__all__ = ["Labels", "labels_of", "score", "settings_of"]

KINDS = frozenset({"exchange", "interview", "remembered", "episode_end"})


def settings_of(plan: Plan) -> MembershipSettings:
    """The plan's own settings, typed.

    Raises:
        IntegrityError: They cannot be read.
    """
    try:
        return MembershipSettings.model_validate(plan.settings.get("membership", {}))
    except ValidationError as error:
        raise IntegrityError(f"plan.json: settings cannot be read: {complaint(error)}") from None


Labels = dict[str, tuple[bool, str]]
"""(member, kind of unit) by candidate."""


def labels_of(plan: Plan) -> dict[str, Labels]:
    """What the evaluator knows of each user's candidates and the agent is not told.

    Raises:
        IntegrityError: They cannot be read.
    """
    out: dict[str, Labels] = {}
    for user, fixture in plan.fixtures.items():
        known = fixture.get("labels")
        if not isinstance(known, dict):
            raise IntegrityError(f"plan.json: the candidates of {user[:60]!r} have no labels")
        labels: Labels = {}
        for name, entry in known.items():
            match entry:
                case [bool() as member, str() as kind]:
                    labels[str(name)] = member, kind
                case _:
                    raise IntegrityError(
                        f"plan.json: the label of candidate {str(name)[:60]!r} cannot be read"
                    )
        out[user] = labels
    return out


@dataclass
class _Open:
    """A step whose lines are being read."""

    step: int
    values: dict[int, dict[str, JsonScalar]] = field(default_factory=dict[int, dict[str, JsonScalar]])
    """By repeat."""
    asked: dict[int, int] = field(default_factory=dict[int, int])
    interview: dict[str, Any] = field(default_factory=dict[str, Any])


def score(plan: Plan, folder: RunFolder) -> Iterator[Finding]:
    """Every candidate of the episodes that were completed, as each ends in the record.

    Raises:
        IntegrityError: The record is not one of this plan.
    """
    labels = labels_of(plan)
    episodes = {e.id: e for e in plan.episodes}
    settings = settings_of(plan)
    open_: dict[str, _Open] = {}

    def ended(name: str) -> Iterator[Finding]:
        held = open_.pop(name, None)
        if held is None:
            return
        episode = episodes[name]
        step = episode.steps[held.step]
        assert isinstance(step, AskAbout)
        known = labels.get(episode.instance, {}).get(step.candidate)
        if known is None:
            raise IntegrityError(f"the record of {name} is about a candidate that the plan does not label")
        for repeat in range(settings.repeats):
            values = held.values.get(repeat, {})
            yield Finding(
                episode=name,
                instance=episode.instance,
                step=held.step,
                kind="candidate",
                labels={
                    "candidate": step.candidate,
                    "user": episode.instance,
                    "member": known[0],
                    "unit_kind": known[1],
                    "repeat": repeat,
                },
                values={**values, **_interview(held.interview), "exchanges": held.asked.get(repeat, 0)},
            )

    for line in read_counted(folder.path, read_attempts(folder.path), KINDS):
        episode = episodes.get(line.episode)
        if episode is None:
            raise IntegrityError(f"the record is about {line.episode[:60]!r}, which the plan does not have")
        if line.kind == "episode_end":
            yield from ended(line.episode)
            continue
        if line.kind == "remembered":
            yield Finding(
                episode=line.episode,
                instance=episode.instance,
                step=line.step,
                kind="remembered",
                labels={},
                values={"by": str(line.body.get("by", "")), "units": int(line.body.get("units", 0))},
            )
            continue
        held = open_.get(line.episode)
        if held is not None and held.step != line.step:
            yield from ended(line.episode)
            held = None
        if held is None:
            if not 0 <= line.step < len(episode.steps) or not isinstance(episode.steps[line.step], AskAbout):
                raise IntegrityError(
                    f"the record of {line.episode}, step {line.step}: not a question of the plan"
                )
            held = open_[line.episode] = _Open(line.step)
        _take(held, line)
    for name in list(open_):
        yield from ended(name)


def _take(held: _Open, line: Line) -> None:
    if line.kind == "interview":
        held.interview = dict(line.body)
        return
    question, repeat = line.labels.get("question"), line.labels.get("repeat", 0)
    if not isinstance(question, str) or not isinstance(repeat, int):
        raise IntegrityError(
            f"the record of {line.episode}, step {line.step}: an exchange without its question"
        )
    reply = Reply.model_validate(line.body["reply"])
    measured = line.body.get("measured")
    values = exchange_values(question, reply, measured if isinstance(measured, dict) else {})
    held.values.setdefault(repeat, {}).update(values)
    held.asked[repeat] = held.asked.get(repeat, 0) + 1


def _interview(record: dict[str, Any]) -> dict[str, JsonScalar]:
    """How many questions could be made, and why others were refused."""
    out: dict[str, JsonScalar] = {}
    for kind in ("asked", "rejected"):
        counts = record.get(kind)
        if isinstance(counts, dict):
            out |= {f"{kind}:{name}": int(n) for name, n in counts.items() if isinstance(n, int)}
    said = record.get("paraphrase")
    if isinstance(said, dict):
        out["unchanged"] = bool(cast("dict[str, Any]", said).get("unchanged"))
    return out
