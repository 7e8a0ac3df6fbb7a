"""Values as they go over the line, and why one cannot."""

from __future__ import annotations

import base64
import dataclasses
import inspect
import os
from typing import Any, cast

__all__ = ["Plain", "Unfit", "Unusable", "plain"]

MAX_DEPTH = 100


class Plain(dict[str, Any]):
    """A record as a dict whose keys can be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @classmethod
    def of(cls, value: Any) -> Any:
        """The value with every dict in it made one of these."""
        if isinstance(value, dict):
            return cls((k, cls.of(v)) for k, v in cast(dict[str, Any], value).items())
        return [cls.of(v) for v in cast(list[Any], value)] if isinstance(value, list) else value


class Unusable(Exception):
    """A person's mistake; the words are for that person."""

    def __init__(self, words: str, kind: str = "setting", name: str = "ValueError") -> None:
        super().__init__(words)
        self.kind, self.name = kind, name


class Unfit(Exception):
    """What should be sent cannot be."""


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON takes it."""
    if depth > MAX_DEPTH:
        raise Unfit("it is nested too deep")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value if type(value) in (str, bool, int, float, type(None)) else _bare(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(k): plain(v, depth + 1) for k, v in cast(dict[Any, Any], value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, depth + 1) for v in cast(list[Any], value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
    if isinstance(value, os.PathLike):
        return os.fsdecode(cast("os.PathLike[str]", value))
    for name in ("model_dump", "tolist"):
        if callable(getattr(value, name, None)) and not isinstance(value, type):
            return plain(getattr(value, name)(), depth + 1)
    if inspect.isgenerator(value):
        return [plain(v, depth + 1) for v in value]
    raise Unfit(f"a value of type {type(value).__name__} came")


def _bare(value: Any) -> Any:
    """Text or a number of a subclass, such as an enum, as itself."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) else float(value)
