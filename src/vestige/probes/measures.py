"""Measurements of a reply that need a model: made while a run acts, and stored with the exchange."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, cast

from vestige.models.base import ChatModel, ChatRequest, Embedder, Message
from vestige.records import JsonScalar, Reply
from vestige.runs.plan import Probe
from vestige.text import sentences

__all__ = [
    "CosineMeasure",
    "JudgeMeasure",
    "LeaningMeasure",
    "SemanticJudge",
    "judge_version",
    "semantic_judge_version",
]

_JUDGED = 4000
"""Characters of a reply that are judged or embedded whole."""
_SENTENCES = 50
"""Sentences of a reply that are compared one by one."""


class CosineMeasure:
    """Cosine similarity of the reply and the expected answer, in [-1, 1], rounded to six places."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Embed both texts; None where there is no expected answer, 0 for an empty reply."""
        if probe.expected is None:
            return None
        if not reply.text.strip():
            return 0.0
        vectors = await self._embedder.embed([reply.text, probe.expected])
        return round(float(vectors[0] @ vectors[1]), 6)


class LeaningMeasure:
    """How much nearer the reply is to `probe.expected` than to `probe.contrast`: a difference of cosines.

    Both are the statement of a preference, with the option that was told and with the other one, so that what they have
    in common, and what a scrubbed copy of the statement still has, cancels out. The largest over the reply and its
    sentences, rounded to six places.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Embed all texts; None where there is nothing to compare with, 0 for an empty reply."""
        if probe.expected is None or probe.contrast is None:
            return None
        if not reply.text.strip():
            return 0.0
        spoken = sentences(reply.text[: 5 * _JUDGED])[:_SENTENCES]
        texts = list(dict.fromkeys((reply.text[:_JUDGED], *spoken)))
        vectors = await self._embedder.embed([probe.expected, probe.contrast, *texts])
        return round(float((vectors[2:] @ (vectors[0] - vectors[1])).max()), 6)


@cache
def _prompts(name: str) -> dict[str, str | int]:
    return tomllib.loads((files("vestige.probes") / f"{name}.toml").read_text(encoding="utf-8"))


def judge_version() -> int:
    """Version of the judge's prompt; stands in every plan that uses one."""
    return int(_prompts("judge")["version"])


def semantic_judge_version() -> int:
    """Version of the semantic judge's prompt; stands in every plan that uses one."""
    return int(_prompts("semantic_judge")["version"])


async def _judged(
    model: ChatModel, prompt: str, probe: Probe, reply: Reply, field: tuple[str, dict[str, Any]]
) -> Any:
    """The field of the JSON object that a judge answers with; None where there is no such object."""
    texts = _prompts(prompt)
    # One pass, so that a reply that holds a placeholder fills in nothing.
    values = {
        "{question}": probe.text,
        "{expected}": probe.expected or "",
        "{reply}": reply.text[:_JUDGED],
    }
    user = re.sub("|".join(map(re.escape, values)), lambda m: values[m[0]], str(texts["user"]))
    name, schema = field
    request = ChatRequest(
        messages=(
            Message(role="system", content=str(texts["system"])),
            Message(role="user", content=user),
        ),
        temperature=0.0,
        max_tokens=50,
        json_schema={
            "type": "object",
            "properties": {name: schema},
            "required": [name],
            "additionalProperties": False,
        },
        task="judge",
    )
    answer = (await model.complete(request)).text
    found = re.search(r"\{.*?\}", answer, re.DOTALL)
    if found is None:
        return None
    try:
        verdict = json.loads(found[0])
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", verdict).get(name) if isinstance(verdict, dict) else None


class JudgeMeasure:
    """A judge model's opinion: True, False, or None where its output is not usable."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Ask the judge at temperature 0 with JSON-schema output."""
        if probe.expected is None:
            return None
        value = await _judged(self._model, "judge", probe, reply, ("correct", {"type": "boolean"}))
        return value if isinstance(value, bool) else None


_VERDICTS = ("disclosed", "not", "unclear")


class SemanticJudge:
    """A judge model's opinion on whether a reply discloses `probe.expected`, the statement that was removed.

    "disclosed", "not", "unclear", or None where its output is not usable.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Ask the judge at temperature 0 with JSON-schema output; None where there is no statement."""
        if probe.expected is None:
            return None
        schema = {"type": "string", "enum": list(_VERDICTS)}
        value = await _judged(self._model, "semantic_judge", probe, reply, ("verdict", schema))
        return value if isinstance(value, str) and value in _VERDICTS else None
