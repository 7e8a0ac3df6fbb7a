"""Print every skipped test of a JUnit result file with its reason; fail on one that the allow-list lacks.

Usage: check_skips.py RESULT.xml ALLOWED.txt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree


def skipped(result: Path) -> list[str]:
    """`module::test: reason` of every test that was skipped or expected to fail."""
    found: list[str] = []
    for case in ElementTree.parse(result).iter("testcase"):
        mark = case.find("skipped")
        if mark is not None:
            name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
            found.append(f"{name}: {' '.join((mark.get('message') or 'no reason given').split())}")
    return found


def allowed(path: Path) -> list[re.Pattern[str]]:
    """The patterns of an allow-list; empty lines and comments are left out."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def main(result: Path, allow_list: Path) -> int:
    """Print the skips; the number of unexplained ones decides the exit code."""
    patterns = allowed(allow_list)
    skips = skipped(result)
    unexplained = [skip for skip in skips if not any(pattern.match(skip) for pattern in patterns)]
    for skip in skips:
        print(f"{'NOT ALLOWED' if skip in unexplained else 'allowed'}  {skip}")
    print(f"{len(skips)} skipped, {len(unexplained)} of them not in {allow_list.name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
