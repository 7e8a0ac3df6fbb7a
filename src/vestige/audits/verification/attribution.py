"""What a removal request leaves behind by itself: its own words, kept as a stored item that was not there before.

A request names what is to be forgotten, so an agent that keeps the request keeps the value with it. Its exact words in
an item that was stored after the boundary are attributed to the request and are no residue of what was told. Anywhere
else they are a sighting: in an answer, a retrieved unit, a summary or a write the value is served or learnt anew,
whatever it came from. A receipt is the agent's own text and excuses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vestige.text import fold

__all__ = ["Echoes"]


@dataclass
class Echoes:
    """The words of one episode's requests that hold a target."""

    values: tuple[str, ...]
    """The targets of the episode's own arm."""
    texts: list[str] = field(default_factory=list[str])

    def add(self, text: str | None) -> None:
        """Take in what a request says, where it says more than the value."""
        if not text or text in self.texts:
            return
        rest = folded = fold(text)
        for value in self.values:
            rest = rest.replace(fold(value), "")
        if rest and rest != folded:
            self.texts = sorted({*self.texts, text}, key=lambda t: (-len(t), t))

    def strip(self, text: str) -> tuple[str, bool]:
        """The text of a new stored item without the request's words, and whether any were taken out."""
        out = text
        for echo in self.texts:
            out = out.replace(echo, " ")
        return out, out != text
