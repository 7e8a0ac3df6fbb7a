"""Targets are found in any text and any writing, and nothing else is touched."""

from __future__ import annotations

import verification_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.canaries import COLOURS
from vestige.report.safe import neutralise
from vestige.report.verification.masking import LABELS, Masker, Planted
from vestige.text import encoded_forms, fold

NONCES = st.from_regex(rf"[A-Z0-9]{{3}}-(?:{'|'.join(COLOURS)})-[0-9]{{4}}", fullmatch=True)
NAMES = st.sampled_from(["Hollin", "Ventrilo Couriers", "Marrowick", "Nonce", "Canary Part", "Østby & Søn"])
TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=60)


@settings(max_examples=150, deadline=None)
@given(st.lists(NONCES, min_size=1, max_size=6, unique=True), NAMES, TEXTS, TEXTS, st.data())
def test_no_target_is_left(
    nonces: list[str], name: str, before: str, after: str, data: st.DataObject
) -> None:
    secret = data.draw(st.sampled_from([*nonces, name]))
    forms = [form for forms in encoded_forms(secret).values() for form in forms]
    written = data.draw(
        st.sampled_from([secret, secret.lower(), secret.upper(), "_".join(secret), *forms[:3]])
    )
    masked = Masker(Planted(tuple(nonces), (name,)))(before + written + after)
    for one in (*nonces, name):
        bare = masked
        for label in LABELS:
            bare = bare.replace(label, "|")
        assert fold(one) not in fold(bare)
    if written in forms:
        assert written not in masked


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_other_texts_are_only_neutralised(text: str) -> None:
    masker = Masker(Planted(("QQ0-MAGENTA-0001",), ("Zzyzzwick",)))
    if "[" not in text and not any(part in fold(text) for part in ("0001", "qq0", "magenta", "zzyzzwick")):
        assert masker(text) == neutralise(text)


def test_nonces_and_preferences_are_told_apart() -> None:
    masker = Masker(Planted(("AB1-TEAL-2345",), ("Hollin",)))
    assert masker("AB1-TEAL-2345 for Hollin") == "[nonce] for [preference]"
    assert masker("ab1 and TEAL 2345") == "[nonce part] and [nonce part]"


def test_counts_and_bounds_of_ours_are_no_parts_of_a_value() -> None:
    """Three hundred pairs plant a thousand values: some end in the digits of nearly any number."""
    masker = Masker(Planted(("009-TEAL-2345",), decoys=("QQ1-AMBER-0300",)))
    said = "in 0300 of 2345 pairs, interval [-0.009, 0.009]"
    assert masker.ours(said) == said
    assert masker(said) == "in [decoy part] of [nonce part] pairs, interval [-0.[nonce part], 0.[nonce part]]"
    assert (
        masker.ours("009-teal-2345, TEAL 2345, QQ1 and 0300")
        == "[nonce], [nonce part], [decoy part] and 0300"
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(NONCES, min_size=1, max_size=6, unique=True), TEXTS, TEXTS, st.data())
def test_no_whole_value_is_left_in_a_sentence_of_ours(
    nonces: list[str], before: str, after: str, data: st.DataObject
) -> None:
    secret = data.draw(st.sampled_from(nonces))
    masked = Masker(Planted(tuple(nonces))).ours(
        before + data.draw(st.sampled_from([secret, secret.lower()])) + after
    )
    for label in LABELS:
        masked = masked.replace(label, "|")
    assert all(fold(one) not in fold(masked) for one in nonces)


def test_a_nonce_of_another_run_is_masked_too() -> None:
    assert Masker(Planted())("it said zz9-coral-1234 once") == "it said [other nonce] once"


def test_labels_in_the_text_itself_are_no_marks() -> None:
    assert Masker(Planted(("AB1-TEAL-2345",)))("[nonce] [canary part] [***]") == "{nonce} {canary part} {***}"


def test_shown_targets_are_neutralised_alone() -> None:
    masker = Masker(Planted(("AB1-TEAL-2345",), ("Hollin",)), show=True)
    assert masker("AB1-TEAL-2345\u202e") == "AB1-TEAL-2345⟨U+202E⟩"
    assert masker.placeholders == ("AB1-TEAL-2345", "Hollin")


def test_decoys_and_replacements_do_not_look_like_targets() -> None:
    masker = Masker(Planted(("AB1-TEAL-2345",), (), ("QQ7-CORAL-1111", "Ombrell"), ("ZZ9-IVORY-2222",)))
    text = masker("codes AB1-TEAL-2345, QQ7-CORAL-1111, ZZ9-IVORY-2222 and Ombrell")
    assert text == "codes [nonce], [decoy], [replacement] and [decoy]"
    assert not {"[decoy]", "[replacement]"} & set(masker.placeholders)


def test_a_value_that_is_target_and_decoy_is_a_target() -> None:
    pair = samples.fixture(0)
    assert pair.nonce is not None
    value = pair.nonce.values["exposed_removed"]
    twin = pair.model_copy(update={"nonce": pair.nonce.model_copy(update={"decoy": value})})
    assert Masker.of([twin])(value) == "[nonce]"
