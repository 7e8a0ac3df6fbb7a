"""An agent in another process as a run sees it: the whole protocol, and whatever goes wrong there a failed episode."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from vestige.agents.bridge.launch import Launch
from vestige.agents.bridge.peer import Failure, Peer
from vestige.agents.bridge.protocol import PARAMETERS, VERSION, Facts, encoded, facts, response
from vestige.agents.protocol import CHANNELS, OPTIONAL_METHODS, AgentDescription
from vestige.agents.returns import as_artifacts, as_paths, as_receipt, as_reply, checked
from vestige.errors import AgentError, ConfigError, StorageError
from vestige.records import AskOptions, JsonScalar, Receipt, RemovalRequest, Reply, Session

__all__ = ["BridgedAgent", "look_at", "open_bridged"]


async def open_bridged(
    launch: Launch,
    folder: Path,
    *,
    label: str,
    sha256: str = "",
    knobs: Mapping[str, Any] | None = None,
    demanded: Collection[str] = (),
) -> BridgedAgent:
    """Start a process with an agent in it.

    Args:
        launch: What is started.
        folder: The agent's own.
        label: What messages call the agent.
        sha256: Of the adapter, for its description.
        knobs: Those that its `configure` takes are set, and again after every restart.
        demanded: Those of the knobs that the episode is about: an agent that does not take them is refused.

    Raises:
        ConfigError: A setting cannot be used, a module is missing there, or a demanded knob is not taken.
        AgentError: The process failed.
    """
    agent = BridgedAgent(launch, folder, label=label, sha256=sha256, knobs=knobs)
    await agent.open()
    if ignored := sorted(n for n in demanded if not agent.takes_knob(n)):
        await agent.close()
        raise ConfigError(
            f"--agent {label}: this plan sets {', '.join(ignored)}, which {agent.facts.name} has no configure for"
        )
    return agent


def look_at(launch: Launch, folder: Path, *, label: str) -> Facts:
    """What the agent's class has; nothing is made of it.

    Args:
        launch: What is started.
        folder: An empty one.
        label: What messages call the agent.

    Raises:
        ConfigError: It cannot be loaded.
        AgentError: The process failed.
    """
    hello = encoded(1, "hello", {**_hello(launch), "folder": None, "fresh": True})
    try:
        done = subprocess.run(
            launch.command,
            input=hello,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=launch.environment(folder),
            timeout=launch.start_seconds,
            check=False,
        )
    except OSError as error:
        raise AgentError(f"{launch.command[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise AgentError(
            f"hello: the agent's process did not answer within {launch.start_seconds:g} s"
        ) from None
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    if not lines:
        raise AgentError(f"hello: the agent's process ended (exit code {done.returncode})")
    answer = response(lines[0], 1, "hello")
    if answer.error is not None:
        raise _told(Failure("hello", answer.error), label)
    return facts(answer.result)


class BridgedAgent:
    """What `launch` starts, speaking the whole protocol.

    It has the optional methods that the agent has. Besides these it always has `restart`, a new process over the same
    folder, and snapshots where all that the agent keeps lies in that folder.

    Args:
        launch: What is started.
        folder: The agent's own.
        label: What messages call the agent.
        sha256: Of the adapter, for its description.
        knobs: Those that its own `configure` takes are passed on whenever a process is started.
    """

    def __init__(
        self,
        launch: Launch,
        folder: Path,
        *,
        label: str,
        sha256: str = "",
        knobs: Mapping[str, Any] | None = None,
    ) -> None:
        self._launch, self._folder, self._label, self._sha256 = launch, folder.resolve(), label, sha256
        self._knobs = dict(knobs or {})
        self._peer: Peer | None = None
        self._facts: Facts | None = None
        self._started = False
        self.refused: list[str] = []
        """Addresses that the agent tried to reach and must not."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        # Only what is not found otherwise comes here: the optional methods.
        if name in OPTIONAL_METHODS and name in self.__dict__.get("_offered", ()):
            return partial(self._optional, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def facts(self) -> Facts:
        """What the process said of the agent.

        Raises:
            AgentError: It was not started.
        """
        if self._facts is None:
            raise AgentError("the agent is not open")
        return self._facts

    @property
    def pid(self) -> int | None:
        """Of the process, while it runs."""
        return None if self._peer is None else self._peer.pid

    # --- life ---

    async def open(self) -> None:
        """Start the process and open the agent in it; safe to call again.

        Raises:
            ConfigError: A setting cannot be used, or a module is missing there.
            AgentError: The process failed.
        """
        if self._peer is not None:
            return
        try:
            await self._begin()
            for name, value in self._knobs.items():
                if self.takes_knob(name):
                    await self._call("configure", {name: value})
            if self._knobs:
                await self._refresh()
        except BaseException:
            await self._end()
            raise

    async def close(self) -> None:
        """Close the agent, and end its process and all that it started."""
        peer = self._peer
        try:
            if peer is not None and peer.pid is not None and "close" in self.facts.methods:
                await self._call("close")
        finally:
            await self._end()

    async def restart(self) -> None:
        """A new process over the same folder, the knobs set again."""
        await self.close()
        await self.open()

    async def _begin(self) -> None:
        """Start the process and let it make the agent."""
        try:
            environment = self._launch.environment(self._folder)
        except OSError as error:
            raise StorageError(f"the agent's folder cannot be written: {error.strerror}") from error
        peer = self._peer = Peer(self._launch.command, self._folder, environment)
        await peer.start()
        hello = {**_hello(self._launch), "folder": str(self._folder), "fresh": not self._started}
        self._facts = facts(await self._call("hello", hello, self._launch.start_seconds))
        self._started = True
        self._offer()

    async def _end(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.stop()

    def _offer(self) -> None:
        here = {"open", "close", "restart"}
        if self.facts.state_in_folder:
            here |= {"snapshot", "restore"}
        self._offered = tuple(m for m in OPTIONAL_METHODS if m in here or m in self.facts.methods)

    def takes_knob(self, name: str) -> bool:
        """Whether the agent has a `configure` that takes a knob of that name."""
        known = self.facts.known_knobs
        return "configure" in self.facts.methods and (known is None or name in known)

    # --- the four methods ---

    async def converse(self, user: str, session: Session) -> None:
        """Hand over a whole session."""
        await self._named("converse", user, session)

    async def ask(self, user: str, prompt: str, options: AskOptions | None = None) -> Reply:
        """Put one prompt.

        Raises:
            AgentError: The agent raised, its process failed, or what came is no reply.
        """
        return as_reply(await self._named("ask", user, prompt, options or AskOptions()))

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        """Ask it to forget.

        Raises:
            AgentError: The agent raised, its process failed, or what came is no receipt.
        """
        return as_receipt(await self._named("forget", user, request))

    async def reset(self, user: str) -> None:
        """Drop the user; an agent without `reset` is started anew over an emptied folder, and every user with it."""
        if "reset" in self.facts.methods:
            await self._named("reset", user)
            return
        await self.close()
        await self._exchange(None)
        await self.open()

    # --- the others ---

    async def _optional(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if name in ("snapshot", "restore") and name not in self.facts.methods:
            return await self._by_folder(name, Path(args[1]))
        if name == "configure":
            await self._configure(kwargs)
            return None
        value = await self._named(name, *args)
        match name:
            case "inspect":
                return as_artifacts(value)
            case "storage":
                return [p if p.is_absolute() else self._folder / p for p in as_paths(value)]
            case "poll":
                if isinstance(value, bool):
                    return cast(Receipt, args[1]).model_copy(update={"completed": value})
                if value is None:
                    raise AgentError("poll: None came, expected a Receipt, True or False, or a dict")
                return as_receipt(value, "poll")
            case _:
                return None

    async def _configure(self, knobs: Mapping[str, Any]) -> None:
        await self._call("configure", knobs)
        self._knobs |= knobs
        await self._refresh()

    async def _by_folder(self, name: str, path: Path) -> None:
        """A snapshot of the folder, or the folder as it was; between two processes, so that nobody writes in it."""
        await self.close()
        try:
            if name == "snapshot":
                await asyncio.to_thread(shutil.copytree, self._folder, path, symlinks=True)
            else:
                await self._exchange(path)
        except OSError as error:
            raise StorageError(f"{name}: the agent's folder cannot be copied: {error.strerror}") from error
        await self.open()

    async def _exchange(self, path: Path | None) -> None:
        """Empty the folder, and put what is in `path` there."""

        def work() -> None:
            for old in self._folder.iterdir():
                shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
            if path is not None:
                shutil.copytree(path, self._folder, symlinks=True, dirs_exist_ok=True)

        try:
            await asyncio.to_thread(work)
        except OSError as error:
            raise StorageError(f"the agent's folder cannot be emptied: {error.strerror}") from error

    async def _refresh(self) -> None:
        self._facts = facts(await self._call("describe"), "describe")
        self._offer()

    async def _named(self, method: str, *args: Any) -> Any:
        return await self._call(method, dict(zip(PARAMETERS[method], map(_sent, args), strict=True)))

    async def _call(
        self, method: str, params: Mapping[str, Any] | None = None, seconds: float | None = None
    ) -> Any:
        peer = self._peer
        if peer is None:
            raise AgentError(f"{method}: the agent is not open")
        try:
            return await peer.call(method, params or {}, seconds or self._launch.call_seconds)
        except Failure as failure:
            raise _told(failure, self._label) from None
        finally:
            self.refused += peer.refused
            peer.refused = []

    # --- what it is ---

    def describe(self) -> AgentDescription:
        """The agent's own description, or one made of its methods and of the class attributes that say more.

        `configuration` says, besides the agent's own words, which interpreter runs it, the adapter's hash, and whether
        it can connect to anything but its models.

        Raises:
            AgentError: What it says of itself is not a description, or it is not open.
        """
        here = self.facts
        has = tuple(m for m in OPTIONAL_METHODS if m in self._offered)
        about: dict[str, JsonScalar] = {
            "process": f"its own, Python {here.python}" if here.python else "its own",
            "sha256": self._sha256,
            "network": "loopback and its models" if self._launch.fenced else "open",
        }
        if "reset" not in here.methods:
            about["reset"] = "a new process over an emptied folder"
        if here.description is not None:
            said = checked(AgentDescription, here.description, "describe: what came")
            # What it names and does not have is no capability; what it has and does not name is its own affair, but for
            # what the bridge adds.
            added = {"open", "close", "restart"}
            if here.state_in_folder:
                added |= {"snapshot", "restore"}
            named = tuple(m for m in has if m in said.capabilities or m in added)
            return said.model_copy(
                update={"capabilities": named, "configuration": {**said.configuration, **about}}
            )
        return checked(AgentDescription, self._derived(has, about), f"the class attributes of {here.name}")

    def _derived(self, has: Sequence[str], about: Mapping[str, JsonScalar]) -> dict[str, Any]:
        told = self.facts.attributes
        channels: list[Any] = ["answer"]
        if "inspect" in has:
            channels += ["memory_writes", "summary", "vectors"]
        if "storage" in has:
            channels.append("storage")
        channels += [c for c in told.get("channels", ()) if c not in channels]
        version = told.get("version")
        return {
            "name": self.facts.name,
            "version": version if isinstance(version, str) else self._sha256[:12] or "unknown",
            "configuration": dict(about),
            "capabilities": has,
            "tiers": told.get("tiers", ()),
            "channels": sorted(channels, key=lambda c: CHANNELS.index(c) if c in CHANNELS else -1),
            "absent": told.get("absent", {}),
            "tools": told.get("tools", ()),
            "external_effects": told.get("external_effects", ()),
            "knobs": self.facts.known_knobs or (),
        }


def _hello(launch: Launch) -> dict[str, Any]:
    return {"protocol": VERSION, "settings": dict(launch.settings), "hosts": launch.hosts()}


def _told(failure: Failure, label: str) -> AgentError | ConfigError:
    """A person's mistake ends the run, anything else the episode."""
    problem = failure.problem
    if problem.kind == "setting":
        return ConfigError(f"--agent {label}: {problem.words}")
    if problem.kind == "missing":
        place = f" ({problem.place})" if problem.place else ""
        return ConfigError(f"--agent {label}: {problem.words} in its environment{place}")
    return failure


def _sent(value: Any) -> Any:
    """A value as it goes over the line: records as dicts of all their fields."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_sent(v) for v in cast(Sequence[Any], value)]
    return value
