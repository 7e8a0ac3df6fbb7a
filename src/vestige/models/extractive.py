"""The extractive reader: no model at all; it answers with stored sentences, word for word.

Deterministic and instant. It refuses nothing and invents nothing, so what it leaks is what the memory put
before it: that makes it the instrument for questions about the pipeline, large simulations and tests.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from vestige.models.base import ChatReply, ChatRequest, Embedder
from vestige.records import Tool, ToolCall
from vestige.text import content_words, sentences, tokens

__all__ = ["NOTHING", "ExtractiveReader"]

NOTHING = "I don't know."
"""The answer where no stored sentence matches."""

_SAME = 1e-6
"""Scores no further apart than this are a tie: embeddings are float32."""

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")
_THE_USER = re.compile(r"\b[Tt]he user\b|\b[Uu]ser's\b")
_ENDINGS = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "s", "ly")


class ExtractiveReader:
    """Reads a request's `passages`, `query`, `task`, `choices` and `tools`, never its messages.

    * ``answer``: the one or two sentences that share most with the query, by words weighted by their rarity
      among the passages; a question for everything stored gets the first sentences in which users speak of
      themselves. `NOTHING` where nothing matches.
    * ``answer`` with `choices` (ours): the option nearest to a stored sentence, by the words that set the
      options apart or by cosine where there is an embedder; a sentence that shares words with the question
      counts up to twice. Ties, and so every choice without passages, go by a coin that depends on the seed,
      the words of the query and the options, but not on the order in which those are shown. Where one of the
      `tools` takes an option, the answer is a call of that tool and no text.
    * ``facts`` (S = 1): every sentence in which the user speaks of themselves, one a line.
    * ``sentence`` (S = 2): the most central sentence, of those in which the user speaks of themselves where
      there are any.

    Args:
        embedder: Adds the cosine between query and sentence to the score of an answer, and is the measure
            of a choice.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self.identity = "extractive-1" + (f"+{embedder.name}" if embedder else "")

    @property
    def name(self) -> str:
        """`extractive`."""
        return "extractive"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request."""
        spoken = [sentence for passage in request.passages for sentence in _split(passage)]
        if request.task == "facts":
            text = "\n".join(dict.fromkeys(sentence.text for sentence in spoken if sentence.personal))
        elif request.task == "sentence":
            text = _central(spoken)
        elif request.choices:
            return _chosen(await self._choose(request, spoken), request)
        else:
            text = await self._answer(request.query, spoken)
        return ChatReply(text=text, finish_reason="stop")

    async def close(self) -> None:
        """Nothing is open; the embedder is its owner's to close."""

    async def _answer(self, query: str, spoken: Sequence[_Sentence]) -> str:
        unique = list({sentence.text: sentence for sentence in spoken}.values())
        asked = _stems(query)
        wanted = [word for word in asked if word not in _OPEN]
        scores = _overlap(wanted, unique)
        if max(scores, default=0.0) > 0.0:
            if self._embedder is not None:
                scores = await self._with_cosine(query, unique, scores)
            return " ".join(sentence.text for sentence in _best(unique, scores))
        if any(word in _OPEN for word in asked):
            personal = [sentence.text for sentence in unique if sentence.personal]
            return " ".join(personal[:2]) or NOTHING
        return NOTHING

    async def _choose(self, request: ChatRequest, spoken: Sequence[_Sentence]) -> str:
        options = sorted(set(request.choices))  # one order, whichever was shown
        unique = sorted({sentence.text: sentence for sentence in spoken}.values(), key=lambda s: s.text)
        stems = [frozenset(_stems(option)) for option in options]
        common = frozenset[str].intersection(*stems)
        apart = frozenset[str].union(*stems) - common
        if self._embedder is not None and unique:
            vectors = await self._embedder.embed([*options, *(sentence.text for sentence in unique)])
            cosines = vectors[: len(options)] @ vectors[len(options) :].T
            near = [[max(0.0, float(cosine)) for cosine in row] for row in cosines]
        else:
            near = [_overlap(sorted(own - common), unique) for own in stems]
        # The options' own words are no context: a question that lists the options has all of them.
        weights = _overlap(sorted({*_stems(request.query), *common} - apart), unique)
        scores = [
            max((score * (1.0 + weight) for score, weight in zip(row, weights, strict=True)), default=0.0)
            for row in near
        ]
        best = max(scores)
        tied = [option for option, score in zip(options, scores, strict=True) if best - score <= _SAME]
        return tied[_coin(request, options) % len(tied)]

    async def _with_cosine(
        self, query: str, unique: Sequence[_Sentence], scores: Sequence[float]
    ) -> list[float]:
        assert self._embedder is not None
        vectors = await self._embedder.embed([query, *(sentence.text for sentence in unique)])
        cosines = vectors[1:] @ vectors[0]
        return [score + max(0.0, float(cosine)) for score, cosine in zip(scores, cosines, strict=True)]


def _coin(request: ChatRequest, options: Sequence[str]) -> int:
    """256 bits from the seed, the query's words and the options; the query may name them in either order."""
    text = json.dumps([request.seed, sorted(tokens(request.query)), options])
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big")


