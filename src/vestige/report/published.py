"""The numbers that the paper prints, to set beside a run's own: arXiv 2606.10062."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from vestige.records import Record

__all__ = ["CAVEATS", "CITATION", "PublishedValue", "columns", "lookup", "published"]

CITATION = "Deployment-Time Memorization in Foundation-Model Agents, arXiv 2606.10062"

CAVEATS: tuple[str, ...] = (
    "The published columns were measured with other models on other data and with other probe and summary "
    "texts, which the paper does not print. Compare the shape only: what rises with k, what summarization "
    "takes away, which deletions leave something behind. The numbers themselves are not expected to agree.",
    "The paper's intervals are narrower than this report's would be at the same N. Their half-widths fit "
    "n = 250 = 50 instances × 5 values of k, as if the answers at different k were independent; they come "
    "from the same conversation and mostly repeat each other. Here whole instances are resampled, each "
    "with all its k.",
    "The paper does not say at which k it measured the residue: its noop at S = 0 (0.76 and 0.70) is not "
    "its AER (0.83 and 0.72). An interval [0.00, 0.00] is what a bootstrap gives when nothing was seen; "
    "it is no proof of zero.",
)


class PublishedValue(Record):
    """One printed number with its printed interval, where it has one."""

    quantity: str
    model: str
    S: int
    value: float
    low: float | None = None
    high: float | None = None


@cache
def published() -> tuple[PublishedValue, ...]:
    """All 51 numbers, in the file's order."""
    text = resources.files("vestige.report").joinpath("published.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        PublishedValue(
            quantity=row["quantity"],
            model=row["model"],
            S=int(row["S"]),
            value=float(row["value"]),
            low=float(row["low"]) if row["low"] else None,
            high=float(row["high"]) if row["high"] else None,
        )
        for row in rows
    )


def columns() -> tuple[tuple[str, int], ...]:
    """The (model, S) columns of the paper's Table 2, in its order."""
    return tuple(dict.fromkeys((row.model, row.S) for row in published()))


def lookup(quantity: str, model: str, level: int) -> PublishedValue | None:
    """One printed number, or None where the paper prints none."""
    for row in published():
        if (row.quantity, row.model, row.S) == (quantity, model, level):
            return row
    return None
