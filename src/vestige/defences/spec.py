"""The defences by name, with what their strength means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

from pydantic import model_validator

from vestige.errors import ConfigError
from vestige.records import Record

__all__ = ["DEFENCES", "DefenceKind", "DefenceName", "DefenceSpec", "parse_defences"]

DefenceName = Literal[
    "prompt",
    "output_filter",
    "threshold",
    "random_ranking",
    "query_noise",
    "paraphrase",
    "generalise",
    "randomised_response",
    "identifying",
]


@dataclass(frozen=True)
class DefenceKind:
    """What is known of a defence before it is used."""

    says: str
    """What it does, in one line."""
    strength: str
    """What its strength is."""
    low: float
    """Lowest strength."""
    high: float
    """Highest strength."""
    sweep: tuple[float, ...]
    """What `vestige defend` tries, the weakest first."""
    whole: bool = False
    """Strengths are whole numbers."""
    knob: str | None = None
    """The agent's own knob that it sets; None: it works on any agent."""


DEFENCES: dict[DefenceName, DefenceKind] = {
    "prompt": DefenceKind(
        "a paragraph in the system prompt on how memories may be used",
        "paragraph: 1 broad personalisation only; 2 also one fixed answer to whoever asks",
        1,
        2,
        (1, 2),
        whole=True,
    ),
    "output_filter": DefenceKind(
        "blocks a reply that reproduces a stored text",
        "similarity from which it blocks: cosine of a sentence, or share of the text's content words",
        0,
        1,
        (0.9, 0.7, 0.5),
    ),
    "threshold": DefenceKind(
        "retrieves only what is near to the question", "least cosine", -1, 1, (0.3, 0.5, 0.7), knob="tau"
    ),
    "random_ranking": DefenceKind(
        "draws the retrieved units at random, nearer ones more often",
        "scale of the noise on the cosines",
        0,
        100,
        (0.05, 0.2, 1),
        knob="rank_noise",
    ),
    "query_noise": DefenceKind(
        "adds noise to the question's vector",
        "length of the noise beside a vector of length 1",
        0,
        100,
        (0.5, 1, 2),
        knob="query_noise",
    ),
    "paraphrase": DefenceKind(
        "stores other words for what was said", "share of the texts that are reworded", 0, 1, (0.5, 1)
    ),
    "generalise": DefenceKind(
        "stores texts with some details left vague",
        "share of a text's details, the most telling first",
        0,
        1,
        (0.34, 0.67, 1),
    ),
    "randomised_response": DefenceKind(
        "stores a text with probability e^ε / (1 + e^ε), and what was not said with the rest",
        "ε; the smaller the stronger",
        0,
        50,
        (4, 2, 1),
    ),
    "identifying": DefenceKind(
        "leaves out what identifies somebody: addresses, numbers, names (Presidio)",
        "least confidence of the finder; the smaller the stronger",
        0,
        1,
        (0.85, 0.4),
    ),
}


class DefenceSpec(Record):
    """A defence at one strength.

    Raises:
        ConfigError: The strength is none that the defence has.
    """

    name: DefenceName
    strength: float

    @model_validator(mode="after")
    def _check(self) -> DefenceSpec:
        kind = DEFENCES[self.name]
        inside = math.isfinite(self.strength) and kind.low <= self.strength <= kind.high
        if not inside or (kind.whole and self.strength != int(self.strength)):
            number = "a whole number" if kind.whole else "a number"
            raise ConfigError(
                f"{self.name}:{self.strength:g}: expected {number} from {kind.low:g} to {kind.high:g} ({kind.strength})"
            )
        return self

    def __str__(self) -> str:
        return f"{self.name}:{self.strength:g}"


def parse_defences(text: str) -> list[DefenceSpec]:
    """`prompt` as all strengths of its sweep, `prompt:2` as one.

    Raises:
        ConfigError: There is no such defence, or it has no such strength.
    """
    name, colon, strength = text.strip().partition(":")
    if name not in get_args(DefenceName):
        raise ConfigError(
            f"{text[:60]!r}: no such defence; known are {', '.join(DEFENCES)}, each with :STRENGTH"
        )
    known = cast("DefenceName", name)
    kind = DEFENCES[known]
    if not colon:
        return [DefenceSpec(name=known, strength=s) for s in kind.sweep]
    try:
        value = float(strength)
    except ValueError:
        raise ConfigError(
            f"{text[:60]!r}: {strength[:40]!r} is no number; expected {kind.low:g} to {kind.high:g} ({kind.strength})"
        ) from None
    return [DefenceSpec(name=known, strength=value)]
