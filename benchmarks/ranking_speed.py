"""Ranking metrics of a million scores on one core, against scikit-learn in the same process.

    python benchmarks/ranking_speed.py [scores]

ROC-AUC, average precision and TPR at FPR 1 %, of scores without ties and of scores with some hundred distinct values.
Both give the same numbers. The limit is 2 s for the three together.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from vestige.stats import pr_auc, roc_auc, tpr_at_fpr

LIMIT, FPR, ROUNDS = 2.0, 0.01, 3


def ours(scores: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    return roc_auc(scores, labels), pr_auc(scores, labels), tpr_at_fpr(scores, labels, FPR)


def peer(scores: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    at = float(tpr[fpr <= FPR + 1e-12].max())
    return float(roc_auc_score(labels, scores)), float(average_precision_score(labels, scores)), at


def timed(call: Callable[[], tuple[float, float, float]]) -> tuple[float, tuple[float, float, float]]:
    """CPU seconds of the best of some rounds, and what the call gave."""
    best, given = np.inf, (0.0, 0.0, 0.0)
    for _ in range(ROUNDS):
        started = time.process_time()
        given = call()
        best = min(best, time.process_time() - started)
    return best, given


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    continuous = rng.normal(size=n) + labels
    slow = False
    for name, scores in (("no ties", continuous), ("heavily tied", np.round(continuous, 2))):
        took, found = timed(lambda scores=scores: ours(scores, labels))
        against, expected = timed(lambda scores=scores: peer(scores, labels))
        if not np.allclose(found, expected, rtol=0.0, atol=1e-9):
            sys.exit(f"{name}: {found} here, {expected} by scikit-learn")
        print(f"{n:,} scores, {name}: {took:.3f} s; scikit-learn {against:.3f} s, ratio {against / took:.1f}")
        slow |= took > LIMIT
    if slow:
        sys.exit(f"limit {LIMIT:g} s exceeded")


if __name__ == "__main__":
    main()
