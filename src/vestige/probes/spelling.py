"""Digits and letters as people say them: "three eight two nine", "thirty-eight twenty-nine", "X-ray Quebec seven"."""

from __future__ import annotations

__all__ = ["GAP", "said", "said_letter", "spelled"]

GAP = r"[\W_]*+"
"""Whatever stands between two letters or digits; possessive, so that a search stays linear."""

_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NATO = {
    word[0]: word
    for word in (
        *("alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"),
        *("kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango"),
        *("uniform", "victor", "whiskey", "xray", "yankee", "zulu"),
    )
}
_VARIANTS = {"a": "alfa|alpha", "j": "juliett|juliet", "x": "x-?ray", "w": "whiskey|whisky"}


def said(digit: str) -> str:
    """Pattern of one digit as a word: "seven"; 0 is zero, oh or nought."""
    return "(?:zero|oh|nought)" if digit == "0" else _ONES[int(digit)]


def said_letter(character: str) -> str:
    """Pattern of a lower-case letter or a digit, itself or spelled: "q" or "quebec", "7" or "seven"."""
    if character.isdecimal():
        return f"(?:{character}|{said(character)})"
    return f"(?:{_VARIANTS.get(character, _NATO[character])}|{character})"


def _pair(two: str) -> str:
    """Pattern of two digits as one speaks a pair: "thirty-eight", "oh five", "eleven"."""
    tens, ones = int(two[0]), int(two[1])
    if tens == 0:
        return f"{said('0')}{GAP}{said(two[1])}"
    if tens == 1:
        return _TEENS[ones]
    return _TENS[tens] if ones == 0 else f"{_TENS[tens]}{GAP}{_ONES[ones]}"


def _below_thousand(three: str) -> str:
    hundreds, rest = int(three[0]), three[1:]
    said_rest = _ONES[int(rest[1])] if rest[0] == "0" else _pair(rest)
    tail = "" if rest == "00" else rf"(?:{GAP}and)?+{GAP}{said_rest}"
    if hundreds:
        return rf"{_ONES[hundreds]}{GAP}hundred{tail}"
    return tail


def spelled(digits: str) -> tuple[str, ...]:
    """Patterns of a run of ASCII digits as words, for a search that ignores case.

    Digit by digit; in pairs, where their number is even; four digits also as a number ("three thousand eight
    hundred and twenty-nine", "thirty-eight hundred and twenty-nine").
    """
    ways = [GAP.join(map(said, digits))]
    if len(digits) % 2 == 0:
        ways.append(GAP.join(_pair(digits[i : i + 2]) for i in range(0, len(digits), 2)))
    if len(digits) == 4 and digits[0] != "0":
        ways.append(rf"{_ONES[int(digits[0])]}{GAP}thousand{GAP}{_below_thousand(digits[1:])}")
        rest = "0" + digits[2:]
        ways.append(rf"{_pair(digits[:2])}{GAP}hundred{_below_thousand(rest)}")
    return tuple(dict.fromkeys(ways))
