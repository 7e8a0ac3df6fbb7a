"""A forensic scan of mixed files for 1,000 values, against `ripgrep -F -f` over the same files in one run.

The scan looks for every form of every value (about 20,000 patterns), unpacks streams and reads databases as pages;
ripgrep looks for the 1,000 values as they stand, with one thread (`-j1`), as binary text (`-a`). Without `rg` on the
PATH, or in the variable RG, `grep -F -f` takes its place.

Run: ``python benchmarks/scan_speed.py [megabytes]``.
The target: half of ripgrep's bytes a second at 1,000 MB; memory that does not grow with the files.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vestige.canaries import draw
from vestige.channels.storage import scan_storage

VALUES = 1_000


def text(rng: np.random.Generator, words: np.ndarray, size: int) -> bytes:
    return " ".join(words[rng.integers(0, len(words), size // 6)]).encode()[:size]


def write(folder: Path, megabytes: int, values: list[str]) -> None:
    """Notes as JSON lines, databases, vectors, logs and gzip; every tenth value is planted once."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(letters[rng.integers(0, 26, rng.integers(2, 10))]) for _ in range(5_000)])
    planted = iter(values[::10])
    unit = max(1, megabytes // 20) << 20
    for number in range(8):
        with (folder / f"notes-{number}.jsonl").open("wb") as file:
            for _ in range(unit // 1_000):
                file.write(json.dumps({"text": text(rng, words, 980).decode()}).encode() + b"\n")
            file.write(json.dumps({"text": f"my token is {next(planted)}"}).encode() + b"\n")
    for number in range(2):
        rng.normal(size=unit * 2 // 4).astype("<f4").tofile(folder / f"vectors-{number}.f32")
    for number in range(2):
        with sqlite3.connect(folder / f"memory-{number}.db") as db:
            db.executescript(
                "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE TABLE notes (text TEXT);"
            )
            rows = ((text(rng, words, 700).decode(),) for _ in range(unit * 2 // 720))
            db.executemany("INSERT INTO notes VALUES (?)", rows)
            db.execute("INSERT INTO notes VALUES (?)", (f"my token is {next(planted)}",))
        db.close()
    for number in range(3):
        (folder / f"agent-{number}.log").write_bytes(text(rng, words, unit))
    packed = gzip.compress(text(rng, words, unit) + next(planted).encode(), 6)
    (folder / "old.gz").write_bytes(packed)


def by_scan(folder: Path, values: list[str]) -> tuple[float, int, int]:
    """Seconds, occurrences, and the peak of memory in MB."""
    started = time.perf_counter()
    result = scan_storage([folder], {f"v{i}": value for i, value in enumerate(values)})
    seconds = time.perf_counter() - started
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) >> 10
    return seconds, sum(s.whole for s in result.sightings), peak


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    rng = np.random.default_rng(7)
    values = list(dict.fromkeys(draw(rng).value for _ in range(VALUES + 20)))[:VALUES]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        folder.mkdir()
        write(folder, megabytes, values)
        patterns = Path(name) / "patterns"
        patterns.write_text("\n".join(values) + "\n", encoding="utf-8")
        size = sum(p.stat().st_size for p in folder.iterdir())
        rg = os.environ.get("RG") or shutil.which("rg")
        peer = [rg, "-a", "-F", "-o", "-N", "--no-heading", "-j1"] if rg else ["grep", "-r", "-a", "-F", "-o"]
        command = [*peer, "-f", str(patterns), str(folder)]

        def by_peer() -> tuple[float, int]:
            started = time.perf_counter()
            done = subprocess.run(
                command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
            )
            return time.perf_counter() - started, len(done.stdout.splitlines())

        by_peer()  # the files are in memory for both
        with multiprocessing.get_context("spawn").Pool(1) as other:  # its peak is the scan's alone
            runs = [(by_peer(), other.apply(by_scan, (folder, values))) for _ in range(3)]
    (theirs, seen), (ours, found, peak) = min(run[0] for run in runs), min(run[1] for run in runs)
    if found != 11 or seen != 10:
        raise SystemExit(
            f"the scan found {found} of 11 values, the peer {seen} of the 10 that are not compressed"
        )
    print(f"files                      {size / 1e6:,.0f} MB, {VALUES:,} values")
    print(f"scan, every form           {size / 1e6 / ours:,.0f} MB/s ({found} found, one in gzip)")
    print(f"{Path(peer[0]).name + ', as they stand':26} {size / 1e6 / theirs:,.0f} MB/s ({seen} found)")
    print(f"ratio (scan / peer)        {theirs / ours:.2f}")
    print(f"peak memory                {peak} MB")
    if theirs / ours < 0.5:
        sys.exit("the target is half of the peer's speed")


if __name__ == "__main__":
    main()
