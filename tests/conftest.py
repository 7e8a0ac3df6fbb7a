"""What every test may ask for: the real data beside the project, and model files by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# What a loaded machine takes is no property of the code.
settings.register_profile("vestige", deadline=None)
settings.load_profile("vestige")

DATA = Path(os.environ.get("VESTIGE_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data") and not DATA.is_dir():
        pytest.skip("the data folder beside the project is absent")
    if model := item.get_closest_marker("model"):
        from vestige.models import catalog

        for name in model.args:
            catalog.ensure(name)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real conversations, kept beside the project; a test that uses it carries the mark `data`."""
    return DATA
