"""A named set of choices that a user can add to: levels, deletion modes, supersede policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from vestige.errors import ConfigError

__all__ = ["Registry"]

Key = TypeVar("Key", bound="str | int")
Value = TypeVar("Value")


class Registry(Mapping[Key, Value], Generic[Key, Value]):
    """A mapping whose failed look-up is one clear line, and that only grows on purpose.

    Args:
        noun: What an entry is called in messages, e.g. ``deletion mode``.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._entries: dict[Key, Value] = {}

    def add(self, key: Key, value: Value, *, replace: bool = False) -> Value:
        """Add an entry and hand it back.

        Raises:
            ConfigError: The key is taken and `replace` is false.
        """
        if key in self._entries and not replace:
            raise ConfigError(f"{self._noun} {key!r} is registered already; pass replace=True to change it")
        self._entries[key] = value
        return value

    def remove(self, key: Key) -> None:
        """Take an entry out again."""
        self.find(key)
        del self._entries[key]

    def find(self, key: object) -> Value:
        """The entry of a key.

        Raises:
            ConfigError: There is none; the message lists what there is.
        """
        for known, value in self._entries.items():
            if type(known) is type(key) and known == key:
                return value
        choices = ", ".join(str(k) for k in self._entries)
        raise ConfigError(f"unknown {self._noun} {key!r}; choose one of {choices}")

    def __getitem__(self, key: Key) -> Value:
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
