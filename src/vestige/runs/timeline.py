"""When the steps of an attempt were over: the one place where a record holds times of day."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from vestige.records import Record

__all__ = ["Clock", "Timeline"]


class Timeline(Record):
    """Body of a `timeline` line, of which every attempt that came to its end has one.

    Steps follow one another without a pause, so that each begins when the one before it is over. No finding, result or
    verdict reads it.
    """

    began: str
    """When the attempt began: UTC, by the evaluator's clock, to the second, as in 2026-01-31T12:00:00Z."""
    opened: float
    """Seconds after `began` at which the agent was open and had described itself, by a clock that is never set."""
    ended: tuple[float, ...]
    """The same for the end of each step of the script, in its order; an attempt that failed has fewer."""

    def began_at(self, step: int) -> float | None:
        """Seconds after `began` at which a step began; None: it never did."""
        if step == 0:
            return self.opened
        return self.ended[step - 1] if 0 < step <= len(self.ended) else None

    def ended_at(self, step: int) -> float | None:
        """Seconds after `began` at which a step was over; None: it never was."""
        return self.ended[step] if 0 <= step < len(self.ended) else None


class Clock:
    """Takes the times of one attempt; it starts when it is made."""

    def __init__(self) -> None:
        self._began = datetime.now(UTC)
        self._origin = time.monotonic()
        self._opened = 0.0
        self._ended: list[float] = []

    def open(self) -> None:
        """The agent is open."""
        self._opened = self._now()

    def step(self) -> None:
        """One more step is over."""
        self._ended.append(self._now())

    def timeline(self) -> Timeline:
        """What was taken so far."""
        began = self._began.strftime("%Y-%m-%dT%H:%M:%SZ")
        return Timeline(began=began, opened=self._opened, ended=tuple(self._ended))

    def _now(self) -> float:
        return round(time.monotonic() - self._origin, 3)
