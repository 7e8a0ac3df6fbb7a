"""The chat client against a server that misbehaves: what is retried, what is refused, and in which words."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from vestige.errors import ConfigError, ModelError, ModelUnavailable
from vestige.models.base import ChatReply, ChatRequest, Message
from vestige.models.chat import ChatClient
from vestige.models.transport import Limits, _shared
from vestige.records import Tool, ToolCall

FAST = Limits(connect=2.0, idle=0.3, total=5.0, retries=2, backoff=0.02, longest_wait=3.0)
KEY = "sk-very-secret"
PROMPT = "the prompt holds XQ7-VIOLET-3829"

Ask = Callable[..., Awaitable[ChatReply]]


def request(prompt: str = PROMPT, **more: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=prompt),), **more)


@pytest.fixture
async def ask(server: Any) -> AsyncIterator[Ask]:
    clients: list[ChatClient] = []

    async def complete(
        how: str, limits: Limits = FAST, asked: ChatRequest | None = None, **more: Any
    ) -> ChatReply:
        clients.append(ChatClient(how, server.url, api_key=KEY, limits=limits, **more))
        return await clients[-1].complete(asked or request())

    yield complete
    for client in clients:
        await client.close()
    assert not _shared, "the shared session is closed with its last client"


async def test_a_good_reply(server: Any, ask: Ask) -> None:
    reply = await ask(
        "fine", asked=request(temperature=0.5, seed=3, max_tokens=9, json_schema={"type": "object"})
    )
    assert reply.text == "fine" and reply.finish_reason == "stop" and not reply.cached
    assert reply.usage is not None and reply.usage.prompt_tokens == 7
    sent = server.asked[0]
    assert sent["messages"] == [{"role": "user", "content": PROMPT}]
    assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.5, 3, 9)
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert not {"task", "passages", "query", "choices", "tools", "logprobs"} & sent.keys()


@pytest.mark.parametrize(
    "how", ["500-once", "stalled-once", "cut-once", "ends-early", "reset-once", "429-seconds", "429-date"]
)
async def test_a_passing_failure_is_mended(server: Any, ask: Ask, how: str) -> None:
    assert (await ask(how)).text == "fine"
    assert len(server.asked) == 2


async def test_retry_after_in_seconds_and_as_a_date_is_honoured(server: Any, ask: Ask) -> None:
    await ask("429-seconds")
    assert server.times[1] - server.times[0] >= 0.29
    server.asked.clear(), server.times.clear()
    await ask("429-date")
    assert server.times[1] - server.times[0] >= 0.9  # an HTTP date has whole seconds


async def test_retry_after_is_capped(server: Any, ask: Ask) -> None:
    limits = Limits(retries=1, backoff=0.01, longest_wait=0.1)
    reply = await asyncio.wait_for(ask("429-long", limits), 2.0)  # the server named a day
    assert reply.text and len(server.asked) == 2


async def test_a_server_that_names_a_time_is_left_alone_by_every_call(server: Any) -> None:
    client = ChatClient("429-seconds", server.url, limits=FAST)
    first = asyncio.create_task(client.complete(request()))
    await asyncio.sleep(0.1)
    assert len(server.asked) == 1
    await client.complete(request("another"))
    assert server.times[1] - server.times[0] >= 0.29
    await first
    await client.close()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("always-400", "HTTP 400 (some_error)"),
        ("always-401", "HTTP 401: the key was refused; set THE_KEY"),
        ("always-404", "HTTP 404: no such path or model"),
        ("always-422", "HTTP 422"),
        ("redirect", "HTTP 302: redirects elsewhere"),
        ("html", "answered with text/html, expected application/json"),
        ("not-utf-8", "not UTF-8"),
        ("array", "JSON list, expected an object"),
        ("huge", "larger than"),
        ("huge-declared", "larger than"),
        ("gzip-bomb", "larger than"),
        ("too-long", "the prompt has 20 tokens, the model's context 10"),
        ("body:{}", "no choices[0].message.content"),
        ('body:{"choices": []}', "no choices[0].message.content"),
        ('body:{"choices": [{"message": {}}]}', "no choices[0].message.content"),
        ('body:{"choices": [{"message": {"content": 3}}]}', "no choices[0].message.content"),
        ('body:{"choices": {"a": 1}}', "no choices[0].message.content"),
        (
            'body:{"error": {"message": "SECRET PROMPT", "code": "server_error"}}',
            "answered 200 with an error",
        ),
    ],
)
async def test_a_lasting_failure_is_one_clear_line_and_not_retried(
    server: Any, ask: Ask, how: str, words: str
) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(how, key_hint="set THE_KEY")
    assert words in str(caught.value)
    check_public(str(caught.value), server)
    assert len(server.asked) == 1


@pytest.mark.parametrize("how", ["always-500", "always-503", "always-429", "always-408", "cut", "reset"])
async def test_retries_end(server: Any, ask: Ask, how: str) -> None:
    with pytest.raises(ModelError, match="3 attempts") as caught:
        await ask(how)
    check_public(str(caught.value), server)
    assert len(server.asked) == 3


@pytest.mark.parametrize("how", ["stalled-head", "stalled-body"])
async def test_a_stalled_reply_times_out(server: Any, ask: Ask, how: str) -> None:
    with pytest.raises(ModelError, match="timed out"):
        await ask(how, Limits(idle=0.1, retries=0))


def check_public(message: str, server: Any) -> None:
    assert message.startswith(server.url) and "\n" not in message
    for secret in (KEY, PROMPT, "XQ7", "SECRET"):
        assert secret not in message


async def test_nothing_listens(unused_port: int) -> None:
    client = ChatClient("m", f"http://user:pw@127.0.0.1:{unused_port}/v1?token=abc", limits=FAST)
    with pytest.raises(ModelUnavailable) as caught:
        await client.complete(request())
    await client.close()
    assert client.calls == 1 + FAST.retries
    message = str(caught.value)
    assert message.endswith("(3 attempts); start the server, or mend its address")
    assert message.startswith(f"http://127.0.0.1:{unused_port}/v1/chat/completions: cannot connect")
    assert "pw" not in message and "abc" not in message
    assert "pw" not in client.name and "abc" not in client.identity


async def test_a_host_without_an_address_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    client = ChatClient("m", "http://nowhere.invalid/v1", limits=FAST)
    with pytest.raises(
        ModelUnavailable, match=r"^http://nowhere\.invalid/v1/chat/completions: cannot connect"
    ):
        await client.complete(request())
    await client.close()


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[None]:
    """A server that answers at a port, and is gone afterwards."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    try:
        yield
    finally:
        await runner.cleanup()


