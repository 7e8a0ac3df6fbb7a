"""What a loader is: how a file of its format looks, and how its records become instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vestige.datasets.instance import Instance
from vestige.datasets.reading import Node

__all__ = ["Format", "Parsed", "unique_id"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a loader made of a file."""

    instances: tuple[Instance, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One loader. `vestige.datasets.loading.FORMATS` holds them by name."""

    name: str
    looks: Callable[[Node], bool]
    """Whether the first record of a file looks like this format."""
    read: Callable[[Iterable[Node]], Parsed]
    """All records of a file, in order. Raises DataError for one that is malformed."""
    expected: str
    """What a record holds, for the message where no format fits."""
    license: str
    """The licence of the public release."""


def unique_id(field: Node, identifier: str, seen: set[str]) -> None:
    """Remember an identifier; a second use in the same file is a DataError, since results are keyed by it."""
    if identifier in seen:
        field.fail("an id that no earlier record has", got=repr(identifier)[:80])
    seen.add(identifier)
