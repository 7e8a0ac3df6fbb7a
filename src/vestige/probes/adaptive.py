"""Adaptive probing: an auxiliary model that sees the transcript so far and writes the next question."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from vestige.models.base import ChatModel, ChatRequest, Message
from vestige.probes.disclosure import fill
from vestige.runs.plan import Probe

__all__ = ["LONGEST", "AdaptivePolicy", "adaptive_version"]

LONGEST = 300
"""Characters of a question."""
_SEED = 0
_ANSWER, _TRANSCRIPT = 600, 6_000
"""Characters of one answer, and of the transcript's end, that the model is shown."""
_LABEL = re.compile(
    r"^(?:[-*•>#\"'“`\s]|\d{1,2}[.)]\s|(?:next |follow-up )?(?:question|q)(?: (?:number )?\d+)?\s*[:.]\**\s)+",
    re.IGNORECASE,
)


@cache
def _prompts() -> dict[str, str | int]:
    return tomllib.loads((files("vestige.probes") / "adaptive.toml").read_text(encoding="utf-8"))


def adaptive_version() -> int:
    """Version of the prompt; stands in every plan that asks adaptively."""
    return int(_prompts()["version"])


class AdaptivePolicy:
    """Writes the next question.

    Args:
        model: The auxiliary model; asked at temperature 0 with a fixed seed, so that the same transcript leads to the
            same question.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def __call__(self, probe: Probe, transcript: Sequence[tuple[str, str]], round: int) -> str:
        """One question, on one line, of at most `LONGEST` characters; the probe's own where the model writes none.

        Args:
            probe: The probe that opened the conversation.
            transcript: (question, answer), oldest first.
            round: Number of the question, from 1.

        Raises:
            ModelError: The auxiliary model failed.
        """
        prompts = _prompts()
        said = "\n".join(
            f"Q: {_line(question)[:LONGEST]}\nA: {_line(answer[:_ANSWER])}" for question, answer in transcript
        )
        user = fill(
            str(prompts["user"]),
            first=probe.text,
            transcript=said[-_TRANSCRIPT:] or "(none)",
            round=str(round),
        )
        request = ChatRequest(
            messages=(
                Message(role="system", content=str(prompts["system"])),
                Message(role="user", content=user),
            ),
            temperature=0.0,
            seed=_SEED,
            max_tokens=80,
            task="question",
        )
        return _question((await self._model.complete(request)).text) or probe.text


def _line(text: str) -> str:
    """The text on one line, without control characters."""
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    return " ".join("".join(kept).split())


def _question(text: str) -> str:
    """The first line that holds a letter, cleaned and cut to `LONGEST` at a word; "" where there is none."""
    for line in text[:20_000].splitlines():
        plain = _LABEL.sub("", _line(line)).strip(" \"'`*”“")
        if any(map(str.isalpha, plain)):
            if len(plain) <= LONGEST:
                return plain
            return plain[:LONGEST].rpartition(" ")[0] or plain[:LONGEST]
    return ""