async def test_a_server_that_was_there_before_is_waited_for_as_ever(unused_port: int) -> None:
    """A later refusal is one call's failure: the server may be starting again."""
    patient = Limits(connect=2.0, retries=8, backoff=0.05, longest_wait=0.2)
    client = ChatClient("m", f"http://127.0.0.1:{unused_port}/v1", limits=patient)
    async with serving(unused_port):
        assert (await client.complete(request())).text == "fine"
    with pytest.raises(ModelError, match="cannot connect") as caught:
        await client.complete(request())
    assert not isinstance(caught.value, ModelUnavailable)
    waiting = asyncio.create_task(client.complete(request()))
    await asyncio.sleep(0.05)
    async with serving(unused_port):
        assert (await waiting).text == "fine"
    await client.close()


async def test_a_server_that_refuses_once_was_reached(server: Any, ask: Ask) -> None:
    with pytest.raises(ModelError) as caught:
        await ask("always-500")
    assert not isinstance(caught.value, ModelUnavailable)


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_user_info_becomes_basic_authentication_and_a_query_stays(server: Any) -> None:
    client = ChatClient("m", server.url.replace("http://", "http://user:pw@") + "?api-version=1")
    assert (await client.complete(request())).text == "fine"
    assert server.headers[0]["Authorization"] == "Basic dXNlcjpwdw=="
    await client.close()


@pytest.mark.parametrize("url", ["", "ftp://x/v1", "http://", "api.openai.com/v1", "http://h:99999/v1"])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="expected http"):
        ChatClient("m", url)


