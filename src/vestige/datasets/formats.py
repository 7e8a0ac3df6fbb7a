"""What a loader is: how a file of its format looks, and how its records become instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from vestige.datasets.instance import Instance
from vestige.datasets.reading import Node
from vestige.errors import DataError

__all__ = ["Format", "Parsed", "objects", "sniffed", "unique_id"]


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


def objects(records: Iterator[Node]) -> Iterator[Node]:
    """The records, each refused where it is no object."""
    for record in records:
        record.keys()
        yield record


class _Known(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def looks(self) -> Callable[[Node], bool]: ...

    @property
    def expected(self) -> str: ...


Known = TypeVar("Known", bound=_Known)


def sniffed(known: Iterable[Known], first: Node, path: Path, what: str) -> Known:
    """The loader that a file's first record looks like.

    Args:
        known: In the order in which they are tried.
        first: The record.
        path: For the message.
        what: What none of them is, for the message: "format".

    Raises:
        DataError: It looks like none of them.
    """
    tried = list(known)
    for candidate in tried:
        if candidate.looks(first):
            return candidate
    expected = "; ".join(f"{one.name}: {one.expected}" for one in tried)
    raise DataError(f"{path} is of no known {what}; expected {expected}")
