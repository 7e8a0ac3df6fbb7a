"""What a loader of membership units is: how a file of its layout looks, and how its records become units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vestige.datasets.reading import Node
from vestige.datasets.units.extractor import Extractor
from vestige.datasets.units.unit import MAX_UNIT_CHARS, Unit
from vestige.errors import ConfigError

__all__ = ["MAX_KEY_CHARS", "Names", "ParsedUnits", "Reading", "UnitFormat", "keys_of", "statement"]

MAX_KEY_CHARS = 200
"""Of a key of the data that becomes a name: of a user, a speaker, a dialogue."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is to be read."""

    seed: int = 42
    """Of the split."""
    n: int | None = None
    """The first so many users of the file; None: all."""
    opened: Callable[[], Extractor] | None = None
    """Opens what makes statements of dialogues; None: layouts that hold dialogues alone are refused."""

    def extractor(self, layout: str) -> Callable[[], Extractor]:
        """How to open the extractor, once all dialogues are read, or the error of its absence."""
        if self.opened is None:
            raise ConfigError(
                f"{layout} holds dialogues, from which statements must be extracted; name an extractor: a model such "
                "as openai/gpt-4o-mini, or extractive (rules, no model); or give a file of units instead"
            )
        return self.opened


@dataclass(frozen=True, slots=True)
class ParsedUnits:
    """What a loader made of a file."""

    units: dict[str, tuple[Unit, ...]]
    notes: tuple[str, ...] = ()
    name: str | None = None
    """What the file calls its data; None: the format's name."""
    license: str | None = None
    """None: the format's."""
    per_user: int | None = None
    """Members, and non-members, tested of each user where nobody says; None: the format's."""


@dataclass(frozen=True, slots=True)
class UnitFormat:
    """One loader. `vestige.datasets.units.loading.UNIT_FORMATS` holds them by name."""

    name: str
    looks: Callable[[Node], bool]
    """Whether the first record of a file looks like this layout."""
    read: Callable[[Iterable[Node], Reading], ParsedUnits]
    """All records of a file, in order. Raises DataError for one that is malformed."""
    expected: str
    """What a record holds, for the message where no layout fits."""
    license: str
    """The licence of the public release."""
    per_user: int | None = None
    """Members, and non-members, that the paper tests of each user."""


def statement(field: Node) -> str:
    """A unit's text, white space squeezed: filled, and not longer than a memory unit can be."""
    text = " ".join(field.filled().split())
    if len(text) > MAX_UNIT_CHARS:
        field.fail(f"a statement of at most {MAX_UNIT_CHARS:,} characters", got=f"one of {len(text):,}")
    return text


def keys_of(node: Node) -> list[str]:
    """The keys of an object that holds names, in the file's order: filled, in valid Unicode, and not long."""
    keys = node.keys()
    for key in keys:
        if not key.strip() or len(key) > MAX_KEY_CHARS or any("\ud800" <= c <= "\udfff" for c in key):
            node.fail(f"names of 1 to {MAX_KEY_CHARS} characters as keys", got=ascii(key[:40]))
    return keys


class Names:
    """Names that are each used once: a second use gets a number behind it, and is counted."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.repeated = 0

    def once(self, name: str) -> str:
        """The name, or the name with a number where it was used before."""
        free, number = name, 1
        while free in self._seen:
            number += 1
            free = f"{name}~{number}"
        self.repeated += free != name
        self._seen.add(free)
        return free
