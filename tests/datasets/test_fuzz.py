"""Whatever happens to a record's JSON, the loaders say DataError or read it; nothing else is ever raised."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.datasets import Dataset, load
from vestige.errors import DataError

from .records import locomo, longmemeval

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=12),
    st.sampled_from(
        ["D1:1", "D2:1-9999999", "D:", "_abs", "user", "session_3", "2023/99/99", "\ud800", "\0"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


@st.composite
def mutated(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(record)
    for _ in range(draw(st.integers(1, 3))):
        known = places(changed)
        if not known:
            break
        *way, last = draw(st.sampled_from(known))
        target: Any = changed
        for key in way:
            target = target[key]
        action = draw(st.sampled_from(["replace", "delete", "double", "rename"]))
        if action == "delete":
            del target[last]
        elif action == "double" and isinstance(target, list):
            target.append(copy.deepcopy(target[last]))
        elif action == "rename" and isinstance(target, dict):
            target[draw(st.sampled_from(["session_2", "session_0003", "has_answer", "x"]))] = target[last]
        else:
            target[last] = draw(VALUES)
    return changed


def survives(path: Path, format: str | None) -> None:
    try:
        data = load(path, format)
    except DataError as error:
        assert "\n" not in str(error)
        return
    assert isinstance(data, Dataset)
    for instance in data.instances:
        instance.model_dump_json()
        for session, turn in instance.evidence or ():
            assert instance.sessions[session].turns[turn].content is not None


FUZZ = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("format", ["longmemeval", None])
@FUZZ
@given(record=mutated(longmemeval()))
def test_mutated_longmemeval_records(tmp_path: Path, record: dict[str, Any], format: str | None) -> None:
    path = tmp_path / "fuzz.json"
    path.write_text(json.dumps([record, longmemeval("other")]))
    survives(path, format)


@pytest.mark.parametrize("format", ["locomo", None])
@FUZZ
@given(record=mutated(locomo()))
def test_mutated_locomo_records(tmp_path: Path, record: dict[str, Any], format: str | None) -> None:
    path = tmp_path / "fuzz.json"
    path.write_text(json.dumps([record]))
    survives(path, format)


@settings(parent=FUZZ, max_examples=150)
@given(data=st.data())
def test_mutated_bytes(tmp_path: Path, data: st.DataObject) -> None:
    raw = bytearray(json.dumps([longmemeval()]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "fuzz.json"
    path.write_bytes(bytes(raw))
    survives(path, None)
