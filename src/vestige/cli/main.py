"""The `vestige` command."""

from __future__ import annotations

from typing import Annotated

import typer

from vestige import __version__
from vestige.cli import agents, audits, catalog, defend, demo, membership, packet, scan, stored, verify
from vestige.cli.panels import STORED, PanelGroup

__all__ = ["app", "main"]

app = typer.Typer(
    name="vestige",
    cls=PanelGroup,
    help="Find out what an AI agent's memory leaks, and test what it has forgotten.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"vestige {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find out what an AI agent's memory leaks, and test what it has forgotten."""


demo.register(app)
audits.register(app)
verify.register(app)
membership.register(app)
defend.register(app)
stored.register(app)
packet.register(app, STORED)
scan.register(app)
catalog.register(app)
agents.register(app)


def main() -> None:
    """Entry point of the console script."""
    app()
