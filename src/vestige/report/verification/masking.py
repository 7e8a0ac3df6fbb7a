"""Hides removal targets in everything that a report shows, and marks the places where they stood.

A nonce and a preference are told apart: `[nonce]`, `[preference]`; so are planted values that are no targets,
`[decoy]`, `[replacement]`, which are hidden and not marked. Texts are neutralised as well, so that what this
module hands on needs nothing but escaping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from vestige.audits.verification.pairs import Pair
from vestige.canaries import GRAMMAR
from vestige.report.safe import neutralise
from vestige.text import encoded_forms, fold, mask

__all__ = ["LABELS", "Masker", "Planted"]

LABELS = ("[nonce]", "[nonce part]", "[other nonce]", "[preference]", "[preference part]", "[***]")
"""What stands where a target stood."""

_RESERVED = re.compile(
    r"\[(?:canary|nonce|preference|decoy|replacement)(?: part)?\]|\[other nonce\]|\[\*{3}\]"
)
_ANY_NONCE = re.compile(GRAMMAR.pattern, re.IGNORECASE | re.ASCII)
_LONG = 4000
_GRAM = 3


class Planted(NamedTuple):
    """The values that stand in the fixtures of a run."""

    nonces: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    decoys: tuple[str, ...] = ()
    """Planted beside the targets and never to be forgotten, but by the sham."""
    replacements: tuple[str, ...] = ()
    """Of a correction."""

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Planted:
        """Of all pairs."""
        nonces, preferences = set[str](), set[str]()
        decoys, replacements = set[str](), set[str]()
        for pair in pairs:
            for nonce in pair.nonces.values():
                nonces |= {*nonce.values.values(), *((nonce.second_source,) if nonce.second_source else ())}
                decoys.add(nonce.decoy)
                replacements |= set(nonce.replacement.values())
            for preference in pair.preferences.values():
                preferences.add(preference.favoured)
                decoys.add(preference.decoy_value)
                replacements |= {preference.replacement} if preference.replacement else set()
        targets = nonces | preferences
        found = (nonces, preferences, decoys - targets, replacements - targets)
        return cls(*(tuple(sorted(values)) for values in found))


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

    def hide(self, text: str, *, numbers: bool = True) -> str:
        """The text without them; `numbers` as of `text.mask`."""
        secrets = self.standing(text)
        if not secrets:
            return text
        hidden = mask(text, secrets, numbers=numbers).replace("[canary part]", f"[{self.name} part]")
        hidden = hidden.replace("[canary]", self.plain)
        # A made-up name may stand in the very label; then the label tells nothing either.
        if mask(hidden, secrets, numbers=numbers) == hidden:
            return hidden
        return mask(text, (*secrets, "canary part"), numbers=numbers)


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
        planted: Every value of the run.
        show: Leave them readable, and only neutralise.
    """

    def __init__(self, planted: Planted, *, show: bool = False) -> None:
        self.show = show
        self._planted = planted
        names = ("nonce", "preference", "decoy", "replacement")
        self._kinds = tuple(_Kind(name, values) for name, values in zip(names, planted, strict=True))
        self._seen: dict[tuple[bool, str], str] = {}

    @classmethod
    def of(cls, pairs: Iterable[Pair], *, show: bool = False) -> Masker:
        """For everything that the pairs plant."""
        return cls(Planted.of(pairs), show=show)

    @property
    def any(self) -> bool:
        """Whether there is any target to hide."""
        return bool(self._planted.nonces or self._planted.preferences)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """What is to be marked: the labels, or the targets themselves where they are shown."""
        return (*self._planted.nonces, *self._planted.preferences) if self.show else LABELS

    def __call__(self, text: str) -> str:
        """The text as it may be shown."""
        return self._shown(text, numbers=True)

    def ours(self, text: str) -> str:
        """A sentence or a cell of ours, as it may be shown: its counts and bounds are no parts of a value.

        Of hundreds of pairs' values some end in the digits of nearly any number.
        """
        return self._shown(text, numbers=False)

    def _shown(self, text: str, *, numbers: bool) -> str:
        key = (numbers, text)
        if key not in self._seen:
            result = neutralise(text if self.show else self._masked(text, numbers))
            if len(text) > _LONG:
                return result
            self._seen[key] = result
        return self._seen[key]

    def _masked(self, text: str, numbers: bool) -> str:
        # A reply that writes one of our labels must not look as if a target had stood there.
        text = _RESERVED.sub(lambda m: "{" + m[0][1:-1] + "}", text)
        for kind in self._kinds:
            text = kind.hide(text, numbers=numbers)
        return _ANY_NONCE.sub("[other nonce]", text)  # of another run, in an error or a leaked namespace
