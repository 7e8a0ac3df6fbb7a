"""Where to write small labels so that they cover neither points nor one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

__all__ = ["place"]

_DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
Point = tuple[float, float]
Box = tuple[float, float, float, float]


def place(
    points: Sequence[Point],
    texts: Sequence[str],
    size: float,
    frame: Sequence[float],
    paths: Sequence[Sequence[Point]] = (),
) -> list[tuple[float, float]]:
    """An offset for the middle of each label from its point: greedy, in order, and the same every time.

    Args:
        points: Where the marked points are, in points (1/72 inch).
        texts: A label each.
        size: The font size in points.
        frame: (left, bottom, right, top) that labels should stay within.
        paths: Lines that labels should not lie on.
    """
    taken: list[Box] = [(x - 4.5, y - 4.5, x + 4.5, y + 4.5) for x, y in points]
    taken += [(x - 1.5, y - 1.5, x + 1.5, y + 1.5) for path in paths for x, y in _along(path)]
    offsets: list[tuple[float, float]] = []
    for (x, y), text in zip(points, texts, strict=True):
        half_width, half_height = 0.29 * size * len(text), 0.6 * size
        best: tuple[float, float, float, Box] | None = None
        for reach in (1.0, 1.9, 3.6, 5.6):
            for across, up in _DIRECTIONS:
                dx = across * (half_width + 5 * reach)
                dy = up * (half_height + (2.5 if across else 6) * reach)
                box = (x + dx - half_width, y + dy - half_height, x + dx + half_width, y + dy + half_height)
                cost = sum(_overlap(box, other) for other in taken) + 4 * _outside(box, frame) + reach
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, dx, dy, box)
        if best is not None:
            offsets.append((best[1], best[2]))
            taken.append(best[3])
    return offsets


def _along(path: Sequence[Point]) -> Iterator[Point]:
    """Points on a line, about three apart."""
    for (x, y), (to_x, to_y) in pairwise(path):
        steps = max(1, round(max(abs(to_x - x), abs(to_y - y)) / 3))
        for step in range(steps + 1):
            yield x + (to_x - x) * step / steps, y + (to_y - y) * step / steps


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _outside(box: Box, frame: Sequence[float]) -> float:
    return (
        max(0.0, frame[0] - box[0])
        + max(0.0, frame[1] - box[1])
        + max(0.0, box[2] - frame[2])
        + max(0.0, box[3] - frame[3])
    )
