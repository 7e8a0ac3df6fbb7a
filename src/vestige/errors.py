"""Everything Vestige raises on purpose.

::

    VestigeError                    exit 4   the root; nobody raises it directly
    ├── UserError                   exit 2   the caller's mistake: one line with value, expectation, mend
    │   ├── ConfigError                      an option, a config file, a plan
    │   ├── DataError                        a data file or a record in it
    │   └── MissingDependency                an optional package; names the pip command
    ├── ModelError                  exit 4   an endpoint failed in a way that retries did not mend
    │   └── ModelUnavailable                 no source of a model file, or no server, answered
    ├── AgentError                  exit 4   the agent under test raised
    ├── IntegrityError              exit 4   a file's hash or a record is not what it must be
    ├── Unassessable                exit 3   what was observed supports no conclusion at all
    └── StorageError                exit 5   the disk is full or cannot be written

A user's mistake is shown as its message alone, never with a traceback.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = [
    "AgentError",
    "ConfigError",
    "DataError",
    "IntegrityError",
    "MissingDependency",
    "ModelError",
    "ModelUnavailable",
    "StorageError",
    "Unassessable",
    "UserError",
    "VestigeError",
    "complaint",
]


class VestigeError(Exception):
    """Root of every error that Vestige raises on purpose; `exit_code` is the command line's."""

    exit_code = 4


class UserError(VestigeError):
    """A mistake that the caller can mend: the message shows the value, what was expected, and how to mend it."""

    exit_code = 2


class ConfigError(UserError):
    """An option, a configuration file or a plan is not usable."""


class DataError(UserError):
    """A data file, or one record in it, cannot be read; the message names file, record and field."""


class MissingDependency(UserError):
    """An optional package is not installed."""

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        wanted = f"'vestige[{extra}]'" if extra else package
        clone = f" (in a clone: pip install '.[{extra}]')" if extra else ""
        super().__init__(f"{purpose} needs the package {package!r}: pip install {wanted}{clone}")


class ModelError(VestigeError):
    """An endpoint failed, and retries did not mend it."""


class ModelUnavailable(ModelError):
    """No source of a model file, or no model server, answered."""


class AgentError(VestigeError):
    """The agent under test raised, or broke its protocol."""


class IntegrityError(VestigeError):
    """A file's hash, or a stored record, is not what it must be."""


class Unassessable(VestigeError):
    """What was observed supports no conclusion; the message says what would."""

    exit_code = 3


class StorageError(VestigeError):
    """The disk is full or cannot be written; what was measured before stays valid."""

    exit_code = 5


_FIELD = re.compile(r"[A-Za-z_]{1,40}")


def complaint(error: ValidationError) -> str:
    """The first thing that is wrong with a record that was read, as `field body.text: input should be …`.

    Neither a value nor a key that is no field's name is repeated: either may be a secret.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    words: list[str] = []
    for part in first["loc"]:
        if isinstance(part, str) and not _FIELD.fullmatch(part):
            break
        words.append(str(part))
    if first["type"] == "extra_forbidden":
        place = ".".join(words[: len(first["loc"]) - 1])
        return (
            f"field {place}: it has a part that is not known" if place else "it has a field that is not known"
        )
    message = f"{first['msg'][0].lower()}{first['msg'][1:]}"
    return f"field {'.'.join(words)}: {message}" if words else message
