"""Writes a page of docs/results from stored runs: tables, figures, plan and machine, and none of the data's text.

Run: ``python scripts/write_results.py NAME TITLE RUN [RUN ...]``; writes docs/results/NAME.md and its figures.
What stands before ``<!-- measured -->`` in a page that is there already is kept: it is written by a person.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vestige import report, workflow
from vestige.report import figures
from vestige.runs.folder import RunFolder

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
MARK = "<!-- measured -->"
LEFT_OUT = ("## The exchanges behind the numbers", "## The words and measures", "## Checking it again")


def body(text: str, images: list[str]) -> Iterator[str]:
    """The report's Markdown without the exchanges, its figures in place."""
    waiting = iter(images)
    skipping = False
    for line in text.splitlines()[1:]:
        if line.startswith("## "):
            skipping = line.startswith(LEFT_OUT)
        if skipping:
            continue
        if line.startswith("Figure, in report.html: "):
            yield f"![{next(waiting)}]({Path(next(waiting)).name})"
            yield ""
            yield line.removeprefix("Figure, in report.html: ")
        else:
            yield line


def machine(folder: RunFolder) -> Iterator[str]:
    """What host.json says of the machine, in a line a call."""
    if not (folder.path / "host.json").exists():
        yield "stopped before its end, so that host.json was not written"
        return
    for call in json.loads((folder.path / "host.json").read_text(encoding="utf-8")):
        models = [v for v in call["models"].values() if isinstance(v, dict) and v.get("settings")]
        engine = ", ".join(f"{m['settings']['engine']}, {m['settings']['parallel']} slots" for m in models)
        made = sum(m.get("calls", 0) for m in models)
        yield (
            f"{call['exchanges']} exchanges in {call['seconds'] / 60:.1f} min with {made} model calls "
            f"({engine or 'no model'}; Vestige {call['vestige']}, Python {call['python']})"
        )


def main() -> None:
    """Write one page."""
    name, title, *runs = sys.argv[1:]
    folders = [RunFolder.open(Path(run)) for run in runs]
    results = [workflow.conclude(folder) for folder in folders]
    images: list[str] = []
    RESULTS.mkdir(exist_ok=True)
    for result in results:
        with tempfile.TemporaryDirectory() as home:
            for path in figures.save(result, Path(home), kinds=("svg",)):
                target = RESULTS / f"{name}-{path.name}"
                target.write_bytes(path.read_bytes())
                images += [path.stem, str(target)]
    with tempfile.TemporaryDirectory() as home:
        text = report.write(results, folder=Path(home), title=title).markdown.read_text(encoding="utf-8")
    page = RESULTS / f"{name}.md"
    before = page.read_text(encoding="utf-8").split(MARK)[0].rstrip() if page.exists() else f"# {title}"
    lines = [before, "", MARK, ""]
    for folder in folders:
        lines.append(
            f"- `{folder.plan.audit}`, plan `{folder.plan_sha256}`: " + "; ".join(machine(folder)) + "."
        )
    lines += list(body(text, images))
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(page.relative_to(RESULTS.parents[1]))


if __name__ == "__main__":
    main()
