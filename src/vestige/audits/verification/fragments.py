"""Fragments of a nonce that only several channels together make whole, for an observer who may put them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.looking import COMBINED, Look, Looker
from vestige.audits.verification.settings import CLAIMS
from vestige.audits.verification.tally import AFTER

__all__ = ["put_together"]


def put_together(
    pieces: Sequence[tuple[Channel, str]], looker: Looker, findings: Iterable[Finding]
) -> Iterator[tuple[Channel, Look]]:
    """For each claim, the nonce if its channels hold all of it together and none of them holds it alone.

    It is noted in the first of the claim's channels that contributes a piece.
    """
    whole = {str(f.values["channel"]) for f in findings if _whole(f)}
    for claim in CLAIMS.values():
        own = [(channel, text) for channel, text in pieces if channel in claim.channels]
        if own and whole.isdisjoint(claim.channels) and looker.put_together(text for _, text in own):
            channel: Channel = next(c for c in claim.channels if any(c == piece for piece, _ in own))
            yield channel, Look("nonce", COMBINED, "confirmed", len(own))


def _whole(finding: Finding) -> bool:
    return (
        finding.kind.startswith("sighting:")
        and finding.values["target"] == "nonce"
        and finding.values["state"] == "confirmed"
        and not finding.values["foreign"]
        and finding.labels["phase"] in AFTER
    )
