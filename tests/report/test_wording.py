"""Numbers in words: rounding never makes certainty."""

from __future__ import annotations

import pytest

from vestige.audits.results import Derived
from vestige.report.wording import (
    ALL_ALIKE,
    interval,
    listing,
    percent,
    percent_interval,
    plural,
    share,
    spread,
)


@pytest.mark.parametrize(
    ("value", "short", "long"),
    [
        (0.0, "0.00", "0 %"),
        (1.0, "1.00", "100 %"),
        (0.625, "0.63", "63 %"),
        (0.0032, "0.003", "0.3 %"),
        (0.00001, "0.001", "<0.1 %"),
        (0.9968, "0.997", "99.7 %"),
        (0.99999, "0.999", "99.9 %"),
        (0.0994, "0.10", "9.9 %"),
    ],
)
def test_only_what_is_exactly_nothing_or_everything_is_written_so(
    value: float, short: str, long: str
) -> None:
    assert share(value) == short
    assert percent(value) == long


def test_intervals() -> None:
    assert interval((0.63, 1.0)) == "0.63–1.00"
    assert interval((-0.125, 0.25)) == "−0.13 to 0.25"
    assert percent_interval((0.6306, 1.0)) == "63–100 %"


def test_a_bootstrap_without_spread_is_not_shown_as_an_interval() -> None:
    assert spread(Derived(value=0.0, bootstrap=(0.0, 0.0))) == ALL_ALIKE
    assert spread(Derived(value=0.5, bootstrap=(0.2, 0.8))) == "0.20–0.80"


def test_lists_and_plurals() -> None:
    assert listing([]) == "" and listing([1]) == "1" and listing([1, 3, 10]) == "1, 3 and 10"
    assert plural(1, "instance") == "1 instance" and plural(1200, "exchange") == "1,200 exchanges"
