"""`vestige membership`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vestige.cli.flags import with_flags
from vestige.cli.guard import guarded, resumable, say
from vestige.cli.membership_flags import MEMBERSHIP_FLAGS
from vestige.cli.panels import AUDITS, PanelCommand

if TYPE_CHECKING:
    from vestige.audits.membership.results import MembershipResult
    from vestige.membership_options import MembershipOptions

__all__ = ["register", "run_membership"]

UNASSESSABLE = 3
"""Exit code where no attack could be scored."""


def run_membership(options: MembershipOptions, *, as_json: bool = False) -> MembershipResult:
    """Plan, run, conclude, report; prints the tables and the report's path."""
    made = [options.out] if options.out is not None else []
    with resumable(made, "continue with --resume"):
        return _run(options, as_json, made)


def _run(options: MembershipOptions, as_json: bool, made: list[Path]) -> MembershipResult:
    from vestige import attacking, workflow
    from vestige.report.membership import membership_lines

    planned = attacking.make_plan(options)

    def on_folder(path: Path) -> None:
        made[:] = [path]
        if not options.quiet:
            say(f"plan {planned.plan.sha256[:12]}, at most {planned.exchanges} exchanges, into {path}")

    folder, summary = workflow.run(
        planned, options, on_folder=on_folder, stop=attacking.stopper(options.seconds)
    )
    written = attacking.finish(folder)
    if summary.stopped is not None:
        say(f"vestige: stopped: {summary.stopped}; --resume goes on")
    if as_json:
        typer.echo((folder.path / "result.json").read_text(encoding="utf-8"), nl=False)
    if not options.quiet:
        for line in membership_lines(written.result):
            say(line)
        say(f"scores: {written.scores}")
        say(f"report: {written.report}")
    return written.result


def _options(flags: dict[str, Any]) -> tuple[MembershipOptions, bool, bool]:
    from functools import partial

    from vestige.cli.audits import merged_options
    from vestige.membership_options import MEMBERSHIP_LISTS, MembershipOptions
    from vestige.options import checked_options

    return merged_options(partial(checked_options, MembershipOptions, MEMBERSHIP_LISTS), flags)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(cls=PanelCommand, rich_help_panel=AUDITS)
    @guarded
    @with_flags(table=MEMBERSHIP_FLAGS)
    def membership(**flags: Any) -> None:
        """Can somebody who talks to the agent tell whether a statement is in its memory?"""
        from vestige.cli.audits import claimed

        with claimed(None if flags.get("dry_run") else flags.get("out")):
            options, as_json, dry = _options(flags)
            if dry:
                from vestige.cli.estimate import print_membership_estimate

                print_membership_estimate(options)
                return
            result = run_membership(options, as_json=as_json)
            if all(row.auc.value is None for row in result.rows):
                raise typer.Exit(UNASSESSABLE)
