"""Exact search over 100,000 units of one user, against a plain numpy sort of all cosines.

    python benchmarks/search_speed.py [units]

Both give the same ten units. The target is 20 ms a query at 100,000 units of 384 dimensions.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from vestige.memory.store import MemoryStore
from vestige.memory.units import Changes, Unit, unit_id

DIMENSIONS, K, QUERIES = 384, 10, 30


def unit_rows(n: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, DIMENSIONS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def timed(call: Callable[[np.ndarray], list[int]], queries: np.ndarray) -> tuple[float, list[list[int]]]:
    """Median milliseconds a call, and what the calls gave."""
    call(queries[0])
    times, given = [], []
    for query in queries:
        started = time.perf_counter()
        given.append(call(query))
        times.append(1000 * (time.perf_counter() - started))
    return median(times), given


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rows, queries = unit_rows(n, 0), unit_rows(QUERIES, 1)
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "memory.sqlite")
        units = (
            Unit(
                unit_id("raw", i + 1), i + 1, "raw", 0, "s", i, None, f"unit {i}", row.astype("<f4").tobytes()
            )
            for i, row in enumerate(rows)
        )
        store.apply("u", Changes(inserts=tuple(units)))
        started = time.perf_counter()
        store.search("u", queries[0], k=K, tiers=["raw"])
        first = 1000 * (time.perf_counter() - started)

        ours, found = timed(
            lambda q: [u.order - 1 for u, _ in store.search("u", q, k=K, tiers=["raw"])], queries
        )
        peer, sorted_ = timed(lambda q: np.argsort(-(rows @ q), kind="stable")[:K].tolist(), queries)
        store.close()
    if found != sorted_:
        raise SystemExit("the search and the sort disagree")
    print(f"units                        {n:,} x {DIMENSIONS}")
    print(f"search, median               {ours:.2f} ms a query")
    print(f"numpy argsort, median        {peer:.2f} ms a query")
    print(f"ratio (numpy / search)       {peer / ours:.2f}")
    print(f"first query (reads the file) {first:.0f} ms")


if __name__ == "__main__":
    main()