async def test_concurrency_is_limited(server: Any) -> None:
    client = ChatClient("slow", server.url, concurrency=3)
    await asyncio.gather(*(client.complete(request(str(i))) for i in range(12)))
    assert server.most_in_flight == 3
    assert (client.calls, client.retries) == (12, 0)
    assert (client.prompt_tokens, client.completion_tokens) == (84, 24)
    await client.close()


async def test_one_session_serves_every_client_and_closes_with_the_last(server: Any) -> None:
    one, two = ChatClient("a", server.url), ChatClient("b", server.url)
    await one.complete(request())
    await two.complete(request())
    assert len(_shared) == 1
    session = next(iter(_shared.values())).session
    await one.close()
    await one.close()
    assert not session.closed
    await two.close()
    assert session.closed and not _shared


def test_a_client_lives_through_several_event_loops(misbehaving: Any) -> None:
    client = ChatClient("m", "http://127.0.0.1:1/v1")

    async def once() -> str:
        async with misbehaving() as server:
            client.transport._base = URL(server.url)
            client.transport._paths.clear()
            reply = await client.complete(request())
            await client.close()
            return reply.text

    assert [asyncio.run(once()), asyncio.run(once())] == ["fine", "fine"]
    assert not _shared


@pytest.mark.parametrize(
    "content", ['[{"token": "a"}]', '[{"token": 3, "logprob": 0}]', '[{"token": "a", "logprob": NaN}]', "7"]
)
async def test_malformed_log_probabilities(ask: Ask, content: str) -> None:
    body = '{"choices": [{"message": {"content": "x"}, "logprobs": {"content": ' + content + "}}]}"
    with pytest.raises(ModelError, match="log-probabilities are malformed"):
        await ask(f"body:{body}", asked=request(top_logprobs=1))


async def test_minus_infinity_stays_writable_as_json(ask: Ask) -> None:
    logprobs = '{"content": [{"token": "a", "logprob": -Infinity}]}'
    body = '{"choices": [{"message": {"content": "x"}, "logprobs": ' + logprobs + "}]}"
    reply = await ask(f"body:{body}", asked=request(top_logprobs=1))
    assert reply.logprobs is not None and reply.logprobs[0].logprob == -9999.0
    assert ChatReply.model_validate_json(reply.model_dump_json()) == reply


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            "ab",
        ),
        ({"content": None}, ""),
        ({"content": None, "refusal": "no"}, "no"),
        ({"refusal": "no"}, "no"),
        ({"content": ""}, ""),
    ],
)
async def test_shapes_of_content(ask: Ask, message: dict[str, Any], text: str) -> None:
    assert (await ask("body:" + json.dumps({"choices": [{"message": message}]}))).text == text


SCHEMA = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}


def called(name: str = "book", arguments: Any = '{"seat": "aisle"}', **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


async def test_tools_are_offered_and_choices_are_not_sent(server: Any, ask: Ask) -> None:
    tools = (Tool(name="book", description="Book a seat.", parameters=SCHEMA), Tool(name="wait"))
    await ask("fine", asked=request(tools=tools, choices=("aisle", "window")))
    (sent,) = server.asked
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {"name": "book", "description": "Book a seat.", "parameters": SCHEMA},
        },
        {"type": "function", "function": {"name": "wait", "description": "", "parameters": {}}},
    ]
    assert "choices" not in sent


