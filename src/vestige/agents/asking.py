"""Asking the reference agent's model: its tools are run and it is asked again, until it has answered.

Ours: at most `ROUNDS` requests; a choice or an order that succeeded is the end, and so is a call of a tool that the
agent does not run itself, which is handed back as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from vestige.agents.tools import ENDS_TURN, Toolbox
from vestige.errors import ConfigError
from vestige.models.base import ChatModel, ChatReply, ChatRequest, Message
from vestige.models.toolcalls import (
    arguments_schema,
    call_schema,
    enum_of,
    option_takers,
    parameters,
    parse_arguments,
    parse_call,
    required,
)
from vestige.records import Reply, Tool, ToolCall, ToolResult, Usage

__all__ = ["ROUNDS", "ToolMode", "ToolTexts", "answer", "as_tool_mode", "resolved"]

ROUNDS = 3
"""Requests to the model for one reply, at most."""

ToolMode = Literal["auto", "api", "schema"]
"""How tools are put to the model: through the chat API's own field, or described in the prompt with the reply held to
a JSON schema; auto: as `resolved` says."""

_THROUGH_API = ("extractive", "openai/", "azure/", "openrouter/", "groq/", "together/", "ollama/")
"""Models whose endpoint takes tools as it stands. vLLM needs a flag of its server for it, llama.cpp a template that the
model may not have, and of an endpoint named by URL nothing is known; all of those take a schema."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def as_tool_mode(value: object) -> ToolMode:
    """The value as a tool mode.

    Raises:
        ConfigError: It is none.
    """
    for mode in get_args(ToolMode):
        if value == mode:
            return mode
    raise ConfigError(f"tool_mode={value!r} is not known; choose one of {', '.join(get_args(ToolMode))}")


def resolved(mode: ToolMode, model: str) -> Literal["api", "schema"]:
    """The way that `mode` means for a model of that name."""
    if mode == "auto":
        return "api" if model.startswith(_THROUGH_API) else "schema"
    return mode


@dataclass(frozen=True, slots=True)
class ToolTexts:
    """What schema mode tells the model; see ``prompts.toml``."""

    tools: str
    """Before the list of tools."""
    call: str
    """After it, where the reply has to be a call."""
    call_or_answer: str
    """After it, where the reply may also be an answer."""
    arguments: str
    """After the question, where there is one tool and it has to be called."""
    result: str
    """What a tool gave back, as a message."""


class _Way(Protocol):
    """How tools are put to the model and its calls are read."""

    def ask(self, request: ChatRequest, messages: Sequence[Message], *, last: bool) -> ChatRequest:
        """The next request."""
        ...

    def read(self, reply: ChatReply) -> tuple[str, tuple[ToolCall, ...]]:
        """What the reply says, and the calls it makes."""
        ...

    def back(self, said: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Message]:
        """The messages that tell the model what its calls gave."""
        ...


