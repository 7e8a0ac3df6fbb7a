"""What a deletion leaves in storage, in sentences, whether or not a reply showed it."""

from __future__ import annotations

from collections.abc import Sequence

from vestige.audits.results import Measure, NotComputable, Rate, ResidueCell, TierBlock
from vestige.report.slices import ResidueSlice
from vestige.report.wording import listing, percent, plural

__all__ = ["still_stored"]

PLACES = {"raw": "raw units", "summary": "summaries"}
"""The tiers, as a reader meets them."""


def still_stored(part: ResidueSlice, mode: str) -> list[str]:
    """A sentence on what the store still shows, and one on its files; none where nothing is left."""
    cells = [(level, cell) for level in part.levels if (cell := part.cell(mode, level)) is not None]
    left: list[str] = []
    for tier, place in PLACES.items():
        whole = [(level, _tier(cell.text_residue, tier)) for level, cell in cells]
        parts = [(level, _tier(cell.partial_residue, tier)) for level, cell in cells if not _told(cell, tier)]
        vectors = [(level, _tier(cell.vector_residue, tier)) for level, cell in cells]
        if at := _amounts(whole, "instances"):
            left.append(f"the whole secret in {place} ({at})")
        if at := _amounts(parts, "them"):
            left.append(f"parts of the secret in {place} ({at})")
        if at := _amounts(vectors, "them"):
            left.append(f"unchanged vectors of {place} that held the secret ({at})")
    found: list[str] = []
    if left:
        found.append(f"After {mode} the store still holds {listing(left)}; counted where it stood before.")
    files = [(level, cell.storage.maintained) for level, cell in cells]
    if at := _amounts(files, "instances"):
        found.append(
            f"After {mode} and the store's own maintenance its files still hold the secret's bytes: {at}."
        )
    return found


def _tier(block: TierBlock, tier: str) -> Measure:
    return block.raw if tier == "raw" else block.summary


def _told(cell: ResidueCell, tier: str) -> bool:
    """Whether the whole secret left in a tier accounts for every part left there."""
    whole, parts = _tier(cell.text_residue, tier), _tier(cell.partial_residue, tier)
    if isinstance(whole, NotComputable) or isinstance(parts, NotComputable):
        return False
    over, others = getattr(whole, "n", None), getattr(parts, "n", None)
    return parts.value <= whole.value and (over == others or None in (over, others))


def _amounts(measures: Sequence[tuple[int, Measure]], of: str) -> str:
    """What is more than nothing, with its levels: `4 of 4 instances at S = 1`, `100 % of them at S = 0`."""
    levels: dict[str, list[str]] = {}
    for level, measure in measures:
        if isinstance(measure, NotComputable) or not measure.value:
            continue
        shown = (
            f"{measure.events} of {plural(measure.n, 'instance')}"
            if isinstance(measure, Rate)
            else f"{percent(measure.value)} of {of}"
        )
        levels.setdefault(shown, []).append(f"S = {level}")
    return listing(f"{shown} at {listing(at)}" for shown, at in levels.items())
