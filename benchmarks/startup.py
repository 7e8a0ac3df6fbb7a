"""What `vestige --help` and `import vestige` cost, against starting the same Python with nothing to do.

Run: ``python benchmarks/startup.py [--runs 15]``. Limits: 0.2 s for the help, 0.1 s for the import.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

LIMITS = {"vestige --help": 0.2, "import vestige": 0.1}


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    main_call = "import sys; sys.argv = ['vestige', '--help']; from vestige.cli.main import main; main()"
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import vestige": [sys.executable, "-c", "import vestige"],
        "vestige --help": [sys.executable, "-c", main_call],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs + 1):  # in turn, so that all meet the same machine; the first round warms up
        for name, command in commands.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(t[1:]) for name, t in times.items()}
    bare = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:16}  {median:.3f} s  {median / bare:4.1f} x a bare start")
    missed = [name for name, limit in LIMITS.items() if medians[name] > limit]
    if missed:
        raise SystemExit(f"over the limit: {', '.join(missed)}")


if __name__ == "__main__":
    main()
