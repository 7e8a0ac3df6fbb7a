"""A user's own class as an agent: plain or async methods, plain or typed returns, one instance an episode.

`converse`, `ask` and `forget` are needed; `reset` may be missing, and is then a fresh instance over an emptied folder.
Every optional method of the protocol is there where the class has it, and only there.
"""

from __future__ import annotations

import asyncio
import inspect
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, MethodType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from vestige.agents.protocol import CHANNELS, OPTIONAL_METHODS, AgentDescription
from vestige.agents.returns import as_artifacts, as_paths, as_receipt, as_reply, checked
from vestige.agents.source import Source, check_methods, place_of
from vestige.agents.worker import Worker, hold_stdout, release_stdout
from vestige.errors import AgentError, ConfigError, VestigeError
from vestige.records import AskOptions, JsonScalar, Receipt, RemovalRequest, Reply, Session

__all__ = ["AdaptedAgent", "open_adapted"]

NO_TEXT = "the agent's forget takes a text, and this request names none"


async def open_adapted(
    source: Source,
    storage: Path,
    *,
    model_url: str | None = None,
    model: str | None = None,
    config: Mapping[str, Any] | None = None,
    demanded: Collection[str] = (),
) -> AdaptedAgent:
    """Make an agent of a source and open it.

    Args:
        source: What makes it.
        storage: A folder of its own, for the parameter `storage`.
        model_url: The base URL of an OpenAI-compatible endpoint, for the parameter of that name; None: there is none.
        model: The model's name there.
        config: The knobs that the plan sets, for the parameter `config`, and for its `configure` as far as that
            takes them.
        demanded: Those of the knobs that the episode is about: an agent that does not take them is refused.

    Raises:
        ConfigError: It needs a model's URL and there is none, does not take a demanded knob, or what a factory made is
            no agent.
        AgentError: Its constructor or its `open` raised.
    """
    given: dict[str, Any] = {"storage": storage, "config": dict(config or {})}
    given |= {n: v for n, v in (("model_url", model_url), ("model", model)) if v is not None}
    if absent := [n for n in source.takes if n not in given and n in source.required]:
        raise ConfigError(
            f"--agent {source.label}: {source.name} needs {', '.join(absent)}, and the run's model has no URL that "
            "another could ask; choose another --model, as ollama/NAME, local/NAME or http://HOST/v1#NAME"
        )
    arguments = {n: given[n] for n in source.takes if n in given}
    agent = AdaptedAgent(source, arguments, storage, dict(config or {}))
    await agent.open()
    if ignored := sorted(n for n in demanded if not agent.takes_knob(n)):
        await agent.close()
        raise ConfigError(
            f"--agent {source.label}: this plan sets {', '.join(ignored)}, which {source.name} has no configure for; "
            "expected `def configure(self, **knobs)`"
        )
    return agent


