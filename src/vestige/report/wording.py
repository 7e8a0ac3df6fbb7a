"""How numbers are written: rounded so that nothing looks more certain than it is."""

from __future__ import annotations

from collections.abc import Iterable

from vestige.audits.results import Bounds, Derived, Measure, NotComputable, Rate
from vestige.report.glossary import LEVEL_WORDS

__all__ = [
    "ALL_ALIKE",
    "count",
    "interval",
    "interval_of",
    "level_name",
    "listing",
    "percent",
    "percent_interval",
    "plural",
    "share",
    "spread",
    "value_of",
]

ALL_ALIKE = "all alike"
_HALF_UP = 1e-9
"""Added before rounding, so that 5 of 8 is 0.63 and not, by half to even, 0.62."""


def level_name(level: int) -> str:
    """What a summarization level stores, in two words; empty for one that this report does not know."""
    return LEVEL_WORDS.get(level, "")


def share(value: float) -> str:
    """A share with two decimals, three where two would say 0.00 or 1.00 of what is neither."""
    magnitude = abs(value)
    sign = "−" if value < 0 else ""
    if 0 < magnitude < 0.005:
        return f"{sign}{max(magnitude, 0.001):.3f}"
    if 0.995 <= magnitude < 1:
        return f"{sign}{min(magnitude, 0.999):.3f}"
    return f"{sign}{magnitude + _HALF_UP:.2f}"


def percent(value: float) -> str:
    """A share in percent: one decimal below ten, none above; only an exact 0 or 1 is 0 or 100."""
    return f"{_percent(value)} %"


def _percent(value: float) -> str:
    number = value * 100
    if 0 < number < 0.05:
        return "<0.1"
    if 0 < number < 10:
        return f"{number + _HALF_UP:.1f}"
    if 99.5 <= number < 100:
        return f"{min(number, 99.9):.1f}"
    return f"{number + _HALF_UP:.0f}"


def percent_interval(bounds: Bounds) -> str:
    """An interval in percent: `63–100 %`."""
    return f"{_percent(bounds[0])}–{_percent(bounds[1])} %"


def interval(bounds: Bounds) -> str:
    """An interval of shares: `0.63–1.00`; with "to" where a bound is negative."""
    joint = " to " if bounds[0] < 0 or bounds[1] < 0 else "–"
    return f"{share(bounds[0])}{joint}{share(bounds[1])}"


def interval_of(measure: Measure | None) -> str:
    """The interval to print beside a measure: exact for a rate, bootstrap for a derived quantity."""
    if isinstance(measure, Rate):
        return interval(measure.exact)
    if isinstance(measure, Derived):
        return spread(measure)
    return ""


def spread(measure: Derived) -> str:
    """The bootstrap interval; `all alike` where it is a point, since that is no interval of anything."""
    low, high = measure.bootstrap
    return ALL_ALIKE if low == high == measure.value else interval(measure.bootstrap)


def value_of(measure: Measure | None) -> str:
    """The value alone; a dash where there is none."""
    return "–" if measure is None or isinstance(measure, NotComputable) else share(measure.value)


def count(rate: Rate) -> str:
    """Events of trials: `7/8`."""
    return f"{rate.events}/{rate.n}"


def plural(number: int, noun: str) -> str:
    """`1 instance`, `2 instances`, with thousands apart."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listing(items: Iterable[object]) -> str:
    """`1, 3 and 10`."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""
