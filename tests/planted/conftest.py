"""A folder for runs that are thrown away: in memory where there is room for it, since a run syncs what it writes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def out() -> Iterator[Path]:
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="vestige-test-", dir=place) as folder:
        yield Path(folder) / "run"
