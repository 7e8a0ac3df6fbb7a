"""Leaves out what identifies somebody, found by Presidio (Microsoft, MIT licence; extra `identifying`)."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from vestige.defences.rewriting import Rewriter
from vestige.errors import MissingDependency

__all__ = ["finder", "identifying_rewriter"]

NER_MODEL = "en_core_web_sm"
LONGEST = 100_000
"""Characters of a text that the finder reads."""


@cache
def _engine() -> tuple[Any, bool]:
    """Presidio's analyzer, and whether it has a model that finds names."""
    try:
        import spacy
        import tldextract
        from presidio_analyzer import AnalyzerEngine
        from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
    except ImportError:
        raise MissingDependency("presidio-analyzer", "the defence 'identifying'", "identifying") from None
    # Presidio's e-mail and URL finders would fetch a list of domains; the one that tldextract brings serves.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    named = spacy.util.is_package(NER_MODEL)

    class Loaded(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__(ner_model_configuration=NerModelConfiguration(labels_to_ignore=[]))
            self.nlp = {"en": spacy.load(NER_MODEL) if named else spacy.blank("en")}

    return AnalyzerEngine(nlp_engine=Loaded(), supported_languages=["en"]), named


def finder() -> str:
    """What finds, with its version and what it cannot find."""
    from importlib.metadata import version

    _, named = _engine()
    found = f"presidio-analyzer {version('presidio-analyzer')}"
    return f"{found}, names by {NER_MODEL}" if named else f"{found}, patterns alone: no names"


def identifying_rewriter(confidence: float) -> Rewriter:
    """Puts `<PHONE_NUMBER>` and the like for what is found with at least this confidence.

    Raises:
        MissingDependency: Presidio is not installed.
    """
    engine, _ = _engine()

    def without(text: str) -> str:
        found = engine.analyze(text=text[:LONGEST], language="en", score_threshold=confidence)
        # The surest first, then the longest; what overlaps one that was taken is part of it.
        taken: list[tuple[int, int, str]] = []
        for hit in sorted(found, key=lambda h: (-h.score, h.start - h.end, h.start)):
            if all(hit.end <= start or hit.start >= stop for start, stop, _ in taken):
                taken.append((hit.start, hit.end, hit.entity_type))
        for start, stop, kind in sorted(taken, reverse=True):
            text = f"{text[:start]}<{kind}>{text[stop:]}"
        return text

    async def rewrite(text: str, seed: int) -> str:
        return await asyncio.to_thread(without, text)

    return rewrite
