"""What a forensic scan looks for and what it found, by label: it records no text.

A label is `TARGET:SPELLING`, or `TARGET:SPELLING#N` where a spelling has several texts. Bytes are compared as
they are, so that a normalisation is searched for in the spellings that can be listed: not white space or separators in
any place, other Unicode forms, spelled digits, or any mix of cases.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from vestige.audits.verification.looking import Look
from vestige.audits.verification.settings import (
    CONDITIONS,
    TARGETS,
    Condition,
    Normalisation,
    TargetName,
    VerificationSettings,
    kind_of,
)
from vestige.text import encoded_forms

__all__ = ["foreign_label", "foreign_nonces", "needle_texts", "needles_found"]

_FORMS: dict[str, Normalisation | None] = {
    "verbatim": None,
    "lower": "case",
    "upper": "case",
    "whitespace": "whitespace",
    "separators": "separators",
    "base64": "base64",
    "hex": "hex",
    "reversed": "reversed",
}
"""The normalisation that must have been declared for a spelling to count."""
_SPACES = ("", "\n")
_SEPARATORS = ("", " ", "-", "_")


def needle_texts(target: TargetName, value: str, declared: Collection[Normalisation]) -> dict[str, str]:
    """The texts by label in which a target is searched for, in the declared normalisations; none twice."""
    spellings: dict[str, list[str]] = {}
    taken: set[str] = set()
    for name, text in _spellings(value, declared):
        if text and text not in taken:
            taken.add(text)
            spellings.setdefault(name, []).append(text)
    return {
        f"{target}:{name}" + (f"#{i}" if len(texts) > 1 else ""): text
        for name, texts in spellings.items()
        for i, text in enumerate(texts, 1)
    }


def _spellings(value: str, declared: Collection[Normalisation]) -> Iterator[tuple[str, str]]:
    yield "verbatim", value
    if "case" in declared:
        yield "lower", value.lower()
        yield "upper", value.upper()
    if "whitespace" in declared and len(words := value.split()) > 1:
        yield from _cased("whitespace", (s.join(words) for s in _SPACES), declared)
    if "separators" in declared and len(parts := re.findall(r"[^\W_]+", value)) > 1:
        yield from _cased("separators", (s.join(parts) for s in _SEPARATORS), declared)
    forms = encoded_forms(value)
    if "base64" in declared:
        yield from (("base64", text) for text in forms.get("base64", ()))
    if "hex" in declared:
        yield from (("hex", text) for digits in forms.get("hex", ()) for text in (digits, digits.upper()))
    if "reversed" in declared and (folded := forms.get("reversed")):
        for text in (value[::-1], *folded):
            yield from (("reversed", spelled) for spelled in (text, text.lower(), text.upper()))


def _cased(name: str, texts: Iterable[str], declared: Collection[Normalisation]) -> Iterator[tuple[str, str]]:
    for text in texts:
        yield name, text
        if "case" in declared:
            yield name, text.lower()


def needles_found(
    found: Mapping[str, int], targets: Iterable[TargetName], settings: VerificationSettings
) -> list[Look]:
    """The arm's own targets among what was found by label, in the nearest spelling that counts.

    Occurrences of the request's own words (`request:TARGET`) are taken off those that stand as told: a request
    holds the value so and in no other spelling.
    """
    counts: dict[str, int] = {}
    for label, count in found.items():
        spelling = label.partition("#")[0]
        counts[spelling] = counts.get(spelling, 0) + count
    out: list[Look] = []
    for target in sorted(targets):
        if kind_of(target) == "preference" and settings.hints_kept:
            continue  # what is kept names the option too
        for form, needed in _FORMS.items():
            if needed is not None and needed not in settings.observer.normalisations:
                continue
            count = counts.get(f"{target}:{form}", 0)
            if form == "verbatim":
                count -= counts.get(f"request:{target}", 0)
            if count > 0:
                out.append(Look(target, needed or "verbatim", "confirmed", count))
                break
    return out


def foreign_label(target: TargetName, condition: Condition) -> str:
    """Of another arm's nonce: `foreign:CONDITION`, with the target's name behind it where it is a further one."""
    return f"foreign:{condition}" + ("" if target == "nonce" else f":{target}")


def foreign_nonces(
    found: Mapping[str, int], own: Collection[TargetName]
) -> list[tuple[TargetName, Condition]]:
    """Other arms' nonces that were found: which, and the condition whose it is.

    An arm that never saw a nonce looks for that of exposed_removed under the label of its own.

    Args:
        found: Occurrences by label.
        own: The arm's own targets.
    """
    seen = {label for label, count in found.items() if count > 0}
    out: list[tuple[TargetName, Condition]] = []
    for target in TARGETS:
        if kind_of(target) != "nonce":
            continue
        others: set[Condition] = {c for c in CONDITIONS if foreign_label(target, c) in seen}
        if target not in own and any(label.startswith(f"{target}:") for label in seen):
            others.add("exposed_removed")
        out.extend((target, condition) for condition in sorted(others))
    return out
