"""Write the reference pages of the command line and the configuration file from the code.

Usage: python scripts/write_cli_reference.py [--check]
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel

from vestige.cli.main import app
from vestige.defend_options import DefendOptions
from vestige.membership_options import MembershipOptions
from vestige.options import AuditOptions
from vestige.verify_options import VerifyOptions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"
CONFIG = ROOT / "docs" / "reference" / "config.md"
OPTIONS: dict[str, type[BaseModel]] = {
    "options": AuditOptions,
    "verify options": VerifyOptions,
    "membership options": MembershipOptions,
    "defend options": DefendOptions,
}
"""Tables of the configuration page by the name in their marks."""
BY = "written by scripts/write_cli_reference.py"

HEAD = """\
# Command line

Written from the commands by `scripts/write_cli_reference.py`; `vestige COMMAND --help` says the same.
{about}
## Exit codes

| code | meaning |
|---|---|
| 0 | done; of `verify`: limited evidence |
| 1 | of `verify`: the verdict is `fails`; of `packet check` and `packet diff`: something differs, or became worse; \
of `scan`: a value was found, under `--fail-on` |
| 2 | a mistake in an option, a file or a record; one line says what was expected, and how to mend it |
| 3 | unassessable |
| 4 | an internal error, or an endpoint or agent that failed beyond retries |
| 5 | storage: the disk is full or cannot be written; what was measured before is kept |
| 130 | interrupted; continue with `--resume` |
"""


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, child in inner.items():
        if not child.hidden:
            yield from commands(child, (*path, name))


def plain(text: str | None) -> str:
    """A help text as one line for each paragraph, without markup."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text or "").replace("\b", "").replace("\f", ""))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def cell(text: str) -> str:
    """A text that can stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(default: str) -> str:
    """A default as a table shows it: a value as code, words as words."""
    return cell(default) if " " in default or not default else f"`{cell(default)}`"


def default_and_meaning(text: str | None) -> tuple[str, str]:
    """A help text taken apart: the default stands in brackets at its end."""
    whole = " ".join(plain(text).split())
    found = re.fullmatch(r"(.*?)\s*\[([^\]]+)\]", whole)
    return (found[2], found[1]) if found else ("", whole)


def section(path: tuple[str, ...], command: Any) -> str:
    """One command: what it does, how it is called, its options."""
    arguments = [p for p in command.params if p.param_type_name == "argument" and not p.hidden]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    call = " ".join(["vestige", *path, *(spelled(p) for p in arguments)])
    lines = [
        f"## vestige {' '.join(path)}",
        "",
        plain(command.help),
        "",
        "```text",
        f"{call} [OPTIONS]",
        "```",
        "",
    ]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{spelled(p)}` | {cell(plain(p.help))} |" for p in arguments]
        lines.append("")
    if options:
        lines += ["| option | default | meaning |", "|---|---|---|"]
        for option in options:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            default, meaning = default_and_meaning(option.help)
            lines.append(f"| {names} | {code(default or default_of(option))} | {cell(meaning)} |")
        lines.append("")
    return "\n".join(lines)


def spelled(argument: Any) -> str:
    """An argument as the call shows it."""
    name = (argument.metavar or argument.name or "").upper().strip("[].")
    name = f"{name}..." if argument.nargs != 1 else name
    return name if argument.required else f"[{name}]"


def default_of(option: Any) -> str:
    """The default that an option's own value says, where its help says none."""
    return (
        str(option.default)
        if isinstance(option.default, str | int | float | Path) and option.default is not False
        else ""
    )


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    about = plain(root.help)
    parts = [HEAD.format(about=f"\n{about}\n" if about else "")]
    parts += [section(path, command) for path, command in commands(root, ())]
    return "\n".join(parts).rstrip("\n") + "\n"


def shown_type(annotation: Any) -> str:
    """What may stand for an option in a file."""
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{json.dumps(value)}`" for value in get_args(annotation))
    if get_origin(annotation) is Annotated:
        return shown_type(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return f"list of {shown_type(get_args(annotation)[0])}"
    if inner := [part for part in get_args(annotation) if part is not type(None)]:
        return " or ".join(map(shown_type, inner))
    names = {"bool": "true or false", "float": "number", "int": "integer", "Path": "path", "str": "text"}
    return names[annotation.__name__]


def option_table(model: type[BaseModel], command: str) -> str:
    """The options that a model holds, with what the command says of them, or else any other command."""
    root = typer.main.get_command(app)
    options = [
        p
        for _, found in sorted(commands(root, ()), key=lambda item: item[0] != (command,))
        for p in found.params
        if p.param_type_name == "option"
    ]
    helps: dict[str, tuple[str, str]] = {}
    for option in options:
        helps.setdefault(option.name, default_and_meaning(option.help))
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default, meaning = helps[name]
        lines.append(f"| `{name}` | {shown_type(field.annotation)} | {code(default)} | {cell(meaning)} |")
    return "\n".join(lines)


def config_page() -> str:
    """The page of the configuration file, its tables as the options say now."""
    text = CONFIG.read_text(encoding="utf-8")
    for name, model in OPTIONS.items():
        begin, end = f"<!-- {name}: {BY} -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        table = option_table(model, "frontier" if name == "options" else name.split()[0])
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    return text


def outputs() -> dict[Path, str]:
    """Every file that this script writes, with its text."""
    return {PAGE: page(), CONFIG: config_page()}


def main(check: bool) -> int:
    """Write the pages; with `check`, only say which are out of date."""
    made = outputs()
    stale = [p for p, text in made.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(made[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
