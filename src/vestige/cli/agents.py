"""`vestige agents list|install|remove|check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vestige.cli.guard import guarded, say
from vestige.cli.panels import DATA

if TYPE_CHECKING:
    from vestige.agents.conformance import Report

__all__ = ["register"]

BROKEN = 2
"""Exit code of `check` for an agent that does not keep to the protocol."""


def _install(name: str, python: str | None, tool: Literal["uv", "pip"] | None) -> None:
    import sys

    from vestige.agents import environments

    item = environments.adapter(name)
    before = environments.state(item)
    if before == "installed" and python is None:
        say(f"{item.name}: here ({item.package} {item.version})")
        return
    say(f"{item.name}: installing {item.package} {item.version}, {len(item.requirements)} packages")
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(item.name, total=None)
            environments.install(
                name,
                python=python,
                tool=tool,
                progress=lambda done, total, what: bar.update(
                    task, description=what, completed=done, total=total or 1
                ),
            )
    else:
        told = 0

        def tell(done: int, total: int, what: str) -> None:
            nonlocal told
            if done == 0 or done >= told + 10:
                told = done
                say(f"{item.name}: {what}" + (f" ({done} of {total})" if done else ""))

        environments.install(name, python=python, tool=tool, progress=tell)
    say(f"{item.name}: installed; use it as --agent {item.name}")


def _print(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("check", "method", "result", "why"):
        table.add_column(heading, no_wrap=heading in ("method", "result"))
    for check in report.checks:
        table.add_row(check.claim, check.method, check.result, check.why)
    Console().print(table)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    agents = typer.Typer(
        help="Memory systems in environments of their own.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.add_typer(agents, name="agents", rich_help_panel=DATA)

    @agents.command("list")
    @guarded
    def list_() -> None:
        """List the memory systems that can be installed, and which are."""
        from rich.console import Console
        from rich.table import Table

        from vestige.agents import environments

        table = Table(box=None, pad_edge=False)
        for heading in ("name", "what", "version", "installed"):
            table.add_column(heading, no_wrap=heading == "name")
        words = {"installed": "yes", "stale": "of another version", "absent": "no"}
        for item in environments.ADAPTERS:
            table.add_row(item.name, item.title, item.version, words[environments.state(item)])
        Console().print(table)
        say(f"folder: {environments.agents_dir()}")
        say("besides these: reference, FILE.py:NAME, package.module:NAME, FILE.toml of an HTTP agent")

    @agents.command()
    @guarded
    def install(
        names: Annotated[
            list[str],
            typer.Argument(
                metavar="NAME...", help="As `vestige agents list` shows them.", show_default=False
            ),
        ],
        python: Annotated[
            str | None,
            typer.Option(
                "--python", help="An interpreter, or a version as 3.12. [this one]", show_default=False
            ),
        ] = None,
        uv: Annotated[
            bool | None,
            typer.Option("--uv/--pip", help="What installs. [uv if on the PATH]", show_default=False),
        ] = None,
    ) -> None:
        """Make the environment of a memory system, with the pinned packages that were tested."""
        for name in names:
            _install(name, python, None if uv is None else "uv" if uv else "pip")

    @agents.command()
    @guarded
    def remove(
        names: Annotated[
            list[str],
            typer.Argument(
                metavar="NAME...", help="As `vestige agents list` shows them.", show_default=False
            ),
        ],
    ) -> None:
        """Delete the environment of a memory system."""
        from vestige.agents import environments

        for name in names:
            say(f"{name}: removed" if environments.remove(name) else f"{name}: not installed")

    @agents.command()
    @guarded
    def check(
        agent: Annotated[
            str,
            typer.Argument(
                metavar="AGENT",
                help="FILE.py:NAME, package.module:NAME, or a name of `vestige agents list`.",
                show_default=False,
            ),
        ],
        model: Annotated[
            str, typer.Option("--model", help="What the agent answers with. [extractive]", show_default=False)
        ] = "extractive",
        seconds: Annotated[
            float, typer.Option("--timeout", help="For each check.", min=1.0, max=86400.0)
        ] = 600.0,
    ) -> None:
        """Try every method of an agent on small data, and say which keeps to the protocol.

        Exit 0: nothing failed; 2: something did.
        """
        import asyncio
        import tempfile
        from pathlib import Path

        from vestige.agents.conformance import check_agent_named
        from vestige.runs.capture import captured

        handle, name = tempfile.mkstemp(prefix="vestige-check-", suffix=".log")
        os.close(handle)
        log = Path(name)
        try:
            with captured(log):
                report = asyncio.run(check_agent_named(agent, model=model, seconds=seconds))
        except BaseException:
            log.unlink(missing_ok=True)
            raise
        _print(report)
        counts = report.counts
        say(f"{agent}: {counts['ok']} ok, {counts['missing']} missing, {counts['failed']} failed")
        if report.passed:
            log.unlink(missing_ok=True)
        else:
            if log.exists():
                say(f"what the agent printed: {log}")
            first = next(c for c in report.checks if c.result == "failed")
            why = first.why.removeprefix(f"{first.method}: ")
            say(f"vestige: {agent} does not keep to the protocol: {first.method}: {why}")
            raise typer.Exit(BROKEN)
