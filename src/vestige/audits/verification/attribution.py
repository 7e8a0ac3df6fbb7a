"""What a removal request leaves behind by itself: its own words, kept as a chat turn, a log line, a receipt.

A request names what is to be forgotten, so an agent that keeps the request keeps the value with it. That is attributed
to the request and is no sighting; whatever is made of it afterwards, such as an answer, is one. Receipts are untrusted:
their text is taken for an echo only where it says more than the value and nothing that was told before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from vestige.agents.protocol import Channel
from vestige.records import Session
from vestige.runs.folder import RunFolder
from vestige.runs.steps import Converse, Episode
from vestige.text import fold

__all__ = ["Echoes", "told_by"]

_MORE = 8
"""Letters and digits that an echo must hold besides the value."""
_REMOVING = re.compile(r"\b(?:forg[eo]t|delet|remov|eras|redact|purg|unlearn|withdraw)", re.IGNORECASE)


@dataclass
class Echoes:
    """Texts of one episode's requests and receipts that hold a target."""

    values: tuple[str, ...]
    """The targets of the episode's own arm."""
    told: Callable[[], str]
    """Everything that the episode's user told, folded; read only when an echo is to be checked."""
    texts: list[str] = field(default_factory=list[str])

    def add(self, text: str | None) -> None:
        """Take in what a request or a receipt says."""
        if not text or text in self.texts:
            return
        folded = fold(text)
        rest = folded
        for value in self.values:
            rest = rest.replace(fold(value), "")
        if rest == folded or len(rest) < _MORE or folded in self.told():
            return
        self.texts = sorted({*self.texts, text}, key=lambda t: (-len(t), t))

    def strip(self, channel: Channel, text: str) -> tuple[str, bool]:
        """The text without what the request left there, and whether anything was taken out.

        In a log, a line that speaks of the removal is the request's, in whatever words the agent logs it.
        """
        out = text
        for echo in self.texts:
            out = out.replace(echo, " ")
        if channel == "logs" and self.texts:
            kept = [line for line in out.splitlines() if not self._logged(line)]
            out = "\n".join(kept)
        return (out, True) if out != text else (text, False)

    def _logged(self, line: str) -> bool:
        return _REMOVING.search(line) is not None and any(fold(v) in fold(line) for v in self.values)


def told_by(folder: RunFolder, episode: Episode) -> Callable[[], str]:
    """Everything that the episode's conversations say, folded; read when it is first asked for."""

    @cache
    def read() -> str:
        texts: list[str] = []
        for step in episode.steps:
            if isinstance(step, Converse):
                session = Session.model_validate_json(folder.get_blob(step.session))
                texts += [turn.content for turn in session.turns]
        return fold("\n".join(texts))

    return read