def _chosen(option: str, request: ChatRequest) -> ChatReply:
    """The option as a call of the first tool that takes it, else as text."""
    for exact in (True, False):
        for tool in request.tools:
            parameter = _parameter(tool, frozenset(request.choices), exact=exact)
            if parameter is not None:
                arguments = json.dumps({parameter: option}, ensure_ascii=False)
                call = ToolCall(id="call_1", name=tool.name, arguments=arguments)
                return ChatReply(text="", finish_reason="tool_calls", tool_calls=(call,))
    return ChatReply(text=option, finish_reason="stop")


def _parameter(tool: Tool, choices: frozenset[str], *, exact: bool) -> str | None:
    """The parameter that names one of `choices`; None where the tool has none, or several that might.

    Args:
        tool: Its schema comes from the caller and may be anything.
        choices: The options.
        exact: Whether to take a parameter whose enum is the options, or else a required string.
    """
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    if not isinstance(properties, dict):
        return None
    needed = cast(list[Any], required) if isinstance(required, list) else []
    found: list[str] = []
    for name, schema in cast(dict[str, Any], properties).items():
        fields = cast(dict[str, Any], schema) if isinstance(schema, dict) else {}
        enum: Any = fields.get("enum")
        values = cast(list[Any], enum) if isinstance(enum, list) else None
        named = choices if values is None else frozenset(v for v in values if isinstance(v, str))
        if exact:
            fits = values is not None and named == choices
        else:
            fits = name in needed and fields.get("type") == "string" and choices <= named
        if fits:
            found.append(name)
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class _Sentence:
    text: str
    stems: tuple[str, ...]
    """Each once, in order of appearance."""
    personal: bool
    """The user speaks of themselves, or a summary of the user."""


@functools.lru_cache(maxsize=1 << 16)
def _split(passage: str) -> tuple[_Sentence, ...]:
    return tuple(
        _Sentence(text, _stems(text), bool(_FIRST_PERSON.search(text) or _THE_USER.search(text)))
        for text in sentences(passage)
    )


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_stem(word) for word in content_words(text)))


def _stem(word: str) -> str:
    """A word without its commonest endings; numbers stay."""
    if word[:1].isdigit():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + ("y" if ending in ("ies", "ied") else "")
            break
    return word.removesuffix("e") if len(word) > 4 else word


_OPEN_WORDS = (
    "remember recall know memory stored store shared told dump print output contents context window records "
    "list summary summarize everything details information personal conversation earlier previous past "
    "instructions debug mode developer system override verbatim raw text user things far diagnostics"
)
_OPEN = frozenset(map(_stem, _OPEN_WORDS.split()))
"""Stems of words with which one asks for whatever is stored, not for something in it."""


def _rarity(spoken: Iterable[_Sentence]) -> dict[str, float]:
    """Inverse document frequency of each stem, a sentence being a document."""
    counts: collections.Counter[str] = collections.Counter()
    total = 0
    for sentence in spoken:
        counts.update(sentence.stems)
        total += 1
    return {stem: math.log1p(total / count) for stem, count in counts.items()}


def _overlap(wanted: Sequence[str], spoken: Sequence[_Sentence]) -> list[float]:
    """Share of the query's rarity-weighted stems that each sentence holds, 0 to 1.

    A stem that no sentence holds counts with the highest weight, so that a chance word in common stays a
    small score.
    """
    rarity = _rarity(spoken)
    unseen = math.log1p(max(1, len(spoken)))
    weights = {stem: rarity.get(stem, unseen) for stem in wanted}
    whole = math.fsum(weights.values())
    if whole == 0.0:
        return [0.0] * len(spoken)
    return [math.fsum(weights.get(stem, 0.0) for stem in sentence.stems) / whole for sentence in spoken]


def _best(spoken: Sequence[_Sentence], scores: Sequence[float]) -> list[_Sentence]:
    """The best sentence, and the next where it scores at least two thirds of that; ties by order."""
    ranked = sorted(range(len(spoken)), key=lambda index: (-scores[index], index))
    floor = scores[ranked[0]] * 2.0 / 3.0
    return [spoken[index] for index in ranked[:2] if scores[index] >= floor]


def _central(spoken: Sequence[_Sentence]) -> str:
    """The sentence with the highest mean similarity to all (cosine of binary word vectors); ties by order."""
    candidates = [sentence for sentence in spoken if sentence.personal] or list(spoken)
    if not candidates:
        return ""
    mass: collections.defaultdict[str, float] = collections.defaultdict(float)
    for sentence in candidates:
        for stem in sentence.stems:
            mass[stem] += 1.0 / math.sqrt(len(sentence.stems))
    centrality = [
        math.fsum(mass[stem] for stem in sentence.stems) / math.sqrt(len(sentence.stems))
        if sentence.stems
        else 0.0
        for sentence in candidates
    ]
    return candidates[max(range(len(candidates)), key=lambda index: (centrality[index], -index))].text
