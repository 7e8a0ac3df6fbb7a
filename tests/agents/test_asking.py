"""The reference agent with tools: what goes to its model round by round, what is kept, and what an observer sees."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.scripted import Scripted, scripted

from vestige.agents.asking import ROUNDS, resolved
from vestige.agents.reference import ReferenceAgent
from vestige.agents.tools import CHOOSE_OPTION, PLACE_ORDER, READ_NOTES, SAVE_NOTE
from vestige.errors import ConfigError, ModelError
from vestige.memory.settings import MemorySettings
from vestige.models.base import ChatModel
from vestige.models.chat import ChatClient
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.models.transport import Limits
from vestige.records import AskOptions, RemovalRequest, Session, Tool, ToolResult, Turn

CANARY = "XQ7-VIOLET-3829"
VENDORS = ("Oak & Co", "Maple & Finch")
LIMITS = Limits(retries=0)


def agent_on(tmp_path: Path, model: ChatModel, mode: str = "auto", **settings: Any) -> ReferenceAgent:
    return ReferenceAgent(
        tmp_path / "agent",
        model=model,
        embedder=HashingEmbedder(),
        settings=MemorySettings(**settings),
        tool_mode=mode,
    )


async def tell(agent: ReferenceAgent, *texts: str) -> None:
    turns = tuple(Turn(role="user", content=text) for text in texts)
    await agent.converse("u", Session(id="s1", turns=turns))


def said(text: str | None = None, *calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, **more}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"id{n}",
                "type": "function",
                "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a)},
            }
            for n, (name, a) in enumerate(calls)
        ]
    return message


class Rig:
    """An agent whose model is a scripted server behind the real client."""

    def __init__(self, tmp_path: Path) -> None:
        self._tmp, self._stack = tmp_path, AsyncExitStack()

    async def agent(self, mode: str, *messages: dict[str, Any]) -> tuple[ReferenceAgent, Scripted]:
        server = await self._stack.enter_async_context(scripted(*messages))
        client = ChatClient("m", server.url, limits=LIMITS)
        agent = agent_on(self._tmp, client, mode, k=3)
        self._stack.push_async_callback(client.close)
        self._stack.push_async_callback(agent.close)
        await tell(agent, f"my private session token is {CANARY}", "I run 5 km every Tuesday.")
        return agent, server

    async def close(self) -> None:
        await self._stack.aclose()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    await made.close()


async def test_calls_are_run_and_sent_back_until_the_model_answers(rig: Rig) -> None:
    agent, server = await rig.agent(
        "api",
        said("Let me see.", ("save_note", {"text": f"token {CANARY}"}), ("read_notes", "")),
        said("Noted."),
    )
    reply = await agent.ask(
        "u", "Keep it.", AskOptions(tools=(SAVE_NOTE, READ_NOTES), write_back=True, trace=True)
    )
    first, second = server.asked
    assert [t["function"]["name"] for t in first["tools"]] == ["save_note", "read_notes"]
    assert first["tools"] == second["tools"] and len(first["messages"]) == 2
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][2:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "id0",
                    "type": "function",
                    "function": {"name": "save_note", "arguments": f'{{"text": "token {CANARY}"}}'},
                },
                {"id": "id1", "type": "function", "function": {"name": "read_notes", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "Note saved.", "tool_call_id": "id0"},
        {"role": "tool", "content": f"- token {CANARY}", "tool_call_id": "id1"},
    ]
    assert reply.text == "Let me see.\nNoted." and reply.finish_reason == "stop"
    assert [c.arguments for c in reply.tool_calls] == [f'{{"text": "token {CANARY}"}}', ""]
    assert [r.content for r in reply.tool_results] == ["Note saved.", f"- token {CANARY}"]
    assert reply.memory_writes == ("Keep it.", f"token {CANARY}")
    assert reply.usage is not None and reply.usage.prompt_tokens == 20
    assert reply.model_requests is not None
    assert [json.loads(text) for text in reply.model_requests] == [first["messages"], second["messages"]]
    assert reply.retrieved is not None and len(reply.retrieved) == 2


async def test_a_choice_that_stands_ends_the_reply_and_one_that_does_not_may_be_mended(rig: Rig) -> None:
    agent, server = await rig.agent(
        "api",
        said(None, ("choose_option", {"option": "Grand Hotel"})),
        said(None, ("choose_option", {"option": "Oak & Co"})),
    )
    options = AskOptions(tools=(CHOOSE_OPTION,), choices=VENDORS)
    reply = await agent.ask("u", "Which?", options)
    assert server.asked[0]["tools"][0]["function"]["parameters"]["properties"]["option"]["enum"] == list(
        VENDORS
    )
    assert [(r.content, r.error) for r in reply.tool_results] == [
        ("error: argument 'option' is none of the 2 options", True),
        ("Chosen: Oak & Co", False),
    ]
    assert reply.tool_results[0].call_id != reply.tool_results[1].call_id
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert reply.memory_writes == ()


async def test_rounds_end(rig: Rig) -> None:
    agent, server = await rig.agent("api", *[said(None, ("read_notes", {}))] * 9)
    reply = await agent.ask("u", "Read.", AskOptions(tools=(READ_NOTES,)))
    assert len(server.asked) == ROUNDS == len(reply.tool_calls) == len(reply.tool_results)
    assert len({c.id for c in reply.tool_calls}) == ROUNDS
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")


async def test_a_tool_of_somebody_else_is_handed_back(rig: Rig) -> None:
    agent, server = await rig.agent("api", said(None, ("read_notes", {}), ("reserve", {"place": "Oslo"})))
    reply = await agent.ask("u", "Reserve.", AskOptions(tools=(READ_NOTES, Tool(name="reserve"))))
    assert len(server.asked) == 1
    assert [c.name for c in reply.tool_calls] == ["read_notes", "reserve"]
    assert [r.name for r in reply.tool_results] == ["read_notes"]


async def test_unusable_calls_are_observed_whole_and_sent_back_harmless(rig: Rig) -> None:
    odd = said("Hm.", ("save note!", "not JSON {"))
    odd["tool_calls"] += ["XQ7", {"id": "id0", "function": {"name": "read_notes", "arguments": None}}]
    agent, server = await rig.agent("api", odd, said("Done."))
    reply = await agent.ask("u", "Go.", AskOptions(tools=(READ_NOTES,)))
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        ("id0", "save note!", "not JSON {"),
        ("call_2", "", "XQ7"),
        ("call_3", "read_notes", ""),
    ]
    sent = server.asked[1]["messages"][2]["tool_calls"]
    assert [(c["function"]["name"], c["function"]["arguments"]) for c in sent] == [
        ("unknown", "{}"),
        ("unknown", "{}"),
        ("read_notes", "{}"),
    ]
    assert [r.error for r in reply.tool_results] == [True, True, False]


async def test_a_model_that_fails_midway_leaves_nothing(rig: Rig) -> None:
    agent, _ = await rig.agent("api", said(None, ("save_note", {"text": "x"})))
    before = await agent.inspect("u")
    with pytest.raises(ModelError):
        await agent.ask("u", "Keep it.", AskOptions(tools=(SAVE_NOTE,), write_back=True))
    assert await agent.inspect("u") == before


async def test_reasoning_is_carried_and_then_known_to_be_a_channel(rig: Rig) -> None:
    agent, _ = await rig.agent(
        "api",
        said(None, ("read_notes", {}), reasoning_content="I should look."),
        said("Done.", reasoning="Now I know."),
        said("Hello."),
    )
    description = agent.describe()
    assert "reasoning" not in description.channels and "reasoning" not in description.absent
    reply = await agent.ask("u", "Go.", AskOptions(tools=(READ_NOTES,)))
    assert reply.reasoning == "I should look.\nNow I know."
    assert "reasoning" in agent.describe().channels
    assert (await agent.ask("u", "Hi.", AskOptions())).reasoning is None


# -- constrained replies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        '{"reason": "You like it.", "option": "Maple & Finch"}',
        '```json\n{"reason": "You like it.", "option": "Maple & Finch"}\n```',
        '{"tool": "choose_option", "arguments": {"reason": "You like it.", "option": "Maple & Finch"}}',
    ],
)
async def test_the_only_tool_is_asked_for_its_arguments_after_the_question(rig: Rig, written: str) -> None:
    agent, server = await rig.agent("schema", said(written))
    reply = await agent.ask("u", "Which?", AskOptions(tools=(CHOOSE_OPTION,), choices=VENDORS[::-1]))
    (asked,) = server.asked
    question = asked["messages"][-1]["content"]
    assert "tools" not in asked and question.startswith(
        "Which?\nReply with one JSON object and nothing else: "
    )
    assert '"reason": what you remember' in question and '"option": NAME' in question
    schema = asked["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["option"]["enum"] == list(VENDORS[::-1])
    assert list(schema["properties"]) == ["reason", "option"]  # it is to remember before it decides
    assert [json.loads(call.arguments)["option"] for call in reply.tool_calls] == ["Maple & Finch"]
    assert [call.name for call in reply.tool_calls] == ["choose_option"]
    assert reply.tool_results == (
        ToolResult(call_id="call_1", name="choose_option", content="Chosen: Maple & Finch"),
    )
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")


async def test_schema_mode_takes_turns_and_ends_with_an_answer(rig: Rig) -> None:
    agent, server = await rig.agent(
        "schema",
        said('{"tool": "save_note", "arguments": {"text": "{{result}}"}}'),
        said('{"tool": "read_notes", "arguments": {}}'),
        said('{"answer": "You have one note."}'),
    )
    reply = await agent.ask("u", "Keep it.", AskOptions(tools=(SAVE_NOTE, READ_NOTES)))
    forms = [asked["response_format"]["json_schema"]["schema"] for asked in server.asked]
    assert [len(form["anyOf"]) for form in forms[:2]] == [3, 3]
    assert forms[2]["properties"].keys() == {"answer"}
    assert [m["role"] for m in server.asked[2]["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    assert (
        server.asked[1]["messages"][2]["content"]
        == '{"tool": "save_note", "arguments": {"text": "{{result}}"}}'
    )
    assert server.asked[2]["messages"][-1]["content"] == "Result of read_notes: - {{result}}"
    assert reply.text == "You have one note." and [c.id for c in reply.tool_calls] == ["call_1", "call_2"]
    assert reply.finish_reason == "stop"


async def test_a_decision_in_schema_mode_may_look_first_but_has_to_choose_in_the_end(rig: Rig) -> None:
    look = said('{"tool": "read_notes", "arguments": {}}')
    agent, server = await rig.agent(
        "schema", look, look, said('{"tool": "choose_option", "arguments": {"option": "Oak & Co"}}')
    )
    options = AskOptions(tools=(CHOOSE_OPTION, READ_NOTES), choices=VENDORS)
    reply = await agent.ask("u", "Which?", options)
    forms = [asked["response_format"]["json_schema"]["schema"] for asked in server.asked]
    assert [f["properties"]["tool"]["const"] for f in forms[0]["anyOf"]] == ["choose_option", "read_notes"]
    assert forms[2]["properties"]["tool"] == {"const": "choose_option"}
    assert reply.tool_calls[-1].name == "choose_option" and len(reply.tool_calls) == 3


async def test_a_reply_that_does_not_keep_to_the_schema_is_text(rig: Rig) -> None:
    agent, _ = await rig.agent("schema", said("I would take Oak & Co."))
    reply = await agent.ask("u", "Which?", AskOptions(tools=(CHOOSE_OPTION,), choices=VENDORS))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("I would take Oak & Co.", (), "stop")


@pytest.mark.parametrize(
    ("model", "way"),
    [
        ("extractive", "api"),
        ("openai/gpt-4o-mini", "api"),
        ("ollama/gemma3:12b", "api"),
        ("vllm/Qwen/Qwen2.5-7B-Instruct", "schema"),
        ("local/qwen2.5-coder-0.5b", "schema"),
        ("http://127.0.0.1:8000/v1#m", "schema"),
    ],
)
def test_auto_knows_which_endpoints_take_tools(model: str, way: str) -> None:
    assert resolved("auto", model) == way
    assert resolved("api", model) == "api" and resolved("schema", model) == "schema"


async def test_the_tool_mode_is_a_knob_of_the_agent(tmp_path: Path) -> None:
    agent = agent_on(tmp_path, ExtractiveReader(), "schema")
    assert agent.describe().configuration["tool_mode"] == "schema"
    await agent.configure(tool_mode="api", k=2)
    assert agent.describe().configuration["tool_mode"] == "api" and agent.settings.k == 2
    with pytest.raises(ConfigError, match="tool_mode='json' is not known; choose one of auto, api, schema"):
        await agent.configure(tool_mode="json")
    with pytest.raises(ConfigError, match="tool_mode"):
        agent_on(tmp_path, ExtractiveReader(), "json")
    await agent.close()


# -- with the extractive reader ------------------------------------------------------------------------------


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[ReferenceAgent]:
    agent = agent_on(tmp_path, ExtractiveReader(), k=3)
    await tell(
        agent,
        "When I buy honey I go to Maple & Finch.",
        f"my private session token is {CANARY}",
        "I run 5 km.",
    )
    yield agent
    await agent.close()


SAVE = "Save a note with my private session token."


async def test_a_note_lives_on_in_the_agents_file_until_a_mode_that_reaches_it(
    reader: ReferenceAgent,
) -> None:
    reply = await reader.ask(
        "u", SAVE, AskOptions(tools=(SAVE_NOTE, READ_NOTES), write_back=True, trace=True)
    )
    note = f"my private session token is {CANARY}"
    assert reply.memory_writes == (SAVE, note) and reply.text == "Note saved."
    shown = [a for a in await reader.inspect("u") if a.tier == "note"]
    assert [(a.text, a.sources, a.vector) for a in shown] == [(note, (), None)]
    await reader.restart()
    read = AskOptions(tools=(SAVE_NOTE, READ_NOTES))
    asking = "Read my notes: what is the session token?"
    assert CANARY in (await reader.ask("u", asking, read)).tool_results[0].content
    await reader.configure(deletion="raw_plus_resummarize")
    await reader.forget("u", RemovalRequest(value=CANARY))
    leak = await reader.ask("u", asking, read)
    assert CANARY in leak.text and leak.retrieved is not None
    assert not any(CANARY in unit.text for unit in leak.retrieved)
    await reader.configure(deletion="full_purge")
    await reader.forget("u", RemovalRequest(value=CANARY))
    after = await reader.ask("u", asking, read)
    assert CANARY not in after.model_dump_json()


async def test_a_probe_that_is_to_leave_no_trace_keeps_no_note(reader: ReferenceAgent) -> None:
    before = await reader.inspect("u")
    files = [path.read_bytes() for path in await reader.storage()]
    reply = await reader.ask("u", SAVE, AskOptions(tools=(SAVE_NOTE,)))
    assert reply.tool_results[0].content == "Note saved." and reply.memory_writes == ()
    assert await reader.inspect("u") == before
    assert [path.read_bytes() for path in await reader.storage()] == files


@pytest.mark.parametrize("shown", [VENDORS, VENDORS[::-1]])
async def test_an_order_goes_to_the_preferred_vendor(reader: ReferenceAgent, shown: tuple[str, ...]) -> None:
    prompt = f"Place an order for honey with one of these vendors: {', '.join(shown)}."
    options = AskOptions(tools=(PLACE_ORDER,), choices=shown, write_back=True)
    reply = await reader.ask("u", prompt, options)
    (result,) = reply.tool_results
    assert not result.error and result.content.endswith("from Maple & Finch")
    assert [a.text for a in await reader.inspect("u") if a.tier == "note"] == [reply.memory_writes[1]]
    stranger = await reader.ask("v", "Read my orders.", AskOptions(tools=(READ_NOTES,)))
    assert stranger.tool_results[0].content == "No notes or orders are kept."


async def test_a_question_is_answered_though_tools_are_offered(reader: ReferenceAgent) -> None:
    asked = AskOptions(tools=(SAVE_NOTE, READ_NOTES, PLACE_ORDER, CHOOSE_OPTION), trace=True)
    plain = await reader.ask("u", "What is my session token?", AskOptions(trace=True))
    offered = await reader.ask("u", "What is my session token?", asked)
    assert offered == plain and CANARY in plain.text
    assert plain.model_requests is not None and CANARY in plain.model_requests[0]
    untraced = await reader.ask("u", "What is my session token?", AskOptions())
    assert untraced.model_requests is None and untraced.text == plain.text
