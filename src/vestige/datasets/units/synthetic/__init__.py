"""Generated membership units: plain ones on both sides, and non-members that are hard to tell from members.

`facts` words what a user's memory can hold, `knowledge` what everybody knows, `hard` the non-members that resemble or
follow from members, `dataset` puts a user together and hands users out one at a time.
"""

from __future__ import annotations

from vestige.datasets.units.synthetic.dataset import DEFAULT_USERS, generate_units
from vestige.datasets.units.synthetic.mix import UnitMix

__all__ = ["DEFAULT_USERS", "UnitMix", "generate_units"]
