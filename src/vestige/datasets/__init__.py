"""Data sets: users' conversations with questions, or statements about them, read from public files or generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestige.datasets.instance import Dataset, Instance, TurnRef

if TYPE_CHECKING:
    from vestige.datasets.loading import load
    from vestige.datasets.units import Unit, UnitDataset, load_units

__all__ = ["Dataset", "Instance", "TurnRef", "Unit", "UnitDataset", "load", "load_units"]


def __getattr__(name: str) -> object:
    if name == "load":
        from vestige.datasets.loading import load

        return load
    if name in ("Unit", "UnitDataset", "load_units"):
        from vestige.datasets import units

        return getattr(units, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
