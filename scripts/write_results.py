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
from vestige.audits.membership.results import MembershipResult
from vestige.report import figures
from vestige.report.markdown import table
from vestige.report.membership.charts import drawings
from vestige.report.membership.scores import scores_of
from vestige.report.membership.tables import tables
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


def write_membership(name: str, title: str, folders: list[RunFolder]) -> None:
    """A page of membership audits: their tables and figures, ids and no text of the data."""
    page = RESULTS / f"{name}.md"
    before = page.read_text(encoding="utf-8").split(MARK)[0].rstrip() if page.exists() else f"# {title}"
    lines = [before, "", MARK, ""]
    for number, folder in enumerate(folders, 1):
        findings = workflow.score(folder)
        result = workflow.conclude(folder, findings)
        assert isinstance(result, MembershipResult)
        drawn = drawings(result, scores_of(folder, findings, result))
        suffix = "" if len(folders) == 1 else f"-{number}"
        lines += [f"## {result.data}, agent's model {result.model}", ""]
        lines += [f"- plan `{folder.plan_sha256}`: " + "; ".join(machine(folder)) + "."]
        lines += [f"- parts: {', '.join(f'{k}: {v}' for k, v in result.parts.items())}", ""]
        lines += [result.statement, ""]
        if result.stopped:
            lines += [f"{result.stopped}.", ""]
        with tempfile.TemporaryDirectory() as home:
            paths = figures.save_drawings(drawn, Path(home), kinds=("svg",))
            for drawing, path in zip(drawn, paths, strict=True):
                target = RESULTS / f"{name}{suffix}-{path.name}"
                target.write_bytes(path.read_bytes())
                lines += [f"![{drawing.name}]({target.name})", "", drawing.caption, ""]
        for one in tables(result):
            lines += [*table(one), ""]
        lines += [f"- {note}" for note in result.notes]
        lines.append("")
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(page.relative_to(RESULTS.parents[1]))


def main() -> None:
    """Write one page."""
    name, title, *runs = sys.argv[1:]
    folders = [RunFolder.open(Path(run)) for run in runs]
    if folders[0].plan.audit == "membership":
        write_membership(name, title, folders)
        return
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
