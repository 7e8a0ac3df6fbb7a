"""`vestige models list|pull` and `vestige datasets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vestige.cli.guard import guarded, say
from vestige.cli.panels import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["pull_models", "register"]


def pull_models(names: Iterable[str], *, quiet: bool = False) -> None:
    """Fetch model files that are not here, with a progress bar on a terminal and plain lines elsewhere."""
    import sys

    from vestige.models import catalog

    for name in names:
        entry = catalog.entry(name)
        if catalog.is_here(name):
            if not quiet:
                say(f"{entry.name}: here ({entry.bytes / 1e6:.0f} MB)")
            continue
        if quiet:
            catalog.pull(name)
            continue
        say(f"{entry.name}: fetching {entry.title}, {entry.bytes / 1e6:.0f} MB, {entry.licence}")
        if sys.stderr.isatty():
            _with_bar(entry.name)
        else:
            catalog.pull(name)
        say(f"{entry.name}: fetched and verified")


def _with_bar(name: str) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from vestige.models import catalog

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        catalog.pull(
            name, lambda file, done, total: bar.update(task, description=file, completed=done, total=total)
        )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    models = typer.Typer(
        help="Model files for this machine.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.add_typer(models, name="models", rich_help_panel=DATA)

    @models.command("list")
    @guarded
    def list_() -> None:
        """List the models of the catalog, and which are here."""
        from rich.console import Console
        from rich.table import Table

        from vestige.models import catalog

        table = Table(box=None, pad_edge=False)
        for heading in ("name", "what", "MB", "licence", "here"):
            table.add_column(
                heading, justify="right" if heading == "MB" else "left", no_wrap=heading == "name"
            )
        for entry in catalog.entries():
            name = f"local/{entry.name}" if entry.kind == "chat" else entry.name
            here = "yes" if catalog.is_here(entry.name) else "no"
            table.add_row(name, entry.title, f"{entry.bytes / 1e6:.0f}", entry.licence, here)
        Console().print(table)
        say(f"folder: {catalog.models_dir()}")
        say(
            "besides these: extractive (no model), hashing (embedder without a file), and any OpenAI-compatible "
            "endpoint: openai/NAME, ollama/NAME, vllm/NAME, http://HOST/v1#NAME"
        )

    @models.command()
    @guarded
    def pull(
        names: Annotated[
            list[str],
            typer.Argument(
                metavar="NAME...", help="As `vestige models list` shows them.", show_default=False
            ),
        ],
    ) -> None:
        """Fetch model files and verify them by SHA-256."""
        pull_models(names)

    @app.command(rich_help_panel=DATA)
    @guarded
    def datasets(
        source: Annotated[
            str | None,
            typer.Argument(
                metavar="[DATA]", help="A name or a file to read and describe.", show_default=False
            ),
        ] = None,
        format: Annotated[
            str | None, typer.Option("--format", help="The file's format.", show_default=False)
        ] = None,
    ) -> None:
        """List the data sets by name, or read one and say what is in it."""
        from vestige.datasets.loading import load, names

        if source is None:
            for name in names():
                typer.echo(name)
            say("a file of one of these formats works as well: vestige datasets FILE")
            return
        data = load(source, format)
        sessions = {id(i.sessions): i.sessions for i in data.instances}
        turns = sum(len(s.turns) for many in sessions.values() for s in many)
        kinds: dict[str, int] = {}
        for instance in data.instances:
            kinds[instance.question_type or "-"] = kinds.get(instance.question_type or "-", 0) + 1
        typer.echo(f"{data.name}: {data.source}, {data.license}")
        typer.echo(f"sha256 {data.sha256}")
        typer.echo(
            f"{len(data.instances)} questions over {len(sessions)} histories, "
            f"{sum(len(s) for s in sessions.values())} sessions, {turns} turns"
        )
        for kind, count in sorted(kinds.items()):
            typer.echo(f"  {count:5d}  {kind}")
        for note in data.notes:
            typer.echo(f"note: {note}")
