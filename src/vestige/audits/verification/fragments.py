"""Fragments of nonces that only several channels together make whole, for an observer who may put them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.looking import COMBINED, Look, Looker
from vestige.audits.verification.settings import CLAIMS, GRADES, Grade, Phase
from vestige.audits.verification.tally import AFTER

__all__ = ["Piece", "put_together"]


class Piece(NamedTuple):
    """A text that holds a part of a nonce."""

    channel: Channel
    grade: Grade
    phase: Phase
    text: str


def put_together(
    pieces: Sequence[Piece], looker: Looker, findings: Iterable[Finding]
) -> Iterator[tuple[Piece, Look]]:
    """For each claim, every nonce that its channels hold all of together and none of them holds alone.

    It is whole when the last piece is there: it is noted in the last phase that contributes one, in the first of the
    claim's channels that does so then, unless one of its channels holds the whole nonce in that phase. What stood whole
    in an earlier phase says nothing of a later one.
    """
    whole = {(f.values["target"], f.values["channel"], f.labels["phase"]) for f in findings if _whole(f)}
    for claim in CLAIMS.values():
        every = [piece for piece in pieces if piece.channel in claim.channels]
        for target in looker.put_together([piece.text for piece in every]):
            own = [piece for piece in every if looker.part_of(target, piece.text)]
            phase = max((piece.phase for piece in own), key=AFTER.index)
            if any((target, channel, phase) in whole for channel in claim.channels):
                continue
            last = [piece for piece in own if piece.phase == phase]
            place = min(last, key=lambda p: (claim.channels.index(p.channel), GRADES.index(p.grade)))
            yield place, Look(target, COMBINED, "confirmed", len(own))


def _whole(finding: Finding) -> bool:
    return (
        finding.kind.startswith("sighting:")
        and finding.values["state"] == "confirmed"
        and not finding.values["foreign"]
        and finding.labels["phase"] in AFTER
    )
