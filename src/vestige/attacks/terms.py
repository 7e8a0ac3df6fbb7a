"""The scores of membership attacks, as formulas over what one pass recorded; no model, no file.

Source: arXiv 2605.27825, equations 1 to 3, and the public code of its authors where the two differ (`Mode`). Arrays
hold one row a unit and one column a question, in the order in which the questions were asked; NaN marks a question that
a unit has not, or a term that the agent did not show. A judgement that could not be read is 0, not NaN.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vestige.records import Record

__all__ = [
    "Mode",
    "Setting",
    "Weights",
    "interrogated",
    "loss",
    "mean_logprob",
    "mink",
    "mink_raw",
    "recalled",
    "reference",
]

Floats = NDArray[np.float64]

Setting = Literal["black", "gray", "white"]
"""What the attacker sees: replies; their log-probabilities too; the retrieved units too."""

Mode = Literal["paper", "reference-code"]
"""`paper`: equations 1 to 3. `reference-code`: the terms are divided by the sum of their weights, the gray term is
sigmoid(mean log-probability + 2)."""

SHIFT = 2.0
"""Of the sigmoid over a mean log-probability (authors' code)."""
MINK_SHARE = 0.2
"""Share of tokens, the least probable, that MinK averages."""
MINK_SHIFT = 3.0
"""Of the sigmoid over MinK's mean."""
REFERENCE_SCALE = 5.0
"""Difference of mean log-probabilities that counts as much as a judged score of 1."""


class Weights(Record):
    """w of equations 1 to 3."""

    r: float = 1.0
    """Of the judged reply."""
    p: float = 1.0
    """Of the mean log-probability."""
    m: float = 1.0
    """Of the nearest retrieved unit."""


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^−x), without overflow."""
    with np.errstate(invalid="ignore"):  # NaN stays NaN
        return np.exp(-np.logaddexp(0.0, -x))


def mean_logprob(logprobs: NDArray[np.float64]) -> float:
    """Log P̄(r | q): mean natural-log probability of the reply's tokens; NaN where there is none."""
    return float(np.mean(logprobs)) if len(logprobs) else float("nan")


def mink_raw(logprobs: NDArray[np.float64]) -> float:
    """Mean of the m = max(1, int(0.2 · n)) lowest token log-probabilities; NaN where there is none."""
    n = len(logprobs)
    return float(np.mean(np.sort(logprobs)[: max(1, int(MINK_SHARE * n))])) if n else float("nan")


def recalled(
    r: Floats,
    p: Floats | None = None,
    m: Floats | None = None,
    *,
    setting: Setting,
    weights: Weights | None = None,
    mode: Mode = "paper",
    questions: int | None = None,
) -> Floats:
    """S of MRMMIA and of the Naive Probe (equations 1 to 3): the mean over a unit's questions of its weighted terms.

    A term's mean is over the questions that have it, so that an empty reply, which has no tokens, lends no confidence.

    Args:
        r: Judged replies M_r, shape (n, K).
        p: Mean log-probabilities, shape (n, K); needed in gray and white.
        m: Highest memory score over the retrieved units, shape (n, K); needed in white.
        setting: Which terms there are.
        weights: w_r, w_p, w_m; all 1 where not given.
        mode: The paper's formula, or the authors' code.
        questions: The first so many questions alone; None: all.

    Returns:
        One score a unit, shape (n,); NaN where it has no judged question, or not one term of the setting.
    """
    w = weights or Weights()
    some = slice(None) if questions is None else slice(questions)
    total = w.r * _mean(r[:, some])
    weight = w.r
    if setting in ("gray", "white"):
        term = _needed(p, "log-probabilities", setting)[:, some]
        total = total + w.p * _mean(sigmoid(term + SHIFT) if mode == "reference-code" else term)
        weight += w.p
    if setting == "white":
        total = total + w.m * _mean(_needed(m, "retrieved units", setting)[:, some])
        weight += w.m
    return total / weight if mode == "reference-code" and weight else total


def interrogated(
    answers: Floats,
    p: Floats | None = None,
    m: Floats | None = None,
    *,
    setting: Setting,
    weights: Weights | None = None,
    mode: Mode = "paper",
    questions: int | None = None,
) -> Floats:
    """S of the Interrogation attack: as `recalled`, its judged replies being +1 for the expected answer, −1 for "I
    don't know" and 0 for any other (`answers`, shape (n, K)).
    """
    return recalled(answers, p, m, setting=setting, weights=weights, mode=mode, questions=questions)


def loss(p: Floats) -> Floats:
    """Loss: sigmoid(mean log-probability + 2) of the reply to the naive question."""
    return sigmoid(p + SHIFT)


def mink(raw: Floats) -> Floats:
    """MinK: sigmoid(x + 3) of the mean x of the lowest fifth of the token log-probabilities."""
    return sigmoid(raw + MINK_SHIFT)


def reference(r: Floats, r_without: Floats, p: Floats, p_without: Floats) -> Floats:
    """Reference: judged score with the memory minus that of the same model without it, plus the difference of their
    mean log-probabilities, clipped: clip((p − p_without) / 5, −1, 1).
    """
    return (r - r_without) + np.clip((p - p_without) / REFERENCE_SCALE, -1.0, 1.0)


def _mean(x: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # a row without a value is NaN, which is what is meant
        return np.nanmean(x, axis=1)


def _needed(x: Floats | None, what: str, setting: Setting) -> Floats:
    if x is None:
        raise ValueError(f"the {setting}-box setting needs {what}")
    return x
