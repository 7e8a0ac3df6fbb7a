"""One question about a candidate statement, and what came of making several."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Protocol

from pydantic import Field

from vestige.records import Record

__all__ = ["Generated", "Kind", "Question", "QuestionGenerator", "texts", "texts_version"]

Kind = Literal["recall", "yes_no", "naive"]
"""recall: MRMMIA's, with a concise value as its answer; yes_no: Interrogation's; naive: the one broad question."""


class Question(Record):
    """As it is put to the agent, with what its answer is judged by."""

    kind: Kind
    topic: str = ""
    """What it is about, in a few words."""
    key_value: str = ""
    """recall: the value asked for, which stands in the statement and not in the question. yes_no: the detail that was
    changed, empty where none was."""
    text: str
    """Without its follow-up."""
    follow_up: str = ""
    """recall: the question about the source."""
    expected: Literal["yes", "no"] | None = None
    """yes_no: the right answer for somebody who remembers the statement."""


class Generated(Record):
    """The valid questions of one call, in order, and why others were refused."""

    questions: tuple[Question, ...]
    rejected: dict[str, int] = Field(default_factory=dict)
    """By reason."""
    attempts: int = 1
    """Calls made."""


class QuestionGenerator(Protocol):
    """Makes questions about a statement, the same ones for the same seed."""

    @property
    def name(self) -> str:
        """As plans and reports call it, with model and version."""
        ...

    async def generate(self, statement: str, kind: Kind, count: int, seed: int) -> Generated:
        """At most `count` valid questions; fewer where no more could be made.

        Raises:
            ModelError: A model failed.
        """
        ...


@cache
def texts() -> dict[str, Any]:
    """The file of texts."""
    return tomllib.loads(files("vestige.attacks").joinpath("texts.toml").read_text(encoding="utf-8"))


def texts_version() -> str:
    """Its version, which stands in every plan."""
    return str(texts()["version"])
