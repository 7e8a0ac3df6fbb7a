"""Whether a membership audit's memory grows with its candidates: the same audit of ten times as many users.

The whole command runs in a child process of its own (plan, run, score, conclude, report), with questions by rules and
the extractive reader; peak resident memory is read from the operating system. What must grow is the plan, which names
every candidate, and the numbers that are ranked: some kilobytes a candidate.

Run: ``python benchmarks/membership_growth.py [USERS] [EMBEDDER]``; default 20 users (40 candidates each) and `hashing`,
which costs next to nothing. Limit: ten times the users, at most 1.5 times the memory.
"""

from __future__ import annotations

import json
import subprocess
import sys

CHILD = """
import json, resource, sys, tempfile, time
from pathlib import Path
from vestige import attacking, workflow
from vestige.membership_options import MembershipOptions

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

with tempfile.TemporaryDirectory() as home:
    options = MembershipOptions(
        data=f"synthetic:{sys.argv[1]}", embedder=sys.argv[2], quiet=True, out=Path(home) / "run"
    )
    planned = attacking.make_plan(options)
    began = time.perf_counter()
    folder, _ = workflow.run(planned, options)
    ran = time.perf_counter() - began
    running = peak()
    result = attacking.finish(folder).result
    took = time.perf_counter() - began
print(json.dumps([result.counts.candidates, running, peak(), ran, took]))
"""
LIMIT = 1.5


def main() -> None:
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    embedder = sys.argv[2] if len(sys.argv) > 2 else "hashing"
    rows: list[list[float]] = []
    for count in (users, 10 * users):
        out = subprocess.run(
            [sys.executable, "-c", CHILD, str(count), embedder], check=True, capture_output=True, text=True
        ).stdout
        rows.append(json.loads(out))
        n, running, peak, ran, took = rows[-1]
        print(
            f"{n:6.0f} candidates: {running:.0f} MB at the peak of the run, {peak:.0f} MB with score and report; "
            f"{1000 * ran / n:.1f} ms a candidate, {1000 * took / n:.1f} with score and report"
        )
    ratio = rows[1][2] / rows[0][2]
    more = 1024 * (rows[1][2] - rows[0][2]) / (rows[1][0] - rows[0][0])
    print(
        f"{rows[1][0] / rows[0][0]:.0f} x the candidates, {ratio:.2f} x the memory: {more:.1f} kB a candidate"
    )
    if ratio > LIMIT:
        raise SystemExit(f"over the limit of {LIMIT}")


if __name__ == "__main__":
    main()
