"""`vestige verify`, `vestige plan` and `vestige adjudicate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vestige.cli.flags import with_flags
from vestige.cli.guard import guarded, resumable, say
from vestige.cli.panels import AUDITS, STORED, PanelCommand
from vestige.cli.verify_flags import VERIFY_FLAGS

if TYPE_CHECKING:
    from vestige.audits.verification.results import VerificationResult
    from vestige.verify_options import VerifyOptions

__all__ = ["EXIT_CODES", "register", "run_verification"]

EXIT_CODES = {"limited_evidence": 0, "fails": 1, "unassessable": 3}
"""Of `verify` by its verdict."""


def run_verification(options: VerifyOptions, *, as_json: bool = False) -> VerificationResult:
    """Plan, run, conclude, report, seal; prints verdict and paths."""
    made = [options.out] if options.out is not None else []
    with resumable(made, "continue with --resume"):
        return _run(options, as_json, made)


def _run(options: VerifyOptions, as_json: bool, made: list[Path]) -> VerificationResult:
    from vestige import verifying, workflow
    from vestige.agents.opening import AGENTS
    from vestige.reaching import reach_lines
    from vestige.report.verification import verification_lines

    planned = verifying.make_plan(options)

    def on_folder(path: Path) -> None:
        made[:] = [path]
        if not options.quiet:
            say(f"plan {planned.plan.sha256[:12]}, {planned.exchanges} exchanges, into {path}")
            for line in reach_lines(options.settings()):
                say(line)

    own = options.agent not in AGENTS and not options.agent.endswith(".toml")
    folder, summary = workflow.run(planned, options, on_folder=on_folder, capture=own)
    written = verifying.finish(
        folder,
        show_targets=options.show_targets,
        packet=verifying.PacketOptions(sign=options.sign, recipient=options.recipient, zip=options.zip),
    )
    if (printed := folder.path / workflow.AGENT_LOG).exists():
        say(f"what the agent printed, which may hold what it was told: {printed}")
    if summary.gave_up is not None:
        say(f"vestige: stopped early: {summary.gave_up}")
    if as_json:
        typer.echo((folder.path / "result.json").read_text(encoding="utf-8"), nl=False)
    if not options.quiet:
        for line in verification_lines(written.result):
            say(line)
        say(f"packet: {written.packet}")
        say(f"report: {written.report}")
    else:
        say(f"verdict: {written.result.verdict}")
    return written.result


def _options(flags: dict[str, Any]) -> tuple[VerifyOptions, bool, bool]:
    from functools import partial

    from vestige.cli.audits import merged_options
    from vestige.options import checked_options
    from vestige.verify_options import VERIFY_LISTS, VerifyOptions

    return merged_options(partial(checked_options, VerifyOptions, VERIFY_LISTS), flags)


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(cls=PanelCommand, rich_help_panel=AUDITS)
    @guarded
    @with_flags(table=VERIFY_FLAGS)
    def verify(**flags: Any) -> None:
        """After a removal, does anything the agent does still depend on what was removed?

        Exit 0: limited evidence of non-use; 1: fails; 3: unassessable.
        """
        from vestige.cli.audits import claimed

        with claimed(None if flags.get("dry_run") else flags.get("out")):
            options, as_json, dry = _options(flags)
            if dry:
                from vestige.cli.estimate import print_verification_estimate

                print_verification_estimate(options)
                return
            result = run_verification(options, as_json=as_json)
        raise typer.Exit(EXIT_CODES[result.verdict])

    @app.command(rich_help_panel=AUDITS)
    @guarded
    def plan(
        pairs: Annotated[
            int | None,
            typer.Option(
                "--pairs", help="Say what this many can show; else: how many are needed.", show_default=False
            ),
        ] = None,
        bound: Annotated[float, typer.Option("--bound", help="Upper bound of union leakage.")] = 0.05,
        margin: Annotated[float, typer.Option("--margin", help="δ of the equivalence.")] = 0.10,
        power: Annotated[
            float, typer.Option("--power", help="Of the equivalence test, at no difference.")
        ] = 0.8,
        discordance: Annotated[
            float, typer.Option("--discordance", help="Share of pairs that differ in either direction.")
        ] = 0.0,
        alpha: Annotated[float, typer.Option("--alpha", help="Level of each one-sided test.")] = 0.05,
        sensitivity: Annotated[
            float, typer.Option("--sensitivity", help="Least lower limit of the positive control.")
        ] = 0.5,
        preferences: Annotated[
            int, typer.Option("--preferences", help="How many preferences must all pass.")
        ] = 1,
    ) -> None:
        """How many pairs a bound, or a margin with a power, needs; and which verdicts a number of pairs can reach."""
        from vestige.reaching import plan_lines

        for line in plan_lines(
            pairs,
            bound=bound,
            margin=margin,
            power=power,
            discordance=discordance,
            alpha=alpha,
            sensitivity=sensitivity,
            preferences=preferences,
        ):
            say(line)

    @app.command(rich_help_panel=STORED)
    @guarded
    def adjudicate(
        run: Annotated[
            Path, typer.Argument(metavar="RUN", help="A verification's folder.", show_default=False)
        ],
        finding: Annotated[
            str | None,
            typer.Argument(
                help="Id of an uncertain finding; without it they are listed.", show_default=False
            ),
        ] = None,
        decision: Annotated[
            Literal["confirmed", "dismissed", "uncertain"] | None,
            typer.Argument(help="uncertain takes an earlier decision back.", show_default=False),
        ] = None,
        reviewer: Annotated[
            str | None,
            typer.Option("--reviewer", help="Who decides; it stands in the packet.", show_default=False),
        ] = None,
        reason: Annotated[str | None, typer.Option("--reason", help="Why.", show_default=False)] = None,
    ) -> None:
        """List a verification's uncertain findings, or decide one; then report and packet are written again."""
        from vestige import verifying
        from vestige.errors import ConfigError
        from vestige.runs.folder import RunFolder

        folder = RunFolder.open(run)
        if finding is None:
            for line in verifying.uncertain_lines(folder):
                say(line)
            return
        if decision is None or reviewer is None or reason is None:
            raise ConfigError(
                f"adjudicate {finding}: say what you decide, who you are and why: "
                "RUN FINDING confirmed|dismissed|uncertain --reviewer NAME --reason TEXT"
            )
        result = verifying.adjudicate(folder, finding, decision, reviewer=reviewer, reason=reason)
        say(f"decided; verdict now: {result.verdict}")
        say(f"write report and packet again: vestige packet seal {run}")
