"""Opens the agent of an episode, with models that are shared by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vestige.agents.protocol import Agent
from vestige.agents.recorded import Recorded
from vestige.agents.reference import ReferenceAgent, all_settings, split_settings
from vestige.errors import ConfigError
from vestige.models.base import ChatModel, Embedder
from vestige.models.proxy import Tap, Taps
from vestige.records import JsonScalar

if TYPE_CHECKING:
    from vestige.agents.bridged import Bridged

__all__ = ["AGENTS", "Opener", "check_agent", "settings_of"]

AGENTS: tuple[str, ...] = ("reference",)
"""Names that `--agent` takes, besides those of `environments.ADAPTERS`, `FILE.py:NAME`, `package.module:NAME` and
`FILE.toml`; what runs in a process of its own may have settings, as `mem0,k=5`."""


def check_agent(name: str, needs: Sequence[str] = ()) -> str:
    """The agent's name, if there is an agent of that name; a user's own is loaded, and not yet made or spoken to.

    Args:
        name: One of `AGENTS` or of the adapters, `FILE.py:NAME`, `package.module:NAME`, or the `FILE.toml` of an HTTP
            agent.
        needs: Optional methods that the audit cannot do without.

    Raises:
        ConfigError: There is none, it cannot be loaded, or it lacks a method.
    """
    if name in AGENTS:
        return name
    if (apart := _apart(name)) is not None:
        from vestige.agents.bridged import check_bridged

        check_bridged(apart, needs)
        return name
    if name.endswith(".toml"):
        from vestige.agents.http_config import load_config

        load_config(name)
        if needs:
            raise ConfigError(
                f"--agent {name}: this audit needs {', '.join(needs)}, which an HTTP agent does not have; "
                "`vestige verify` audits it"
            )
        return name
    if ":" in name:
        from vestige.agents.source import check_methods, load_source

        source = load_source(name)
        if needs and source.product is None:
            raise ConfigError(
                f"--agent {name}: this audit needs {', '.join(needs)}; let {source.name} say the class that it returns "
                f"(def {source.name}(…) -> CLASS), so that this can be seen"
            )
        if needs:
            check_methods(source.product, f"--agent {name}", needs)
        return name
    hint = f"; name its class too: {name}:NAME" if name.endswith(".py") else ""
    raise ConfigError(
        f"--agent {name}: no such agent{hint}; expected {', '.join((*AGENTS, *_adapters()))}, FILE.py:NAME, "
        "package.module:NAME, or the FILE.toml that describes an HTTP agent"
    )


def _adapters() -> list[str]:
    from vestige.agents.environments import ADAPTERS

    return [item.name for item in ADAPTERS]


def _apart(name: str) -> Bridged | None:
    """What names an agent in a process of its own."""
    if "," not in name and name not in _adapters():
        return None
    from vestige.agents.bridged import bridged

    return bridged(name)


def settings_of(name: str, knobs: dict[str, JsonScalar]) -> dict[str, Any]:
    """Every setting that an episode of the agent starts from.

    The reference agent's knobs, defaults and prompt versions; of an adapter its hash, its settings and what is
    installed for it; of a user's own agent the file's name and hash, and of an HTTP agent its description without any
    value of a header.
    """
    check_agent(name)
    if (apart := _apart(name)) is not None:
        return apart.public()
    if name.endswith(".toml"):
        from vestige.agents.http_config import load_config

        loaded = load_config(name)
        return {"file": loaded.file, "sha256": loaded.sha256, "config": loaded.public()}
    if name not in AGENTS:
        from vestige.agents.source import load_source

        source = load_source(name)
        return {"file": source.file.name if source.file else "", "sha256": source.sha256, "name": source.name}
    return all_settings(knobs)


class Opener:
    """Opens one agent per episode; models and embedders stay open until `close`.

    Args:
        name: Which agent.
        model: What it answers and summarizes with.
        embedders: By name, those that episodes may ask for.
        knobs: Of every episode, before the episode's own.
        top_logprobs: Alternatives that the reference agent asks its model for at each token; 0: no log-probabilities.
        taps: Stand between an agent and the models whose URLs it is given, so that what it sends them is seen; None: it
            is given the models' own URLs.
    """

    def __init__(
        self,
        name: str,
        *,
        model: ChatModel,
        embedders: dict[str, Embedder],
        knobs: dict[str, JsonScalar],
        top_logprobs: int = 0,
        taps: Taps | None = None,
    ) -> None:
        self._name = check_agent(name)
        self._model, self._embedders, self._knobs = model, embedders, knobs
        self._top_logprobs, self._taps = top_logprobs, taps

    def embedder(self, name: str) -> Embedder:
        """The embedder of that name."""
        return self._embedders[name]

    async def open(self, knobs: dict[str, JsonScalar], storage: Path) -> Agent:
        """Open an agent with its own storage folder.

        Raises:
            ConfigError: A user's own agent needs what there is not.
            AgentError: It raised while it was made.
        """
        settings: dict[str, Any] = {**self._knobs, **knobs}
        embedder = settings.pop("embedder", None)
        if (apart := _apart(self._name)) is not None:
            from vestige.agents.bridged import open_agent

            return await open_agent(
                apart,
                storage,
                model=self._model,
                embedder=None if embedder is None else self._embedders.get(str(embedder)),
                knobs=settings,
                demanded=[n for n in knobs if n != "embedder"],
                taps=self._taps,
            )
        if self._name.endswith(".toml"):
            from vestige.agents.http import HttpAgent
            from vestige.agents.http_config import load_config

            return HttpAgent(load_config(self._name))
        if self._name not in AGENTS:
            from vestige.agents.callable import open_adapted
            from vestige.agents.source import load_source

            source = load_source(self._name)
            wanted = "model_url" in source.takes or "model" in source.takes
            url, model = _endpoint(self._model) if wanted else (None, None)
            demanded = [n for n in knobs if n != "embedder"]
            tap: Tap | None = None
            if url is not None and "model_url" in source.takes and self._taps is not None:
                tap = await self._taps.open(url)
                url = tap.url
            try:
                agent = await open_adapted(
                    source, storage, model_url=url, model=model, config=settings, demanded=demanded
                )
            except BaseException:
                if tap is not None:
                    await tap.close()
                raise
            return agent if tap is None else Recorded(agent, (tap,))
        memory, tool_mode = split_settings(settings)
        agent = ReferenceAgent(
            storage,
            model=self._model,
            embedder=self.embedder(str(embedder)),
            settings=memory,
            tool_mode=tool_mode,
            top_logprobs=self._top_logprobs,
        )
        await agent.open()
        return agent


def _endpoint(model: ChatModel) -> tuple[str | None, str | None]:
    """The base URL that others may ask a model at, and its name there; None where it has none."""
    from vestige.models.cache import CachedModel
    from vestige.models.chat import ChatClient
    from vestige.models.local import LocalModel

    inner = model.model if isinstance(model, CachedModel) else model
    match inner:
        case ChatClient():
            return inner.transport.base_url, inner.model
        case LocalModel():
            return inner.base_url, inner.name.removeprefix("local/")
        case _:
            return None, None
