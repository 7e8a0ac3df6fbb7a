"""Hides removal targets in everything that a report shows, and marks the places where they stood.

A nonce and a preference are told apart: `[nonce]`, `[preference]`. Texts are neutralised as well, so that what this
module hands on needs nothing but escaping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from vestige.audits.verification.pairs import Pair
from vestige.canaries import GRAMMAR
from vestige.report.safe import neutralise
from vestige.text import encoded_forms, fold, mask

__all__ = ["LABELS", "Masker", "targets_of"]

LABELS = ("[nonce]", "[nonce part]", "[preference]", "[preference part]", "[***]")
"""What stands where a target stood."""

_RESERVED = re.compile(r"\[(canary|nonce|preference)( part)?\]|\[(\*{3})\]")
_ANY_NONCE = re.compile(GRAMMAR.pattern, re.IGNORECASE | re.ASCII)
_LONG = 4000
_GRAM = 3


def targets_of(pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nonces and the preferences of a pair that a report must not show."""
    nonce, preference = pair.nonce, pair.preference
    nonces = (
        (*nonce.values.values(), *((nonce.second_source,) if nonce.second_source else ())) if nonce else ()
    )
    return tuple(nonces), (preference.favoured,) if preference else ()


class _Kind:
    """Secrets of one kind, found quickly: few of many thousands stand in any one text."""

    def __init__(self, name: str, secrets: Iterable[str]) -> None:
        self.name = name
        self.plain = f"[{name}]"
        self._by_gram: dict[str, list[tuple[str, str]]] = {}
        for secret in sorted({s for s in secrets if s}):
            for form in _forms(secret):
                self._by_gram.setdefault(form[:_GRAM], []).append((form, secret))

    def standing(self, text: str) -> tuple[str, ...]:
        """Those secrets of which the text holds anything."""
        if not self._by_gram:
            return ()
        found: set[str] = set()
        for searched in (fold(text), text):
            grams = {searched[i : i + _GRAM] for i in range(len(searched))}
            for gram in self._by_gram.keys() & grams:
                found |= {s for form, s in self._by_gram[gram] if s not in found and form in searched}
        return tuple(sorted(found))

    def hide(self, text: str) -> str:
        """The text without them."""
        secrets = self.standing(text)
        if not secrets:
            return text
        hidden = mask(text, secrets).replace("[canary part]", f"[{self.name} part]")
        hidden = hidden.replace("[canary]", self.plain)
        # A made-up name may stand in the very label; then the label tells nothing either.
        return hidden if mask(hidden, secrets) == hidden else mask(text, (*secrets, "canary part"))


def _forms(secret: str) -> Iterator[str]:
    """Everything of a secret that `text.mask` hides, and so at least three characters of each."""
    whole = fold(secret)
    parts = [p for p in (fold(part) for part in re.split(r"[\W_]+", secret)) if p]
    encoded = [form for forms in encoded_forms(secret).values() for form in forms]
    pairs = [a + b for a, b in pairwise(parts)]
    some = [p for p in parts if len(p) > 2 and any(c.isdecimal() for c in p)] if len(parts) > 1 else []
    yield from {f for f in (whole or secret, *encoded, *pairs, *some) if f}


class Masker:
    """Masks and neutralises texts; remembers repeated ones.

    Args:
        nonces: Every nonce of the run.
        preferences: Every favoured option of it.
        show: Leave them readable, and only neutralise.
    """

    def __init__(self, nonces: Iterable[str], preferences: Iterable[str], *, show: bool = False) -> None:
        self.show = show
        self._nonces, self._preferences = sorted(set(nonces)), sorted(set(preferences))
        self._kinds = (_Kind("nonce", self._nonces), _Kind("preference", self._preferences))
        self._seen: dict[str, str] = {}

    @classmethod
    def of(cls, pairs: Iterable[Pair], *, show: bool = False) -> Masker:
        """For all targets of the pairs."""
        found = [targets_of(pair) for pair in pairs]
        return cls((n for ns, _ in found for n in ns), (p for _, ps in found for p in ps), show=show)

    @property
    def any(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self._nonces or self._preferences)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """What is to be marked: the labels, or the targets themselves where they are shown."""
        return (*self._nonces, *self._preferences) if self.show else LABELS

    def __call__(self, text: str) -> str:
        """The text as it may be shown."""
        if text not in self._seen:
            result = neutralise(text if self.show else self._masked(text))
            if len(text) > _LONG:
                return result
            self._seen[text] = result
        return self._seen[text]

    def _masked(self, text: str) -> str:
        # A reply that writes one of our labels must not look as if a target had stood there.
        text = _RESERVED.sub(lambda m: "{" + m[0][1:-1] + "}", text)
        for kind in self._kinds:
            text = kind.hide(text)
        return _ANY_NONCE.sub("[nonce]", text)  # another run's, in an error message or a leaked namespace
