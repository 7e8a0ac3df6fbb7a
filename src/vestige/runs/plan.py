"""The plan: everything that is fixed before the first exchange. Its SHA-256 names the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from vestige.defences.spec import DefenceSpec
from vestige.records import JsonScalar, Record, Tool
from vestige.runs.steps import Episode

__all__ = ["AgentSpec", "DataRef", "ModelSpec", "Plan", "Probe", "canonical_json", "generator", "seed_for"]


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spare space, so that equal values have equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def _entropy(seed: int, names: tuple[str, ...]) -> np.random.SeedSequence:
    digest = hashlib.sha256("\x1f".join(names).encode()).digest()
    return np.random.SeedSequence([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator spawned from the plan's seed by names, never by the order of execution."""
    return np.random.default_rng(_entropy(seed, names))


def seed_for(seed: int, *names: str) -> int:
    """A 31-bit seed for a model call, spawned by names."""
    return int(_entropy(seed, names).generate_state(1)[0] & 0x7FFFFFFF)


class Probe(Record):
    """One question put to the agent."""

    id: str
    kind: str
    """direct, indirect, jailbreak; utility."""
    text: str
    expected: str | None = None
    """What a right answer says, for the measures that compare with it."""
    contrast: str | None = None
    """The same said of another value, for the measure that compares the two."""
    measures: tuple[str, ...] = ()
    """Measurements made while the models are at hand and recorded with the exchange: cosine, judge."""
    now: str | None = None
    """The date of the question."""
    tools: tuple[Tool, ...] = ()
    """What the agent may call in answering it."""
    choices: tuple[str, ...] = ()
    """The options of a decision task, in the order shown; the text names them too."""
    session: str | None = None
    """A session to continue; None: a new one."""
    write_back: bool = False
    """Whether the exchange may leave a trace in memory."""
    max_tokens: Annotated[int, Field(gt=0)] = 300
    trace: bool = False
    """Whether the agent is asked for what it sends to its model: only where somebody looks at it, since it is long."""


class AgentSpec(Record):
    """Which agent is under test, and behind which defence."""

    name: str
    knobs: dict[str, JsonScalar] = Field(default_factory=dict)
    """What every episode opens it with, besides the episode's own knobs."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Every setting that episodes start from, defaults and prompt versions among them."""
    defence: DefenceSpec | None = None
    """What stands between the agent and whoever talks to it."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A plan without a defence has the same bytes as before there were any."""
        return {name: value for name, value in dump(self).items() if name != "defence" or value is not None}


class ModelSpec(Record):
    """Which models take part, and how the local server runs."""

    agent: str
    """The model the agent answers with."""
    agent_identity: str = ""
    """Name and file hash, or URL and name, of that model."""
    scorer_embedder: str
    """The embedder of PR's cosine."""
    judge: str | None = None
    adaptive: str | None = None
    """The auxiliary model that writes adaptive questions."""
    auxiliary: dict[str, str] = Field(default_factory=dict)
    """Models of a membership audit's parts, by the part's name: generator, responses, memory, paraphraser."""
    temperature: float = 0.0
    deterministic: bool = False


class DataRef(Record):
    """Which data the fixtures were made of."""

    name: str
    source: str
    sha256: str
    license: str
    notes: tuple[str, ...] = ()


class Plan(Record):
    """Everything fixed before the first exchange."""

    schema_version: Literal[1] = 1
    audit: str
    vestige_version: str
    seed: Annotated[int, Field(ge=0)]
    agent: AgentSpec
    models: ModelSpec
    data: DataRef
    settings: dict[str, Any]
    """The audit's own settings, read back by its scorer."""
    fixtures: dict[str, dict[str, Any]]
    """By instance id: what the evaluator knows and the agent must not be told."""
    probes: dict[str, Probe]
    episodes: tuple[Episode, ...]

    def to_bytes(self) -> bytes:
        """The canonical JSON that is stored and hashed."""
        return b"".join(self._chunks())

    @property
    def sha256(self) -> str:
        """Name of the run: SHA-256 of the canonical JSON."""
        digest = hashlib.sha256()
        for chunk in self._chunks():
            digest.update(chunk)
        return digest.hexdigest()

    def _chunks(self) -> Iterator[bytes]:
        """The canonical JSON piece by piece: a plan of many episodes as one Python value takes many times its text."""
        for number, name in enumerate(sorted(type(self).model_fields)):
            yield (b"," if number else b"{") + canonical_json(name) + b":"
            match getattr(self, name):
                case tuple() as items:
                    yield from _listed(items)
                case dict() as items if name in ("probes", "fixtures"):
                    yield from _mapped(items)
                case Record() as record:
                    yield canonical_json(record.model_dump(mode="json"))
                case value:
                    yield canonical_json(value)
        yield b"}"


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, Record) else value


def _listed(items: Iterable[Any]) -> Iterator[bytes]:
    before = b"["
    for item in items:
        yield before + canonical_json(_plain(item))
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _mapped(items: Mapping[str, Any]) -> Iterator[bytes]:
    before = b"{"
    for key in sorted(items):
        yield before + canonical_json(key) + b":" + canonical_json(_plain(items[key]))
        before = b","
    yield b"{}" if before == b"{" else b"}"
