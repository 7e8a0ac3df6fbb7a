"""Agents under test that are small, or broken on purpose, and what the engine needs to run them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vestige.errors import AgentError
from vestige.models.hashing import HashingEmbedder
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, Session
from vestige.runs.engine import Services
from vestige.runs.folder import RunFolder, blob_of
from vestige.runs.plan import AgentSpec, DataRef, ModelSpec, Plan, Probe
from vestige.runs.steps import Converse, Episode, Step


class Parrot:
    """The four methods and no more: remembers every turn and says all of them."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}
        self.closed = False

    async def converse(self, user: str, session: Session) -> None:
        self.heard.setdefault(user, []).extend(t.content for t in session.turns if t.role == "user")

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        return Reply(text=" ".join(self.heard.get(user, ())))

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        self.heard.pop(user, None)
        return Receipt(accepted=True, completed=True)

    async def reset(self, user: str) -> None:
        self.heard.pop(user, None)

    async def close(self) -> None:
        self.closed = True


class Raises(Parrot):
    """Raises what it is given whenever it is asked."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        raise self.error


def services(open_agent: Callable[[Episode], Any]) -> Services:
    """Services whose agents `open_agent` makes, one for each episode."""

    async def opened(episode: Episode, storage: Path) -> Any:
        agent = open_agent(episode)
        if agent is None:
            raise AgentError("open: refused")
        return agent

    embedder = HashingEmbedder()
    return Services(open_agent=opened, embedder_of=lambda episode: embedder, measures={})


def plan_of(*scripts: tuple[Step, ...], probes: tuple[str, ...] = ("What do you know?",)) -> Plan:
    """A plan of the given scripts, one an instance; probe ids are p0, p1, …"""
    return Plan(
        audit="frontier",
        vestige_version="0",
        seed=3,
        agent=AgentSpec(name="reference"),
        models=ModelSpec(agent="extractive", scorer_embedder="hashing"),
        data=DataRef(name="hand", source="hand", sha256="0" * 64, license="none"),
        settings={},
        fixtures={},
        probes={f"p{i}": Probe(id=f"p{i}", kind="direct", text=text) for i, text in enumerate(probes)},
        episodes=tuple(Episode(id=f"e{i}", instance=f"i{i}", steps=steps) for i, steps in enumerate(scripts)),
    )


def conversing(session: Session) -> tuple[Converse, dict[str, bytes]]:
    """A step that tells `session`, with the blob it names."""
    digest, data = blob_of(session.model_dump(mode="json"))
    return Converse(session=digest), {digest: data}


def folder_of(path: Path, plan: Plan, blobs: dict[str, bytes] | None = None) -> RunFolder:
    return RunFolder.create(path, plan, blobs or {}, resume=True)
