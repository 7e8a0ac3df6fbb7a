"""The score of every candidate, by attack and setting: for CSV, curves and the worst errors."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vestige.attacks.terms import Setting
from vestige.audits.findings import Finding
from vestige.audits.membership.conclusion import scored_of, sizes_of
from vestige.audits.membership.evidence import Table
from vestige.audits.membership.results import MembershipResult
from vestige.audits.membership.settings import Attack
from vestige.runs.folder import RunFolder

__all__ = ["Scores", "scores_csv", "scores_of"]


@dataclass(frozen=True)
class Scores:
    """One row a candidate and repeat."""

    table: Table
    columns: dict[tuple[Attack, Setting], NDArray[np.float64]]


def scores_of(folder: RunFolder, findings: Iterable[Finding], result: MembershipResult) -> Scores:
    """All scores, from the same findings as the result."""
    table = Table.of(findings, sizes_of(result.settings))
    scored = scored_of(table, result.settings, int(folder.plan_sha256[:13], 16), result.parts)
    columns: dict[tuple[Attack, Setting], NDArray[np.float64]] = {
        (row.attack, row.setting): scored.scores(row.attack, row.setting)
        for row in result.rows
        if not row.unavailable
    }
    return Scores(table, columns)


def scores_csv(scores: Scores) -> str:
    """Ids, labels and scores; no text of a statement."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [f"{attack}_{setting}" for attack, setting in scores.columns]
    writer.writerow(["candidate", "user", "member", "kind", "repeat", *names])
    table = scores.table
    for i, candidate in enumerate(table.candidates):
        values = [column[i] for column in scores.columns.values()]
        writer.writerow(
            [
                _plain(candidate),
                _plain(table.users[i]),
                int(table.member[i]),
                table.kinds[i],
                int(table.repeat[i]),
                *("" if np.isnan(v) else f"{v:.6f}" for v in values),
            ]
        )
    return out.getvalue()


def _plain(text: str) -> str:
    """A name out of the data, which a spreadsheet shall not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
