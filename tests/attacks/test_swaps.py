"""One detail of a statement becomes another, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.statements import STATEMENTS, texts

from vestige.attacks.checks import stands_in
from vestige.attacks.slots import slots
from vestige.attacks.stems import stems
from vestige.attacks.swaps import replaced, swapped


def changes(statement: str, seed: int = 1) -> list[tuple[str, str]]:
    return list(swapped(statement, np.random.default_rng(seed)))


@given(statement=texts, seed=st.integers(0, 2**31 - 1))
def test_the_new_detail_is_new_and_the_rest_stays(statement: str, seed: int) -> None:
    plain = " ".join(statement.split())
    for text, detail in changes(plain, seed):
        assert stands_in(detail, text)
        assert not stands_in(detail, plain)
        before, after = plain.split(), text.split()
        start = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), 0)
        stop = next((i for i, (x, y) in enumerate(zip(before[::-1], after[::-1], strict=False)) if x != y), 0)
        longest = max(len(slot.value.split()) for slot in slots(plain))
        assert len(before) - start - stop <= longest + 1  # and the article before it


def test_numbers_and_times_become_others_of_their_form() -> None:
    said = {d: t for t, d in changes("Malik bought 12 lanterns on 18 September for $227.13.")}
    assert any(
        t.startswith("Malik bought 12 lanterns on 18 ") and "September" not in t for t in said.values()
    )
    assert any(d.startswith("$") and d.endswith(".13") and "227" not in d for d in said)


def test_kinds_are_kept() -> None:
    texts_ = [text for text, _ in changes("Delia's dogs wrecked her cousin's lantern in Oslo.")]
    assert any("dogs" not in t and t.split()[1].endswith("s") for t in texts_)
    assert any("'s lantern" in t and "cousin" not in t for t in texts_)
    assert any(t.endswith(".") and "Oslo" not in t and t.split()[-1][0].isupper() for t in texts_)


def test_the_most_natural_change_comes_first() -> None:
    assert changes("Delia keeps a gadget near her sister.")[0][1] != "gadget"
    assert "sister" not in changes("Delia keeps a gadget near her sister.")[0][0]


def test_nothing_can_be_changed_where_there_is_nothing() -> None:
    assert changes("") == changes("Delia.") == []


@pytest.mark.parametrize(
    ("text", "detail", "other", "right"),
    [
        ("Did she buy a car?", "car", "igloo", "Did she buy an igloo?"),
        ("Did she eat an egg?", "egg", "cake", "Did she eat a cake?"),
        ("Is OSLO or Oslo near?", "oslo", "Rome", "Is Rome or Rome near?"),
        ("Did she buy a car?", "bike", "igloo", None),
        ("Is the carpet red?", "car", "igloo", None),
        ("Did she pay $3.50 (in all)?", "$3.50 (in all)", "nothing", "Did she pay nothing?"),
        ("Did she pay?", "", "x", None),
        ("Is it so?", "so", r"\1 \g<0>", r"Is it \1 \g<0>?"),
    ],
)
def test_a_detail_is_replaced_as_it_stands(text: str, detail: str, other: str, right: str | None) -> None:
    assert replaced(text, detail, other) == right


def test_a_statement_has_changes_of_its_own_stems_only() -> None:
    for statement in STATEMENTS:
        for text, detail in changes(statement):
            assert stems(text) - stems(statement) <= stems(detail)
