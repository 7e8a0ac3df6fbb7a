"""Where configurations stand on the frontier, and which of them cover one another there."""

from __future__ import annotations

from vestige.audits.results import FrontierConfiguration
from vestige.report.slices import FrontierSlice

__all__ = ["above", "levels_meet", "near", "spot"]

NEAR = 0.02
"""Points closer than this in both directions cover one another."""


def spot(configuration: FrontierConfiguration) -> tuple[float, float]:
    """(AER_max, PR), as the figure has them across and up."""
    return configuration.AER.max.value, configuration.PR.value


def near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two points cover one another."""
    return abs(one[0] - other[0]) < NEAR and abs(one[1] - other[1]) < NEAR


def above(part: FrontierSlice, configuration: FrontierConfiguration) -> int:
    """How many higher levels have a point on this one's spot, and would hide it."""
    here = spot(configuration)
    return len({c.S for c in part.configurations if c.S > configuration.S and near(spot(c), here)})


def levels_meet(part: FrontierSlice) -> bool:
    """Whether points of several levels stand on one spot."""
    return any(above(part, c) for c in part.configurations)
