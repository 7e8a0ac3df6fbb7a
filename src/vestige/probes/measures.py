"""Measurements of a reply that need a model: made while a run acts, and stored with the exchange."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.resources import files

from vestige.models.base import ChatModel, ChatRequest, Embedder, Message
from vestige.records import JsonScalar, Reply
from vestige.runs.plan import Probe

__all__ = ["CosineMeasure", "JudgeMeasure", "judge_version"]


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


@cache
def _prompts() -> dict[str, str | int]:
    return tomllib.loads((files("vestige.probes") / "judge.toml").read_text(encoding="utf-8"))


def judge_version() -> int:
    """Version of the judge's prompt; stands in every plan that uses one."""
    return int(_prompts()["version"])


_SCHEMA = {
    "type": "object",
    "properties": {"correct": {"type": "boolean"}},
    "required": ["correct"],
    "additionalProperties": False,
}


class JudgeMeasure:
    """A judge model's opinion: True, False, or None where its output is not usable."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def __call__(self, probe: Probe, reply: Reply) -> JsonScalar:
        """Ask the judge at temperature 0 with JSON-schema output."""
        if probe.expected is None:
            return None
        prompts = _prompts()
        # One pass, so that a reply that holds a placeholder fills in nothing.
        values = {"{question}": probe.text, "{expected}": probe.expected, "{reply}": reply.text[:4000]}
        user = re.sub("|".join(map(re.escape, values)), lambda m: values[m[0]], str(prompts["user"]))
        request = ChatRequest(
            messages=(
                Message(role="system", content=str(prompts["system"])),
                Message(role="user", content=user),
            ),
            temperature=0.0,
            max_tokens=50,
            json_schema=_SCHEMA,
            task="judge",
        )
        answer = (await self._model.complete(request)).text
        found = re.search(r"\{.*?\}", answer, re.DOTALL)
        if found is None:
            return None
        try:
            verdict = json.loads(found[0])
        except json.JSONDecodeError:
            return None
        value = verdict.get("correct") if isinstance(verdict, dict) else None
        return value if isinstance(value, bool) else None
