"""What a model is to the rest of Vestige: something that completes a chat, something that embeds texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vestige.records import Record, TokenLogprob, Tool, ToolCall, Usage

__all__ = ["ChatModel", "ChatReply", "ChatRequest", "Embedder", "Message", "Vectors"]

Vectors = NDArray[np.float32]
"""Shape (n, d), rows of unit length."""


class Message(Record):
    """One message of a chat request."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant's message: the calls it made."""
    tool_call_id: str | None = None
    """Of a tool's message: the call whose result it is."""

    def wire(self) -> dict[str, Any]:
        """The message as chat completions endpoints take it."""
        sent: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            sent["content"] = self.content or None
            sent["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.tool_calls
            ]
        if self.tool_call_id is not None:
            sent["tool_call_id"] = self.tool_call_id
        return sent


class ChatRequest(Record):
    """One call of a model; the fields up to `tools` are what a cache key is made of."""

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = Field(default=300, gt=0)
    seed: int | None = None
    top_logprobs: int = 0
    """Alternatives to ask for at each token; 0: no log-probabilities."""
    json_schema: dict[str, Any] | None = None
    """Constrain the reply to this JSON schema where the server can."""
    tools: tuple[Tool, ...] = ()
    """What the model may call instead of answering."""
    task: str = "answer"
    """What the call is for: answer, facts (S = 1), sentence (S = 2), judge. Never sent."""
    passages: tuple[str, ...] = ()
    """The stored texts the messages were made from. Never sent; the extractive reader reads them."""
    query: str = ""
    """The bare question. Never sent; the extractive reader reads it."""
    choices: tuple[str, ...] = ()
    """The options of a decision task, in the order shown. Never sent; the extractive reader reads them."""


class ChatReply(Record):
    """What a model answered."""

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model wants called, in order; `text` may then be empty."""
    reasoning: str | None = None
    """What the model wrote before its reply, where the server gives it apart from the reply."""
    cached: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """A model that completes chats; `name` is what plans and reports call it."""

    @property
    def name(self) -> str:
        """`provider/model`."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            ModelError: The endpoint failed and retries did not mend it.
        """
        ...

    async def close(self) -> None:
        """Free what was opened."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that maps texts to unit vectors, the same text always to the same bytes."""

    @property
    def name(self) -> str:
        """What plans and reports call it."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts`; shape (len(texts), d), float32, rows of unit length."""
        ...

    async def close(self) -> None:
        """Free what was opened."""
        ...
