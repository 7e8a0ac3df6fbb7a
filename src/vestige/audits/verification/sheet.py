"""The findings of one attempt at one arm, as they are written down: labels, one sighting a place."""

from __future__ import annotations

from collections.abc import Mapping

from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.looking import Look, Owner
from vestige.audits.verification.scored import merged, sighting_values
from vestige.audits.verification.settings import PHASES, Condition, Grade, Observer
from vestige.errors import IntegrityError
from vestige.records import JsonScalar
from vestige.runs.plan import Probe
from vestige.runs.steps import Ask, Episode
from vestige.runs.store import Line

__all__ = ["Labels", "Sheet"]

Labels = dict[str, JsonScalar]


class Sheet:
    """What is found, in the order in which it is; `findings` grows.

    Args:
        episode: The arm's script.
        condition: The arm.
        observer: Who looks; what it does not look at is not noted.
        attempt: Which attempt it is.
        counted: Whether it is the one that counts.
    """

    def __init__(
        self, episode: Episode, condition: Condition, observer: Observer, attempt: int, counted: bool
    ) -> None:
        self._episode, self._condition, self._observer = episode, condition, observer
        self._attempt, self._counted = attempt, counted
        self._placed: dict[tuple[int, int, str], int] = {}
        self.findings: list[Finding] = []

    @property
    def plain(self) -> Labels:
        """Labels of the episode alone."""
        labels: Labels = {
            "condition": self._condition,
            "pair": self._episode.instance,
            "complete": self._counted,
        }
        return labels if self._counted else labels | {"attempt": self._attempt}

    def labels(self, line: Line, probe: Probe | None = None) -> Labels:
        """Of the episode and the step.

        Raises:
            IntegrityError: An exchange stands in no phase.
        """
        labels = self.plain
        if "phase" in line.labels:
            labels["phase"] = line.labels["phase"]
        for name in ("family", "target", "order", "round"):
            if name in line.labels:
                labels[name] = line.labels[name]
        if line.repeat:
            labels["repeat"] = line.repeat
        if probe is not None:
            labels |= {"probe_kind": probe.kind, "who": self._who(line.step)}
            if labels.get("phase") not in PHASES:
                raise IntegrityError(
                    f"the record of {line.episode}, step {line.step}: an exchange without a phase"
                )
        else:
            labels["who"] = "user"
        return labels

    def _who(self, step: int) -> str:
        asked = self._episode.steps[step] if 0 <= step < len(self._episode.steps) else None
        return asked.who if isinstance(asked, Ask) else "user"

    def sighting(
        self,
        line: Line,
        labels: Labels,
        channel: Channel,
        grade: Grade,
        look: Look,
        owner: Owner | None = None,
    ) -> None:
        """Note a sighting, of another arm's nonce with its owner; a second one in the same place joins the first."""
        if not self._observer.sees(channel):
            return
        whose = owner[0] if owner is not None else ""
        kind = f"sighting:{channel}:{look.target}" + (f":{whose}" if whose else "")
        values = sighting_values(channel, grade, look, whose)
        place = (line.step, line.repeat, kind)
        if place not in self._placed:
            self._placed[place] = len(self.findings)
            self.add(line, labels, kind, values)
            return
        at = self._placed[place]
        self.findings[at] = merged(self.findings[at], values, look.count)

    def add(self, line: Line, labels: Labels, kind: str, values: Mapping[str, JsonScalar]) -> None:
        """Note a finding of a step."""
        self.note(line.step, line.probe, kind, labels, values)

    def whole(self, kind: str, labels: Labels, values: Mapping[str, JsonScalar]) -> None:
        """Note a finding of the whole attempt."""
        self.note(-1, None, kind, labels, values)

    def note(
        self, step: int, probe: str | None, kind: str, labels: Labels, values: Mapping[str, JsonScalar]
    ) -> None:
        """Note a finding."""
        self.findings.append(
            Finding(
                episode=self._episode.id,
                instance=self._episode.instance,
                step=step,
                probe=probe,
                kind=kind,
                labels=labels,
                values=dict(values),
            )
        )
