from __future__ import annotations

__all__ = ["html"]


def html(folder, result, scores, heading):
    return "x"