class AdaptedAgent:
    """What a source makes, speaking the whole protocol.

    Args:
        source: What makes the agent, again for every `reset` where the class has none of its own.
        arguments: What it is made with.
        storage: Its own folder.
        knobs: Those that its own `configure` takes are passed on when it is opened.
    """

    def __init__(
        self,
        source: Source,
        arguments: Mapping[str, Any],
        storage: Path,
        knobs: Mapping[str, Any] | None = None,
    ) -> None:
        self._source, self._arguments, self._folder = source, dict(arguments), storage
        self._knobs = dict(knobs or {})
        self._worker = Worker()
        self._agent: Any = None
        self._holds = False

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        # Only what is not found otherwise comes here: the optional methods.
        agent = self.__dict__.get("_agent")
        if name in OPTIONAL_METHODS and callable(getattr(agent, name, None)):
            return partial(self._optional, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- life ---

    async def open(self) -> None:
        """Make the agent, and open it where it can be opened; safe to call again."""
        if self._agent is not None:
            return
        if not self._holds:
            hold_stdout()
            self._holds = True
        try:
            self._agent = await self._make()
            if callable(getattr(self._agent, "open", None)):
                await self._call("open", self._agent.open)
            configure = getattr(self._agent, "configure", None)
            if callable(configure) and (
                taken := {n: v for n, v in self._knobs.items() if _takes(configure, n)}
            ):
                await self._call("configure", partial(configure, **taken))
        except BaseException:
            await self.close()
            raise

    def takes_knob(self, name: str) -> bool:
        """Whether the agent has a `configure` that takes a knob of that name."""
        configure = getattr(self._agent, "configure", None)
        return callable(configure) and _takes(configure, name)

    async def close(self) -> None:
        """Close the agent, where it can be closed, and give standard output back."""
        agent, self._agent = self._agent, None
        try:
            if agent is not None and callable(getattr(agent, "close", None)):
                await self._call("close", agent.close)
        finally:
            self._worker.stop()
            if self._holds:
                self._holds = False
                release_stdout()

    async def _make(self) -> Any:
        source = self._source
        make = partial(source.factory, **self._arguments)
        # What is async may need the running loop while it is made, and what is plain the thread it will run in.
        in_loop = source.product is not None and any(
            inspect.iscoroutinefunction(getattr(source.product, m, None))
            for m in ("converse", "ask", "forget")
        )
        agent = await self._call(source.name, make, in_loop=in_loop)
        check_methods(agent, f"--agent {source.label}")
        return agent

    # --- the four methods ---

    async def converse(self, user: str, session: Session) -> None:
        """Hand over a whole session, as `Session` or as a list of messages."""
        method = self._agent.converse
        name, annotation = _parameter(method, 1)
        given: Any = session
        if name == "messages" or get_origin(annotation) in (list, Sequence) or annotation is list:
            given = [{"role": turn.role, "content": turn.content} for turn in session.turns]
        elif annotation is dict or get_origin(annotation) is dict:
            given = session.model_dump(mode="json")
        await self._call("converse", method, user, given)

    async def ask(self, user: str, prompt: str, options: AskOptions | None = None) -> Reply:
        """Put one prompt, with the options where the method takes them.

        Raises:
            AgentError: The agent raised, or what came is no reply.
        """
        method = self._agent.ask
        call = partial(method, user, prompt)
        match _options_of(method):
            case "name":
                call = partial(method, user, prompt, options=options or AskOptions())
            case "position":
                call = partial(method, user, prompt, options or AskOptions())
            case _:
                pass
        return as_reply(await self._call("ask", call))

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Ask it to forget, by the whole request or by its text alone.

        Raises:
            AgentError: The agent raised, or what came is no receipt.
        """
        method = self._agent.forget
        name, annotation = _parameter(method, 1)
        given: Any = request
        if name in ("value", "text") or _is_text(annotation):
            given = request.value or request.description
            if given is None:
                return Receipt(accepted=False, completed=False, message=NO_TEXT)
        elif annotation is dict or get_origin(annotation) is dict:
            given = request.model_dump(mode="json")
        return as_receipt(await self._call("forget", method, user, given))

    async def reset(self, user: str) -> None:
        """Drop the user; a class without `reset` is made anew over an emptied folder, and every user with it."""
        method = getattr(self._agent, "reset", None)
        if callable(method):
            await self._call("reset", method, user)
            return
        agent, self._agent = self._agent, None
        if callable(getattr(agent, "close", None)):
            await self._call("close", agent.close)
        try:
            if self._folder.exists():
                shutil.rmtree(self._folder)
                self._folder.mkdir()
        except OSError as error:
            raise AgentError(f"reset: the agent's folder cannot be emptied: {error.strerror}") from None
        await self.open()

    async def _optional(self, name: str, *args: Any, **kwargs: Any) -> Any:
        value = await self._call(name, partial(getattr(self._agent, name), *args, **kwargs))
        match name:
            case "inspect":
                return as_artifacts(value)
            case "storage":
                return as_paths(value)
            case "poll":
                if isinstance(value, bool):
                    return cast(Receipt, args[1]).model_copy(update={"completed": value})
                if value is None:
                    raise AgentError("poll: None came, expected a Receipt, True or False, or a dict")
                return as_receipt(value, "poll")
            case _:
                return None

    async def _call(self, what: str, function: Callable[..., Any], *args: Any, in_loop: bool = False) -> Any:
        """Call the user's code: async in the loop, plain in the agent's thread.

        Raises:
            AgentError: It raised; the message has the type and the line, not the words, which may hold anything.
        """
        call = partial(function, *args)
        try:
            if in_loop or inspect.iscoroutinefunction(_unwrapped(function)):
                value: Any = call()
            else:
                value, error = await self._worker.run(call)
                if error is not None and not isinstance(error, VestigeError):
                    # Whatever it is, and `KeyboardInterrupt` too: it was raised in the agent's thread, not in ours.
                    raise self._failed(what, error) from error
                if error is not None:
                    raise error
            return await value if inspect.isawaitable(value) else value
        except VestigeError:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise self._failed(what, error) from error  # the agent's own cancellation, not ours
        except (Exception, SystemExit, GeneratorExit) as error:
            raise self._failed(what, error) from error

    def _failed(self, what: str, error: BaseException) -> AgentError:
        place = place_of(error, self._source.file)
        return AgentError(
            f"{what}: the agent raised {type(error).__name__}" + (f" at {place}" if place else "")
        )

    # --- what it is ---

    def describe(self) -> AgentDescription:
        """The agent's own description, or one made of its methods and of the class attributes that say more.

        `channels`, `tiers`, `tools` and `external_effects` are tuples of names, `absent` a dict from a channel to the
        reason why it does not exist. What a class without them shows is told by its methods: the answer; what `inspect`
        lists (summary, memory writes, vectors); the bytes of `storage`.

        Raises:
            AgentError: What it says of itself is not a description.
        """
        agent = self._agent
        if agent is None:
            raise AgentError("describe: the agent is not open")
        has = tuple(m for m in OPTIONAL_METHODS if callable(getattr(agent, m, None)))
        own = getattr(agent, "describe", None)
        if callable(own):
            try:
                said = own()
            except Exception as error:  # an agent under test may raise anything
                raise self._failed("describe", error) from error
            if isinstance(said, Mapping):
                said = checked(AgentDescription, cast(Mapping[Any, Any], said), "describe: what came")
            if not isinstance(said, AgentDescription):
                raise AgentError(
                    f"describe: a value of type {type(said).__name__} came, expected an AgentDescription"
                )
            return said.model_copy(update={"capabilities": tuple(m for m in said.capabilities if m in has)})
        channels: list[Any] = ["answer"]
        if "inspect" in has:
            channels += ["memory_writes", "summary", "vectors"]
        if "storage" in has:
            channels.append("storage")
        channels += [c for c in self._attribute("channels", ()) if c not in channels]
        configuration: dict[str, JsonScalar] = {"sha256": self._source.sha256}
        configuration["ask_options"] = "taken" if _options_of(agent.ask) else "not taken"
        if not callable(getattr(agent, "reset", None)):
            configuration["reset"] = "a fresh instance over an emptied folder"
        fields = {
            "name": self._source.name,
            "version": self._source.version,
            "configuration": configuration,
            "capabilities": has,
            "tiers": self._attribute("tiers", ()),
            "channels": sorted(channels, key=lambda c: CHANNELS.index(c) if c in CHANNELS else -1),
            "absent": self._attribute("absent", {}),
            "tools": self._attribute("tools", ()),
            "external_effects": self._attribute("external_effects", ()),
            "knobs": tuple(_named(agent.configure)) if "configure" in has else (),
        }
        return checked(AgentDescription, fields, f"the class attributes of {self._source.name}")

    def _attribute(self, name: str, default: Any) -> Any:
        value = getattr(self._agent, name, default)
        return default if callable(value) else value


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, partial):
        function = function.func
    return function


def _signature(method: Any) -> inspect.Signature | None:
    function = getattr(method, "__func__", None)
    return _of_method(function) if inspect.isfunction(function) else _read(method)


@lru_cache(maxsize=256)
def _of_method(function: FunctionType) -> inspect.Signature | None:
    # Remembered by the function, not by the bound method, which would keep its agent alive.
    return _read(MethodType(function, object()))


def _read(method: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(method, eval_str=True)
    except Exception:  # evaluating a stranger's annotations runs their code: read them as text
        try:
            return inspect.signature(method)
        except (TypeError, ValueError):
            return None


def _positional(method: Any) -> list[inspect.Parameter]:
    signature = _signature(method)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind in kinds] if signature else []


def _parameter(method: Any, index: int) -> tuple[str, Any]:
    """Name and annotation of a positional parameter of a bound method."""
    found = _positional(method)
    return (found[index].name, found[index].annotation) if len(found) > index else ("", None)


def _is_text(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return str in get_args(annotation)
    return annotation is str or annotation == "str"


def _options_of(method: Any) -> str | None:
    """How `ask` takes its options: by name, by position, or not at all."""
    signature = _signature(method)
    if signature is None:
        return "position"
    named = signature.parameters.get("options")
    if named is not None and named.kind is not named.POSITIONAL_ONLY:
        return (
            "name" if named.kind is not named.VAR_KEYWORD and named.kind is not named.VAR_POSITIONAL else None
        )
    third = _positional(method)[2:3]
    if third and (third[0].annotation is AskOptions or third[0].default is inspect.Parameter.empty):
        return "position"
    return None


def _named(function: Callable[..., Any]) -> list[str]:
    signature = _signature(function)
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in signature.parameters.values() if p.kind not in skipped] if signature else []


def _takes(function: Callable[..., Any], name: str) -> bool:
    signature = _signature(function)
    if signature is None:
        return True
    return name in _named(function) or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values()
    )
