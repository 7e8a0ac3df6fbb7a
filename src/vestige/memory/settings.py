"""The knobs of the reference memory; a bad value is one clear line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from pydantic import model_validator

from vestige.errors import ConfigError
from vestige.memory.chunk import parse_granularity
from vestige.memory.forget import MODES, SUPERSEDE
from vestige.memory.scrub import Scrub
from vestige.memory.units import Tier
from vestige.memory.write import LEVELS
from vestige.records import Record

__all__ = ["WRITE_TIME", "MemorySettings"]

WRITE_TIME = ("level", "granularity")
"""Knobs that are fixed once something is stored."""

_MAX_K = 10_000


class MemorySettings(Record):
    """How the memory writes, retrieves and forgets.

    Raises:
        ConfigError: A knob is unknown or its value is not usable.
    """

    level: int = 0
    """Summarisation aggressiveness S: 0 raw user turns, 1 key personal facts, 2 one sentence per session."""
    k: int = 6
    """Units put in front of the agent's context."""
    tau: float | None = None
    """Units with a cosine below it are left out; None: no threshold."""
    rank_noise: float = 0.0
    """Scale of Gumbel noise on the cosines: k units are drawn in proportion to e^(cosine / scale); 0: the nearest."""
    query_noise: float = 0.0
    """Length of the Gaussian noise on a query's unit vector; a query and its noisy self have a cosine of about
    1 / √(1 + length²)."""
    granularity: str = "turn"
    """What a raw unit is: turn, sentence or tokens:N."""
    retrieve_from: Literal["auto", "raw", "summary", "both"] = "auto"
    """Tiers that are searched; auto: raw at S = 0, summary above."""
    deletion: str = "full_purge"
    supersede: str = "match"
    """What becomes of a session's older summaries when it is summarised again."""
    scrub: Scrub = "normalised"
    """Whether the scrubber also finds other case, separators and Unicode forms."""
    max_tokens: int = 300
    """Limit of an answer; a probe's own limit is used where it is lower."""
    temperature: float = 0.0
    summary_max_tokens: int = 500
    summary_budget: int = 1500
    """Estimated tokens of user messages in one summary call; longer sessions are summarised in parts."""
    context_budget: int = 6000
    """Estimated tokens of retrieved units in one prompt: what no longer fits is left out, the best come first."""

    @model_validator(mode="before")
    @classmethod
    def _check(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        for name, value in data.items():
            check = _CHECKS.get(name)
            if check is None:
                raise ConfigError(f"unknown memory setting {name!r}; choose among {', '.join(_CHECKS)}")
            check(name, value)
        if data.get("level", 0) == 0 and data.get("retrieve_from") == "summary":
            raise ConfigError(
                "retrieve_from='summary' finds nothing at level 0, which writes no summaries; use level 1"
            )
        return data

    def tiers(self) -> tuple[Tier, ...]:
        """The tiers that retrieval searches."""
        match self.retrieve_from:
            case "auto":
                return ("raw",) if self.level == 0 else ("summary",)
            case "both":
                return ("raw", "summary")
            case tier:
                return (tier,)

    def with_(self, **changes: Any) -> MemorySettings:
        """The settings with some knobs changed, checked again."""
        return MemorySettings(**{**self.model_dump(), **changes})


def _whole(low: int, high: int) -> Callable[[str, object], None]:
    def check(name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"{name}={value!r} is not a whole number from {low} to {high}")

    return check


def _real(low: float, high: float, optional: bool) -> Callable[[str, object], None]:
    def check(name: str, value: object) -> None:
        if value is None and optional:
            return
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ConfigError(f"{name}={value!r} is not a number from {low} to {high}")
        if not low <= value <= high:
            raise ConfigError(f"{name}={value!r} is not a number from {low} to {high}")

    return check


def _one_of(*choices: str) -> Callable[[str, object], None]:
    def check(name: str, value: object) -> None:
        if value not in choices:
            raise ConfigError(f"{name}={value!r} is not known; choose one of {', '.join(choices)}")

    return check


def _level(name: str, value: object) -> None:
    LEVELS.find(value)


def _granularity(name: str, value: object) -> None:
    parse_granularity(value if isinstance(value, str) else repr(value))


def _mode(name: str, value: object) -> None:
    MODES.find(value)


def _supersede(name: str, value: object) -> None:
    SUPERSEDE.find(value)


_CHECKS: dict[str, Callable[[str, object], None]] = {
    "level": _level,
    "k": _whole(1, _MAX_K),
    "tau": _real(-1.0, 1.0, optional=True),
    "rank_noise": _real(0.0, 100.0, optional=False),
    "query_noise": _real(0.0, 100.0, optional=False),
    "granularity": _granularity,
    "retrieve_from": _one_of("auto", "raw", "summary", "both"),
    "deletion": _mode,
    "supersede": _supersede,
    "scrub": _one_of("normalised", "exact"),
    "max_tokens": _whole(1, 100_000),
    "temperature": _real(0.0, 2.0, optional=False),
    "summary_max_tokens": _whole(1, 100_000),
    "summary_budget": _whole(50, 1_000_000),
    "context_budget": _whole(50, 10_000_000),
}
