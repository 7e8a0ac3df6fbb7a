"""A memory with the real extractive reader and the real hashing embedder; no model files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.settings import MemorySettings
from vestige.memory.store import MemoryStore
from vestige.memory.write import LEVELS, Level, Writer
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder

from .helpers import MakeMemory


@pytest.fixture
def make_memory(tmp_path: Path) -> Iterator[MakeMemory]:
    opened: list[MemoryStore] = []

    def make(name: str = "agent", *, secure_delete: bool = True, **settings: Any) -> MemoryPipeline:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        store = MemoryStore(folder / "memory.sqlite", secure_delete=secure_delete)
        opened.append(store)
        return MemoryPipeline(store, HashingEmbedder(), ExtractiveReader(), MemorySettings(**settings))

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def echo_level() -> Iterator[int]:
    """A level of the test's own: every user message is a fact, whatever it says."""

    async def echo(turns: Sequence[str], writer: Writer) -> Sequence[str]:
        return [f"The user said: {turn}" for turn in turns]

    LEVELS.add(9, Level(9, "echo", "Every message is a fact.", echo))
    yield 9
    LEVELS.remove(9)
