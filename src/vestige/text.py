"""Texts as words, as sentences, folded for comparison, and masked for display.

Texts come from data files, models and stores: they may be of any size and hostile, so every function here
takes time linear in their length.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["STOP_WORDS", "content_words", "covers", "encoded_forms", "fold", "mask", "sentences", "tokens"]

# ---------------------------------------------------------------------------------------------------- words


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS: frozenset[str] = _listed(
    """
    a an the this that these those i me my mine myself we our ours you your yours yourself he him his she her
    hers it its they them their theirs who whom whose which what there here
    am is are was were be been being do does did doing done have has had having
    will would shall should can could might must
    and or but nor so if then than as of at by for with about into onto to from in on off up down out
    also just very really quite rather too some any such own same other each both all please ie eg etc
    """
)
"""What `content_words` leaves out (ours).

Numbers, negations and relations of order or time are not in it; neither is "may", a month.
"""

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS: dict[str, int] = {
    **{word: value for value, word in enumerate(re.findall(r"\w+", _UNITS))},
    **{word: 10 * value for value, word in enumerate(re.findall(r"\w+", _TENS), start=2)},
}

_APOSTROPHES = re.compile("[\u2018\u2019\u201b\u02bc\u00b4\uff07]")
_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),  # 1,200 is 1200
    (re.compile(r"(?<!\d)(\d{1,2}):00(?![\d:])"), r"\1"),  # 7:00 is 7
    (re.compile(r"(?<=\d)\s?([ap])\.?\s?m(?!\w)\.?"), r" \1m "),  # 6:45am is 6:45 a.m.
    (re.compile(r"(?<=\d)(?:st|nd|rd|th)(?!\w)"), ""),  # 7th is 7
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"(?<=\w)'(?:s|m|re|ve|ll|d)\b"), ""),  # grandma's is grandma
    (re.compile(r"(?<=\w)'(?=\w)"), ""),  # o'clock is oclock
)
_ACRONYM = re.compile(r"(?<![\w.])(?:[^\W\d_]\.)+[^\W\d_](?!\w)\.?")
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"\d+(?:\.\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*")


def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of `text`, in order, lower-case.

    Case, accents and Unicode forms are folded. A number that leads a word stands alone ("10km" is 10, km;
    "7th" is 7), thousands separators and empty decimals go ("1,200.00" is 1200), a clock time gives its parts
    ("25:50" is 25, 50; "7:00 a.m." is 7, am), a possessive loses its s, and n't is a word of its own, "not".
    Chinese and Japanese writing gives a token a character.
    """
    return _remembered_words(text) if len(text) <= _SHORT else _words(text)


_SHORT = 400
"""Characters of a text whose words are remembered: questions and statements are compared word by word, many times."""


def _words(text: str) -> tuple[str, ...]:
    plain = _APOSTROPHES.sub("'", text)
    if plain.isascii():
        plain = plain.lower()
    else:
        decomposed = unicodedata.normalize("NFKD", _stream_safe(plain)).casefold()
        dropped = dict.fromkeys(ord(c) for c in set(decomposed) if unicodedata.category(c) in _INVISIBLE)
        plain = unicodedata.normalize("NFC", decomposed.translate(dropped))
    for pattern, spelling in _SPELLINGS:
        plain = pattern.sub(spelling, plain)
    plain = _ACRONYM.sub(lambda m: m.group().replace(".", "") + " ", plain)
    return tuple(_number(t) if t[0].isdecimal() else t for t in _TOKEN.findall(plain))


_remembered_words = lru_cache(maxsize=4_096)(_words)


def content_words(text: str) -> tuple[str, ...]:
    """The tokens of `text` that are not in `STOP_WORDS`; numbers, and the am of a clock time, count.

    Repeats are kept. There may be none ("the", ""): such an answer cannot be looked for by its words.
    """
    words = tokens(text)
    return tuple(
        word
        for before, word in zip(("", *words), words, strict=False)
        if word not in STOP_WORDS or (word == "am" and before.isdecimal())
    )


