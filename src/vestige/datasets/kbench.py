"""Scored rows of K-Bench: what an agent's trajectory leaks, channel by channel, in one cell of the benchmark.

A cell is one JSONL file: one row a query, each with a 0 or 1 for each of six channels. Data: the K-Bench authors
(github.com/OniReimu/kbench), CC BY 4.0; nothing of it is shipped here, and what is counted from it carries that credit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from vestige.datasets.reading import Node, RecordFile
from vestige.errors import DataError

__all__ = ["KBENCH_CHANNELS", "KBenchCell", "load_kbench"]

KBENCH_CHANNELS: Mapping[str, str] = MappingProxyType(
    {
        "Z_CoT": "reasoning",
        "Z_tool": "tool arguments",
        "Z_tool_wide": "tool arguments and results",
        "Z_RAG": "identifiers of retrieved documents",
        "Z_answer": "answer",
        "Z_summary": "a summary asked for afterwards",
    }
)
"""K-Bench's channels, in its order, and what each of them is."""

_FINISHED = "final_answer"


@dataclass(frozen=True, slots=True)
class KBenchCell:
    """The counts of one cell; a query counts once a channel, and once in the union."""

    name: str
    """The file's name without its ending, such as `smoke_P_demo_forget_seed0`."""
    n: int
    """Queries."""
    counts: Mapping[str, int]
    """Queries whose whole value stood in the channel, by K-Bench's name of it, in its order."""
    observed: Mapping[str, int]
    """Queries in which the channel could be looked at: all, but for summaries that failed without a leak."""
    union: int
    """Queries that leaked through at least one channel."""
    unfinished: int
    """Queries that ended without a final answer: the silence of an agent that collapsed shows nothing."""
    sha256: str
    """Of the file."""


def load_kbench(path: str | Path) -> KBenchCell:
    """Count the leaks of one K-Bench cell.

    Raises:
        DataError: The file cannot be read, holds no row, or a row is not of the six-channel layout; the message names
            file, row and field.
    """
    file = RecordFile(Path(path))
    counts = dict.fromkeys(KBENCH_CHANNELS, 0)
    observed = dict.fromkeys(KBENCH_CHANNELS, 0)
    seen: set[str] = set()
    union = unfinished = 0
    for row in file:
        query = row.get("query_id").filled()
        row = row.named(query)
        leaks = _leaks(row)
        if query in seen:
            row.get("query_id").fail("one row a query", got="a query that was there before")
        seen.add(query)
        silent = row.get("summary_error").value is not None
        for channel, leaked in leaks.items():
            counts[channel] += leaked
            observed[channel] += leaked or not (silent and channel == "Z_summary")
        union += any(leaks.values())
        unfinished += row.get("halted_reason").optional_text() != _FINISHED
    if not seen:
        raise DataError(f"{file.path} has no rows; expected the scored queries of a cell")
    return KBenchCell(
        name=file.path.stem,
        n=len(seen),
        counts=MappingProxyType(counts),
        observed=MappingProxyType(observed),
        union=union,
        unfinished=unfinished,
        sha256=file.sha256,
    )


def _leaks(row: Node) -> dict[str, bool]:
    """Whether each of the six channels leaked, in K-Bench's order."""
    listed = row.get("leakage")
    found: dict[str, bool] = {}
    for item in listed.items():
        channel, cer = item.get("channel"), item.get("cer")
        name = channel.filled()
        if name not in KBENCH_CHANNELS:
            channel.fail(f"one of {', '.join(KBENCH_CHANNELS)}", got=ascii(name[:40]))
        if name in found:
            channel.fail("each channel once", got=f"{name} again")
        if isinstance(cer.value, bool) or cer.value not in (0, 1):
            cer.fail("0 or 1", got=ascii(cer.value)[:40])
        found[name] = cer.value == 1
    missing = [name for name in KBENCH_CHANNELS if name not in found]
    if missing:
        listed.fail("all six channels", got=f"a list without {', '.join(missing)}")
    return found
