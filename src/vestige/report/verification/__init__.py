"""The report of a verification: its verdict and why, as a page, as Markdown, as JSON, as JUnit XML, and as lines.

`write_verification` makes the four files; `gather.gather` and `gather.waits` take from a run's records what stands in
them beside the result; `verification_lines` says the verdict on a terminal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestige.report.verification.evidence import PairExchanges, WaitedRow
    from vestige.report.verification.lines import verification_lines
    from vestige.report.verification.writing import VerificationReportPaths, write_verification

__all__ = [
    "PairExchanges",
    "VerificationReportPaths",
    "WaitedRow",
    "verification_lines",
    "write_verification",
]

_HOME = {
    "PairExchanges": "evidence",
    "VerificationReportPaths": "writing",
    "WaitedRow": "evidence",
    "verification_lines": "lines",
    "write_verification": "writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
