"""A value is found however a program wrote it: encoders of the standard library write, the forms find."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.canaries import draw, planted
from vestige.channels.storage.forms import FormName, forms_of, parts_of
from vestige.errors import DataError

CANARY = "XQ7-VIOLET-3829"


def names(value: str, data: bytes) -> set[FormName]:
    """The forms of `value` in `data`, by plain search."""
    low = data.lower()
    return {f.name for f in forms_of(value) if f.pattern in (low if f.any_case else data)}


WRITERS: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "json": lambda text: json.dumps(text).encode(),
    "html": lambda text: html.escape(text).encode(),
    "url": lambda text: quote(text).encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "hex": lambda text: text.encode().hex().encode(),
}

texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs")), min_size=6, max_size=30)


@pytest.mark.parametrize("name", sorted(WRITERS))
@given(before=texts, after=texts)
def test_a_canary_is_found_wherever_it_stands(name: str, before: str, after: str) -> None:
    found = names(CANARY, WRITERS[name](before + CANARY + after))
    assert name.removesuffix("-le").removesuffix("-be") in found or (
        name in ("json", "html", "url") and "utf-8" in found
    )


@pytest.mark.parametrize(
    "write",
    [
        *WRITERS.values(),
        lambda text: base64.urlsafe_b64encode(text.encode()),
        lambda text: json.dumps(text, ensure_ascii=False).encode(),
        lambda text: json.dumps(json.dumps(text)).encode(),
        lambda text: json.dumps(base64.b64encode(text.encode()).decode()).replace("/", "\\/").encode(),
        lambda text: quote_plus(text).encode(),
        lambda text: quote(text, safe="").lower().encode(),
        lambda text: text.encode().hex().upper().encode(),
    ],
)
@given(value=values, before=texts, after=texts)
def test_any_value_is_found_as_written(
    write: Callable[[str], bytes], value: str, before: str, after: str
) -> None:
    assert names(value, write(before + "\n" + value + "\n" + after))


@given(value=values)
def test_other_cases_are_found(value: str) -> None:
    for case in (value.lower(), value.upper(), value.title()):
        for write in (WRITERS["utf-8"], WRITERS["utf-16-le"], WRITERS["hex"], WRITERS["base64"]):
            assert names(value, write(case))


@pytest.mark.parametrize("form", ["verbatim", "lower", "spaced", "base64"])
def test_every_planted_form_is_found(form: str) -> None:
    canary = draw(np.random.default_rng(3))
    assert names(canary.value, planted(canary, form)[0].encode())


@pytest.mark.parametrize("text", ["xq7_violet_3829", "XQ7 VIOLET 3829", "Xq7Violet3829", "xq7.violet.3829"])
def test_other_separators_are_found(text: str) -> None:
    assert names(CANARY, text.encode()) == {"separators"}


@given(other=st.from_regex(r"[A-Z0-9]{3}-(CORAL|AZURE|IVORY)-[0-9]{4}", fullmatch=True))
def test_another_canary_is_not_found(other: str) -> None:
    for write in WRITERS.values():
        assert not names(CANARY, write(f"the token is {other}."))


def test_parts() -> None:
    patterns = {form.pattern for form in parts_of(CANARY)}
    assert b"xq7-violet" in patterns
    assert b"violet-3829" in patterns
    assert "violet-3829".encode("utf-16-le") in patterns
    assert {form.name for form in parts_of(CANARY)} == {"part"}
    assert parts_of("alpha-beta-gamma") == ()  # words
    assert parts_of("only-2parts") == ()
    assert parts_of("whole1234567") == ()


@pytest.mark.parametrize("value", ["", "12345", "      x", "x" * 4097])
def test_a_value_that_chance_writes_is_refused(value: str) -> None:
    with pytest.raises(DataError, match="expected at least 6") as raised:
        forms_of(value)
    assert not value or value not in str(raised.value)


def test_each_form_once() -> None:
    forms = forms_of("Zürich & 12/34")
    assert len({(f.pattern, f.any_case) for f in forms}) == len(forms)
    assert all(f.pattern == f.pattern.lower() for f in forms if f.any_case)
    assert min(len(f.pattern) for f in forms) >= 6
