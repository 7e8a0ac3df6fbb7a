"""`vestige defend`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vestige.cli.defend_flags import DEFEND_FLAGS
from vestige.cli.flags import with_flags
from vestige.cli.guard import guarded, resumable, say
from vestige.cli.panels import AUDITS, PanelCommand

if TYPE_CHECKING:
    from vestige.audits.defence.results import DefenceResult
    from vestige.defend_options import DefendOptions

__all__ = ["register", "run_defend"]


def run_defend(options: DefendOptions, *, as_json: bool = False) -> DefenceResult:
    """Plan, run, conclude, report every arm; prints the table and the report's path."""
    made = [options.out] if options.out is not None else []
    with resumable(made, "continue with --resume"):
        return _run(options, as_json, made)


def _run(options: DefendOptions, as_json: bool, made: list[Path]) -> DefenceResult:
    from vestige import defending
    from vestige.report.defence import defence_lines

    plans = defending.make_plans(options)
    arms = plans.comparison.arms

    def on_arm(path: Path, label: str) -> None:
        if not options.quiet:
            if not made or made[0] != path:
                made[:] = [path]
            number = [arm.label for arm in arms].index(label) + 1
            say(f"arm {number} of {len(arms)}: {label}")

    if not options.quiet:
        say(f"plan {plans.comparison.sha256[:12]}, {len(arms)} arms, at most {plans.exchanges} exchanges")
    folder = defending.run(plans, options, on_arm=on_arm)
    written = defending.finish(folder)
    if as_json:
        typer.echo((folder / "result.json").read_text(encoding="utf-8"), nl=False)
    if not options.quiet:
        for line in defence_lines(written.result):
            say(line)
        say(f"report: {written.report}")
    return written.result


def _estimate(options: DefendOptions) -> None:
    from vestige import defending
    from vestige.services import check_models

    plans = defending.make_plans(options)
    check_models(plans.membership[0].plan)
    typer.echo(f"plan {plans.comparison.sha256[:12]}: {len(plans.comparison.arms)} arms")
    for arm, members, asked in zip(plans.comparison.arms, plans.membership, plans.frontier, strict=True):
        asks = "no frontier audit" if asked is None else f"{asked.exchanges} of the frontier audit"
        typer.echo(f"  {arm.label}: {members.exchanges} exchanges of the membership audit, {asks}")
    typer.echo(f"at most {plans.exchanges} exchanges; equal calls of two arms are made once")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(cls=PanelCommand, rich_help_panel=AUDITS)
    @guarded
    @with_flags(table=DEFEND_FLAGS)
    def defend(**flags: Any) -> None:
        """What a defence of the memory buys, and what it costs: each at several strengths."""
        from functools import partial

        from vestige.cli.audits import claimed, merged_options
        from vestige.defend_options import DEFEND_LISTS, DefendOptions
        from vestige.options import checked_options

        with claimed(None if flags.get("dry_run") else flags.get("out")):
            options, as_json, dry = merged_options(
                partial(checked_options, DefendOptions, DEFEND_LISTS), flags
            )
            if dry:
                _estimate(options)
                return
            run_defend(options, as_json=as_json)
