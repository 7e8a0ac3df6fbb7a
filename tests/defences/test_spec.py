"""Names and strengths of defences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.defences.spec import DEFENCES, DefenceSpec, parse_defences
from vestige.errors import ConfigError


def test_a_name_alone_is_its_whole_sweep() -> None:
    assert [str(s) for s in parse_defences("prompt")] == ["prompt:1", "prompt:2"]
    for name, kind in DEFENCES.items():
        assert [s.strength for s in parse_defences(name)] == list(kind.sweep)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mirror", "no such defence"),
        ("", "no such defence"),
        ("prompt:", "is no number"),
        ("prompt:x", "is no number"),
        ("prompt:1.5", "a whole number from 1 to 2"),
        ("prompt:3", "a whole number from 1 to 2"),
        ("output_filter:1.01", "a number from 0 to 1"),
        ("output_filter:nan", "a number from 0 to 1"),
        ("randomised_response:inf", "a number from 0 to 50"),
    ],
)
def test_what_is_no_defence_is_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        parse_defences(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=80))
def test_any_text_is_a_defence_or_one_clear_line(text: str) -> None:
    try:
        found = parse_defences(text)
    except ConfigError as error:
        assert len(str(error)) < 400
    else:
        assert all(isinstance(spec, DefenceSpec) for spec in found)


@given(st.floats(0, 50))
def test_a_strength_survives_its_name(epsilon: float) -> None:
    spec = DefenceSpec(name="randomised_response", strength=round(epsilon, 4))
    (again,) = parse_defences(str(spec))
    assert again.strength == pytest.approx(spec.strength, rel=1e-5)
