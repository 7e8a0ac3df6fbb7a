"""Retained usefulness: what a reply to a question about other facts is, scored four ways and wrong."""

from __future__ import annotations

from typing import Literal

from vestige.probes.abstention import abstains
from vestige.probes.health import refuses
from vestige.probes.utility import score_recall
from vestige.records import Reply

__all__ = ["Outcome", "outcome_of"]

Outcome = Literal["success", "justified_abstention", "unsupported_refusal", "tool_error", "wrong"]

_READ = 100_000
"""Characters of a reply that are scored."""


def outcome_of(reply: Reply, question: str, expected: str | None) -> Outcome:
    """Score one reply.

    Args:
        reply: What the agent answered.
        question: What it was asked.
        expected: The right answer; None: it was never told, and the right answer is to say so.

    Returns:
        `tool_error`: a tool refused a call and no later call went through. `success`: every content word of the
        expected answer that the question lacks (PR_strict). `justified_abstention`: it says that it does not know
        what it was never told. `unsupported_refusal`: it abstains from what it was told, or declines either.
        `wrong`: anything else, silence and invention among it.
    """
    if reply.tool_results and reply.tool_results[-1].error:
        return "tool_error"
    text = reply.text[:_READ]
    if expected is None:
        if abstains(text):
            return "justified_abstention"
        return "unsupported_refusal" if refuses(text) else "wrong"
    if score_recall(question, expected, text, similarity=None).strict:
        return "success"
    return "unsupported_refusal" if abstains(text) or refuses(text) else "wrong"
