"""The numbers that the paper prints, to set beside a run's own: arXiv 2605.27825, tables 1 to 3."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from vestige.audits.membership.results import AttackRow, MembershipResult
from vestige.records import Record
from vestige.report.tables import Cell, Column, Row, Table

__all__ = ["CAVEAT", "PublishedValue", "beside", "published"]

CAVEAT = (
    "Published: Qwen2.5-7B-Instruct behind Mem0 and MemGPT, questions and judgements by a model, mean and standard "
    "deviation of three runs with other questions each (arXiv 2605.27825); a deviation here is of the same questions "
    "put again. Another model, memory and attacker than here: compare shapes, such as "
    "which attack leads and what each setting adds."
)
ATTACKS = {
    "Naive Probe": "naive",
    "IA": "ia",
    "MRMMIA": "mrmmia",
    "Loss": "loss",
    "MinK": "mink",
    "Reference": "reference",
}
DATA = {"locomo": "LoCoMo", "perltqa": "PerLTQA", "msc": "MSC"}
METRICS = ("AUC", "PR-AUC", "TPR@1%")


class PublishedValue(Record):
    """One printed number with its printed standard deviation."""

    setting: str
    memory: str
    dataset: str
    attack: str
    metric: str
    mean: float
    sd: float


def _number(text: str) -> float:
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


@cache
def published() -> tuple[PublishedValue, ...]:
    """All 216 numbers, in the file's order; rates as shares."""
    text = resources.files("vestige.report.membership").joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedValue(
            setting=row["setting"],
            memory=row["memory"],
            dataset=row["dataset"],
            attack=ATTACKS[row["attack"]],
            metric=row["metric"],
            mean=_number(row["mean"]),
            sd=_number(row["sd"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def beside(result: MembershipResult, names: dict[str, str]) -> Table | None:
    """This run's numbers beside the paper's on the same data; None where the paper has none on it.

    Args:
        result: Of the run.
        names: Attacks as a reader meets them.
    """
    dataset = DATA.get(result.data.lower().partition(":")[0])
    held = [p for p in published() if p.dataset == dataset]
    if not held:
        return None
    memories = list(dict.fromkeys(p.memory for p in held))
    by = {(p.setting, p.attack, p.metric, p.memory): p for p in held}
    rows: list[Row] = []
    for row in result.rows:
        cells: list[Cell] = []
        for metric in METRICS:
            cells.append(_own(row, metric))
            for memory in memories:
                value = by.get((row.setting, row.attack, metric, memory))
                cells.append(
                    Cell("–") if value is None else Cell(f"{value.mean:.3f}", detail=f"± {value.sd:.3f}")
                )
        rows.append(Row(f"{names[row.attack]}, {row.setting}-box", tuple(cells)))
    columns = tuple(
        Column(name) for metric in METRICS for name in (f"{metric}: here", *(f"{m}, paper" for m in memories))
    )
    return Table(
        title=f"Beside the published numbers on {dataset}",
        columns=columns,
        rows=tuple(rows),
        corner="attack",
        note=CAVEAT,
    )


def _own(row: AttackRow, metric: str) -> Cell:
    if row.unavailable:
        return Cell("n/c", reason=row.unavailable)
    if metric == "TPR@1%":
        point = next((p for p in row.at_fpr if abs(p.target - 0.01) < 1e-9), None)
        if point is None:
            return Cell("–")
        if point.tpr is None:
            return Cell("refused", reason=point.refused)
        low, high = point.exact or (0.0, 1.0)
        reached = f"FPR {100 * (point.achieved or 0):.2g} % [{100 * low:.2g}, {100 * high:.2g}]"
        return Cell(f"{point.tpr:.3f}", detail=reached)
    estimate = row.auc if metric == "AUC" else row.pr_auc
    return Cell("n/c", reason=estimate.reason) if estimate.value is None else Cell(f"{estimate.value:.3f}")
