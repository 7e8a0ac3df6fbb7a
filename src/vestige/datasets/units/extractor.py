"""What makes statements of a dialogue, as its readers see it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from vestige.datasets.units.dialogue import Dialogue

__all__ = ["Extracted", "Extractor", "run"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of one dialogue."""

    statements: tuple[str, ...]
    """Each says one thing and can be understood alone; no two are equal after normalisation."""
    refused: int = 0
    """Statements that were proposed and failed a check."""
    unread: bool = False
    """The extractor's output could not be read at all."""


@runtime_checkable
class Extractor(Protocol):
    """Makes statements of dialogues. The same dialogue must give the same statements."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def statements(self, dialogue: Dialogue, known: Sequence[str] = ()) -> Extracted:
        """The statements of a dialogue that are not among those `known` already.

        Raises:
            ModelError: A model's endpoint failed.
        """
        ...

    async def close(self) -> None:
        """Free what was opened."""
        ...


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; in a thread of its own where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[T] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target, name="vestige-extraction")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
