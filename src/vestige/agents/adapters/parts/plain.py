"""Settings, vectors without a model, answers without a model: what every adapter is asked to offer."""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.metadata
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "NOTHING",
    "SYSTEM",
    "embedded",
    "extracted",
    "hashed",
    "merged",
    "normal",
    "packed",
    "system_prompt",
]

NOTHING = "I don't know."
SYSTEM = (
    "Answer the user's question in one or two sentences from these memories of the user. "
    "If they do not say, say so."
)
HASH_DIMS = 384
CAPABILITIES = ("open", "close", "configure", "remember", "inspect", "storage", "settle", "maintain")
CHANNELS = ("answer", "retrieval", "memory_writes", "summary", "model_requests", "storage", "vectors")


def merged(
    system: str,
    defaults: Mapping[str, Any],
    choices: Mapping[str, Sequence[str]],
    given: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The settings over their defaults.

    Raises:
        ValueError: One is unknown or not usable.
    """
    for name in given or ():
        if name not in defaults:
            raise ValueError(f"unknown setting {name!r}; {system} has {', '.join(defaults)}")
    settings = {**defaults, **(given or {})}
    for name, values in choices.items():
        if settings[name] not in values:
            raise ValueError(f"{name}={settings[name]!r}: expected {', '.join(values)}")
    if (settings["model"] != "extractive" or settings["extractor"] == "model") and not settings["model_url"]:
        raise ValueError("model_url is missing: the model and the extractor 'model' are reached there")
    if settings["embedder"] == "hash":
        settings["dims"] = int(settings["dims"] or HASH_DIMS)
    elif not settings["embedder_url"]:
        raise ValueError("embedder_url is missing: only the embedder 'hash' needs none")
    return settings


def client(url: str, settings: Mapping[str, Any]) -> Any:
    """The openai package's client of an address; a context manager."""
    return importlib.import_module("openai").OpenAI(base_url=url, api_key=settings["api_key"], max_retries=0)


def embedded(texts: Sequence[str], settings: Mapping[str, Any]) -> list[list[float]]:
    """The vectors of texts, by the embedder that is set."""
    if settings["embedder"] == "hash":
        return [hashed(text, settings["dims"]) for text in texts]
    with client(settings["embedder_url"], settings) as connection:
        answer = connection.embeddings.create(model=settings["embedder"], input=list(texts))
    return [list(one.embedding) for one in sorted(answer.data, key=lambda one: one.index)]


def dims(settings: Mapping[str, Any]) -> int:
    """How long a vector is; measured where nobody said."""
    return int(settings["dims"] or len(embedded(["length"], settings)[0]))


def hashed(text: str, size: int) -> list[float]:
    """Words and their character trigrams, hashed into a vector of unit length: no model, no network."""
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.casefold()):
        padded = f" {word} "
        for gram in (padded, *(padded[i : i + 3] for i in range(len(padded) - 2))):
            digest = int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest(), "big")
            vector[digest % size] += 1.0 if digest >> 63 else -1.0
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else [1.0, *vector[1:]]


def packed(vector: Sequence[float]) -> str:
    """Little-endian float32 of unit length, in base64."""
    length = math.sqrt(sum(float(x) ** 2 for x in vector)) or 1.0
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *(float(x) / length for x in vector))).decode()


def system_prompt(texts: Sequence[str], now: str | None) -> str:
    """The instruction, today's date where it is told, and the memories."""
    today = f"\nToday is {now}." if now else ""
    return f"{SYSTEM}{today}\n" + ("\n".join(f"- {text}" for text in texts) or "(none)")


def extracted(query: str, texts: Sequence[str], options: Mapping[str, Any]) -> str:
    """The stored text that shares the most and the rarest words with the query; `NOTHING` where none does.

    With choices, the one that shares most words of its own with a stored text; a tie goes by a coin that depends on
    the seed, the words of the query and the choices, not on the order in which they are shown.
    """
    words = [set(re.findall(r"\w+", text.casefold())) for text in texts]
    asked = sorted(set(re.findall(r"\w{3,}", query.casefold())))
    choices = sorted(str(choice) for choice in options.get("choices") or ())
    if choices:
        own = {choice: set(re.findall(r"\w+", choice.casefold())) for choice in choices}
        common = set[str].intersection(*own.values())
        scores = {choice: max((len((own[choice] - common) & w) for w in words), default=0) for choice in own}
        tied = [choice for choice in own if scores[choice] == max(scores.values())]
        coin = hashlib.sha256(json.dumps([options.get("seed"), asked, tied]).encode()).digest()
        return tied[int.from_bytes(coin[:8], "big") % len(tied)]
    weights = {word: math.log(1 + len(words) / n) for word in asked if (n := sum(word in w for w in words))}
    scored = [(sum(weights[word] for word in weights if word in w), -i) for i, w in enumerate(words)]
    best = max(scored, default=(0.0, 0))
    return texts[-best[1]] if best[0] > 0 else NOTHING


def normal(text: str) -> str:
    """A text as values are looked for in it: case and white space do not count."""
    return " ".join(text.casefold().split())


def described(system: str, package: str, settings: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    """An agent's description: every setting but the key, and what all adapters have; `rest` is added to it."""
    absent = {"logs": f"{system} writes no log file", **rest.pop("absent", {})}
    if settings["model"] == "extractive":
        absent["reasoning"] = "the extractive reader writes nothing but its reply"
    shown = {name: value for name, value in settings.items() if name != "api_key"}
    more = rest.pop("channels", [])
    return {
        "name": system,
        "version": version(package),
        "configuration": {**shown, **rest.pop("facts")},
        "capabilities": list(CAPABILITIES),
        "channels": [*CHANNELS, *more],
        "absent": absent,
        **rest,
    }


def version(package: str) -> str:
    """Of an installed package."""
    return importlib.metadata.version(package)
