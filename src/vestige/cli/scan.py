"""`vestige scan`: values in the bytes of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vestige.cli.flags import as_path
from vestige.cli.guard import guarded, say
from vestige.cli.panels import STORED, PanelCommand

if TYPE_CHECKING:
    from vestige.channels.storage import ScanResult

__all__ = ["register", "values_of"]

_MOST = 16 << 20
_GRADES = ("live_row", "old_version", "dead_bytes")

FailOn = Literal["live_row", "old_version", "dead_bytes", "part"]


def values_of(given: list[str], file: Path | None) -> dict[str, str]:
    """Values by label, of the flags and of the file.

    A line of the file is a value, or a label, a tab and a value; empty lines are left out. Labels that are not given
    are the numbers of the values.

    Raises:
        ConfigError: There is none, or a label stands twice.
        DataError: The file cannot be read; the message holds no value.
    """
    from vestige.errors import ConfigError, DataError

    rows: list[tuple[str, str]] = [("", value) for value in given]
    if file is not None:
        try:
            with file.open("rb") as opened:
                data = opened.read(_MOST + 1)
        except OSError as error:
            raise DataError(f"--canary-file {file}: cannot be read ({error.strerror})") from None
        if len(data) > _MOST:
            raise DataError(f"--canary-file {file}: expected at most {_MOST >> 20} MiB, one value a line")
        try:
            lines = data.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(
                f"--canary-file {file}: not UTF-8 at byte {error.start}; one value a line"
            ) from None
        for line in lines:
            label, tab, value = line.partition("\t")
            if line.strip():
                rows.append((label.strip(), value.strip()) if tab else ("", line.strip()))
    found: dict[str, str] = {}
    for number, (label, value) in enumerate(rows, 1):
        name = label or f"value-{number}"
        if name in found:
            raise ConfigError(
                f"the label of value {number} stands twice: expected a label of its own for each"
            )
        found[name] = value
    if not found:
        raise ConfigError("no value to look for: give --canary VALUE or --canary-file FILE")
    if any(value and value in label for label in found for value in found.values()):
        raise ConfigError("a label holds a value: labels are shown, values are not")
    return found


def _code(result: ScanResult, fail_on: FailOn | None) -> int:
    whole = [hit for file in result.files for hit in file.hits if hit.form != "part"]
    if fail_on is not None:
        # What cannot be graded may be as near as can be.
        near = _GRADES if fail_on == "part" else _GRADES[: _GRADES.index(fail_on) + 1]
        if any(hit.grade is None or hit.grade in near for hit in whole):
            return 1
        if fail_on == "part" and any(file.hits for file in result.files):
            return 1
        return 3 if result.reasons else 0
    return 3 if result.outcome == "unassessable" else 0


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(cls=PanelCommand, rich_help_panel=STORED)
    @guarded
    def scan(
        paths: Annotated[
            list[Path],
            typer.Argument(
                metavar="PATHS...", help="Files and folders of a system's storage.", show_default=False
            ),
        ],
        canary: Annotated[
            list[str] | None,
            typer.Option(
                "--canary", metavar="<text>", help="A value to look for; may be repeated.", show_default=False
            ),
        ] = None,
        canary_file: Annotated[
            Path | None,
            typer.Option(
                "--canary-file",
                parser=as_path,
                metavar="<path>",
                help="Values, one a line; or label, tab, value.",
                show_default=False,
            ),
        ] = None,
        control: Annotated[
            Path | None,
            typer.Option(
                "--control",
                parser=as_path,
                metavar="<path>",
                help="Result of a scan of the same values before they were deleted.",
                show_default=False,
            ),
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option(
                "--out", parser=as_path, metavar="<path>", help="Write the result here.", show_default=False
            ),
        ] = None,
        fail_on: Annotated[
            FailOn | None,
            typer.Option(
                "--fail-on",
                help="Exit code 1 where a value is found at this grade or nearer; part: at all, in part too.",
                show_default=False,
            ),
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")] = False,
    ) -> None:
        """Look for values in the bytes of files: what is left of them, in which form, and how near it is."""
        from vestige.channels.storage import control_of, scan_storage
        from vestige.report.scan import scan_lines
        from vestige.runs.folder import write_atomic

        values = values_of(canary or [], canary_file)
        before = control_of(control) if control is not None else None
        result = scan_storage(paths, values, control=before)
        text = result.model_dump_json(indent=1) + "\n"
        if out is not None:
            write_atomic(out, text.encode())
        if as_json:
            typer.echo(text, nl=False)
        for line in scan_lines(result):
            say(line)
        raise typer.Exit(_code(result, fail_on))
