"""Intervals, equivalence, sequences, power, resampling, ranking, areas, agreement: what results are computed with.

Names are handed out lazily, so that importing the package costs nothing until a number is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestige.stats.agreement import cohen_kappa
    from vestige.stats.delong import auc_comparison, auc_interval
    from vestige.stats.frontier import frontier_steps, privacy_utility_auc
    from vestige.stats.intervals import (
        Interval,
        clopper_pearson,
        episodes_for_zero_event_bound,
        zero_event_upper_bound,
    )
    from vestige.stats.multiplicity import holm
    from vestige.stats.paired import Equivalence, equivalence
    from vestige.stats.power import (
        Reach,
        equivalence_power,
        pairs_for_bound,
        pairs_for_equivalence,
        reachable,
    )
    from vestige.stats.ranking import (
        OperatingPoint,
        PrCurve,
        RocCurve,
        accuracy_at_fpr,
        negatives_needed,
        operating_point,
        pr_auc,
        pr_curve,
        roc_auc,
        roc_curve,
        tpr_at_fpr,
    )
    from vestige.stats.resampling import bootstrap, percentile_interval, resample_indices
    from vestige.stats.sequential import difference_sequence, rate_sequence
    from vestige.stats.tango import tango_interval

__all__ = [
    "Equivalence",
    "Interval",
    "OperatingPoint",
    "PrCurve",
    "Reach",
    "RocCurve",
    "accuracy_at_fpr",
    "auc_comparison",
    "auc_interval",
    "bootstrap",
    "clopper_pearson",
    "cohen_kappa",
    "difference_sequence",
    "episodes_for_zero_event_bound",
    "equivalence",
    "equivalence_power",
    "frontier_steps",
    "holm",
    "negatives_needed",
    "operating_point",
    "pairs_for_bound",
    "pairs_for_equivalence",
    "percentile_interval",
    "pr_auc",
    "pr_curve",
    "privacy_utility_auc",
    "rate_sequence",
    "reachable",
    "resample_indices",
    "roc_auc",
    "roc_curve",
    "tango_interval",
    "tpr_at_fpr",
    "zero_event_upper_bound",
]

_HOME = {
    "Equivalence": "paired",
    "Interval": "intervals",
    "OperatingPoint": "ranking",
    "PrCurve": "ranking",
    "Reach": "power",
    "RocCurve": "ranking",
    "accuracy_at_fpr": "ranking",
    "auc_comparison": "delong",
    "auc_interval": "delong",
    "bootstrap": "resampling",
    "clopper_pearson": "intervals",
    "cohen_kappa": "agreement",
    "difference_sequence": "sequential",
    "episodes_for_zero_event_bound": "intervals",
    "equivalence": "paired",
    "equivalence_power": "power",
    "frontier_steps": "frontier",
    "holm": "multiplicity",
    "negatives_needed": "ranking",
    "operating_point": "ranking",
    "pairs_for_bound": "power",
    "pairs_for_equivalence": "power",
    "percentile_interval": "resampling",
    "pr_auc": "ranking",
    "pr_curve": "ranking",
    "privacy_utility_auc": "frontier",
    "rate_sequence": "sequential",
    "reachable": "power",
    "resample_indices": "resampling",
    "roc_auc": "ranking",
    "roc_curve": "ranking",
    "tango_interval": "tango",
    "tpr_at_fpr": "ranking",
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
