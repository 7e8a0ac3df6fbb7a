"""Untrusted text: what is invisible becomes visible, and cuts say so."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.report.safe import clip, neutralise, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("a\x1b[31mb", "a␛[31mb"),
        ("\u202eevil", "⟨U+202E⟩evil"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("line\r\nnext\tcell", "line\nnext\tcell"),
        ("lone\ud800", "lone⟨U+D800⟩"),
    ],
)
def test_hidden_characters_become_marks(text: str, shown: str) -> None:
    assert neutralise(text) == shown


def test_ordinary_writing_in_any_script_stays_as_it_is() -> None:
    for text in ("naïve café", "日本語の文", "שלום עולם", "مرحبا", "हिन्दी", "👩‍👩‍👧 family"):
        assert neutralise(text) == text


@given(st.text(st.characters(codec=None)))
def test_nothing_that_controls_the_text_around_it_is_left(text: str) -> None:
    shown = neutralise(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown if c not in "\n\t")
    assert not any(
        unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
        for c in shown
    )
    shown.encode("utf-8")
    assert "\n" not in one_line(text)


def test_a_cut_keeps_the_place_that_matters_and_tells_the_length() -> None:
    text = "word " * 2000 + "HERE " + "word " * 2000
    cut = clip(text, 300, around=text.index("HERE"))
    assert "HERE" in cut and cut.startswith("[…] word") and cut.endswith("[…]")
    assert cut.cut and cut.characters == len(text) and len(cut) < 320


def test_a_short_text_is_not_cut() -> None:
    assert clip("short", 10) == "short" and not clip("short", 10).cut