class _Api:
    """Through the chat API, with or without tools."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._tools = tools

    def ask(self, request: ChatRequest, messages: Sequence[Message], *, last: bool) -> ChatRequest:
        return request.model_copy(update={"messages": tuple(messages), "tools": self._tools})

    def read(self, reply: ChatReply) -> tuple[str, tuple[ToolCall, ...]]:
        return reply.text, reply.tool_calls

    def back(self, said: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Message]:
        return [
            Message(role="assistant", content=said, tool_calls=tuple(_harmless(call) for call in calls)),
            *(Message(role="tool", content=r.content, tool_call_id=r.call_id) for r in results),
        ]


class _Schema:
    """Described in the prompt, the reply held to a JSON schema."""

    def __init__(self, tools: tuple[Tool, ...], choices: tuple[str, ...], texts: ToolTexts) -> None:
        self._tools, self._texts = tools, texts
        takers = option_takers(tools, choices) if choices else {}
        self._deciding = tuple(tool for tool in tools if tool.name in takers)
        self._only = self._deciding[0] if len(tools) == len(self._deciding) == 1 else None

    def ask(self, request: ChatRequest, messages: Sequence[Message], *, last: bool) -> ChatRequest:
        if self._only is not None:
            # A small model that is to name tool and arguments decides before it has thought: the arguments are enough.
            question = messages[-1]
            asked = question.model_copy(update={"content": f"{question.content}\n{self._form(self._only)}"})
            told = (*messages[:-1], asked)
            return request.model_copy(update={"messages": told, "json_schema": arguments_schema(self._only)})
        # The last request leaves no room for another look-up: it is answered, or decided.
        schema = call_schema(self._deciding if last else self._tools, answer=not self._deciding)
        system = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{self._told()}"})
        told = (system, *messages[1:])
        return request.model_copy(update={"messages": told, "json_schema": schema})

    def _told(self) -> str:
        listed = [f"- {t.name}: {t.description} Arguments: {_arguments(t)}" for t in self._tools]
        end = self._texts.call if self._deciding else self._texts.call_or_answer
        return "\n".join([self._texts.tools, *listed, end])

    def _form(self, tool: Tool) -> str:
        """What the only call has to look like."""
        fields = parameters(tool).items()
        shown = ", ".join(f"{json.dumps(name)}: {field.get('description', 'TEXT')}" for name, field in fields)
        return self._texts.arguments.replace("{{arguments}}", f"{{{shown}}}")

    def read(self, reply: ChatReply) -> tuple[str, tuple[ToolCall, ...]]:
        if self._only is not None:
            said, call = parse_arguments(reply.text, self._only)
        else:
            said, call = parse_call(reply.text, self._tools)
        return said, (*reply.tool_calls, *((call,) if call else ()))

    def back(self, said: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Message]:
        made = [f'{{"tool": {json.dumps(c.name)}, "arguments": {_harmless(c).arguments}}}' for c in calls]
        # Not by replacing one after the other: a result may hold the other's place.
        told = [
            self._texts.result.replace("{{tool}}", r.name).partition("{{result}}")[0] + r.content
            for r in results
        ]
        return [
            Message(role="assistant", content=said or "\n".join(made)),
            Message(role="user", content="\n".join(told)),
        ]


async def answer(
    model: ChatModel,
    request: ChatRequest,
    toolbox: Toolbox | None,
    *,
    mode: Literal["api", "schema"],
    texts: ToolTexts,
) -> Reply:
    """Ask the model until it has answered; without a toolbox that is one request, sent as it is.

    Args:
        model: Is asked.
        request: The first request, without tools; its first message is the system's.
        toolbox: What the model may call.
        mode: How tools are put to it.
        texts: For schema mode.

    Returns:
        The reply: the texts of all rounds, the last round's log-probabilities and end, the tokens of all, and
        everything that was sent, called and given back. What was retrieved and written is the caller's to add.

    Raises:
        ModelError: The model failed.
    """
    way: _Way = _Api(toolbox.tools if toolbox is not None else ())
    if toolbox is not None and mode == "schema":
        way = _Schema(toolbox.tools, toolbox.choices, texts)
    messages = list(request.messages)
    sent: list[str] = []
    replies: list[ChatReply] = []
    said: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    made: tuple[ToolCall, ...] = ()
    for number in range(1, ROUNDS + 1):
        asked = way.ask(request, messages, last=number == ROUNDS)
        sent.append(_canonical(asked.messages))
        replies.append(await model.complete(asked))
        text, made = way.read(replies[-1])
        said.append(text)
        made = _told_apart(made, calls)
        calls += made
        if not made or toolbox is None:
            break
        given = [toolbox.run(call) for call in made if not toolbox.foreign(call.name)]
        results += given
        if len(given) < len(made) or any(r.name in ENDS_TURN and not r.error for r in given):
            break
        messages += way.back(text, made, given)
    last = replies[-1]
    by_call = bool(made) and last.finish_reason == "stop"  # as a server says of a call in text
    reasoning = [r.reasoning for r in replies if r.reasoning]
    return Reply(
        text="\n".join(text for text in said if text),
        logprobs=last.logprobs,
        finish_reason="tool_calls" if by_call else last.finish_reason,
        usage=_total(replies),
        tool_calls=tuple(calls),
        tool_results=tuple(results),
        reasoning="\n".join(reasoning) if reasoning else None,
        model_requests=tuple(sent),
    )


def _canonical(messages: Sequence[Message]) -> str:
    return json.dumps(
        [message.wire() for message in messages], sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )


def _told_apart(made: Sequence[ToolCall], before: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls with ids that no other call of the reply has: some servers give none, or always the same."""
    taken = {call.id for call in before}
    apart: list[ToolCall] = []
    for call in made:
        number = len(before) + len(apart) + 1
        while not call.id or call.id in taken:
            call = call.model_copy(update={"id": f"call_{number}"})
            number += 1
        taken.add(call.id)
        apart.append(call)
    return tuple(apart)


def _harmless(call: ToolCall) -> ToolCall:
    """A call as an endpoint takes it back: many refuse a name or arguments that are not what they should be."""
    name = call.name if _SAFE_NAME.fullmatch(call.name) else "unknown"
    try:
        usable = isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        usable = False
    return call.model_copy(update={"name": name, "arguments": call.arguments if usable else "{}"})


def _total(replies: Sequence[ChatReply]) -> Usage | None:
    counted = [reply.usage for reply in replies if reply.usage is not None]
    if not counted:
        return None
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in counted),
        completion_tokens=sum(usage.completion_tokens for usage in counted),
    )


def _arguments(tool: Tool) -> str:
    """What a call's arguments look like."""
    shown = {
        name: " | ".join(enum_of(tool, name)) or ("..." if name in required(tool) else "... (optional)")
        for name in parameters(tool)
    }
    return json.dumps(shown, ensure_ascii=False)
