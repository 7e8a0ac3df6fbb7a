"""`vestige score | conclude | report`: on a stored run, without any model or network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vestige.cli.flags import as_path
from vestige.cli.guard import guarded, say
from vestige.cli.panels import STORED

if TYPE_CHECKING:
    from collections.abc import Collection

    from vestige.audits.findings import Finding
    from vestige.report import ReportPaths
    from vestige.runs.folder import RunFolder
    from vestige.workflow import Result

__all__ = ["lines_of", "register", "report_of"]

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that --out named.", show_default=False)]


def report_of(
    runs: list[tuple[RunFolder, Collection[Finding], Result]],
    folder: Path,
    *,
    show: bool,
    title: str | None = None,
) -> ReportPaths:
    """Write one report on one or several concluded runs of the frontier or residue audit."""
    from vestige.audits.results import FrontierResult, ResidueResult
    from vestige.report import write
    from vestige.report.gather import gather

    exchanges = [e for run, findings, _ in runs for e in gather(run, findings)]
    results = [r for _, _, r in runs if isinstance(r, FrontierResult | ResidueResult)]
    return write(results, exchanges=exchanges, folder=folder, show_canaries=show, title=title)


def lines_of(result: Result) -> list[str]:
    """What a terminal is told of a result."""
    from vestige.audits.verification.results import VerificationResult

    if isinstance(result, VerificationResult):
        from vestige.report.verification.lines import verification_lines

        return verification_lines(result)
    from vestige.audits.membership.results import MembershipResult

    if isinstance(result, MembershipResult):
        from vestige.report.membership import membership_lines

        return membership_lines(result)
    from vestige.report import summary_lines

    return summary_lines(result)


def _own_report(runs: list[Path]) -> str | None:
    """The audit of a run whose report is its own: a verification, or a membership audit.

    Raises:
        ConfigError: It is one of several.
    """
    from vestige.errors import ConfigError
    from vestige.runs.folder import RunFolder

    audits = [RunFolder.open(run).plan.audit for run in runs]
    own = next((a for a in audits if a in ("verification", "membership")), None)
    if own is not None and len(runs) > 1:
        raise ConfigError(f"{runs[audits.index(own)]}: a {own} has a report of its own; give it alone")
    return own


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(rich_help_panel=STORED)
    @guarded
    def score(run: Run) -> None:
        """Score a stored run again; writes findings.jsonl."""
        from vestige import workflow
        from vestige.runs.folder import RunFolder

        folder = RunFolder.open(run)
        findings = workflow.score(folder)
        say(f"{len(findings)} findings: {folder.path / 'findings.jsonl'}")

    @app.command(rich_help_panel=STORED)
    @guarded
    def conclude(
        run: Run,
        json: Annotated[bool, typer.Option("--json", help="Print the result on standard output.")] = False,
    ) -> None:
        """Compute a stored run's result again; writes result.json."""
        from vestige import workflow
        from vestige.defending import finish, is_comparison
        from vestige.runs.folder import RunFolder

        if is_comparison(run):
            from vestige.report.defence import defence_lines

            found = finish(run).result
            if json:
                typer.echo((run / "result.json").read_text(encoding="utf-8"), nl=False)
            else:
                for line in defence_lines(found):
                    say(line)
                say(f"result: {run / 'result.json'}")
            return
        folder = RunFolder.open(run)
        result = workflow.conclude(folder)
        path = folder.path / "result.json"
        if json:
            typer.echo(path.read_text(encoding="utf-8"), nl=False)
        else:
            for line in lines_of(result):
                say(line)
            say(f"result: {path}")

    @app.command(rich_help_panel=STORED)
    @guarded
    def report(
        runs: Annotated[
            list[Path],
            typer.Argument(
                metavar="RUN...", help="One run's folder, or several for one report.", show_default=False
            ),
        ],
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                parser=as_path,
                metavar="<path>",
                help="Where the report goes. [the first run's folder]",
                show_default=False,
            ),
        ] = None,
        show_canaries: Annotated[
            bool, typer.Option("--show-canaries", help="Do not mask the planted secrets and targets.")
        ] = False,
        title: Annotated[
            str | None, typer.Option("--title", help="Heading of the report.", show_default=False)
        ] = None,
    ) -> None:
        """Write the report of stored runs: report.html, report.md, report.json."""
        from vestige import workflow
        from vestige.defending import finish as finish_comparison
        from vestige.defending import is_comparison
        from vestige.errors import ConfigError
        from vestige.runs.folder import RunFolder

        if any(map(is_comparison, runs)):
            if len(runs) > 1:
                raise ConfigError(
                    f"{runs[0]}: a comparison of defences has a report of its own; give it alone"
                )
            say(f"report: {finish_comparison(runs[0], out=out, title=title).report}")
            return
        if len(runs) > 1 and out is None:
            raise ConfigError(f"{len(runs)} runs: say with --out where their common report goes")
        own = _own_report(runs)
        if own == "membership":
            from vestige.attacking import finish as finish_membership

            say(f"report: {finish_membership(RunFolder.open(runs[0]), title=title, out=out).report}")
            return
        if own == "verification":
            from vestige.verifying import finish

            written = finish(RunFolder.open(runs[0]), show_targets=show_canaries, title=title, out=out)
            say(f"report: {written.report}")
            return
        stored: list[tuple[RunFolder, Collection[Finding], Result]] = []
        for path in runs:
            folder = RunFolder.open(path)
            findings = workflow.score(folder)
            stored.append((folder, findings, workflow.conclude(folder, findings)))
        paths = report_of(stored, out or runs[0], show=show_canaries, title=title)
        say(f"report: {paths.html}")
