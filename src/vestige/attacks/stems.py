"""Words without their endings, so that a word is known again in another form of it. Rules; English. Ours."""

from __future__ import annotations

from functools import cache, lru_cache

from vestige.attacks.question import texts
from vestige.text import content_words

__all__ = ["irregular_forms", "listed", "stem", "stems"]

_ENDINGS = ("ingly", "edly", "ness", "ment", "ful", "ing", "ion", "ied", "est", "ed", "er", "ly")
_SHORTEST = 3


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of `texts.toml`."""
    return frozenset(str(texts()["words"][name]).split())


@cache
def irregular_forms() -> frozenset[str]:
    """Forms of verbs and nouns that no ending tells: "went", "children"."""
    rows: list[str] = texts()["words"]["irregular"]
    return frozenset(form for row in rows for form in row.split()[1:])


@cache
def _irregular() -> dict[str, str]:
    rows: list[str] = texts()["words"]["irregular"]
    return {form: row.split()[0] for row in rows for form in row.split()}


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word, as `content_words` gives it, without its endings; the same for most forms of a word."""
    base = _irregular().get(word)
    if base is not None:
        return _cut(base)
    singular = _irregular().get(word.removesuffix("s"))
    return _cut(singular if singular is not None and word.endswith("s") else word)


def _cut(word: str) -> str:
    """The s of a plural goes first, then endings one after the other: "paintings" is "paint"."""
    if word.endswith("ies"):
        word = _shorter(word, 3, "y")
    elif word.endswith(("sses", "xes", "zzes", "ches", "shes")):
        word = _shorter(word, 2)
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = _shorter(word, 1)
    while ending := next((e for e in _ENDINGS if word.endswith(e)), ""):
        shorter = _shorter(word, len(ending), "y" if ending == "ied" else "")
        if shorter == word:
            break
        word = shorter
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    if len(word) > _SHORTEST and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > _SHORTEST and word.endswith("y") else word


def _shorter(word: str, by: int, instead: str = "") -> str:
    rest = word[:-by] + instead
    return rest if len(rest) >= _SHORTEST and any(c in "aeiouy" for c in rest) else word


@lru_cache(maxsize=1_024)
def stems(text: str) -> frozenset[str]:
    """Of the content words of a text."""
    return frozenset(stem(word) for word in content_words(text))
