"""One exchange shows the channels it shows, and no others."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from vestige.channels import Observation, exchange
from vestige.probes.matching import literal_forms
from vestige.records import Reply, RetrievedUnit, ToolCall, ToolResult

VALUE = "XQ7-VIOLET-3829"


def by_channel(reply: Reply) -> dict[str, Observation]:
    seen = exchange(reply)
    assert len({o.channel for o in seen}) == len(seen)
    return {o.channel: o for o in seen}


def test_a_bare_reply_shows_its_answer_alone() -> None:
    (seen,) = exchange(Reply(text="Hello."))
    assert seen == Observation(channel="answer", grade="served", texts=("Hello.",), items=1)


def test_every_channel_that_is_shown() -> None:
    seen = by_channel(
        Reply(
            text="a",
            retrieved=(RetrievedUnit(id="u", tier="raw", text="r", score=0.5),) * 2,
            tool_calls=(ToolCall(id="1", name="save_note", arguments='{"text": "n"}'),),
            tool_results=(ToolResult(call_id="1", name="save_note", content="Note saved."),),
            reasoning="think",
            model_requests=("system … user …",),
            memory_writes=("w",),
        )
    )
    assert {c: (o.grade, o.items, o.texts) for c, o in seen.items()} == {
        "answer": ("served", 1, ("a",)),
        "retrieval": ("served", 2, ("r", "r")),
        "tool_arguments": ("served", 1, ('save_note {"text": "n"}',)),
        "tool_results": ("served", 1, ("Note saved.",)),
        "reasoning": ("served", 1, ("think",)),
        "model_requests": ("sent_to_model", 1, ("system … user …",)),
        "memory_writes": ("live_row", 1, ("w",)),
    }


def test_an_empty_list_that_is_shown_is_one_look_and_none_is_no_look() -> None:
    seen = by_channel(Reply(text="", retrieved=(), memory_writes=(), model_requests=None))
    assert seen["retrieval"].items == seen["memory_writes"].items == 1
    assert seen["retrieval"].texts == ()
    assert "model_requests" not in seen and "reasoning" not in seen


def test_an_escape_in_json_hides_nothing() -> None:
    escaped = "".join(f"\\u{ord(c):04x}" for c in VALUE)
    for arguments in (f'{{"note": "{escaped}"}}', f'{{"a": [{{"{escaped}": 1}}]}}'):
        call = ToolCall(id="1", name="t", arguments=arguments)
        (text,) = by_channel(Reply(text="", tool_calls=(call,)))["tool_arguments"].texts
        assert literal_forms(VALUE, text, ()) == ("verbatim",)


@given(st.text(max_size=200) | st.recursive(st.text(), lambda inner: st.lists(inner)).map(json.dumps))
def test_any_arguments_are_shown_as_they_were_written(arguments: str) -> None:
    call = ToolCall(id="1", name="t", arguments=arguments)
    (text,) = by_channel(Reply(text="", tool_calls=(call,)))["tool_arguments"].texts
    assert text.startswith(f"t {arguments}")


def test_deep_and_huge_arguments_are_shown_too() -> None:
    for arguments in ('["\\n",' * 50_000, '{"a": "\\n"}' + " " * 2_000_000):
        call = ToolCall(id="1", name="t", arguments=arguments)
        (text,) = by_channel(Reply(text="", tool_calls=(call,)))["tool_arguments"].texts
        assert text == f"t {arguments}"
