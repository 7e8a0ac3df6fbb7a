"""Tool calls as constrained text: which parameter takes the option, the schema, and reading a call back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.models.toolcalls import LONGEST, call_schema, narrowed, option_takers, parse_call
from vestige.records import Tool

TEXT = {"type": "string"}
SHOWN = ("red", "blue")


def tool(name: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> Tool:
    return Tool(
        name=name, parameters={"type": "object", "properties": properties, "required": list(required)}
    )


PICK = tool("pick", {"option": TEXT}, ("option",))
NOTE = tool("note", {"text": TEXT}, ("text",))
ORDER = tool("order", {"vendor": TEXT, "item": TEXT}, ("vendor", "item"))
ENUM = tool(
    "paint", {"colour": {"type": "string", "enum": ["blue", "red"]}, "wall": TEXT}, ("colour", "wall")
)
LOOK = tool("look", {})


@pytest.mark.parametrize(
    ("tools", "takers"),
    [
        ([NOTE, PICK], {"pick": "option"}),
        ([PICK, ORDER], {"pick": "option", "order": "vendor"}),
        ([PICK, ENUM], {"paint": "colour"}),
        ([LOOK, NOTE], {"note": "text"}),
        ([LOOK], {}),
        ([Tool(name="odd", parameters={"properties": [1], "required": {}})], {}),
    ],
)
def test_the_tool_made_for_the_choice_takes_it(tools: list[Tool], takers: dict[str, str]) -> None:
    assert option_takers(tools, SHOWN) == takers


@pytest.mark.parametrize("shown", [SHOWN, SHOWN[::-1]])
def test_options_are_the_only_values_in_the_order_shown(shown: tuple[str, ...]) -> None:
    look, note, paint = narrowed([LOOK, NOTE, ENUM], shown)
    assert (look, note) == (LOOK, NOTE)
    assert paint.parameters["properties"]["colour"]["enum"] == list(shown)
    (order,) = narrowed([ORDER], shown)
    assert order.parameters["properties"] == {"vendor": {"type": "string", "enum": list(shown)}, "item": TEXT}
    assert narrowed([ENUM], ()) == (ENUM,)


def test_the_schema_is_one_call_or_any_of_several() -> None:
    (pick,) = narrowed([PICK], SHOWN)
    alone = call_schema([pick], answer=False)
    assert alone["properties"]["tool"] == {"const": "pick"} and alone["additionalProperties"] is False
    assert alone["properties"]["arguments"]["properties"]["option"] == {"type": "string", "enum": list(SHOWN)}
    several = call_schema([pick, NOTE], answer=True)["anyOf"]
    assert several[0] == alone and several[1]["properties"]["tool"] == {"const": "note"}
    assert several[2]["properties"] == {"answer": {"type": "string", "maxLength": LONGEST}}
    assert call_schema([], answer=True) == several[2]


CALL = '{"tool": "note", "arguments": {"text": "Gänge \\n"}}'


@pytest.mark.parametrize("text", [CALL, f"```json\n{CALL}\n```", f"\n ```\n{CALL}```\n"])
def test_a_call_is_read_also_from_a_code_fence(text: str) -> None:
    said, call = parse_call(text, [NOTE])
    assert said == "" and call is not None and call.name == "note"
    assert json.loads(call.arguments) == {"text": "Gänge \n"} and "Gänge" in call.arguments


@pytest.mark.parametrize(
    "text",
    [
        "I would note that.",
        f"Sure: {CALL}",
        CALL[:-1],
        '{"tool": "other", "arguments": {}}',
        '{"tool": "note", "arguments": "XQ7"}',
        '{"tool": ["note"], "arguments": {}}',
        '{"tool": "note", "arguments": {"text": "XQ7", "text": "b"}}',
        '{"answer": 3}',
        '{"answer": "a", "more": "XQ7"}',
        "[]",
        "[" * 100_000,
        "1" * 5_000,
    ],
)
def test_what_is_no_call_stays_the_text(text: str) -> None:
    assert parse_call(text, [NOTE]) == (text, None)


def test_what_stands_beside_a_call_is_not_lost() -> None:
    text = '{"tool": "note", "arguments": {}, "because": "XQ7-VIOLET-3829"}'
    said, call = parse_call(text, [NOTE])
    assert said == text and call is not None


def test_an_answer_is_what_is_said() -> None:
    assert parse_call('{"answer": "It is 7.\\ud800"}', [NOTE]) == ("It is 7.?", None)


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_any_text_is_read_and_any_arguments_come_back(text: str, arguments: dict[str, Any]) -> None:
    said, call = parse_call(text, [NOTE])
    assert call is None and (said == text or json.loads(text) == {"answer": said})
    said, call = parse_call(json.dumps({"tool": "note", "arguments": arguments}), [NOTE])
    assert call is not None and json.loads(call.arguments) == arguments and said == ""
