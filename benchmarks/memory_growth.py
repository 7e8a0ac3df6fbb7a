"""Whether memory grows with the number of exchanges: the same run, ten times as long.

The harness answers from the extractive reader over hand-made sessions; peak resident memory is read from the
operating system after a child process has made each number of exchanges. Run: ``python benchmarks/memory_growth.py``.
Limit: ten times the exchanges, at most 1.15 times the memory while running.
"""

from __future__ import annotations

import json
import subprocess
import sys

CHILD = """
import json, resource, sys, tempfile
from pathlib import Path
from vestige import studying, workflow
from vestige.options import options_from
repeats = int(sys.argv[1])
ks = ",".join(str(k) for k in range(1, repeats + 1))
with tempfile.TemporaryDirectory() as home:
    options = options_from({"data": "synthetic:20", "model": "extractive", "embedder": "hashing", "levels": "0",
                            "k": ks, "quiet": True, "out": Path(home) / "run"})
    planned = studying.make_plan("frontier", options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workflow.run(planned, options)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([planned.exchanges, before / 1024, after / 1024]))
"""
LIMIT = 1.15


def main() -> None:
    rows: list[list[float]] = []
    for repeats in (10, 100):
        out = subprocess.run(
            [sys.executable, "-c", CHILD, str(repeats)], check=True, capture_output=True, text=True
        ).stdout
        rows.append(json.loads(out))
        exchanges, before, after = rows[-1]
        print(f"{exchanges:7.0f} exchanges: {before:.0f} MB planned, {after:.0f} MB at the peak of the run")
    ratio = rows[1][2] / rows[0][2]
    print(f"{rows[1][0] / rows[0][0]:.0f} x the exchanges, {ratio:.2f} x the memory")
    if ratio > LIMIT:
        raise SystemExit(f"over the limit of {LIMIT}")


if __name__ == "__main__":
    main()
