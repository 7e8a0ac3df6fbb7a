"""The forms in which a value may stand in a file: every encoding as bytes to look for.

Ours. A form is found whole or not at all: base64 with a line break in it, hex with separators, and a value that a
compressor has taken apart are not among them (compressed streams are unpacked first, see `containers`).
"""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from urllib.parse import quote, quote_plus

from vestige.errors import DataError

__all__ = ["Form", "FormName", "forms_of", "parts_of"]

FormName = Literal["utf-8", "utf-16", "separators", "json", "html", "url", "base64", "hex", "part"]
"""`separators`: with other separators between the value's parts; `part`: two neighbouring parts alone."""

_SHORTEST = 6
_LONGEST = 4096
_SEPARATOR = re.compile(r"[\s_\-./:]+")
_PART = re.compile(r"[^\s_\-./:]+")
_JOINTS = ("-", " ", "_", "", ".", " - ")


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a value may be written."""

    name: FormName
    pattern: bytes
    """In lower case where `any_case`."""
    any_case: bool
    """Whether ASCII letters are found in either case."""


def forms_of(value: str) -> tuple[Form, ...]:
    """All forms of a value, each once.

    UTF-8 and UTF-16 in both byte orders, in any case; with other separators; JSON-escaped (once, and again as a text
    within a text), HTML- and URL-escaped; base64 at each of its three alignments in both alphabets; hex. Base64 and
    hex are of the value as it is and in lower, upper and title case. A value with letters beyond ASCII is looked for
    in both Unicode normal forms, and its case in those spellings alone.

    Raises:
        DataError: The value has fewer than 6 characters, which are found everywhere, or more than 4,096 bytes.
    """
    length = len(value.encode("utf-8", "surrogatepass"))
    if len(value.strip()) < _SHORTEST or length > _LONGEST:
        raise DataError(
            f"a value of {len(value)} characters: expected at least {_SHORTEST}, which chance does not write, and at "
            f"most {_LONGEST:,} bytes"
        )
    found: dict[tuple[bytes, bool], Form] = {}
    for form in _forms(value):
        found.setdefault((form.pattern, form.any_case), form)
    return tuple(found.values())


def parts_of(value: str) -> tuple[Form, ...]:
    """Two neighbouring parts of a value that has three or more: what is left where the whole is gone.

    Parts are what separators divide. A pair needs six characters and a digit: two words, or a word alone, are written
    by chance. In UTF-8 and UTF-16, in any case, with the separator that the value has between them.
    """
    parts = list(_PART.finditer(value))
    if len(parts) < 3:
        return ()
    pairs = [value[a.start() : b.end()] for a, b in pairwise(parts)]
    told = [pair for pair in pairs if len(pair) > _SHORTEST and any(map(str.isdigit, pair))]
    return tuple(dict.fromkeys(form for pair in told for form in _texts("part", pair)))


def _forms(value: str) -> Iterator[Form]:
    spellings = _spellings(value)
    for spelling in spellings:
        yield from _texts("utf-8", spelling)
    parts = [part for part in _SEPARATOR.split(value) if part]
    if len(parts) > 1:
        for joint in _JOINTS:
            for spelling in _spellings(joint.join(parts)):
                yield _form("separators", _bytes(spelling), spelling.isascii())
    for spelling in spellings:
        for name, escaped in _escaped(spelling):
            if escaped != spelling:
                yield _form(name, _bytes(escaped), escaped.isascii())
    for spelling in dict.fromkeys((*spellings, *_cases(value))):
        raw = _bytes(spelling)
        yield _form("hex", raw.hex().encode(), True)
        for core in _base64_cores(raw):
            yield _form("base64", core, False)
            if b"/" in core:
                yield _form("base64", core.replace(b"/", b"\\/"), False)


def _texts(name: FormName, text: str) -> Iterator[Form]:
    """A text as it is encoded; UTF-16 under its own name, unless it is of a part."""
    any_case = text.isascii()
    yield _form(name, _bytes(text), any_case)
    whole = name == "utf-8"
    # One name for both: a zero byte before or after makes the one look like the other.
    for order in ("utf-16-le", "utf-16-be"):
        yield _form("utf-16" if whole else name, text.encode(order, "surrogatepass"), any_case)


def _form(name: FormName, pattern: bytes, any_case: bool) -> Form:
    return Form(name, pattern.lower() if any_case else pattern, any_case)


def _spellings(value: str) -> tuple[str, ...]:
    """The spellings that differ by more than the case of ASCII letters."""
    if value.isascii():
        return (value,)
    found = dict.fromkeys(_cases(value))
    for case in _cases(value):
        found |= dict.fromkeys(unicodedata.normalize(normal, case) for normal in ("NFC", "NFD", "NFKC"))
    return tuple(found)


def _cases(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((value, value.lower(), value.upper(), value.title())))


def _escaped(text: str) -> Iterator[tuple[FormName, str]]:
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield "json", once
        yield "json", json.dumps(once, ensure_ascii=False)[1:-1]
        yield "json", once.replace("/", "\\/")
    yield "html", html.escape(text)
    yield "html", html.escape(text, quote=False)
    for escape in (quote, quote_plus):
        for safe in ("", "/"):
            escaped = escape(text, safe=safe, errors="surrogatepass")
            yield "url", escaped
            yield "url", quote(escaped, safe="")


def _base64_cores(raw: bytes) -> Iterator[bytes]:
    """The characters that do not depend on what stands beside the value, at each of the three alignments."""
    for shift, skipped in ((0, 0), (1, 2), (2, 3)):
        whole = (shift + len(raw)) * 8 // 6
        core = base64.b64encode(bytes(shift) + raw)[skipped:whole]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
