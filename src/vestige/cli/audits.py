"""`vestige frontier` and `vestige residue`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from vestige.cli.flags import with_flags
from vestige.cli.guard import guarded, resumable, say
from vestige.cli.panels import AUDITS, PanelCommand

if TYPE_CHECKING:
    from vestige.options import AuditOptions
    from vestige.workflow import Result

Options = TypeVar("Options")

__all__ = ["claimed", "merged_options", "options_of", "register", "run_audit"]


def options_of(flags: dict[str, Any]) -> tuple[AuditOptions, bool, bool]:
    """The options out of a configuration file and the flags, which win; whether to print JSON, and to run dry."""
    from vestige.options import options_from

    return merged_options(options_from, flags)


def merged_options(checked: Callable[..., Options], flags: dict[str, Any]) -> tuple[Options, bool, bool]:
    """As `options_of`, for options that `checked(values, where=…)` makes."""
    from vestige.options import read_config, switches

    config: Path | None = flags.pop("config", None)
    given = {name: value for name, value in flags.items() if value is not None}
    if config is not None:
        where = f"--config {config}"
        values = read_config(config)
        checked(switches(values, where=where)[0], where=where)  # its own mistakes are told with its name
        given = {**values, **given}
    rest, as_json, dry = switches(given)
    return checked(rest), as_json, dry


def run_audit(audit: str, options: AuditOptions, *, as_json: bool) -> Result:
    """Plan, run, conclude, report; prints the report's path as its last line."""
    made = [options.out] if options.out is not None else []
    with resumable(made, "continue with --resume"):
        return _run_audit(audit, options, as_json, made)


def _run_audit(audit: str, options: AuditOptions, as_json: bool, made: list[Path]) -> Result:
    from vestige import studying, workflow
    from vestige.cli.stored import lines_of, report_of

    planned = studying.make_plan(audit, options)
    wanted = options.out or workflow.default_out(planned.plan)
    missed = options.resume and not (wanted / "plan.json").exists()

    def on_folder(path: Path) -> None:
        made.append(path)
        if missed:
            say(f"vestige: --resume: there is no run in {path} to resume; a new one begins")
        if not options.quiet:
            say(f"plan {planned.plan.sha256[:12]}, {planned.exchanges} exchanges, into {path}")

    folder, _ = workflow.run(planned, options, on_folder=on_folder)
    findings = workflow.score(folder)
    result = workflow.conclude(folder, findings)
    paths = report_of([(folder, findings, result)], folder.path, show=options.show_canaries)
    if as_json:
        typer.echo((folder.path / "result.json").read_text(encoding="utf-8"), nl=False)
    say_exclusions(result)
    if not options.quiet:
        for line in lines_of(result):
            say(line)
        say(f"report: {paths.html}")
    return result


def say_exclusions(result: Result) -> None:
    """Say what is not in the numbers; even a quiet command does."""
    if result.exclusions:
        first = result.exclusions[0]
        say(
            f"vestige: {result.n_instances - result.n_complete} of {result.n_instances} instances are not in the "
            f"numbers; {first.episode}: {first.reason}"
        )


@contextmanager
def claimed(out: Path | None) -> Generator[None]:
    """Make the run's folder before the slow imports, so that whoever looks for a run just started finds it.

    A mistake that is noticed afterwards leaves nothing behind.
    """
    made = False
    if out is not None:
        with contextlib.suppress(OSError):  # told, with its reason, when the run is frozen in it
            out.mkdir(mode=0o700)
            made = True
    try:
        yield
    finally:
        if made and out is not None:
            with contextlib.suppress(OSError):  # not empty: a run
                out.rmdir()


def _command(audit: str, flags: dict[str, Any]) -> None:
    with claimed(None if flags.get("dry_run") else flags.get("out")):
        _carry_out(audit, flags)


def _carry_out(audit: str, flags: dict[str, Any]) -> None:
    options, as_json, dry = options_of(flags)
    if dry:
        from vestige.cli.estimate import print_estimate

        print_estimate(audit, options)
        return
    run_audit(audit, options, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(cls=PanelCommand, rich_help_panel=AUDITS)
    @guarded
    @with_flags(leave_out=frozenset({"modes", "supersede"}))
    def frontier(**flags: Any) -> None:
        """Personalization recall against adversarial extraction, over S and k."""
        _command("frontier", flags)

    @app.command(cls=PanelCommand, rich_help_panel=AUDITS)
    @guarded
    @with_flags(leave_out=frozenset({"judge"}))
    def residue(**flags: Any) -> None:
        """What each way of deleting leaves behind, tier by tier."""
        _command("residue", flags)
