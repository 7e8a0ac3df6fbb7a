"""The model-free scorers' scale: what was measured of a reply or a retrieved unit, snapped to 0, 0.33, 0.67 or 1.

The ladder is that of the paper's judged scores (arXiv 2605.27825, section 4.2); where a similarity stands for a judge's
opinion, its two cut-offs are calibrated on users whose candidates they do not score. The ladder by rules is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vestige.records import Record
from vestige.stats import roc_auc

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_RESPONSE",
    "LADDER",
    "CutOffs",
    "calibrated",
    "snap_memory",
    "snap_response",
]

Floats = NDArray[np.float64]

LADDER = (0.0, 0.33, 0.67, 1.0)
GRID = 9
"""Cut-offs tried: so many quantiles of what was measured."""
ENOUGH = 10
"""Candidates of either kind below which nothing is calibrated."""


class CutOffs(Record):
    """Two similarities."""

    middle: float
    """From here on: the same by synonyms, or closely paraphrased."""
    high: float
    """From here on: the same."""


DEFAULT_RESPONSE = CutOffs(middle=0.6, high=0.8)
"""Where there are no other users to calibrate on; ours."""
DEFAULT_MEMORY = CutOffs(middle=0.7, high=0.9)
"""Likewise. A unit that equals the statement needs none."""


def snap_response(key: Floats, similarity: Floats, hedged: Floats, cut: CutOffs) -> Floats:
    """Judge replies by rules: without the key value 0; with it 1 or 0.67 by similarity, else 0.33, hedged at most 0.33.

    Args:
        key: Share of the key value's words in the reply that the question did not hold; any shape.
        similarity: Of the reply with the statement.
        hedged: 1 where the reply hedges.
        cut: Of the similarity.

    Returns:
        The same shape; NaN where `key` is, which is where there was no question.
    """
    whole = key >= 1.0
    close = np.nan_to_num(similarity, nan=-1.0)
    score = np.where(whole & (close >= cut.high), 1.0, np.where(whole & (close >= cut.middle), 0.67, 0.0))
    score = np.where((score == 0.0) & (key > 0.0), 0.33, score)
    score = np.where((hedged > 0) & (score > 0.33), 0.33, score)
    return np.where(np.isnan(key), np.nan, score)


def snap_memory(measured: Floats, cut: CutOffs) -> Floats:
    """Judge retrieved units by rules: 1 where one equals the statement, exactly or after normalisation (2 and 3 in
    `measured`), 0.67 or 0.33 by similarity, else 0; NaN where there is none.
    """
    score = np.where(measured >= cut.high, 0.67, np.where(measured >= cut.middle, 0.33, 0.0))
    score = np.where(measured >= 2.0, 1.0, score)
    return np.where(np.isnan(measured), np.nan, score)


def calibrated(
    measured: Floats, members: NDArray[np.bool_], score: Callable[[CutOffs], Floats], default: CutOffs
) -> CutOffs:
    """The pair of cut-offs with the highest ROC-AUC on these candidates; of equal ones the nearest to the default.

    Folds are scored on scales of their own and ranked together, so that a pair far off would be worth its gain alone.

    Args:
        measured: Similarities to draw the cut-offs from, any shape; those above 1 are no similarities.
        members: Label of each candidate, shape (n,).
        score: Scores of the candidates under a pair, shape (n,); NaN is left out.
        default: Where there are too few candidates of either kind.
    """
    if min(int(members.sum()), int((~members).sum())) < ENOUGH:
        return default
    seen = measured[np.isfinite(measured) & (measured <= 1.0)]
    if not len(seen):
        return default
    grid = np.unique(np.round(np.quantile(seen, np.linspace(0.1, 0.98, GRID)), 4))
    best, chosen, distance = -1.0, default, 0.0
    for middle, high in _pairs([float(g) for g in grid]):
        cut = CutOffs(middle=middle, high=high)
        scores = score(cut)
        known = np.isfinite(scores)
        labels = members[known]
        if not labels.any() or labels.all():
            return default
        auc = float(roc_auc(scores[known], labels))
        far = abs(cut.middle - default.middle) + abs(cut.high - default.high)
        if auc > best + 1e-12 or (auc > best - 1e-12 and far < distance):
            best, chosen, distance = max(auc, best), cut, far
    return chosen


def _pairs(grid: Sequence[float]) -> list[tuple[float, float]]:
    return [(a, b) for i, a in enumerate(grid) for b in grid[i:]]
