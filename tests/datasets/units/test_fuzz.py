"""Whatever happens to a file's JSON, the loaders of units say DataError or read it; nothing else is ever raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.datasets.test_fuzz import mutated

from vestige.datasets import load_units
from vestige.errors import DataError

from .records import character, locomo, msc, unit_file

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

LAYOUTS: dict[str, Any] = {
    "locomo": locomo(sessions=2),
    "perltqa": {"Ada": character("Ada", events=2)},
    "msc": msc(),
    "units": unit_file(),
}


@pytest.mark.parametrize("name", LAYOUTS)
@FUZZ
@given(data=st.data())
def test_mutated_records(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / "fuzz.json"
    path.write_text(json.dumps(data.draw(mutated(LAYOUTS[name]))))
    for format in (name, None):
        try:
            found = load_units(path, format, extractor="extractive")
        except DataError as error:
            assert "\n" not in str(error) and path.name in str(error)
            continue
        ids = [u.id for u in found]
        assert len(ids) == len(set(ids)) == found.counts.units
        for unit in found:
            assert unit.text.strip()
            unit.model_dump_json()
