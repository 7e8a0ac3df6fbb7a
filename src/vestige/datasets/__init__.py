"""Data sets: users' conversations with questions, read from public files or generated from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestige.datasets.instance import Dataset, Instance, TurnRef

if TYPE_CHECKING:
    from vestige.datasets.loading import load

__all__ = ["Dataset", "Instance", "TurnRef", "load"]


def __getattr__(name: str) -> object:
    if name == "load":
        from vestige.datasets.loading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
