"""The wording of the generator: what can be told, asked and talked about, read from `topics/*.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Chat", "Grammar", "Occasion", "Slot", "Template", "Topic", "load_grammar"]


@dataclass(frozen=True, slots=True)
class Template:
    """A wording with the id by which its use is counted."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Slot:
    """One fact a user can have: its wordings take a value ``{v}``; ``{who}`` where it is another's."""

    topic: str
    key: str
    kind: str
    tell: tuple[Template, ...]
    update: tuple[Template, ...]
    """Empty where the fact does not change."""
    ask: tuple[str, ...]
    other: tuple[Template, ...]
    trend: str = ""
    """`up` or `down`: the way an updated number must go, where the words say so."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Something that happens repeatedly: an event with a ``{date}``, or a purchase with an ``{amount}``."""

    topic: str
    key: str
    kind: str
    tell: tuple[Template, ...]
    ask: dict[str, tuple[str, ...]]
    """Questions by type: `first`, `last`, `both`, `days` of events, `total` of purchases."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A request that tells nothing about the user, with replies to it."""

    user: Template
    replies: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """An area of life."""

    name: str
    slots: tuple[Slot, ...]
    events: tuple[Occasion, ...]
    purchases: tuple[Occasion, ...]
    chats: tuple[Chat, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """All topics, and what fits into any of them."""

    topics: tuple[Topic, ...]
    chats: tuple[Chat, ...]
    phrases: dict[str, tuple[Template, ...]]
    """`opener`, `bridge`, `closer` of the user; `ack`, `only` (to a fact alone) of the assistant."""


_PHRASES = ("opener", "bridge", "closer", "ack", "only")
_EVENT_QUESTIONS = ("first", "last", "both", "days")


def _templates(prefix: str, texts: list[str]) -> tuple[Template, ...]:
    return tuple(Template(f"{prefix}.{i}", text) for i, text in enumerate(texts))


def _chats(name: str, raw: dict[str, Any]) -> tuple[Chat, ...]:
    return tuple(
        Chat(Template(f"{name}.chat.{i}", item["u"]), _templates(f"{name}.chat.{i}.reply", item["a"]))
        for i, item in enumerate(raw.get("chat", []))
    )


def _slot(name: str, item: dict[str, Any]) -> Slot:
    prefix = f"{name}.{item['key']}"
    return Slot(
        topic=name,
        key=item["key"],
        kind=item["kind"],
        tell=_templates(f"{prefix}.tell", item["tell"]),
        update=_templates(f"{prefix}.update", item.get("update", [])),
        ask=tuple(item["ask"]),
        other=_templates(f"{prefix}.other", item["other"]),
        trend=item.get("trend", ""),
    )


def _occasion(name: str, item: dict[str, Any], questions: tuple[str, ...]) -> Occasion:
    return Occasion(
        topic=name,
        key=item["key"],
        kind=item["kind"],
        tell=_templates(f"{name}.{item['key']}.tell", item["tell"]),
        ask={question: tuple(item[question]) for question in questions},
    )


@cache
def load_grammar() -> Grammar:
    """Read the wording that comes with the package; topics are in the order of their names."""
    topics: list[Topic] = []
    general: dict[str, Any] = {}
    for file in sorted(
        files("vestige.datasets.synthetic").joinpath("topics").iterdir(), key=lambda f: f.name
    ):
        name, _, extension = file.name.partition(".")
        if extension != "toml":
            continue
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
        if name == "general":
            general = raw
            continue
        topics.append(
            Topic(
                name=name,
                slots=tuple(_slot(name, item) for item in raw["slot"]),
                events=tuple(_occasion(name, item, _EVENT_QUESTIONS) for item in raw.get("event", [])),
                purchases=tuple(_occasion(name, item, ("total",)) for item in raw.get("spend", [])),
                chats=_chats(name, raw),
            )
        )
    phrases = {kind: _templates(f"general.{kind}", general[kind]) for kind in _PHRASES}
    return Grammar(tuple(topics), _chats("general", general), phrases)
