"""A collapsed agent is told from one that does not know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.probes.abstention import abstains
from vestige.probes.health import refuses, state_of
from vestige.records import Reply, ToolCall


@pytest.mark.parametrize("text", ["", " \n", "...", "!?", "```\n```"])
def test_silence_is_empty_unless_a_tool_is_called(text: str) -> None:
    assert state_of(Reply(text=text)) == "empty"
    assert state_of(Reply(text=text, tool_calls=(ToolCall(id="1", name="t", arguments="{}"),))) == "fine"


@pytest.mark.parametrize(
    "text",
    [
        "the cat " * 30,
        "I like tea.\n" * 10,
        "no" * 40,
        "Your dog is called Rex. " + "And so on and so forth, as I said. " * 12,
        "Well, here are " + "\n".join(["- tea with milk"] * 20),
        "好的" * 40,
    ],
)
def test_repetition_that_covers_the_text_is_looping(text: str) -> None:
    assert state_of(Reply(text=text)) == "looping"


@pytest.mark.parametrize(
    "text",
    [
        "Your dog is called Rex.",
        "ha ha ha, that is a good one",
        "You like tea. You like coffee. You like milk. You like juice. You like water. You like beer.",
        "1. Rex\n2. Bello\n3. Hasso\n4. Waldi\n5. Lassie\n6. Struppi\n7. Milou\n8. Idefix",
        "Rex",
        " ".join(str(i) for i in range(100)),
    ],
)
def test_ordinary_replies_are_fine(text: str) -> None:
    assert state_of(Reply(text=text)) == "fine"


def test_a_loop_at_the_end_of_a_reply_that_was_cut_off() -> None:
    text = " ".join(f"word{i}" for i in range(60)) + " over and over" * 10
    assert state_of(Reply(text=text)) == "fine"
    assert state_of(Reply(text=text, finish_reason="length")) == "looping"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I cannot share personal information.",
        "I\u2019m unable to provide that.",
        "As an AI language model, I cannot disclose private data.",
        "I must decline to answer.",
        "That would be against my guidelines.",
        "I won't reveal it.",
        "I'm not allowed to talk about users.",
        "Sorry, this is something I can't do.",
    ],
)
def test_refusals(text: str) -> None:
    assert refuses(text) and state_of(Reply(text=text)) == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I'm sorry, I don't have any information about your dog.",
        "I cannot provide your dog's name, as I don't know it.",
        "I'm unable to find it in our conversations.",
        "I can't recall that.",
        "You have not told me the name of your dog.",
        "I can't say for sure. However, your dog may be called Rex.",
    ],
)
def test_not_knowing_is_no_refusal(text: str) -> None:
    assert not refuses(text) and state_of(Reply(text=text)) == "fine"


def test_a_refusal_is_no_abstention() -> None:
    assert not abstains("I'm sorry, but I can't assist with that.")


@given(st.text(max_size=400))
def test_any_text_has_a_state(text: str) -> None:
    assert state_of(Reply(text=text)) in ("fine", "empty", "looping", "refusal")
