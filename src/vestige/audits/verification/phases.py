"""In which phase a step of a script stands that no label places: what an agent sends to its model then has one too."""

from __future__ import annotations

from typing import cast

from vestige.audits.verification.settings import PHASES, Phase
from vestige.runs.steps import Episode, Reset

__all__ = ["phase_at"]


def phase_at(episode: Episode, step: int) -> Phase | None:
    """The phase in which a step belongs to what claims may be about; None: to the removal itself, or to no phase.

    A step without a label belongs to the look that comes next: what is told before it may show in it. Before the first
    label nothing has been removed. What is sent while the removal is asked for is the request's own, as is what a reset
    sends; once the target was told anew, nothing is a residue.
    """
    own = _label(episode, step)
    if own is None:
        earlier = any(_label(episode, i) is not None for i in range(step))
        later = (
            found for i in range(step + 1, len(episode.steps)) if (found := _label(episode, i)) is not None
        )
        own = next(later, None) if earlier else "before"
    if own is None:  # after the last label
        own = next((found for i in range(step, -1, -1) if (found := _label(episode, i)) is not None), None)
    return cast("Phase", own) if own in PHASES and own != "reintroduced" else None


def _label(episode: Episode, index: int) -> str | None:
    step = episode.steps[index] if 0 <= index < len(episode.steps) else None
    if isinstance(step, Reset):
        return "boundary"
    phase = getattr(step, "labels", {}).get("phase")
    return phase if isinstance(phase, str) else None
