"""A question that gives its answer away, or that anybody can answer, is refused, and a good one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests_attacks_statements import texts  # placeholder
