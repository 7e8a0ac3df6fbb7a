"""Loads the class of an agent, makes the agent, calls it."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import importlib.util
import inspect
import platform
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .plain import Plain, Unfit, Unusable

__all__ = ["PARAMETERS", "VERSION", "Runner"]

VERSION = 1

PARAMETERS = {
    "converse": ("user", "session"),
    "ask": ("user", "prompt", "options"),
    "forget": ("user", "request"),
    "reset": ("user",),
    "remember": ("user", "units"),
    "end_session": ("user",),
    "inspect": ("user",),
    "storage": (),
    "snapshot": ("user", "path"),
    "restore": ("user", "path"),
    "settle": (),
    "maintain": (),
    "poll": ("user", "receipt"),
    "open": (),
    "close": (),
}
ATTRIBUTES = ("version", "channels", "tiers", "tools", "external_effects", "absent")
NO_TEXT = "the agent's forget takes a text, and this request names none"


class Runner:
    """Loads the class, makes the agent, calls it."""

    def __init__(self, source: str) -> None:
        place, _, self.name = source.rpartition(":")
        self.file = Path(place) if place.endswith(".py") else None
        self._module = self._load(place)
        kind = getattr(self._module, self.name, None)
        if not callable(kind):
            raise Unusable(f"no {self.name!r} in {Path(place).name}")
        self.kind: Callable[..., Any] = kind
        for method in ("converse", "ask", "forget"):
            if inspect.isclass(self.kind) and not callable(getattr(self.kind, method, None)):
                raise Unusable(f"{self.name} has no {method}; expected `def {method}(self, user, …)`")
        self.agent: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def _load(self, place: str) -> ModuleType:
        if self.file is None:
            module = importlib.import_module(place)
            written = getattr(module, "__file__", None)
            self.file = Path(written) if written else None
            return module
        if not self.file.is_file():
            raise Unusable(f"{self.file.name}: no such file")
        # Never by its own name, and its folder is not searched: `mem0.py` must not hide the package mem0.
        name = "_vestige_agent_" + hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        spec = importlib.util.spec_from_file_location(name, self.file)
        if spec is None or spec.loader is None:
            raise Unusable(f"{self.file.name}: not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def make(self, folder: str, settings: Plain) -> None:
        """Make the agent and open it."""
        given: dict[str, Any] = {
            **settings,
            "folder": folder,
            "storage": Path(folder),
            "settings": settings,
            "config": settings,
        }
        wanted = [p for p in _parameters(self.kind) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        for parameter in wanted:
            if parameter.default is parameter.empty and parameter.name not in given:
                raise Unusable(f"{self.name} needs {parameter.name!r}, which nobody gives it")
        arguments = {p.name: given[p.name] for p in wanted if p.name in given}
        asynchronous = any(
            inspect.iscoroutinefunction(getattr(self.kind, m, None)) for m in ("converse", "ask", "forget")
        )
        self.agent = self._run(functools.partial(self.kind, **arguments), inside=asynchronous)
        if callable(getattr(self.agent, "open", None)):
            self._run(self.agent.open)

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Call one method."""
        function = getattr(self.agent, method, None)
        if self.agent is None or not callable(function):
            raise Unfit("the agent has no such method, or is not open")
        if method == "configure":
            return self._run(functools.partial(function, **Plain.of(params)))
        arguments = [Plain.of(params[name]) for name in PARAMETERS[method]]
        second = _second(function)
        if method == "ask":
            how = _takes_options(function)
            options = arguments.pop()
            if how == "name":
                function = functools.partial(function, options=options)
            elif how == "position":
                arguments.append(options)
        elif method == "converse" and second == "messages":
            arguments[1] = [{"role": t["role"], "content": t["content"]} for t in arguments[1]["turns"]]
        elif method == "forget" and second in ("value", "text"):
            arguments[1] = arguments[1]["value"] or arguments[1]["description"]
            if arguments[1] is None:
                return {"accepted": False, "completed": False, "message": NO_TEXT}
        return self._run(functools.partial(function, *arguments))

    def _run(self, call: Callable[..., Any], inside: bool = False) -> Any:
        """Plain code in this thread, async code in a loop that runs all the time."""
        if inside:
            return self._await(_later(call))
        value = call()
        return self._await(value) if inspect.isawaitable(value) else value

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="agent-loop", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(_settled(awaitable), self._loop).result()

    def facts(self) -> dict[str, Any]:
        """What the agent is; of the class alone, where none is made yet."""
        shown: Any = self.kind if self.agent is None else self.agent
        methods = [m for m in (*PARAMETERS, "configure") if callable(getattr(shown, m, None))]
        found: dict[str, Any] = {
            "protocol": VERSION,
            "name": self.name,
            "python": platform.python_version(),
            "methods": methods,
            "knobs": _knobs(shown.configure, self.agent is None) if "configure" in methods else [],
            "options": _takes_options(shown.ask, unbound=self.agent is None) is not None,
            "state_in_folder": bool(getattr(shown, "state_in_folder", False)),
        }
        if self.agent is not None:
            if callable(getattr(shown, "describe", None)):
                found["description"] = self._run(shown.describe)
            else:
                found["attributes"] = {
                    name: value
                    for name in ATTRIBUTES
                    if (value := getattr(shown, name, None)) is not None and not callable(value)
                }
        return found


async def _later(call: Callable[[], Any]) -> Any:
    value = call()
    return await value if inspect.isawaitable(value) else value


async def _settled(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _second(method: Callable[..., Any]) -> str:
    names = [p.name for p in _parameters(method)]
    return names[1] if len(names) > 1 else ""


def _takes_options(method: Callable[..., Any], unbound: bool = False) -> str | None:
    parameters = _parameters(method)[int(unbound) :]
    named = [
        p for p in parameters if p.name == "options" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if named:
        return "name"
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return "position" if len(places) > 2 and places[2].default is places[2].empty else None


def _knobs(method: Callable[..., Any], unbound: bool) -> list[str] | None:
    parameters = _parameters(method)[int(unbound) :]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