async def test_calls_and_their_results_are_sent_back(server: Any, ask: Ask) -> None:
    call = ToolCall(id="a", name="book", arguments='{"seat": "aisle"}')
    messages = (
        Message(role="user", content="Book."),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="Booked.", tool_call_id="a"),
    )
    await ask("fine", asked=ChatRequest(messages=messages, tools=(Tool(name="book"),)))
    assert server.asked[0]["messages"] == [
        {"role": "user", "content": "Book."},
        {"role": "assistant", "content": None, "tool_calls": [called(id="a")]},
        {"role": "tool", "content": "Booked.", "tool_call_id": "a"},
    ]


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"reasoning_content": "I think."}, "I think."),
        ({"reasoning": "I think."}, "I think."),
        ({"reasoning_content": "", "reasoning": "I think."}, "I think."),
        ({"reasoning_content": None}, None),
        ({"reasoning_content": "", "reasoning": ""}, None),
        ({"reasoning": {"effort": 3}}, None),
        ({}, None),
    ],
)
async def test_reasoning_is_kept_apart_from_the_text(
    ask: Ask, message: dict[str, Any], reasoning: str | None
) -> None:
    reply = await ask("body:" + json.dumps({"choices": [{"message": {"content": "said", **message}}]}))
    assert (reply.text, reply.reasoning) == ("said", reasoning)


@pytest.mark.parametrize("content", [{"content": None}, {}, {"content": ""}])
async def test_a_reply_may_be_tool_calls_alone(ask: Ask, content: dict[str, Any]) -> None:
    message = {**content, "tool_calls": [called(id="a"), called("wait", "not JSON {", id="b")]}
    reply = await ask(
        "body:" + json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    )
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert reply.tool_calls == (
        ToolCall(id="a", name="book", arguments='{"seat": "aisle"}'),
        ToolCall(id="b", name="wait", arguments="not JSON {"),
    )


@pytest.mark.parametrize(
    ("listed", "read"),
    [
        (None, []),
        ([], []),
        ({}, []),
        ([called()], [("", "book", '{"seat": "aisle"}')]),
        ([called(arguments={"seat": "Gänge", "row": 3})], [("", "book", '{"seat": "Gänge", "row": 3}')]),
        ([called(arguments=None, id=7)], [("7", "book", "")]),
        ([{"id": "a", "function": {}}], [("a", "", "")]),
        (
            [{"id": "a", "type": "custom", "custom": {"input": "XQ7"}}],
            [("a", "", '{"id": "a", "type": "custom", "custom": {"input": "XQ7"}}')],
        ),
        (
            [{"function": "book"}, None, "XQ7", 3],
            [("", "", t) for t in ('{"function": "book"}', "", "XQ7", "3")],
        ),
        ("XQ7", [("", "", "XQ7")]),
        (called(id="a"), [("a", "book", '{"seat": "aisle"}')]),
    ],
)
async def test_a_malformed_tool_call_is_kept_as_far_as_it_goes(
    ask: Ask, listed: Any, read: list[tuple[str, str, str]]
) -> None:
    body = {"choices": [{"message": {"content": "said", "tool_calls": listed}}]}
    reply = await ask("body:" + json.dumps(body))
    assert reply.text == "said"
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == read


async def test_more_tool_calls_than_anybody_means_are_refused_and_never_cut_short(ask: Ask) -> None:
    def body(count: int) -> str:
        return "body:" + json.dumps({"choices": [{"message": {"tool_calls": [called()] * count}}]})

    assert len((await ask(body(128))).tool_calls) == 128
    with pytest.raises(ModelError, match="the reply has 129 tool calls, expected at most 128"):
        await ask(body(129))


async def test_half_surrogate_pairs_survive_both_ways(server: Any, ask: Ask) -> None:
    reply = await ask("half-surrogate")
    assert reply.text == "a?b"
    message = Message.model_construct(role="user", content="x\udfffy")
    await ask("fine", asked=ChatRequest.model_construct(**{**dict(request()), "messages": (message,)}))
    assert server.asked[-1]["messages"][0]["content"] == "x?y"


async def test_a_full_context_is_refused_where_whole_replies_are_wanted(ask: Ask) -> None:
    assert (await ask("context-full")).finish_reason == "length"
    with pytest.raises(ModelError, match="the context was full after 7 \\+ 2 tokens"):
        await ask("context-full", whole_replies=True)


async def test_a_cancelled_call_frees_its_place(server: Any) -> None:
    client = ChatClient("stalled-head", server.url, concurrency=1)
    task = asyncio.create_task(client.complete(request()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    client.model = "fine"
    assert (await asyncio.wait_for(client.complete(request()), 2.0)).text == "fine"
    await client.close()