def covers(words: Iterable[str], reply: str) -> bool:
    """Whether every one of `words` is a token of `reply`; False where there are no words.

    Words are compared whole, never as substrings, and a number below 100 is the same spelled or in digits.
    """
    wanted = _spelled(tuple(words))
    return bool(wanted) and wanted <= _spelled(tokens(reply))


_INVISIBLE = frozenset(("Mn", "Mc", "Me", "Cf"))


def _number(digits: str) -> str:
    """8.50 is 8.5, 3.0 is 3, and the 05 of a date or a clock is 5."""
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    return digits[1] if len(digits) == 2 and digits[0] == "0" else digits


def _spelled(words: Sequence[str]) -> set[str]:
    """The words as a set, numbers below 100 as digits."""
    found: set[str] = set()
    for i, word in enumerate(words):
        value = _NUMBERS.get(word)
        if value is None:
            found.add(word)
        elif value < 10 and i and _NUMBERS.get(words[i - 1], 0) >= 20:
            found.add(str(_NUMBERS[words[i - 1]] + value))
        elif not (value >= 20 and i + 1 < len(words) and 0 < _NUMBERS.get(words[i + 1], 0) < 10):
            found.add(str(value))
    return found


# ------------------------------------------------------------------------------------------------ sentences

_END = re.compile(r"(?<![.!?…])([.!?…]++)([\"'”’)\]*_]*+)\s++|[。！？]+[」』”’）]*\s*")
_LIST_ITEM = re.compile(r"\s*(?:[-*•–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_OPENERS = "([{\"'“‘*_"
_NEVER_END = _listed("""
    dr mr mrs ms mx prof st sgt capt lt col gen rev hon sen rep gov mt ft vs approx e.g i.e cf
""")
_BEFORE_NUMBER = _listed("no nr fig vol ch pp p art sec")
_MAY_END = _listed("""
    a.m p.m am pm etc inc ltd co corp jr sr dept ave blvd rd u.s u.k u.s.a d.c ph.d m.d b.a m.a b.s m.s
    jan feb mar apr jun jul aug sep sept oct nov dec tue tues wed thu thurs fri
""")
_STARTERS = _listed("""
    i i'm i've i'd i'll it it's he she we they you my our his her their this that these those the a an and but
    so then after before when while if in on at also what how why where who do does did is are can could
""")


def sentences(text: str) -> list[str]:
    """Split `text` into sentences, in order; only white space between them is lost.

    A line break always splits, so that list items stand alone. A full stop does not split inside a number,
    after a title ("Dr. Smith"), an initial or a list number, nor after an abbreviation that goes on ("6:45
    a.m. on Mondays").
    """
    return [part for line in text.splitlines() for part in _split_line(line)]


def _split_line(line: str) -> Iterator[str]:
    item = _LIST_ITEM.match(line)
    start, seen = 0, item.end() if item else 0
    for end in _END.finditer(line, seen):
        if _splits(line, seen, end):
            yield line[start : end.end()].strip()
            start = end.end()
        seen = end.end()
    if rest := line[start:].strip():
        yield rest


def _splits(line: str, seen: int, end: re.Match[str]) -> bool:
    stops, closers = end.group(1), end.group(2)
    following = line[end.end() : end.end() + 1]
    if stops is None:
        return True
    if closers or stops.startswith(("..", "…")):
        return not following.islower()
    if stops != ".":
        return True
    before = line[max(seen, line.rfind(" ", seen, end.start()) + 1) : end.start()].lstrip(_OPENERS)
    word = before.lower()
    if word in _NEVER_END:
        return False
    if word in _BEFORE_NUMBER and following.isdecimal():
        return False
    initial = len(before) == 1 and before.isupper() and before != "I"
    if initial or word in _MAY_END:
        next_word = line[end.end() : end.end() + 12].split(maxsplit=1)[:1]
        return following.isupper() and bool(next_word) and next_word[0].lower().rstrip(",") in _STARTERS
    return True


# ------------------------------------------------------------------------------------------------- folding

_ASCII_SEPARATORS = re.compile(r"[^a-z0-9]+")
_LONGEST_RUN = 30


def fold(text: str) -> str:
    """`text` for a normalised match: NFKC, case folded, and only its letters and digits kept.

    So "xq7 violet‑3829" and "ＸＱ７_VIOLET_3829" fold to the same as "XQ7-VIOLET-3829". Letters of another
    alphabet that merely look alike stay different.
    """
    if text.isascii():
        return _ASCII_SEPARATORS.sub("", text.lower())
    folded = unicodedata.normalize("NFKC", _stream_safe(text)).casefold()
    return unicodedata.normalize("NFKC", "".join(filter(str.isalnum, folded)))


def _stream_safe(text: str) -> str:
    """`text` with no more than 30 combining marks in a row, as UAX #15 limits them.

    Putting longer runs in order takes time quadratic in their length.
    """
    marks = [c for c in set(text) if unicodedata.combining(unicodedata.normalize("NFKD", c)[0])]
    if not marks:
        return text
    one = f"[{re.escape(''.join(sorted(marks)))}]"
    return re.sub(f"({one}{{{_LONGEST_RUN}}}){one}+", r"\1", text)


# ------------------------------------------------------------------------------------------------- masking

Encoding = Literal["reversed", "base64", "hex"]
_WHOLE, _PART = "[canary]", "[canary part]"
_BARE = "[***]"
_PASSES = 8
_SHORTEST_ENCODED = 6


def encoded_forms(secret: str) -> dict[Encoding, tuple[str, ...]]:
    """How `secret`, as it is and in lower case, looks when encoded.

    `reversed` and `hex` are to be looked for in folded text; `base64` in the text itself: the characters that
    do not depend on what stands before and after, for each of the three alignments. A secret of fewer than
    six characters has no encoded forms: they would be found everywhere.
    """
    if len(secret) < _SHORTEST_ENCODED:
        return {}
    spellings = [s.encode("utf-8", "surrogatepass") for s in dict.fromkeys((secret, secret.lower()))]
    cores = [core for raw in spellings for core in _base64_cores(raw)]
    return {
        "reversed": (fold(secret[::-1]),),
        "base64": tuple(dict.fromkeys(cores)),
        "hex": tuple(raw.hex() for raw in spellings),
    }


def _base64_cores(raw: bytes) -> Iterator[str]:
    for shift, skipped in ((0, 0), (1, 2), (2, 3)):
        whole = (shift + len(raw)) * 8 // 6
        core = base64.b64encode(bytes(shift) + raw)[skipped:whole].decode("ascii")
        yield core
        yield core.translate(str.maketrans("+/", "-_"))


def mask(text: str, secrets: Iterable[str], *, numbers: bool = True) -> str:
    """`text` with every one of `secrets` hidden.

    "[canary]" replaces a secret in any case, with any separators and in any Unicode form, reversed, in base64
    and in hex; "[canary part]" replaces two neighbouring parts of it (parts are what its separators divide),
    and a part with a digit in it where that stands as a word. What is returned holds no secret, folded or
    not: a text that resists masking is not shown at all.

    Args:
        text: What is to be shown.
        secrets: What it must not show.
        numbers: Hide a part that is digits alone too; False: in a sentence full of counts it is one of them.
    """
    needles = _needles(tuple(secrets), numbers)
    for _ in range(_PASSES):
        masked = needles.hide(text)
        if masked is None:
            break
        text = masked
    return _BARE if needles.remain(text) else text


class _Needles:
    """What has to be found for a set of secrets."""

    def __init__(self, secrets: Iterable[str], numbers: bool = True) -> None:
        self.whole: set[str] = set()
        self.pairs: set[str] = set()
        self.parts: set[str] = set()
        self.verbatim: set[str] = set()
        for secret in secrets:
            parts = [p for p in (fold(part) for part in re.split(r"[\W_]+", secret)) if p]
            forms = encoded_forms(secret)
            self.whole |= {fold(secret), *forms.get("reversed", ()), *forms.get("hex", ())} - {""}
            self.verbatim |= set(forms.get("base64", ()))
            if len(parts) > 1:
                self.pairs |= {a + b for a, b in pairwise(parts)}
                self.parts |= {p for p in parts if len(p) > 2 and any(c.isdecimal() for c in p)}
            elif not parts and secret.strip():
                self.verbatim.add(secret)
        if not numbers:
            self.parts = {p for p in self.parts if not p.isdecimal()}
        clash = any(n in fold(_PART) for n in self.whole | self.pairs | self.parts)
        self.labels = (_BARE, _BARE) if clash else (_WHOLE, _PART)

    def hide(self, text: str) -> str | None:
        """`text` with what is found replaced; None where nothing is found."""
        folded = fold(text)
        found = {n for n in self.whole | self.pairs | self.parts if n in folded}
        spans = [(a, b, True) for needle in self.verbatim for a, b in _occurrences(needle, text)]
        if not found and not spans:
            return None
        if found:
            if not text.isascii():
                composed = unicodedata.normalize("NFC", _stream_safe(text))
                if composed != text:
                    text = composed
                    spans = [(a, b, True) for needle in self.verbatim for a, b in _occurrences(needle, text)]
            spans += self._folded_spans(text, found)
        return self._replaced(text, spans) if spans else None

    def remain(self, text: str) -> bool:
        """Whether a secret, or two neighbouring parts of one, can still be found."""
        folded = fold(text)
        return any(n in folded for n in self.whole | self.pairs) or any(n in text for n in self.verbatim)

    def _folded_spans(self, text: str, found: set[str]) -> Iterator[tuple[int, int, bool]]:
        folded, places = _places(text)
        for needle in found:
            alone = needle not in self.whole and needle not in self.pairs
            for a, b in _occurrences(needle, folded):
                start, stop = int(places[a]), int(places[b - 1]) + 1
                if alone and (stop - start != b - a or not _is_word(text, start, stop)):
                    continue
                yield start, stop, needle in self.whole

    def _replaced(self, text: str, spans: list[tuple[int, int, bool]]) -> str:
        pieces: list[str] = []
        at = 0
        merged: list[tuple[int, int, bool]] = []
        for start, stop, whole in sorted(spans):
            if merged and start < merged[-1][1]:
                first, last, was_whole = merged[-1]
                merged[-1] = (first, max(last, stop), was_whole or whole)
            else:
                merged.append((start, stop, whole))
        for start, stop, whole in merged:
            pieces += (text[at:start], self.labels[0] if whole else self.labels[1])
            at = stop
        return "".join((*pieces, text[at:]))


@lru_cache(maxsize=8)
def _needles(secrets: tuple[str, ...], numbers: bool) -> _Needles:
    """Made once for the many texts of a report, which all have the same secrets to hide."""
    return _Needles(secrets, numbers)


def _places(text: str) -> tuple[str, NDArray[np.intp]]:
    """The text folded character by character, and the place in `text` of each folded character."""
    forms = {c: fold(c) for c in set(text)}
    pieces = [forms[c] for c in text]
    lengths = np.fromiter(map(len, pieces), dtype=np.intp, count=len(pieces))
    return "".join(pieces), np.repeat(np.arange(len(text), dtype=np.intp), lengths)


def _occurrences(needle: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(needle)
    while at >= 0:
        yield at, at + len(needle)
        at = text.find(needle, at + 1)


def _is_word(text: str, start: int, stop: int) -> bool:
    return not text[max(start - 1, 0) : start].isalnum() and not text[stop : stop + 1].isalnum()
