"""What a reader must know of statements that were extracted."""

from __future__ import annotations

from collections.abc import Iterable

from vestige.datasets.units.extractor import Extracted

__all__ = ["extraction_notes"]


def extraction_notes(extractor: str, made: Iterable[Extracted]) -> list[str]:
    """How many statements came from how many dialogues by what, and what was lost."""
    found = list(made)
    notes = [
        f"{sum(len(e.statements) for e in found)} statements extracted from {len(found)} dialogues by {extractor}"
    ]
    if refused := sum(e.refused for e in found):
        notes.append(
            f"{refused} proposed statements are left out: repeated, too short or too long, or not what was said"
        )
    if unread := sum(e.unread for e in found):
        notes.append(f"{unread} dialogues gave no list that could be read, and are left out")
    return notes
