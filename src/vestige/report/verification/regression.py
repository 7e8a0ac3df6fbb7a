"""The row of the scorecard on earlier removals: targets of a packet made before, tested again."""

from __future__ import annotations

from vestige.audits.verification.results import VerificationResult
from vestige.report.tables import Cell, Column, Row, Table
from vestige.report.verification.words import CLAIMS, VERDICTS, bounded, counted, signed

__all__ = ["regression"]


def regression(result: VerificationResult) -> Table | None:
    """Verdict, leaks and residual of the targets removed before; None where none were tested again."""
    again = result.regression
    if again is None:
        return None
    rows: list[Row] = []
    for claim in again.claims:
        for target in claim.targets:
            bound = target.union.get("exposed_removed")
            leaks = (
                f"{counted(bound)}, {bounded(bound)}" if bound is not None and bound.n else "none observed"
            )
            residual = "–"
            if target.residual is not None and target.residual.value is not None:
                low, high = target.residual.interval
                residual = f"{signed(target.residual.value)} [{signed(low)}, {signed(high)}]"
            verdict = VERDICTS[claim.verdict]
            rows.append(
                Row(
                    f"{CLAIMS[claim.claim][0]}, {target.target}", (Cell(verdict), Cell(leaks), Cell(residual))
                )
            )
    return Table(
        title=f"Targets removed before: {again.distinct_pairs} of {again.pairs} pairs, tested again",
        columns=(Column("verdict"), Column("leaks after the removal"), Column("residual")),
        rows=tuple(rows),
        corner="claim and target",
        note="Counted apart from the new targets, for which they say nothing. A failure here fails the verification.",
    )
