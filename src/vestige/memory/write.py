"""The write path: what is stored of a session, by level S.

Raw units are always stored, with vectors: at S = 0 they are what is retrieved, above it they are the
archive that summaries are made from. A level is how a session's user messages become summary units;
register more so::

    @level(3, name="keywords", doc="Up to ten keywords per session.")
    async def keywords(turns, writer): ...
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from vestige.memory.facts import parse_facts, parse_sentence
from vestige.memory.prompts import prompt
from vestige.memory.registry import Registry
from vestige.models.base import ChatModel, ChatReply, ChatRequest

__all__ = ["LEVELS", "Level", "Summariser", "Writer", "level", "parts", "token_estimate"]

_CHARS_PER_TOKEN = 3.0
"""Careful for English (about 4) since codes, numbers and names cost more."""


@dataclass(frozen=True, slots=True)
class Writer:
    """What a summariser may use: a model and its limits."""

    model: ChatModel
    max_tokens: int = 500
    budget: int = 1500
    """Estimated tokens of user messages in one call."""

    async def ask(self, task: str, turns: Sequence[str]) -> ChatReply:
        """One call with the packaged prompt of `task` (``facts``, ``sentence``), at temperature 0."""
        return await self.model.complete(
            ChatRequest(
                messages=prompt(task).fill(turns),
                temperature=0.0,
                max_tokens=self.max_tokens,
                task=task,
                passages=tuple(turns),
            )
        )


Summariser = Callable[[Sequence[str], Writer], Awaitable[Sequence[str]]]
"""Maps the user's messages of one session to the texts of its summary units; none: nothing to keep."""


@dataclass(frozen=True, slots=True)
class Level:
    """One summarisation level S."""

    number: int
    name: str
    doc: str
    summarise: Summariser | None
    """None: no summaries are written, raw units are retrieved."""


LEVELS: Registry[int, Level] = Registry("summarisation level")
"""Levels by S; `level` adds to it."""


def level(number: int, *, name: str, doc: str = "") -> Callable[[Summariser], Summariser]:
    """Register the decorated summariser as level `number`.

    Raises:
        ConfigError: The level is registered already.
    """

    def register(summarise: Summariser) -> Summariser:
        LEVELS.add(number, Level(number, name, doc or (summarise.__doc__ or "").strip(), summarise))
        return summarise

    return register


LEVELS.add(0, Level(0, "raw turns", "Each user turn is stored and retrieved as it is.", None))


@level(1, name="key facts")
async def key_facts(turns: Sequence[str], writer: Writer) -> Sequence[str]:
    """Key personal facts of a session, one unit a fact; the facts of a long session's parts are united."""
    facts: dict[str, None] = {}
    for part in parts(turns, writer.budget):
        reply = await writer.ask("facts", part)
        for fact in parse_facts(reply.text, complete=reply.finish_reason != "length"):
            facts.setdefault(fact)
    return tuple(facts)


@level(2, name="one sentence")
async def one_sentence(turns: Sequence[str], writer: Writer) -> Sequence[str]:
    """One sentence about the user per session; of a long session, a sentence about its parts' sentences."""
    while len(pieces := list(parts(turns, writer.budget))) > 1:
        shorter = [s for piece in pieces for s in parse_sentence((await writer.ask("sentence", piece)).text)]
        if not shorter or _size(shorter) >= _size(turns):
            return shorter[:1]
        turns = shorter
    if not pieces:
        return ()
    return parse_sentence((await writer.ask("sentence", pieces[0])).text)


def token_estimate(text: str) -> int:
    """A careful guess of a text's tokens, without a tokenizer."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


def _size(turns: Sequence[str]) -> int:
    return sum(len(turn) for turn in turns)


def parts(turns: Sequence[str], budget: int) -> Iterator[tuple[str, ...]]:
    """Turns in consecutive groups of at most `budget` estimated tokens; longer turns are cut at words."""
    group: list[str] = []
    used = 0
    for turn in turns:
        for piece in _pieces(turn, budget):
            cost = token_estimate(piece)
            if group and used + cost > budget:
                yield tuple(group)
                group, used = [], 0
            group.append(piece)
            used += cost
    if group:
        yield tuple(group)


def _pieces(turn: str, budget: int) -> Iterator[str]:
    room = max(1, int(budget * _CHARS_PER_TOKEN))
    while len(turn) > room:
        cut = max(turn.rfind(" ", 0, room), turn.rfind("\n", 0, room))
        cut = cut if cut > 0 else room
        yield turn[:cut]
        turn = turn[cut:].lstrip()
    if turn:
        yield turn
