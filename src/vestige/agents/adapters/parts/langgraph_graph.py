"""The graph of the langgraph adapter: an agent node and a tool node, compiled with and without the checkpointer."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Exchange", "Graph", "chat_model", "silence"]

REACT = "Search your memory before you answer a question about the user. Save what the user tells you of themselves."


@dataclass
class Exchange:
    """What one run of the graph is about, and what was seen in it."""

    user: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: str | None = None
    """The assistant's words where the conversation already has them, "" for none; None: the model is asked."""
    session: str | None = None
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    saved: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    results: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def silence() -> None:
    """Trace nothing to LangSmith, and send nothing to another address than the settings say."""
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"
    for name in (
        "LANGSMITH_API_KEY",
        "LANGCHAIN_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
    ):
        os.environ.pop(name, None)


def chat_model(settings: Mapping[str, Any]) -> Any:
    """The chat model at the address that is set; None where no model takes part."""
    if settings["model"] == "extractive" and settings["extractor"] != "model":
        return None
    return importlib.import_module("langchain_openai").ChatOpenAI(
        model=settings["model"],
        base_url=settings["model_url"],
        api_key=settings["api_key"],
        temperature=0.0,
        max_retries=0,
    )


class Graph:
    """Runs one exchange at a time.

    Args:
        settings: Of the adapter.
        plain: The module of what the adapters share.
        search: Finds the user's units for a query.
        put: Stores a text of the user: user, key, text, session.
        saver: The checkpointer.
        store: The long-term memory.
        chat: The chat model; None: the extractive reader.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        plain: Any,
        search: Callable[[str, str], list[dict[str, Any]]],
        put: Callable[[str, str, str, str | None], None],
        saver: Any,
        store: Any,
        chat: Any,
    ) -> None:
        self._settings, self._plain = settings, plain
        self._search, self._put = search, put
        self._exchange = Exchange("")
        self._core = importlib.import_module("langchain_core.messages")
        graph = importlib.import_module("langgraph.graph")
        prebuilt = importlib.import_module("langgraph.prebuilt")
        make = importlib.import_module("langchain_core.tools").StructuredTool.from_function
        tools = [make(self._search_tool, name="search_memory"), make(self._save_tool, name="save_memory")]
        self._chat = chat.bind_tools(tools) if settings["agent"] == "react" else chat
        builder = graph.StateGraph(graph.MessagesState)
        builder.add_node("agent", self._respond)
        builder.add_node("tools", prebuilt.ToolNode(tools))
        builder.add_edge(graph.START, "agent")
        builder.add_conditional_edges("agent", prebuilt.tools_condition)
        builder.add_edge("tools", "agent")
        self.traced = builder.compile(checkpointer=saver, store=store)
        self._untraced = builder.compile(store=store)

    def run(self, exchange: Exchange, text: str, config: Mapping[str, Any] | None, *, traced: bool) -> Any:
        """One message of the user through the graph; its last message.

        Args:
            exchange: What it is about; filled with what was seen.
            text: The message.
            config: Names the thread; None: there is none.
            traced: Keep the exchange in its thread; without, the graph runs on a copy of the thread's messages.
        """
        self._exchange = exchange
        message = self._core.HumanMessage(text, id=str(uuid.uuid4()))
        if traced:
            state = self.traced.invoke({"messages": [message]}, config)
        else:
            state = self._untraced.invoke({"messages": [*self.messages(config), message]})
        ids = [m.id for m in state["messages"]]
        for said in state["messages"][ids.index(message.id) + 1 :]:
            for call in getattr(said, "tool_calls", None) or ():
                arguments = json.dumps(call["args"], ensure_ascii=False)
                exchange.calls.append({"id": call["id"], "name": call["name"], "arguments": arguments})
            if said.type == "tool":
                result = {"call_id": said.tool_call_id, "name": said.name, "content": str(said.content)}
                exchange.results.append({**result, "error": said.status == "error"})
        return state["messages"][-1]

    def messages(self, config: Mapping[str, Any] | None) -> list[Any]:
        """The messages of a thread as they are now."""
        return list(self.traced.get_state(config).values.get("messages", ())) if config else []

    def say(self, config: Mapping[str, Any], text: str) -> None:
        """Add words of the assistant to a thread."""
        self.traced.update_state(config, {"messages": [self._core.AIMessage(text)]}, as_node="agent")

    def remove(self, config: Mapping[str, Any], ids: list[str]) -> None:
        """Remove messages from a thread, by `RemoveMessage`."""
        removed = [self._core.RemoveMessage(id=i) for i in ids]
        self.traced.update_state(config, {"messages": removed}, as_node="agent")

    def _search_tool(self, query: str) -> str:
        """Search what is remembered of the user."""
        found = self._search(self._exchange.user, query)
        self._exchange.found += found
        return "\n".join(unit["text"] for unit in found) or "(nothing)"

    def _save_tool(self, text: str) -> str:
        """Save one fact that the user told."""
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._put(self._exchange.user, key, text, self._exchange.session)
        self._exchange.saved.append(text)
        return "saved"

    def _respond(self, state: Any) -> dict[str, Any]:
        """The agent node: the words that are given, the extractive reader's, or the model's."""
        exchange, history = self._exchange, list(state["messages"])
        if exchange.given is not None:
            return {"messages": [self._core.AIMessage(exchange.given)] if exchange.given else []}
        prompt = next(m for m in reversed(history) if m.type == "human")
        texts: list[str] = []
        system = REACT
        if self._settings["agent"] == "context":
            exchange.found = self._search(exchange.user, str(prompt.content))
            texts = [unit["text"] for unit in exchange.found]
            system = self._plain.system_prompt(texts, exchange.options.get("now"))
        sent = [self._core.SystemMessage(system), *history]
        shown = [{"role": m.type, "content": m.content} for m in sent]
        exchange.requests.append(json.dumps(shown, ensure_ascii=False))
        if self._settings["model"] == "extractive":
            earlier = [str(m.content) for m in history if m is not prompt and m.type == "human"]
            text = self._plain.extracted(str(prompt.content), [*texts, *earlier], exchange.options)
            return {"messages": [self._core.AIMessage(text)]}
        bound = {"max_tokens": exchange.options.get("max_tokens", 300)}
        if exchange.options.get("seed") is not None:
            bound["seed"] = exchange.options["seed"]
        return {"messages": [self._chat.invoke(sent, **bound)]}
