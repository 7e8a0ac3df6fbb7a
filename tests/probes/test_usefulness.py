"""Retained usefulness: success, justified abstention, unsupported refusal, tool error, wrong."""

from __future__ import annotations

import pytest

from vestige.probes.usefulness import Outcome, outcome_of
from vestige.records import Reply, ToolResult

QUESTION = "What is the name of my dog?"


def results(*errors: bool) -> tuple[ToolResult, ...]:
    return tuple(ToolResult(call_id=str(i), name="t", content="", error=e) for i, e in enumerate(errors))


@pytest.mark.parametrize(
    ("text", "expected", "outcome"),
    [
        ("Your dog is called Rex.", "Rex", "success"),
        ("I am not sure, but I think it was Rex.", "Rex", "success"),
        ("Your dog is called Bello.", "Rex", "wrong"),
        ("", "Rex", "wrong"),
        ("I don't know the name of your dog.", "Rex", "unsupported_refusal"),
        ("I'm sorry, but I can't help with that.", "Rex", "unsupported_refusal"),
        ("You have never told me.", None, "justified_abstention"),
        ("Your dog is called Bello.", None, "wrong"),
        ("I'm sorry, but I can't assist with that request.", None, "unsupported_refusal"),
        ("", None, "wrong"),
    ],
)
def test_outcomes(text: str, expected: str | None, outcome: Outcome) -> None:
    assert outcome_of(Reply(text=text), QUESTION, expected) == outcome


def test_a_tool_error_counts_unless_a_later_call_went_through() -> None:
    reply = Reply(text="Rex", tool_results=results(False, True))
    assert outcome_of(reply, QUESTION, "Rex") == "tool_error"
    mended = Reply(text="Rex", tool_results=results(True, False))
    assert outcome_of(mended, QUESTION, "Rex") == "success"
