"""Literal matches: whether a value stands in a text as it is, or under a normalisation that was declared.

A value is a canary, or the made-up name of an option; names count as words of their own alone, so that "Hollin" is not
found in "Hollingsworth". Texts are untrusted and may be of any size: every function takes linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from vestige.canaries import GRAMMAR, Canary
from vestige.probes.spelling import GAP, said, spelled
from vestige.text import encoded_forms, fold

__all__ = ["FORMS", "combined", "foreign", "literal_forms", "named"]

FORMS = ("case", "whitespace", "separators", "unicode", "spelled_digits", "reversed", "base64", "hex")
"""The normalisations there are, in the order in which they are reported.

``case``: letters in any case. ``whitespace``: white space left out or put in anywhere. ``separators``: the same of
every character that is no letter or digit. ``unicode``: compatibility forms, accents, invisible characters, and the
many hyphens and spaces; letters of another alphabet that merely look alike stay different, as in `text.fold`.
``spelled_digits``: digits as words, or set apart. ``reversed``: backwards, in any case and with any separators.
``base64`` (any alignment, wrapped or not) and ``hex``: of the value as it is and in lower case; shorter values than six
characters have neither form, which would be found everywhere.
"""

_PLAIN = FORMS[:4]
_SHORTEST_REVERSED = 5
_TAKEN = "\ua66e"
"""Takes the place of a verbatim occurrence: a letter that no normalisation changes and no value holds."""
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"
_NO_HEX = re.compile(r"[^0-9A-Za-z]+")
_DROPPED = frozenset(("Mn", "Mc", "Me", "Cf"))


def _character(c: str) -> str:
    # A single character may stand for eighteen: a text of them must not grow that much.
    kept = (k for k in unicodedata.normalize("NFKD", c)[:4] if unicodedata.category(k) not in _DROPPED)
    return "".join(
        "-" if unicodedata.category(k) == "Pd" or k == "\u2212" else " " if k.isspace() and k > " " else k
        for k in kept
    )


def _prepared(text: str, names: frozenset[str]) -> str:
    """`text` with what can be folded without looking for anything."""
    if "unicode" in names and not text.isascii():
        text = text.translate({ord(c): _character(c) for c in set(text) if not c.isascii()})
    return text.casefold() if "case" in names else text


def _bounded(body: str, value: str) -> re.Pattern[str]:
    """A canary is found inside of words too: it has too many characters to stand there by chance."""
    return re.compile(body if GRAMMAR.fullmatch(value) else f"{_BEFORE}(?:{body}){_AFTER}")


@lru_cache(maxsize=4096)
def _pattern(value: str, names: frozenset[str], digits: bool = False) -> re.Pattern[str] | None:
    """How `value` may stand in a text prepared with the same names; `digits`: spelled ones too."""
    gap = GAP if "separators" in names else r"\s*+" if "whitespace" in names else ""
    plain = _prepared(value, names)
    if "separators" in names:
        plain = "".join(filter(str.isalnum, plain))
    elif "whitespace" in names:
        plain = "".join(plain.split())
    if not plain:
        return None
    if not digits:
        return _bounded(gap.join(map(re.escape, plain)), value)
    body = ""
    units = re.findall(r"[0-9]+|[^0-9]", plain)
    for left, unit in zip(("", *units), units, strict=False):
        if left:
            apart = (left[-1].isdecimal() and unit.isalnum()) or (unit[0].isdecimal() and left.isalnum())
            body += GAP if apart else gap
        body += _run(unit) if unit.isdecimal() and unit.isascii() else re.escape(unit)
    return _bounded(body, value)


def _run(digits: str) -> str:
    one_by_one = GAP.join(f"(?:{d}|{said(d)})" for d in digits)
    return f"(?i:{'|'.join((one_by_one, *spelled(digits)))})"


def named(value: str, text: str) -> bool:
    """Whether `value` stands in `text` in any case, with any separators and in any Unicode form."""
    names = frozenset(_PLAIN)
    pattern = _pattern(value, names)
    return pattern is not None and pattern.search(_prepared(text, names)) is not None


def literal_forms(value: str, text: str, normalisations: Iterable[str]) -> tuple[str, ...]:
    """In which forms `value` stands in `text`: "verbatim", and those of the declared normalisations that show it.

    A normalisation is reported where it alone shows an occurrence that is not verbatim. Where only several together
    do ("xq7 violet 3829": case and separators), all that are needed are reported. No other is.

    Args:
        value: A canary or a made-up name; an empty one is nowhere.
        text: Any text, of any size.
        normalisations: Names out of `FORMS`.

    Raises:
        ValueError: A normalisation is unknown.
    """
    declared = frozenset(normalisations)
    if unknown := declared.difference(FORMS):
        raise ValueError(f"normalisation {sorted(unknown)[0]!r}: expected some of {', '.join(FORMS)}")
    exact = _pattern(value, frozenset())
    if exact is None or not text:
        return ()
    rest = exact.sub(_TAKEN, text)
    found = ({"verbatim"} if rest != text else set[str]()) | _plain_forms(value, rest, declared)
    if "spelled_digits" in declared and _spelled(value, rest, declared.intersection(_PLAIN)):
        found.add("spelled_digits")
    if "reversed" in declared and _reversed(value, text):
        found.add("reversed")
    found |= _encoded(value, text, declared)
    return tuple(form for form in ("verbatim", *FORMS) if form in found)


def _stands(value: str, text: str, names: frozenset[str]) -> bool:
    pattern = _pattern(value, names)
    return pattern is not None and pattern.search(_prepared(text, names)) is not None


def _plain_forms(value: str, text: str, declared: frozenset[str]) -> set[str]:
    together = declared.intersection(_PLAIN)
    if not together or not _stands(value, text, together):
        return set()
    if alone := {name for name in together if _stands(value, text, frozenset((name,)))}:
        return alone
    for name in _PLAIN:
        if _stands(value, text, together - {name}):
            together -= {name}
    return set(together)


def _spelled(value: str, text: str, names: frozenset[str]) -> bool:
    plain, pattern = _pattern(value, names), _pattern(value, names, digits=True)
    if plain is None or pattern is None or not re.search(r"[0-9]", value):
        return False
    return any(plain.fullmatch(hit[0]) is None for hit in pattern.finditer(_prepared(text, names)))


def _reversed(value: str, text: str) -> bool:
    backwards = fold(value)[::-1]
    if len(backwards) < _SHORTEST_REVERSED or backwards == fold(value):
        return False
    names = frozenset(_PLAIN)
    plain = "".join(filter(str.isalnum, _prepared(value, names)))[::-1]
    return _bounded(GAP.join(map(re.escape, plain)), value).search(_prepared(text, names)) is not None


def _encoded(value: str, text: str, declared: frozenset[str]) -> set[str]:
    forms = encoded_forms(value)
    found: set[str] = set()
    if "base64" in declared and (needles := forms.get("base64")):
        whole = "".join(text.split())  # an encoder may wrap its lines
        if any(needle in whole for needle in needles):
            found.add("base64")
    if "hex" in declared and (needles := forms.get("hex")):
        digits = _NO_HEX.sub("", text).lower()
        if any(needle in digits for needle in needles):
            found.add("hex")
    return found


def combined(canary: Canary, countable: tuple[bool, bool, bool], texts: Iterable[str]) -> bool:
    """Whether the texts together hold every countable part of the canary, each as a word of its own, in any case.

    Fewer than two countable parts are never a combination: one word alone, such as a colour, may stand there by
    chance.

    Args:
        canary: What is looked for.
        countable: Which of its parts the conversations lack without it.
        texts: What one observer saw, over all channels.
    """
    missing = {part for part, counts in zip(canary.parts, countable, strict=True) if counts}
    if len(missing) < 2:
        return False
    patterns = {part: re.compile(f"{_BEFORE}{part}{_AFTER}", re.IGNORECASE) for part in missing}
    for text in texts:
        missing = {part for part in missing if patterns[part].search(text) is None}
        if not missing:
            return True
    return False


_ANY_CANARY = re.compile(GRAMMAR.pattern, re.IGNORECASE | re.ASCII)


Owner = TypeVar("Owner", bound="str | tuple[str, str]")


def foreign(texts: Iterable[str], owners: Mapping[str, Owner]) -> dict[Owner, int]:
    """How many of the texts hold each owner's nonce, in any case; one pass over the texts for all nonces.

    Args:
        texts: What was observed, one text an item.
        owners: Nonce value → whose it is, such as the id of the episode it was told in.

    Returns:
        Owner → number of texts, in the order of the owners; only those that were seen.
    """
    by_value = {value.upper(): owner for value, owner in owners.items()}
    seen: Counter[Owner] = Counter()
    for text in texts:
        values = {found[0].upper() for found in _ANY_CANARY.finditer(text)}
        seen.update({by_value[value] for value in values if value in by_value})
    return {owner: seen[owner] for owner in sorted(seen, key=str)}
