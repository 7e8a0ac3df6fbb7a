"""Statements of a dialogue by rules: what its speakers say of themselves, quoted.

It needs no model and repeats exactly; its statements are as long and as chatty as people are, and one may need the turn
before it to be understood. Results on them are not those of statements written by a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from vestige.datasets.units.dialogue import Dialogue
from vestige.datasets.units.extractor import Extracted
from vestige.datasets.units.model_extractor import MAX_STATEMENT_CHARS
from vestige.datasets.units.unit import normalised
from vestige.text import content_words, sentences, tokens

__all__ = ["RuleExtractor"]

_OF_ONESELF = frozenset(("i", "my", "mine", "we", "our"))
_FEWEST_WORDS = 3
"""Content words, without which a sentence tells nothing of anybody."""


class RuleExtractor:
    """Keeps declarative sentences in which a speaker says "I", "my" or "we", as ``NAME said: "…"``."""

    @property
    def name(self) -> str:
        """`extractive`, as everything here that works without a model."""
        return "extractive"

    async def statements(self, dialogue: Dialogue, known: Sequence[str] = ()) -> Extracted:
        """The speakers' sentences about themselves, each once and none of those known."""
        seen = {normalised(text) for text in known}
        kept: list[str] = []
        refused = 0
        for line in dialogue.lines:
            for sentence in sentences(line.text) if line.speaker else ():
                if sentence.endswith("?") or not _OF_ONESELF & set(tokens(sentence)):
                    continue
                text = f'{line.speaker} said: "{sentence}"'
                plain = normalised(text)
                if (
                    len(content_words(sentence)) < _FEWEST_WORDS
                    or len(text) > MAX_STATEMENT_CHARS
                    or plain in seen
                ):
                    refused += 1
                    continue
                seen.add(plain)
                kept.append(text)
        return Extracted(tuple(kept), refused=refused)

    async def close(self) -> None:
        """Nothing was opened."""
