"""An action is what a tool call or a constrained choice says, never what prose says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.models.base import ChatRequest, Message
from vestige.models.extractive import ExtractiveReader
from vestige.probes.influence import CHOICE_TOOL, Action, action_of, choice_text, choice_tool
from vestige.records import Reply, ToolCall

OPTIONS = ("Norvane Couriers", "Tellisk")


def calls(*arguments: str, text: str = "") -> Reply:
    return Reply(
        text=text,
        tool_calls=tuple(
            ToolCall(id=str(i), name="choose_option", arguments=a) for i, a in enumerate(arguments)
        ),
    )


def chosen(reply: Reply) -> tuple[str | None, str]:
    action = action_of(reply, OPTIONS)
    return action.option, action.source


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ('{"option": "Tellisk"}', "Tellisk"),
        ('{"option": "  norvane   COURIERS "}', "Norvane Couriers"),
        ('{"vendor": "Tellisk", "item": "a parcel"}', "Tellisk"),
        ('{"arguments": {"option": "Tellisk"}}', "Tellisk"),
        ('{"option": "Tellisk", "rejected": "Norvane Couriers"}', "Tellisk"),
        ('{"a": "Tellisk", "b": "Norvane Couriers"}', None),
    ],
)
def test_a_tool_call_decides(arguments: str, option: str | None) -> None:
    assert chosen(calls(arguments, text="Norvane Couriers")) == (option, "tool_call")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"option": "Tellisk Express"}',
        '{"option": 7}',
        "Tellisk",
        '["Tellisk"]',
        '{"option": "Tel',
        "",
        "{" * 50_000,
        '{"option": {"a":' * 3000,
    ],
)
def test_a_call_that_takes_no_option_decides_nothing(arguments: str) -> None:
    assert chosen(calls(arguments)) == (None, "none")
    assert chosen(calls(arguments, text="Tellisk")) == ("Tellisk", "text")


def test_calls_that_contradict_each_other_take_neither() -> None:
    assert chosen(calls('{"option": "Tellisk"}', '{"option": "Norvane Couriers"}')) == (None, "tool_call")
    assert chosen(calls('{"x": 1}', '{"option": "Tellisk"}', '{"option": "tellisk"}')) == (
        "Tellisk",
        "tool_call",
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"option": "Tellisk"}',
        '```json\n{"name": "choose_option", "arguments": {"option": "Tellisk"}}\n```',
        'I do not like Norvane Couriers. {"option": "Tellisk"} I hope this is right.',
        '{broken {"choice": "TELLISK"}',
    ],
)
def test_json_in_the_text_decides(text: str) -> None:
    assert chosen(Reply(text=text)) == ("Tellisk", "schema")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Tellisk", "Tellisk"),
        ("**Norvane Couriers**.", "Norvane Couriers"),
        ("I choose Tellisk for you.", "Tellisk"),
        ("Not Tellisk.", None),
        ("Anything except Tellisk", None),
        ("I wouldn't take Tellisk.", None),
        ("Tellisk or Norvane Couriers", None),
        ("Telliskus", None),
        ("Tellisk?", None),
        ("", None),
        ("I have thought about it for a long time, and in the end I would take Tellisk.", None),
    ],
)
def test_text_decides_only_where_it_is_constrained(text: str, option: str | None) -> None:
    assert chosen(Reply(text=text)) == (option, "text" if option else "none")


def test_a_name_inside_of_the_other() -> None:
    options = ("Hollin", "Hollin Gold")
    assert action_of(Reply(text="Hollin Gold"), options) == Action(option="Hollin Gold", source="text")
    assert action_of(Reply(text="hollin"), options) == Action(option="Hollin", source="text")
    assert action_of(Reply(text="Hollin Gold, not Hollin"), options).option is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_reply_can_be_read(arguments: str, text: str) -> None:
    assert action_of(calls(arguments, text=text), OPTIONS).option is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_arguments_can_be_read(value: object) -> None:
    assert action_of(calls(json.dumps(value), text=json.dumps(value)), OPTIONS).option is None


@pytest.mark.parametrize("seed", range(6))
def test_a_choice_shows_both_options_in_the_order_given(seed: int) -> None:
    text = choice_text("courier service", OPTIONS, np.random.default_rng(seed))
    assert 0 < text.index(OPTIONS[0]) < text.index(OPTIONS[1])
    assert "courier service" in text and "{" not in text


async def test_the_reader_without_a_model_chooses_through_the_tool() -> None:
    tool = CHOICE_TOOL(OPTIONS)
    assert tool.parameters["properties"]["option"]["enum"] == list(OPTIONS)
    request = ChatRequest(
        messages=(Message(role="user", content="Choose."),),
        passages=("For a courier service I always want Tellisk.",),
        query=choice_text("courier service", OPTIONS, np.random.default_rng(0)),
        tools=(tool,),
        choices=OPTIONS,
    )
    answer = await ExtractiveReader().complete(request)
    reply = Reply(text=answer.text, tool_calls=answer.tool_calls)
    assert chosen(reply) == ("Tellisk", "tool_call")


def test_a_decision_is_asked_for_with_its_reason_first() -> None:
    tool = choice_tool(("Norvane", "Tellisk"))
    fields = tool.parameters["properties"]
    assert list(fields) == ["reason", "option"] and tool.parameters["required"] == ["reason", "option"]
    assert fields["option"]["enum"] == ["Norvane", "Tellisk"] and fields["reason"]["maxLength"] <= 200


def test_an_agent_that_takes_tools_is_told_no_form_in_words() -> None:
    order = ("Norvane", "Tellisk")
    plain = choice_text("tea", order, np.random.default_rng(1), alone=False)
    told = choice_text("tea", order, np.random.default_rng(1))
    assert told.startswith(plain) and "name alone" in told and "name alone" not in plain
