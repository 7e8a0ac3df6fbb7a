"""A conversation as a data set writes it, before statements are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from vestige.datasets.reading import Node

__all__ = ["MAX_LINE_CHARS", "Dialogue", "Line", "line_text"]

MAX_LINE_CHARS = 20_000
"""Of one turn of a dialogue."""


@dataclass(frozen=True, slots=True)
class Line:
    """One turn."""

    speaker: str
    """Empty where the data does not say."""
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation of one user."""

    id: str
    lines: tuple[Line, ...]

    def transcript(self, max_chars: int) -> str:
        """The turns, one a line, whole turns up to `max_chars`."""
        kept: list[str] = []
        left = max_chars
        for line in map(str, self.lines):
            left -= len(line) + 1
            if left < 0:
                break
            kept.append(line)
        return "\n".join(kept)


def line_text(field: Node) -> str:
    """A turn's text, white space squeezed; empty where it says nothing."""
    text = " ".join(field.text().split())
    if len(text) > MAX_LINE_CHARS:
        field.fail(f"a turn of at most {MAX_LINE_CHARS:,} characters", got=f"one of {len(text):,}")
    return text
