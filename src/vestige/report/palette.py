"""The colours of figures and page: one for each level, told apart by colour-blind readers (after Okabe and
Ito).

A figure is drawn once, in its light colours. In the page each of these colours becomes a CSS variable, so
that the same drawing is right in light, in dark and on paper.
"""

from __future__ import annotations

__all__ = [
    "DEEP",
    "GRID",
    "HEAT",
    "HEAT_STEPS",
    "HIGH",
    "INK",
    "LEVELS",
    "MUTED",
    "PAGE",
    "VARIABLES",
    "VOID",
    "heat",
    "level",
]

INK = "#22262a"
MUTED = "#676e75"
GRID = "#dfdcd4"
PAGE = "#fdfcf9"
VOID = "#ecebe6"
"""The ground of a cell without a value; hatched with `GRID`."""
LEVELS: tuple[str, ...] = ("#bf4d00", "#0068a8", "#007d5c", "#9a5488", "#7d6608")
"""S = 0, 1, 2, …: vermilion, blue, green, purple, ochre, darkened for text on a light ground."""
HIGH = "#b8420a"
"""The deep end of heat maps; the light end is `PAGE`."""
HEAT_STEPS = 50
DEEP = 0.8
"""From this share on, text on a heat cell is light."""

_ON_HEAT = "#fffefd"


def level(number: int) -> str:
    """The colour of a summarization level."""
    return LEVELS[number % len(LEVELS)]


def _mix(step: int) -> str:
    ratio = step / HEAT_STEPS
    ends = zip(bytes.fromhex(PAGE[1:]), bytes.fromhex(HIGH[1:]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * ratio):02x}" for low, high in ends)


HEAT: tuple[str, ...] = tuple(_mix(step) for step in range(HEAT_STEPS + 1))
"""From nothing to everything."""


def heat(share: float) -> tuple[str, str]:
    """The ground of a cell for a share in [0, 1], and the colour of the text on it."""
    step = round(min(max(share, 0.0), 1.0) * HEAT_STEPS)
    return HEAT[step], (_ON_HEAT if step > HEAT_STEPS * DEEP else INK)


VARIABLES: dict[str, str] = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    PAGE: "var(--card)",
    VOID: "var(--void)",
    _ON_HEAT: "var(--on-heat)",
    **{colour: f"var(--s{number})" for number, colour in enumerate(LEVELS)},
    **{
        colour: f"color-mix(in srgb, var(--high) {100 * step // HEAT_STEPS}%, var(--card))"
        for step, colour in enumerate(HEAT)
        if step
    },
}
"""Each colour of a figure as the CSS that takes its place in the page."""
