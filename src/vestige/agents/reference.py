"""The reference agent: a chat model with the reference memory in front of its context.

Source: arXiv 2606.10062, section 2.1: at query time units are retrieved by cosine and put in front of the
agent's context. The prompt's wording is ours (``prompts.toml``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from vestige import __version__
from vestige.agents.asking import ToolMode, ToolTexts, answer, as_tool_mode, resolved
from vestige.agents.protocol import CHANNELS, AgentDescription
from vestige.agents.tools import TOOLS, Toolbox
from vestige.errors import ConfigError, StorageError
from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.prompts import prompts_version
from vestige.memory.retrieve import Retrieved
from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.models.base import ChatModel, ChatRequest, Embedder, Message
from vestige.records import (
    Artifact,
    AskOptions,
    MemoryUnit,
    Receipt,
    RemovalRequest,
    Reply,
    RetrievedUnit,
    Session,
)

__all__ = ["KNOBS", "ReferenceAgent", "all_settings", "prompt_versions", "split_settings"]

KNOBS = (
    "level",
    "k",
    "tau",
    "rank_noise",
    "query_noise",
    "granularity",
    "deletion",
    "supersede",
    "retrieve_from",
    "tool_mode",
    "instructions",
)
"""What `ReferenceAgent.configure` takes."""

_WITHOUT_REASONING = ("extractive", "local/")
"""Models of which it is known that their whole output is the reply; none in the catalog reasons apart from it."""

_DAY = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}")


class ReferenceAgent:
    """An agent whose memory is one SQLite file in `folder`.

    The model and the embedder belong to the caller: `close` leaves them open.

    Args:
        folder: The agent's own folder; made if it is not there.
        model: Answers, and writes the summaries.
        embedder: Makes the vectors of units and queries.
        settings: The memory's knobs; None: the defaults.
        top_logprobs: Alternatives to ask the model for at each token; 0: no log-probabilities.
        tool_mode: How tools are put to the model: ``api``, ``schema`` or ``auto``; see `vestige.agents.asking`.

    Raises:
        ConfigError: `tool_mode` is none of the three.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: ChatModel,
        embedder: Embedder,
        settings: MemorySettings | None = None,
        top_logprobs: int = 0,
        tool_mode: str = "auto",
    ) -> None:
        self._folder = Path(folder)
        self._model = model
        self._embedder = embedder
        self._settings = settings or MemorySettings()
        self._top_logprobs = top_logprobs
        self._tool_mode: ToolMode = as_tool_mode(tool_mode)
        self._instructions = ""
        self._reasons = False
        self._pipeline: MemoryPipeline | None = None

    @property
    def settings(self) -> MemorySettings:
        """The memory's knobs as they are now."""
        return self._settings

    @property
    def memory(self) -> MemoryPipeline:
        """The memory itself; opens it where it is not open yet.

        Raises:
            StorageError: The folder or the file cannot be made.
        """
        if self._pipeline is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"the agent's folder {self._folder.name!r} cannot be made: {error.strerror}"
                ) from error
            store = MemoryStore(self._folder / "memory.sqlite")
            self._pipeline = MemoryPipeline(store, self._embedder, self._model, self._settings)
        return self._pipeline

    async def open(self) -> None:
        """Open the store; safe to call again."""
        _ = self.memory

    async def close(self) -> None:
        """Close the store; the next call opens it again."""
        if self._pipeline is not None:
            self._pipeline.store.close()
            self._pipeline = None

    async def configure(self, **knobs: Any) -> None:
        """Change knobs; `level` and `granularity` only while nothing is stored.

        Raises:
            ConfigError: A knob is unknown, a value is not usable, or a write-time knob would change.
        """
        for name in knobs:
            if name not in KNOBS:
                raise ConfigError(f"unknown knob {name!r}; the reference agent has {', '.join(KNOBS)}")
        mode = as_tool_mode(knobs.pop("tool_mode", self._tool_mode))
        instructions = knobs.pop("instructions", self._instructions)
        if not isinstance(instructions, str):
            raise ConfigError(f"instructions: {type(instructions).__name__} is no text for the system prompt")
        self.memory.configure(**knobs)
        self._settings, self._tool_mode = self.memory.settings, mode
        self._instructions = instructions

    async def converse(self, user: str, session: Session) -> None:
        """Take in a whole session: the user's turns, and at S ≥ 1 their summary."""
        await self.memory.write(user, session)

    async def end_session(self, user: str) -> None:
        """Summarise the sessions that `ask` with `write_back` has left open."""
        await self.memory.end_session(user)

    async def ask(self, user: str, prompt: str, options: AskOptions | None = None) -> Reply:
        """Answer one prompt from the units nearest to it, with the tools that `options` offers.

        What the tools keep is stored with the prompt, where `write_back` is set; else notes and orders are there for
        the calls of this exchange alone.

        Raises:
            ModelError: The model or the embedder failed.
        """
        options = options or AskOptions()
        found = await self.memory.retrieve(user, prompt, options.seed or 0)
        request = ChatRequest(
            messages=_messages(prompt, found, options.now, self._instructions),
            temperature=self._settings.temperature,
            max_tokens=min(options.max_tokens, self._settings.max_tokens),
            seed=options.seed,
            top_logprobs=self._top_logprobs,
            task="answer",
            passages=tuple(unit.text for unit, _ in found),
            query=prompt,
            choices=options.choices,
        )
        toolbox: Toolbox | None = None
        if options.tools:
            toolbox = Toolbox(options.tools, options.choices, self.memory.store.desk(user))
        mode = resolved(self._tool_mode, self._model.name)
        reply = await answer(self._model, request, toolbox, mode=mode, texts=_tool_texts())
        self._reasons = self._reasons or reply.reasoning is not None
        written: tuple[str, ...] = ()
        if options.write_back:
            session = options.session or f"ask-{self.memory.store.next_order(user)}"
            drafts = toolbox.drafts if toolbox else ()
            written = await self.memory.note(user, session, prompt, options.now, drafts)
        retrieved = tuple(
            RetrievedUnit(id=unit.id, tier=unit.tier, text=unit.text, score=score) for unit, score in found
        )
        sent = reply.model_requests if options.trace else None
        return reply.model_copy(
            update={"retrieved": retrieved, "memory_writes": written, "model_requests": sent}
        )

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Forget what the request names, in the deletion mode that is set."""
        return await self.memory.forget(user, request)

    async def reset(self, user: str) -> None:
        """Drop everything that is kept of the user."""
        await self.memory.reset(user)

    async def remember(self, user: str, units: Sequence[MemoryUnit]) -> None:
        """Store statements as they stand, in the tier that is retrieved; no model is asked."""
        await self.memory.remember(user, units)

    async def inspect(self, user: str) -> list[Artifact]:
        """Every stored unit of the user in order of creation, with its vector, then its notes and orders."""
        store = self.memory.store
        units = [
            Artifact(id=u.id, tier=u.tier, text=u.text, session=u.session, sources=u.sources, vector=u.vector)
            for u in store.units(user)
        ]
        return units + [
            Artifact(id=row.id, tier="note", text=row.text, session=row.session) for row in store.desk(user)
        ]

    async def storage(self) -> list[Path]:
        """The files that the store consists of now."""
        return self.memory.store.files()

    async def snapshot(self, user: str, path: Path) -> None:
        """Write the user's state to `path`, outside the agent's folder.

        Raises:
            ConfigError: `path` lies inside the agent's folder.
        """
        await self.memory.snapshot(user, Path(path))

    async def restore(self, user: str, path: Path) -> None:
        """Bring the user's state back exactly as it was when `path` was written."""
        await self.memory.restore(user, Path(path))

    async def restart(self) -> None:
        """Close the store and open it again: nothing is left of the process's state but how it was configured."""
        await self.close()
        await self.open()

    async def maintain(self) -> None:
        """Rewrite the store without its free space, and empty its log."""
        await self.memory.maintain()

    def describe(self) -> AgentDescription:
        """What the agent is and can do; `configuration` holds every knob, model and prompt version."""
        channels = {
            "answer",
            "retrieval",
            "tool_arguments",
            "tool_results",
            "memory_writes",
            "model_requests",
            "storage",
            "vectors",
        }
        absent = {"logs": "keeps no log"}
        if self._settings.level:
            channels.add("summary")
        else:
            absent["summary"] = "S = 0 writes no summaries"
        if self._reasons:
            channels.add("reasoning")
        elif self._model.name.startswith(_WITHOUT_REASONING):
            absent["reasoning"] = "the model writes nothing but its reply"
        return AgentDescription(
            name="reference",
            version=__version__,
            configuration={
                **self._settings.model_dump(),
                **({"instructions": self._instructions} if self._instructions else {}),
                "tool_mode": self._tool_mode,
                "model": self._model.name,
                "embedder": self._embedder.name,
                **prompt_versions(),
            },
            capabilities=(
                "open",
                "close",
                "configure",
                "end_session",
                "remember",
                "inspect",
                "storage",
                "snapshot",
                "restore",
                "restart",
                "maintain",
            ),
            tiers=("raw", "summary", "note") if self._settings.level else ("raw", "note"),
            channels=tuple(channel for channel in CHANNELS if channel in channels),
            absent=absent,
            tools=tuple(TOOLS),
            knobs=KNOBS,
        )


