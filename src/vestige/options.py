"""The options of an audit: the same names on the command line, in a TOML file and in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator

from vestige.defences.spec import DefenceSpec, parse_defences
from vestige.errors import ConfigError
from vestige.records import Record

__all__ = [
    "AuditOptions",
    "checked_options",
    "filled",
    "naming",
    "one_defence",
    "options_from",
    "read_config",
    "switches",
]

MAX_CONFIG = 1 << 20
"""Bytes of a configuration file."""


class AuditOptions(Record):
    """What the frontier and residue commands take; every field is a flag of the same name."""

    data: str = "synthetic"
    """A path, or a name: longmemeval:oracle, locomo, synthetic, synthetic:N."""
    format: str | None = None
    agent: str = "reference"
    model: str = "extractive"
    embedder: tuple[str, ...] = ("minilm",)
    """Of the memory; the first one also scores PR's cosine."""
    judge: str | None = None
    out: Path | None = None
    """The run's folder; default runs/AUDIT-<first of the plan's hash>."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    instances: Annotated[int, Field(ge=1)] | None = None
    levels: tuple[int, ...] = (0, 1, 2)
    k: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    """Default 1, 3, 6, 10, 25 for the frontier and 6 for the residue."""
    modes: tuple[str, ...] = ("noop", "raw_only", "raw_plus_resummarize", "full_purge", "tombstone")
    """Names of the deletion registry, `vestige.memory.forget.MODES`."""
    supersede: tuple[str, ...] = ("match",)
    """Names of `vestige.memory.forget.SUPERSEDE`."""
    probes: tuple[Literal["direct", "indirect", "jailbreak"], ...] = ("direct", "indirect", "jailbreak")
    all_paraphrases: bool = False
    planted: Literal["verbatim", "lower", "spaced", "split", "base64"] = "verbatim"
    tau: tuple[Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None, ...] = (None,)
    granularity: tuple[str, ...] = ("turn",)
    horizon: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    retrieve_from: Literal["auto", "raw", "summary", "both"] = "auto"
    scrub: Literal["normalised", "exact"] = "normalised"
    defence: str | None = None
    """What stands before the agent: NAME:STRENGTH, names of `vestige.defences.spec.DEFENCES`."""
    include_unanswerable: bool = False
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    deterministic: bool = False
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 4
    cache: Path | None = None
    """The response cache; default: in the run's folder."""
    resume: bool = False
    show_canaries: bool = False
    quiet: bool = False

    @field_validator("*", mode="before")
    @classmethod
    def _filled(cls, value: Any) -> Any:
        return filled(value)

    @field_validator(
        "levels", "k", "modes", "supersede", "probes", "tau", "granularity", "horizon", "embedder"
    )
    @classmethod
    def _distinct(cls, value: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        if not value:
            raise ValueError("give at least one value")
        if len(set(value)) < len(value):
            raise ValueError("a value stands there twice")
        return value

    def spec(self) -> DefenceSpec | None:
        """The defence."""
        return one_defence(self.defence)


def one_defence(text: str | None) -> DefenceSpec | None:
    """What `--defence` names: one, with its strength.

    Raises:
        ConfigError: It is none, or has several strengths to choose from.
    """
    if text is None:
        return None
    with naming("defence"):
        found = parse_defences(text)
        if len(found) > 1:
            raise ConfigError(
                f"{text!r}: say its strength, for example {found[0]}; `vestige defend` tries several"
            )
        return found[0]


_LISTS = frozenset(
    {"levels", "k", "modes", "supersede", "probes", "tau", "granularity", "horizon", "embedder"}
)


def filled(value: Any) -> Any:
    """The value of an option as it is: nothing between two commas, or in quotes, is a slip.

    Raises:
        ValueError: It, or one of several, is empty.
    """
    if _blank(value):
        raise ValueError("is empty; give a value, or leave the option out")
    if isinstance(value, tuple) and any(map(_blank, value)):
        raise ValueError("one of these values is empty; take the extra comma out")
    return value


def _blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _listed(name: str, value: Any) -> Any:
    """A list option as a tuple: "1,3,10" and [1, 3, 10] and 3 mean what one expects."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")] if value.strip(", ") else []
    elif not isinstance(value, list | tuple):
        value = [value]
    if name == "tau":
        value = [None if v in ("none", "None", None) else v for v in value]
    return tuple(value)


Options = TypeVar("Options", bound=Record)


def options_from(values: Mapping[str, Any], *, where: str = "") -> AuditOptions:
    """Check the options of frontier and residue; see `checked_options`."""
    return checked_options(AuditOptions, _LISTS, values, where=where)


def checked_options(
    kind: type[Options], lists: frozenset[str], values: Mapping[str, Any], *, where: str = ""
) -> Options:
    """Check options.

    Args:
        kind: What they are options of.
        lists: Names of those that take several values.
        values: By name; None counts as not given.
        where: Where they come from, for the message: a file's name.

    Raises:
        ConfigError: One is unknown or unusable; the message shows it.
    """
    for name, value in values.items():
        if (
            isinstance(value, str)
            and not value.isascii()
            and value != value.encode("utf-8", "replace").decode()
        ):
            raise ConfigError(f"--{name.replace('_', '-')}: is not UTF-8 text")
    given = {n: _listed(n, v) if n in lists else v for n, v in values.items() if v is not None}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise ConfigError(_one_line(error, where, tuple(kind.model_fields))) from None


def switches(values: Mapping[str, Any], *, where: str = "") -> tuple[dict[str, Any], bool, bool]:
    """What is no option of an audit but of its command, taken out: (the others, json, dry_run).

    Raises:
        ConfigError: One of the two is neither true nor false.
    """
    rest = dict(values)
    found: list[bool] = []
    for name in ("json", "dry_run"):
        value = rest.pop(name, None)
        if value is not None and not isinstance(value, bool):
            raise ConfigError(f"{where or '--' + name}: {name}: {str(value)[:120]!r}: expected true or false")
        found.append(bool(value))
    return rest, found[0], found[1]


def _one_line(error: ValidationError, where: str, known: tuple[str, ...]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    flag = f"{where}: {name}" if where else f"--{name.replace('_', '-')}"
    if first["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        guess = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
        return f"{flag}: no such option{guess}"
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # of several options together: the message names them
        return (
            f"{where}: {message}"
            if where
            else f"--{message.replace('_', '-', message.partition(':')[0].count('_'))}"
        )
    return f"{flag}: {_shown(first['input'])}: {message[0].lower()}{message[1:]}"


def _shown(given: Any) -> str:
    try:
        text = ",".join(map(str, given)) if isinstance(given, tuple) else str(given)
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return "too long to be shown"
    return repr(text[:120])


@contextmanager
def naming(name: str, value: object = None) -> Generator[None]:
    """Put an option's name and value before what is wrong with it, where deeper floors do not know the option.

    Args:
        name: The option's.
        value: As it was given; None: not to be repeated, since it may hold a credential.
    """
    try:
        yield
    except ConfigError as error:
        flag = f"--{name.replace('_', '-')}"
        raise ConfigError(f"{flag}: {error}" if value is None else f"{flag} {value}: {error}") from None


def read_config(path: Path) -> dict[str, Any]:
    """Read a TOML file of options.

    Raises:
        ConfigError: It is not there, too large, nested too deep, or not TOML.
    """
    try:
        if path.stat().st_size > MAX_CONFIG:
            raise ConfigError(
                f"--config {path}: larger than {MAX_CONFIG} bytes; it should hold a few options"
            )
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--config {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--config {path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"--config {path}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"--config {path}: nested too deep; it should hold a few options") from None
    except ValueError:  # Python's own words on a number of thousands of digits help nobody
        raise ConfigError(
            f"--config {path}: holds a number too long to be read; it should hold a few options"
        ) from None
    return {name.replace("-", "_"): value for name, value in data.items()}
