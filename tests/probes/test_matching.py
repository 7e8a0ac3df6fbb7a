"""A value is found in every declared form, in no undeclared one, and nothing else is taken for it."""

from __future__ import annotations

import base64
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vestige.canaries import COLOURS, Canary, decoys
from vestige.probes.matching import FORMS, combined, foreign, literal_forms, named

VALUE = "XQ7-VIOLET-3829"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def spell(value: str) -> str:
    head, _, digits = value.rpartition("-")
    return f"{head}-{' '.join(WORDS[int(d)] for d in digits)}"


WRITTEN = {
    "case": str.lower,
    "whitespace": lambda v: v.replace("-", " -  "),
    "separators": lambda v: v.replace("-", "_/"),
    "unicode": lambda v: "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else "\u2011" for c in v),
    "spelled_digits": spell,
    "reversed": lambda v: v[::-1],
    "base64": lambda v: base64.b64encode(b"ab " + v.encode() + b".").decode(),
    "hex": lambda v: v.encode().hex(" "),
}
ALONE = {"whitespace": {"whitespace", "separators"}, "unicode": {"unicode"}}
"""A normalisation that is a special case of another is found under both names."""

canaries = st.builds(
    lambda first, colour, digits: f"{first}-{colour}-{digits:04d}",
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=3, max_size=3),
    st.sampled_from(COLOURS),
    st.integers(0, 9999),
).filter(lambda v: v.replace("-", "")[::-1] != v.replace("-", ""))
surroundings = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@pytest.mark.parametrize("form", FORMS)
@given(value=canaries, before=surroundings, after=surroundings)
def test_a_declared_form_is_found_in_any_text(form: str, value: str, before: str, after: str) -> None:
    text = f"{before}\n{WRITTEN[form](value)}\n{after}"
    assert form in literal_forms(value, text, (form,))
    assert form in literal_forms(value, text, FORMS)
    assert "verbatim" not in literal_forms(value, text, FORMS)


@pytest.mark.parametrize("form", FORMS)
@given(value=canaries)
def test_no_form_is_reported_under_another_name(form: str, value: str) -> None:
    text = f"it is {WRITTEN[form](value)}, they said"
    others = [name for name in FORMS if name != form and name not in ALONE.get(form, ())]
    assert literal_forms(value, text, others) == ()


@pytest.mark.parametrize("form", FORMS)
@given(value=canaries, seed=st.integers(0, 1000))
def test_decoys_are_not_found(form: str, value: str, seed: int) -> None:
    other = decoys(Canary(value), np.random.default_rng(seed), 1)[0].value
    assert literal_forms(other, f"so {WRITTEN[form](value)} so {value}", FORMS) == ()


@given(value=canaries, before=surroundings)
def test_verbatim_always_counts(value: str, before: str) -> None:
    assert literal_forms(value, before + value, ()) == ("verbatim",)


@given(st.text(max_size=200))
@example("\u0130\u017f\ufdfa\u0345\u1e9e")
def test_any_text_can_be_read(text: str) -> None:
    assert literal_forms(VALUE, text, FORMS) == ()
    assert not named("Maravel Inn", text)


def test_together_only_what_is_needed_is_named() -> None:
    assert literal_forms(VALUE, "xq7 violet 3829", FORMS) == ("case", "separators")
    assert literal_forms(VALUE, "xq7 violet 3829", ("case",)) == ()
    assert literal_forms(VALUE, f"{VALUE} or {VALUE.lower()}", FORMS) == ("verbatim", "case")
    assert literal_forms(VALUE, "X\u200bQ7-VIOLET\u20133829", ("unicode",)) == ("unicode",)


@pytest.mark.parametrize(
    "text",
    [
        "XQ7-VIOLET-3 8 2 9",
        "XQ7-VIOLET-thirty-eight twenty-nine",
        "XQ7-VIOLET-Three Thousand Eight Hundred and Twenty-Nine",
        "XQ7-VIOLET-thirty-eight hundred twenty-nine",
        "XQ seven-VIOLET-3829",
    ],
)
def test_digits_may_be_said_in_several_ways(text: str) -> None:
    assert literal_forms(VALUE, text, ("spelled_digits",)) == ("spelled_digits",)


def test_zeros_and_teens_are_said_too() -> None:
    assert literal_forms("B4K-AMBER-0517", "B4K-AMBER-oh five seventeen", ("spelled_digits",))
    assert literal_forms("B4K-AMBER-2000", "B4K-AMBER-two thousand", ("spelled_digits",))
    assert literal_forms("B4K-AMBER-1105", "B4K-AMBER-eleven hundred and five", ("spelled_digits",))
    assert not literal_forms("B4K-AMBER-1105", "B4K-AMBER-eleven hundred", ("spelled_digits",))


def test_a_name_is_a_word_of_its_own() -> None:
    assert literal_forms("Hollin", "Hollingsworth", FORMS) == ()
    assert literal_forms("Hollin", "Hollin's tea", FORMS) == ("verbatim",)
    assert literal_forms("Maravel Inn", "the MARAVEL-INN", FORMS) == ("case", "separators")
    assert literal_forms("Hollin", "nilloh", FORMS) == ("reversed",)
    assert literal_forms("Hannah", "Hannah", FORMS) == ("verbatim",), "a palindrome is not reversed"
    assert named("Maravel Inn", "maravelinn") and not named("Maravel Inn", "Maravel")


def test_what_is_nowhere() -> None:
    assert literal_forms("", "anything", FORMS) == ()
    assert literal_forms("---", "a b", FORMS) == ()
    assert literal_forms(VALUE, "", FORMS) == ()


def test_an_unknown_normalisation_is_refused() -> None:
    with pytest.raises(ValueError, match="'rot13': expected some of case"):
        literal_forms(VALUE, "", ("case", "rot13"))


@pytest.mark.parametrize("unit", ["x-", "XQ7-VIOLET-382 ", "three eight ", "\ufdfa", "x", "e\u0301"])
def test_huge_texts_take_linear_time(unit: str) -> None:
    text = unit * (2_000_000 // len(unit.encode()))
    began = time.perf_counter()
    for value in (VALUE, "Maravel Inn"):
        assert literal_forms(value, text, FORMS) == ()
    assert time.perf_counter() - began < 8


# ---------------------------------------------------------------------------------------------- fragments


def test_fragments_are_put_together_over_texts() -> None:
    canary, every = Canary(VALUE), (True, True, True)
    assert combined(canary, every, ["starts with xq7", "VIOLET", "ends: 3829."])
    assert not combined(canary, every, ["starts with xq7", "VIOLETS", "ends: 3829."])
    assert not combined(canary, every, ["XQ7 VIOLET", "13829"])
    assert combined(canary, (True, False, True), ["3829_", "XQ7"])
    assert not combined(canary, (False, True, False), ["violet"]), "one word alone is no combination"
    assert not combined(canary, (False, False, False), [VALUE])


# ------------------------------------------------------------------------------------------ other arms' nonces


def test_other_arms_nonces_are_counted_by_text() -> None:
    owners = {VALUE: "P000/exposed_removed", "B4K-AMBER-0517": "P001/sham_removal"}
    texts = [
        f"{VALUE} {VALUE.lower()}",
        "b4k-Amber-0517 and ZZZ-TEAL-0000",
        f"so A{VALUE}",
        "\u017fQ7-VIOLET-3829",
    ]
    assert foreign(texts, owners) == {"P000/exposed_removed": 2, "P001/sham_removal": 1}
    assert foreign(iter(()), owners) == {}
