"""Which stored items hold a target, of one look at what an agent stores after another."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from vestige.agents.protocol import Channel
from vestige.audits.verification.looking import Looker
from vestige.audits.verification.settings import Condition
from vestige.errors import IntegrityError, complaint
from vestige.report.verification.evidence import Said
from vestige.runs.inspection import InspectionBody, SeenArtifact, rebuild
from vestige.runs.store import Line

__all__ = ["Stored"]

MOST = 6
"""Items of one look that are shown."""


class Stored:
    """Reads the inspections of a pair's arms in their order."""

    def __init__(self, lookers: Mapping[Condition, Looker]) -> None:
        self._lookers = lookers
        self._whole: dict[tuple[str, str], InspectionBody] = {}

    def read(self, condition: Condition, line: Line) -> tuple[Said, ...]:
        """The items of this look that hold a target of the arm, or another arm's.

        Raises:
            IntegrityError: The line is no inspection.
        """
        try:
            body = InspectionBody.model_validate(line.body)
        except ValidationError as error:
            raise IntegrityError(
                f"the record of {line.episode}, step {line.step}: not artifacts: {complaint(error)}"
            ) from None
        state = rebuild(body, self._whole.get((line.episode, body.baseline or "")))
        if body.baseline is None:
            self._whole[line.episode, body.name] = body
        looker = self._lookers.get(condition)
        if looker is None:
            return ()
        held = [a for a in state.values() if looker.own([a.text]) or looker.others([a.text])]
        shown = tuple(_said(a) for a in sorted(held, key=lambda a: (a.tier, a.id))[:MOST])
        more = len(held) - len(shown)
        note = (Said(channel="storage", label="more", text=f"and {more} more items"),) if more else ()
        return (*shown, *note)


def _said(artifact: SeenArtifact) -> Said:
    channel: Channel = "summary" if artifact.tier == "summary" else "storage"
    return Said(channel=channel, label="" if channel == "summary" else artifact.tier, text=artifact.text)