def split_settings(knobs: Mapping[str, Any]) -> tuple[MemorySettings, ToolMode]:
    """What `ReferenceAgent` is made with, out of one set of knobs.

    Raises:
        ConfigError: A knob is unknown or its value is not usable.
    """
    memory = dict(knobs)
    mode = as_tool_mode(memory.pop("tool_mode", "auto"))
    return MemorySettings(**memory), mode


def all_settings(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting that the agent starts from, defaults and prompt versions among them, as JSON values."""
    settings, mode = split_settings(knobs)
    return {**settings.model_dump(mode="json"), "tool_mode": mode, **prompt_versions()}


def prompt_versions() -> dict[str, str]:
    """Versions of the prompts that a change of wording would raise."""
    return {
        "answer_prompts": str(_prompts()["version"]),
        "tool_prompts": str(_prompts()["tools"]["version"]),
        "summary_prompts": prompts_version(),
    }


@cache
def _prompts() -> dict[str, Any]:
    return tomllib.loads(files("vestige.agents").joinpath("prompts.toml").read_text(encoding="utf-8"))


@cache
def _tool_texts() -> ToolTexts:
    texts = _prompts()["tools"]
    return ToolTexts(
        **{name: str(texts[name]) for name in ("tools", "call", "call_or_answer", "arguments", "result")}
    )


def _messages(
    prompt: str, found: Sequence[Retrieved], now: str | None, instructions: str
) -> tuple[Message, ...]:
    texts = _prompts()["answer"]
    lines = [_line(unit.text, unit.date) for unit, _ in found]
    memories = "\n".join([texts["memories"], *lines]) if lines else texts["no_memories"]
    today = texts["today"].replace("{{date}}", now) if now else ""
    system = texts["system"].replace("{{today}}", today).replace("{{memories}}", memories)
    if instructions:
        system = f"{system}\n\n{instructions}"
    return (Message(role="system", content=system), Message(role="user", content=prompt))


def _line(text: str, date: str | None) -> str:
    day = _DAY.match(date) if date else None
    when = f"({day[0] if day else date}) " if date else ""
    return f"- {when}" + text.replace("\n", "\n  ")
