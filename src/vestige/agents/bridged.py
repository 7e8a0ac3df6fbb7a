"""Names of agents that run in a process of their own: `mem0`, `mem0,k=5`, `FILE.py:NAME,python=PATH`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vestige.agents import environments
from vestige.agents.bridge.launch import CALL_SECONDS, Endpoints, Launch
from vestige.agents.bridge.parent import BridgedAgent, look_at, open_bridged
from vestige.agents.recorded import Recorded
from vestige.errors import ConfigError
from vestige.models.base import ChatModel, Embedder
from vestige.models.cache import CachedModel
from vestige.models.chat import ChatClient
from vestige.models.embedders import HttpEmbedder
from vestige.models.local import LocalModel
from vestige.models.proxy import Tap, Taps
from vestige.models.resolve import URL_KEY, refuse_credentials
from vestige.records import JsonScalar

__all__ = ["Bridged", "bridged", "check_bridged", "open_agent"]

_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SECRET = ("key", "token", "secret", "password")
_OURS = ("python", "timeout")
"""Settings that say how the process is run; the agent is not given them."""
_ADDRESSES = ("model_url", "embedder_url")


@dataclass(frozen=True)
class Bridged:
    """An agent in a process of its own, as its name says it."""

    name: str
    """The whole name."""
    source: str
    """`FILE.py:NAME`, absolute, or `package.module:NAME`."""
    label: str
    """As messages show it."""
    settings: Mapping[str, JsonScalar]
    """Of a person, for the agent."""
    adapter: environments.Adapter | None = None
    python: str | None = None
    """Where it is no adapter: the interpreter."""
    seconds: float = CALL_SECONDS

    @property
    def file(self) -> Path | None:
        """Where it is written, where that can be read."""
        place = self.source.rpartition(":")[0]
        return Path(place) if place.endswith(".py") else None

    @property
    def sha256(self) -> str:
        """Of what is written of it; empty where that cannot be read."""
        if self.adapter is not None:
            return self.adapter.sha256
        return hashlib.sha256(self.file.read_bytes()).hexdigest() if self.file is not None else ""

    def launch(self, endpoints: Endpoints | None = None) -> Launch:
        """What starts it.

        Args:
            endpoints: The models that it is given; the person's own settings go over them.

        Raises:
            ConfigError: It is not installed.
        """
        where = f"--agent {self.label}: "
        known = (endpoints or Endpoints()).model_dump(exclude_none=True) if self.adapter is not None else {}
        if endpoints is not None and self.adapter is None:
            known = endpoints.model_dump(exclude_none=True, exclude_defaults=True)
        return Launch(
            source=self.source,
            python=_python(self.python, where)
            if self.adapter is None
            else environments.interpreter(
                self.adapter, "--agent " if self.adapter.name == self.name else where
            ),
            settings={**known, **self.settings},
            fenced=self.adapter is not None,
            call_seconds=self.seconds,
        )

    def public(self) -> dict[str, Any]:
        """What a plan says of it."""
        found: dict[str, Any] = {"sha256": self.sha256, "settings": dict(self.settings)}
        if self.adapter is not None:
            return found | {
                "adapter": self.adapter.name,
                "version": self.adapter.version,
                "requirements_sha256": self.adapter.requirements_sha256,
            }
        return found | {"file": self.file.name if self.file else "", "name": self.source.rpartition(":")[2]}


def bridged(name: str) -> Bridged | None:
    """What a name says, if it names an agent in a process of its own.

    Raises:
        ConfigError: A setting cannot be read, or a name with settings names no such agent.
    """
    place, *parts = name.split(",")
    known = {item.name: item for item in environments.ADAPTERS}
    if not parts and place not in known:
        return None
    settings = dict(_setting(name, part) for part in parts)
    given = {n: settings.pop(n) for n in _OURS if n in settings}
    seconds = given.get("timeout", CALL_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 86_400:
        raise ConfigError(f"--agent {name}: timeout={seconds}: expected seconds, above 0")
    if place in known:
        if "python" in given:
            raise ConfigError(
                f"--agent {name}: {place} runs in its own environment: vestige agents install {place} --python …"
            )
        item = known[place]
        return Bridged(name, f"{item.file}:{item.kind}", place, settings, item, None, float(seconds))
    if ":" not in place:
        raise ConfigError(
            f"--agent {name}: no such agent to give settings to; expected {', '.join(known)}, or "
            "FILE.py:NAME,python=PATH,…"
        )
    if "python" not in given:
        raise ConfigError(
            f"--agent {name}: settings are for an agent in a process of its own: name its interpreter too, as "
            f"{place},python=PATH,…"
        )
    file, _, attribute = place.rpartition(":")
    if file.endswith(".py"):
        path = Path(file).expanduser().absolute()
        if not path.is_file():
            raise ConfigError(f"--agent {name}: {file}: no such file; expected FILE.py:NAME,python=PATH")
        source, label = f"{path}:{attribute}", f"{path.name}:{attribute}"
    else:
        source = label = place
    return Bridged(name, source, label, settings, None, str(given["python"]), float(seconds))


def check_bridged(agent: Bridged, needs: Sequence[str] = ()) -> None:
    """Make sure that it is installed, and has what an audit cannot do without.

    Raises:
        ConfigError: It is not, it cannot be loaded, or it lacks a method.
        AgentError: Its process failed.
    """
    launch = agent.launch()
    with tempfile.TemporaryDirectory(prefix="vestige-agent-") as folder:
        facts = look_at(launch, Path(folder), label=agent.label)
    has = {*facts.methods, *(("snapshot", "restore") if facts.state_in_folder else ())}
    if missing := [n for n in needs if n not in has]:
        raise ConfigError(
            f"--agent {agent.name}: this audit needs {', '.join(missing)}, which {facts.name} does not have; "
            "`vestige verify` needs only converse, ask and forget"
        )


async def open_agent(
    agent: Bridged,
    storage: Path,
    *,
    model: ChatModel,
    embedder: Embedder | None,
    knobs: Mapping[str, Any],
    demanded: Sequence[str] = (),
    taps: Taps | None = None,
) -> BridgedAgent | Recorded:
    """Start its process over a folder of its own.

    Args:
        agent: What is started.
        storage: That folder.
        model: What it answers with; it is given the address.
        embedder: What it embeds with, where that has an address.
        knobs: Of the plan; those that it takes are set.
        demanded: Those that the episode is about.
        taps: Stand between it and its models; None: it is given their own addresses.

    Raises:
        ConfigError: A setting cannot be used, or a model has no address that another process could ask.
        AgentError: Its process failed.
    """
    endpoints = _endpoints(agent, model, embedder)
    tapped: dict[str, Tap] = {}
    try:
        if taps is not None:
            for name in _ADDRESSES:
                if (url := getattr(endpoints, name)) is not None:
                    tapped[name] = await taps.open(url)
        given = {name: tap.url for name, tap in tapped.items()}
        # A person's own settings go over what is given, and would lead around the proxy.
        free = replace(agent, settings={n: v for n, v in agent.settings.items() if n not in given})
        opened = await open_bridged(
            free.launch(endpoints.model_copy(update=given)),
            storage,
            label=agent.label,
            sha256=agent.sha256,
            knobs=knobs,
            demanded=demanded,
        )
    except BaseException:
        for tap in tapped.values():
            await tap.close()
        raise
    return Recorded(opened, tuple(tapped.values())) if tapped else opened


# --- settings -----------------------------------------------------------------------------------------------


def _setting(name: str, part: str) -> tuple[str, JsonScalar]:
    key, equals, text = part.partition("=")
    key = key.strip()
    if not equals or not _SETTING.fullmatch(key):
        raise ConfigError(f"--agent {name}: {part!r}: expected NAME=VALUE after a comma")
    if any(word in key.lower() for word in _SECRET):
        raise ConfigError(
            f"--agent {name.partition(',')[0]},{key}=…: a name stands in plans and reports; set {URL_KEY} instead"
        )
    refuse_credentials(text)
    if key in _OURS[:1]:
        return key, text
    try:
        value = json.loads(text)
    except ValueError:
        return key, text
    return key, value if value is None or isinstance(value, str | int | float | bool) else text


def _endpoints(agent: Bridged, model: ChatModel, embedder: Embedder | None) -> Endpoints:
    """Where the agent's models are.

    A key goes only to the address that it belongs to: an adapter has one key, so that two addresses of which one needs
    a key are refused.
    """
    own = agent.settings
    inner = model.model if isinstance(model, CachedModel) else model
    found: dict[str, Any] = {}
    keys: dict[str, str | None] = {}
    match inner:
        case ChatClient():
            found |= {"model": inner.model, "model_url": inner.transport.base_url}
            keys["model_url"] = inner.transport.api_key
        case LocalModel():
            found |= {"model": inner.name.removeprefix("local/"), "model_url": inner.base_url}
        case _ if inner.name != "extractive":
            raise ConfigError(
                f"--agent {agent.label}: the run's model has no URL that another process could ask; choose another "
                "--model, as ollama/NAME, local/NAME or http://HOST/v1#NAME"
            )
        case _:
            pass
    if isinstance(embedder, HttpEmbedder):
        found |= {"embedder": embedder.model, "embedder_url": embedder.transport.base_url}
        keys["embedder_url"] = embedder.transport.api_key
    for name in _ADDRESSES:
        if name in own:
            found[name], keys[name] = own[name], os.environ.get(URL_KEY)
    places = {n: urlsplit(str(found[n]))[:2] for n in _ADDRESSES if found.get(n)}
    given = {keys.get(n) for n in places}
    if len(set(places.values())) > 1 and given != {None}:
        raise ConfigError(
            f"--agent {agent.label}: model and embedder are at two addresses, and one of them needs a key; an adapter "
            "has one key: choose both at the same address, or an embedder without one"
        )
    if key := next((k for k in given if k), None):
        found["api_key"] = key
    return Endpoints.model_validate(found)


def _python(wanted: str | None, where: str) -> Path:
    found = shutil.which(wanted) if wanted else sys.executable
    if found is None:
        raise ConfigError(
            f"{where}python={wanted}: no such interpreter; expected a path such as .venv/bin/python"
        )
    return Path(found).absolute()
