"""Intervals, resampling, the privacy–utility area and agreement: what results are computed with.

Names are handed out lazily, so that importing the package costs nothing until a number is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestige.stats.agreement import cohen_kappa
    from vestige.stats.frontier import frontier_steps, privacy_utility_auc
    from vestige.stats.intervals import (
        Interval,
        clopper_pearson,
        episodes_for_zero_event_bound,
        zero_event_upper_bound,
    )
    from vestige.stats.resampling import bootstrap, percentile_interval, resample_indices

__all__ = [
    "Interval",
    "bootstrap",
    "clopper_pearson",
    "cohen_kappa",
    "episodes_for_zero_event_bound",
    "frontier_steps",
    "percentile_interval",
    "privacy_utility_auc",
    "resample_indices",
    "zero_event_upper_bound",
]

_HOME = {
    "Interval": "intervals",
    "bootstrap": "resampling",
    "clopper_pearson": "intervals",
    "cohen_kappa": "agreement",
    "episodes_for_zero_event_bound": "intervals",
    "frontier_steps": "frontier",
    "percentile_interval": "resampling",
    "privacy_utility_auc": "frontier",
    "resample_indices": "resampling",
    "zero_event_upper_bound": "intervals",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
