"""Membership units: statements of users, of which a part belongs into an agent's memory and a part does not.

Read from LoCoMo's observations, PerLTQA's and MSC's dialogues and files of units, or generated; see `load_units`.
"""

from __future__ import annotations

from vestige.datasets.units.dataset import UnitCounts, UnitDataset, count_units, without_shared
from vestige.datasets.units.loading import UNIT_FORMATS, load_units, unit_names
from vestige.datasets.units.published import write_units
from vestige.datasets.units.synthetic import UnitMix, generate_units
from vestige.datasets.units.unit import KINDS, Unit, UnitKind, normalised

__all__ = [
    "KINDS",
    "UNIT_FORMATS",
    "Unit",
    "UnitCounts",
    "UnitDataset",
    "UnitKind",
    "UnitMix",
    "count_units",
    "generate_units",
    "load_units",
    "normalised",
    "unit_names",
    "without_shared",
    "write_units",
]
