"""A chat model behind any OpenAI-compatible `/v1/chat/completions`."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from pydantic import ValidationError

from vestige.errors import ModelError
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.transport import Limits, Transport
from vestige.records import TokenLogprob, Tool, ToolCall, Usage

__all__ = ["ChatClient"]

_PATH = "/chat/completions"
_MOST_TOOL_CALLS = 128


class ChatClient:
    """Completes chats over HTTP; see `transport` for retries and limits.

    Args:
        model: The name the server knows the model by.
        base_url: As `https://host/v1`.
        name: What plans and reports call it; default: the base URL and the model.
        identity: What the response cache calls it; default: the base URL and the model.
        api_key: Sent as a bearer token.
        headers: Further headers.
        extra: Further fields of every request.
        max_tokens_field: `max_tokens`, or `max_completion_tokens` where the server wants that.
        whole_replies: Refuse a reply that ended early because the context was full.
        concurrency: Requests in flight at once.
        limits: On time, size and retries.
        key_hint: What to set when the key is refused.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        name: str | None = None,
        identity: str | None = None,
        api_key: str | None = None,
        headers: dict[str, str] | None = None,
        extra: dict[str, Any] | None = None,
        max_tokens_field: str = "max_tokens",
        whole_replies: bool = False,
        concurrency: int = 8,
        limits: Limits | None = None,
        key_hint: str = "",
    ) -> None:
        self.transport = Transport(
            base_url,
            api_key=api_key,
            headers=headers,
            concurrency=concurrency,
            limits=limits,
            key_hint=key_hint,
        )
        self.model = model
        self._name = name or f"{self.transport.base_url}#{model}"
        self.identity = identity or f"{self.transport.base_url}#{model}"
        self.prompt_tokens = 0
        """Tokens read so far, as the server counts them."""
        self.completion_tokens = 0
        """Tokens written so far, as the server counts them."""
        self._extra = extra or {}
        self._max_tokens_field = max_tokens_field
        self._whole_replies = whole_replies

    @property
    def name(self) -> str:
        """`provider/model`."""
        return self._name

    @property
    def calls(self) -> int:
        """Requests sent, retries among them."""
        return self.transport.calls

    @property
    def retries(self) -> int:
        """Requests sent again."""
        return self.transport.retries

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            ModelError: The endpoint refused, failed in spite of retries, or broke its protocol.
        """
        answer = await self.transport.post(_PATH, self._payload(request))
        reply = self._reply(answer, request)
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.completion_tokens += reply.usage.completion_tokens
        return reply

    async def close(self) -> None:
        """Let go of the connection."""
        await self.transport.close()

    def _payload(self, request: ChatRequest) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [message.wire() for message in request.messages],
            "temperature": request.temperature,
            self._max_tokens_field: request.max_tokens,
        }
        if request.seed is not None:
            payload["seed"] = request.seed
        if request.top_logprobs:
            payload["logprobs"] = True
            payload["top_logprobs"] = request.top_logprobs
        if request.json_schema is not None:
            payload["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": request.json_schema},
            }
        if request.tools:
            payload["tools"] = [_offered(tool) for tool in request.tools]
        payload.update(self._extra)
        return payload

    def _reply(self, answer: dict[str, Any], request: ChatRequest) -> ChatReply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            listed = message.get("tool_calls")
            calls = cast(list[Any], listed) if isinstance(listed, list) else [listed] if listed else []
            text = _text({"content": None, **message} if calls else message)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._broken("the reply has no choices[0].message.content") from None
        if len(calls) > _MOST_TOOL_CALLS:
            raise self._broken(f"the reply has {len(calls)} tool calls, expected at most {_MOST_TOOL_CALLS}")
        finish = choice.get("finish_reason")
        usage = _usage(answer.get("usage"))
        if (
            self._whole_replies
            and finish == "length"
            and usage is not None
            and usage.completion_tokens < request.max_tokens
        ):
            raise self._broken(
                f"the context was full after {usage.prompt_tokens} + {usage.completion_tokens} tokens, "
                f"before the reply's {request.max_tokens}; give the model a larger context"
            )
        return ChatReply(
            text=text,
            finish_reason=finish if isinstance(finish, str) else None,
            usage=usage,
            logprobs=self._logprobs(choice.get("logprobs")) if request.top_logprobs else None,
            tool_calls=tuple(_tool_call(call) for call in calls),
            reasoning=_reasoning(cast(dict[str, Any], message)),
        )

    def _logprobs(self, value: Any) -> tuple[TokenLogprob, ...] | None:
        content = cast(dict[str, Any], value).get("content") if isinstance(value, dict) else None
        if content is None:
            return None
        try:
            return tuple(
                TokenLogprob(
                    token=item["token"],
                    logprob=_finite(item["logprob"]),
                    top=tuple(
                        (other["token"], _finite(other["logprob"]))
                        for other in item.get("top_logprobs") or ()
                    ),
                )
                for item in content
            )
        except (KeyError, TypeError, AttributeError, ValueError, ValidationError):
            raise self._broken("the reply's log-probabilities are malformed") from None

    def _broken(self, reason: str) -> ModelError:
        return ModelError(f"{self.transport.base_url}{_PATH}: {reason}")


def _text(message: dict[str, Any]) -> str:
    """The words of a message: its content as text or as parts; a refusal is what the model said."""
    content = message["content"] if "refusal" not in message else message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = cast(list[Any], content)
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    if content is None:
        refusal = message.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    raise TypeError("content is neither text nor parts")


def _reasoning(message: dict[str, Any]) -> str | None:
    """Reasoning text under either of the names in use: `reasoning_content` and `reasoning`."""
    for name in ("reasoning_content", "reasoning"):
        value = message.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def _offered(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _tool_call(value: Any) -> ToolCall:
    """A call as far as it can be read; what has another shape is kept whole, as its arguments.

    A call may carry what is being looked for, so nothing of it is dropped for being malformed.
    """
    call = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    call_id = _json(call.get("id"))
    function: Any = call.get("function")
    if not isinstance(function, dict):
        return ToolCall(id=call_id, name="", arguments=_json(value))
    named = cast(dict[str, Any], function)
    return ToolCall(id=call_id, name=_json(named.get("name")), arguments=_json(named.get("arguments")))


def _json(value: Any) -> str:
    """Text as it is, nothing as "", anything else as JSON text: some servers parse the arguments."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    counts = cast(dict[str, Any], value)
    prompt, completion = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return Usage(prompt_tokens=max(0, prompt), completion_tokens=max(0, completion))


def _finite(value: Any) -> float:
    """A log-probability that JSON can carry: minus infinity becomes -9999, as servers write it."""
    number = float(value)
    if math.isnan(number):
        raise ValueError("not a number")
    return max(-9999.0, min(number, 0.0)) if not math.isfinite(number) else number
