"""Untrusted text made harmless to look at: control, bidirectional and invisible characters become visible
marks.

Escaping for HTML is the template's work (autoescape), escaping for Markdown that of `markdown.py`; this
module removes what escaping leaves alone: characters that reorder, hide or break the text around them.
"""

from __future__ import annotations

import re

__all__ = ["Clipped", "clip", "neutralise", "one_line"]

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u034f\u180e\u200b\u2028\u2029\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
_TAGS = "\U000e0000-\U000e007f"
_SURROGATES = "\ud800-\udfff"
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_UNSAFE = re.compile(f"[{_CONTROL}{_BIDI}{_INVISIBLE}{_TAGS}{_SURROGATES}]")


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟨U+{code:04X}⟩"


def neutralise(text: str) -> str:
    """The text with control, bidirectional and invisible characters as marks; newlines and tabs stay."""
    return _UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`neutralise`, with every run of white space one space."""
    return " ".join(neutralise(text).split())


NEAR = 24
"""How far a cut may move, in characters, to fall between words."""


class Clipped(str):
    """A text cut to a window; `characters` is the length of the whole, `cut` whether any is missing."""

    characters: int
    cut: bool

    def __new__(cls, shown: str, characters: int, cut: bool) -> Clipped:
        """The text that is shown, and what it was."""
        self = super().__new__(cls, shown)
        self.characters = characters
        self.cut = cut
        return self


def clip(text: str, limit: int, around: int | None = None, *, whole: int | None = None) -> Clipped:
    """At most about `limit` characters of the text, from its start or so that position `around` is inside.

    `whole` is the length to tell, where the text is another's masked form.
    Cuts are shown as "[…]". The text must have been masked before: a cut may go through a secret.
    """
    if len(text) <= limit:
        return Clipped(text, whole or len(text), False)
    start = 0
    if around is not None and around > limit * 3 // 4:
        start = min(around - limit // 2, len(text) - limit)
    end = start + limit
    if start:
        space = text.find(" ", start, start + NEAR)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(end - NEAR, start), end)
        end = space if space > 0 else end
    shown = ("[…] " if start else "") + text[start:end] + (" […]" if end < len(text) else "")
    return Clipped(shown, whole or len(text), True)
