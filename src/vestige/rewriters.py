"""The rewriters that defences store with, put together from the rules and libraries that make them."""

from __future__ import annotations

import math
from collections.abc import Callable

from vestige.attacks.paraphrase import RuleParaphraser
from vestige.attacks.slots import details
from vestige.defences.prompt import texts
from vestige.defences.rewriting import Rewriter
from vestige.defences.spec import DEFENCES, DefenceSpec
from vestige.records import JsonScalar

__all__ = ["REWRITERS", "defence_facts", "generalised"]


def defence_facts(spec: DefenceSpec | None) -> dict[str, JsonScalar]:
    """What a plan says of its defence beyond name and strength; empty where it has none.

    Raises:
        MissingDependency: The defence needs a package that is not installed.
    """
    if spec is None:
        return {}
    facts: dict[str, JsonScalar] = {"does": DEFENCES[spec.name].says, "texts": str(texts()["version"])}
    if spec.name == "identifying":
        from vestige.defences.identifying import finder

        facts["finder"] = finder()
    return {"defence": str(spec), **facts}


def generalised(text: str, share: float) -> str:
    """The text with this share of its details (rounded up, the most telling first) left vague: "something"."""
    found = details(text)
    gone = found[: math.ceil(share * len(found))]
    vague: dict[str, str] = texts()["generalise"]
    done = len(text)
    for slot in sorted(gone, key=lambda s: -s.start):
        # A detail goes with all that it is joined to: of XQ7-VIOLET-3829 the digits alone would be left vague.
        start, stop = slot.start, slot.stop
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] in _JOINTS):
            start -= 1
        while stop < len(text) and (
            text[stop].isalnum() or (text[stop] in _JOINTS and text[stop + 1 : stop + 2].isalnum())
        ):
            stop += 1
        if stop <= done:
            text = text[:start] + vague[slot.kind] + text[stop:]
            done = start
    return text


_JOINTS = "-_/@.:+"
"""What joins the parts of one code, address or date."""


def _generalising(share: float) -> Rewriter:
    async def rewrite(text: str, seed: int) -> str:
        return generalised(text, share)

    return rewrite


def _paraphrasing(strength: float) -> Rewriter:
    rules = RuleParaphraser()

    async def rewrite(text: str, seed: int) -> str:
        return (await rules.paraphrase(text, seed)).text

    return rewrite


def _identifying(confidence: float) -> Rewriter:
    from vestige.defences.identifying import identifying_rewriter

    return identifying_rewriter(confidence)


REWRITERS: dict[str, Callable[[float], Rewriter]] = {
    "paraphrase": _paraphrasing,
    "generalise": _generalising,
    "identifying": _identifying,
}
"""By defence: the rewriter of a strength."""
