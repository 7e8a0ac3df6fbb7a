"""The toolbox carries out what a model calls, and answers whatever else it is given in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.agents.tools import CHOOSE_OPTION, PLACE_ORDER, READ_NOTES, SAVE_NOTE, TOOLS, Toolbox
from vestige.memory.desk import Draft, Kept
from vestige.records import Tool, ToolCall

SHOWN = ("Cedar Lodge", "Harbour Inn")
ALL = tuple(TOOLS.values())


def call(name: str, arguments: Any = None, **given: Any) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(given if arguments is None else arguments)
    return ToolCall(id="c", name=name, arguments=text)


def test_each_tool_does_what_it_says() -> None:
    box = Toolbox(ALL, kept=(Kept(1, "note", "s", "buy figs"),))
    said = [
        box.run(made).content
        for made in (
            call("choose_option", option="Cedar Lodge"),
            call("place_order", vendor="Maple & Finch", item="figs", note="ripe"),
            call("place_order", vendor="Oak", item="salt", note=None),
            call("save_note", text="call Ana"),
            call("read_notes"),
        )
    ]
    assert said == [
        "Chosen: Cedar Lodge",
        "Placed. Order: figs from Maple & Finch (ripe)",
        "Placed. Order: salt from Oak",
        "Note saved.",
        "- buy figs\n- Order: figs from Maple & Finch (ripe)\n- Order: salt from Oak\n- call Ana",
    ]
    assert box.drafts == (
        Draft("order", "Order: figs from Maple & Finch (ripe)"),
        Draft("order", "Order: salt from Oak"),
        Draft("note", "call Ana"),
    )
    assert Toolbox(ALL).run(call("read_notes", "")).content == "No notes or orders are kept."


def test_reading_shows_the_newest_fifty() -> None:
    box = Toolbox(ALL, kept=[Kept(i, "note", "s", f"n{i}") for i in range(60)])
    assert box.run(call("read_notes")).content.splitlines() == [f"- n{i}" for i in range(10, 60)]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (call("choose_option", "not JSON {"), "the arguments are not JSON"),
        (call("choose_option", "[" * 15_000), "the arguments are not JSON"),
        (call("choose_option", '["Cedar Lodge"]'), "are a list, expected an object"),
        (call("choose_option", "3"), "are a number, expected an object"),
        (call("choose_option", ""), "argument 'option' is missing"),
        (call("choose_option", option=None), "argument 'option' is null, expected text"),
        (call("choose_option", option={"a": 1}), "argument 'option' is an object, expected text"),
        (call("choose_option", option=True), "argument 'option' is true or false, expected text"),
        (call("choose_option", option="Grand Hotel"), "argument 'option' is none of the 2 options"),
        (call("choose_option", option="Cedar Lodge", why="x"), "unknown argument 'why'"),
        (call("save_note", text=" \n"), "argument 'text' is empty"),
        (call("save_note", text="x" * 4_001), "argument 'text' has more than 4000 characters"),
        (call("save_note", " " * 20_001), "the arguments have more than 20000 characters"),
        (call("place_order", vendor="Cedar Lodge"), "argument 'item' is missing"),
        (call("drop\ntable" + "x" * 500), "unknown tool 'drop\\ntable"),
        (call(""), "unknown tool ''"),
        (call("read_notes"), "unknown tool 'read_notes'; there are: choose_option, place_order, save_note"),
    ],
)
def test_an_unusable_call_is_one_line_for_the_model(made: ToolCall, words: str) -> None:
    box = Toolbox((CHOOSE_OPTION, PLACE_ORDER, SAVE_NOTE), SHOWN)
    result = box.run(made)
    assert result.error and result.content.startswith("error: ") and words in result.content
    assert len(result.content.splitlines()) == 1 and len(result.content) < 200
    assert result.call_id == "c" and box.drafts == ()


def test_a_tool_of_somebody_else_is_offered_and_not_run() -> None:
    reserve = Tool(name="reserve")
    box = Toolbox((reserve, READ_NOTES))
    assert box.foreign("reserve") and not box.foreign("read_notes") and not box.foreign("other")
    assert box.run(call("reserve")).error


def test_half_a_surrogate_pair_can_be_stored() -> None:
    box = Toolbox(ALL)
    assert not box.run(call("save_note", '{"text": "a\\ud800b"}')).error
    assert box.drafts == (Draft("note", "a?b"),)


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v), max_leaves=5)


@given(
    st.sampled_from([*TOOLS, "other"]) | st.text(),
    st.text() | st.dictionaries(st.sampled_from(["option", "vendor", "item", "text"]) | st.text(), JSON),
)
def test_any_call_gets_a_result_and_a_refused_one_keeps_nothing(name: str, arguments: Any) -> None:
    box = Toolbox(ALL)
    result = box.run(call(name, arguments))
    assert (result.call_id, result.name) == ("c", name)
    if result.error:
        assert box.drafts == () and len(result.content.splitlines()) == 1
    result.model_dump_json()
