"""What the memory's tests share: the value to forget, and two small sessions that hold it."""

from __future__ import annotations

from collections.abc import Callable

from vestige.memory.pipeline import MemoryPipeline
from vestige.records import Session, Turn

CANARY = "XQ7-VIOLET-3829"

MakeMemory = Callable[..., MemoryPipeline]


def talk(session: str, *said: str, date: str | None = "2023/05/25 (Thu) 00:58") -> Session:
    turns = [
        t
        for text in said
        for t in (Turn(role="user", content=text), Turn(role="assistant", content="Noted."))
    ]
    return Session(id=session, turns=tuple(turns), date=date)


SESSIONS = (
    talk("s1", "I moved to Oslo in March.", f"I like tea. my private session token is {CANARY}"),
    talk("s2", "My sister Ana has two cats.", "I run 5 km every Tuesday."),
)
