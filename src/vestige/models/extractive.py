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

from vestige.models.base import ChatReply, ChatRequest, Embedder
from vestige.models.toolcalls import enum_of, is_text, option_takers, required
from vestige.records import Tool, ToolCall
from vestige.text import content_words, sentences, tokens

__all__ = ["NOTHING", "ExtractiveReader"]

NOTHING = "I don't know."
"""The answer where no stored sentence matches."""

_SAME = 1e-6
"""Scores no further apart than this are a tie: embeddings are float32."""

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")
_THE_USER = re.compile(r"\b[Tt]he user\b|\b[Uu]ser's\b")
_POLITE = frozenset(("please", "kindly", "now"))
_ENDINGS = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "s", "ly")


class ExtractiveReader:
    """Reads a request's `passages`, `query`, `task`, `choices` and `tools`, and of its messages tool results alone.

    * ``answer``: the one or two sentences that share most with the query, by words weighted by their rarity
      among the passages; a question for everything stored gets the first sentences in which users speak of
      themselves. `NOTHING` where nothing matches.
    * ``answer`` with `choices` (ours): the option nearest to a stored sentence, by the words that set the
      options apart or by cosine where there is an embedder; a sentence that shares words with the question
      counts up to twice. Ties, and so every choice without passages, go by a coin that depends on the seed,
      the words of the query and the options, but not on the order in which those are shown. Where one of the
      `tools` takes an option, the answer is a call of the first that does, and no text.
    * ``answer`` with `tools` and no `choices` (ours): where the query begins, a *please* aside, with a word of a
      tool's name or the first word of its description and shares words with that description, a call of that
      tool; of several the one that shares most. Any other query is answered in text.
    * The required texts of a call that are not the option (ours): the nearest value where there is an enum,
      chosen as an option is, else the one stored sentence that best matches the query, or `NOTHING`. Optional
      ones are left out.
    * After the result of a tool, which it reads in the messages, it answers in text from the results alone.
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
        elif request.messages and request.messages[-1].role == "tool":
            results = "\n".join(message.content for message in request.messages if message.role == "tool")
            text = await self._answer(request.query, _split(results))
        elif request.choices:
            text = await self._choose(request, spoken)
            takers = option_takers(request.tools, request.choices)
            for tool in request.tools:
                if parameter := takers.get(tool.name):
                    return await self._call(tool, request, spoken, {parameter: text})
        elif (tool := _asked_for(request)) is not None:
            return await self._call(tool, request, spoken, {})
        else:
            text = await self._answer(request.query, spoken)
        return ChatReply(text=text, finish_reason="stop")

    async def close(self) -> None:
        """Nothing is open; the embedder is its owner's to close."""

    async def _call(
        self, tool: Tool, request: ChatRequest, spoken: Sequence[_Sentence], given: dict[str, str]
    ) -> ChatReply:
        arguments = dict(given)
        for name in required(tool):
            if name in given or not isinstance(name, str) or not is_text(tool, name):
                continue
            if options := enum_of(tool, name):
                arguments[name] = await self._choose(request.model_copy(update={"choices": options}), spoken)
            else:
                arguments[name] = await self._answer(request.query, spoken, most=1)
        call = ToolCall(id="call_1", name=tool.name, arguments=json.dumps(arguments, ensure_ascii=False))
        return ChatReply(text="", finish_reason="tool_calls", tool_calls=(call,))

    async def _answer(self, query: str, spoken: Sequence[_Sentence], most: int = 2) -> str:
        unique = list({sentence.text: sentence for sentence in spoken}.values())
        asked = _stems(query)
        wanted = [word for word in asked if word not in _OPEN]
        scores = _overlap(wanted, unique)
        if max(scores, default=0.0) > 0.0:
            if self._embedder is not None:
                scores = await self._with_cosine(query, unique, scores)
            return " ".join(sentence.text for sentence in _best(unique, scores)[:most])
        if any(word in _OPEN for word in asked):
            personal = [sentence.text for sentence in unique if sentence.personal]
            return " ".join(personal[:most]) or NOTHING
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


def _asked_for(request: ChatRequest) -> Tool | None:
    """The tool that the query tells to use, by its first word; None where it tells of none."""
    words = tokens(request.query)
    first = next((word for word in words if word not in _POLITE), None)
    asked = {_stem(word) for word in words}
    best: tuple[int, Tool] | None = None
    for tool in request.tools:
        described = tokens(tool.description)
        verbs = {*tokens(tool.name.replace("_", " ")), *described[:1]}
        shared = len(asked & {_stem(word) for word in content_words(tool.description)})
        if first in verbs and shared and (best is None or shared > best[0]):
            best = (shared, tool)
    return best[1] if best else None


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


@functools.lru_cache(maxsize=1 << 14)
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
