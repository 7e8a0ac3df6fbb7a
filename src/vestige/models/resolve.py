"""From a name to a model: `provider/model`, a URL, `local/NAME`, or one that needs no server."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yarl import URL

from vestige.errors import ConfigError
from vestige.models import catalog
from vestige.models.base import ChatModel, Embedder

if TYPE_CHECKING:
    from vestige.models.cache import ResponseCache

__all__ = ["PROVIDERS", "Provider", "open_embedder", "open_model", "refuse_credentials"]


@dataclass(frozen=True)
class Provider:
    """Where a provider's OpenAI-compatible endpoint is, and which variables name its key and another
    address.
    """

    base_url: str | None
    """None: `base_env` must be set."""
    base_env: str
    key_env: str
    key_needed: bool
    suffix: str = ""
    """Appended to what `base_env` says, where that is not the whole base URL."""
    key_header: str | None = None
    """The header that carries the key; None: `Authorization: Bearer`."""
    max_tokens_field: str = "max_tokens"


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        True,
        max_tokens_field="max_completion_tokens",
    ),
    "azure": Provider(
        None,
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_API_KEY",
        True,
        suffix="/openai/v1",
        key_header="api-key",
        max_tokens_field="max_completion_tokens",
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", "OPENROUTER_API_KEY", True),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_BASE_URL", "GROQ_API_KEY", True),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_BASE_URL", "TOGETHER_API_KEY", True),
    "ollama": Provider("http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL", "OLLAMA_API_KEY", False),
    "vllm": Provider("http://127.0.0.1:8000/v1", "VLLM_BASE_URL", "VLLM_API_KEY", False),
}
"""Providers by the first part of a name."""

URL_KEY = "VESTIGE_API_KEY"
"""The variable whose key goes to endpoints that are named by URL; no provider's own key does."""


def open_model(
    name: str,
    *,
    deterministic: bool = False,
    concurrency: int = 8,
    cache: ResponseCache | None = None,
    models_dir: Path | str | None = None,
    parallel: int | None = None,
    context: int | None = None,
) -> ChatModel:
    """The chat model called `name`; nothing is started or sent before its first use.

    Args:
        name: `openai/gpt-4o-mini`, `ollama/gemma3:12b`, `vllm/Qwen/Qwen2.5-7B-Instruct`,
            `http://127.0.0.1:8000/v1#model`, `local/qwen2.5-coder-0.5b`, `extractive`.
        deterministic: For `local/…`: one slot, no prompt cache.
        concurrency: Requests in flight at once.
        cache: Answers repeated requests.
        models_dir: For `local/…`: where model files lie.
        parallel: For `local/…`: slots of the server.
        context: For `local/…`: tokens of each slot's context.

    Raises:
        ConfigError: The name is unknown, or a key is missing; the message says which.
        MissingDependency: An optional package is not installed.
    """
    if name == "extractive":
        from vestige.models.extractive import ExtractiveReader

        return ExtractiveReader()
    if name.startswith("local/"):
        from vestige.models.local import LocalModel

        model: ChatModel = LocalModel(
            name,
            deterministic=deterministic,
            parallel=parallel,
            context=context,
            concurrency=concurrency,
            models_dir=models_dir,
        )
    else:
        from vestige.models.chat import ChatClient

        place = _place(name, "model", ("extractive", *(f"local/{item.name}" for item in _chat_entries())))
        model = ChatClient(
            place.model,
            place.base_url,
            name=name if place.provider else None,
            api_key=place.api_key,
            headers=place.headers,
            max_tokens_field=place.max_tokens_field,
            concurrency=concurrency,
            key_hint=place.key_hint,
        )
    if cache is None:
        return model
    from vestige.models.cache import CachedModel

    return CachedModel(model, cache)


def open_embedder(name: str, *, models_dir: Path | str | None = None, concurrency: int = 8) -> Embedder:
    """The embedder called `name`.

    Args:
        name: `minilm`, `hashing`, `sentence-transformers:NAME`, `http://…/v1#model`,
            `openai/text-embedding-3-small`.
        models_dir: For `minilm`: where model files lie.
        concurrency: Requests in flight at once; for `minilm` no more threads than two are of use.

    Raises:
        ConfigError: The name is unknown, a key is missing, or a model file is not here.
        MissingDependency: An optional package is not installed.
    """
    from vestige.models import embedders

    if name in ("minilm", "local/minilm"):
        return embedders.MiniLM(models_dir=models_dir, threads=max(1, min(2, concurrency)))
    if name == "hashing":
        from vestige.models.hashing import HashingEmbedder

        return HashingEmbedder()
    kind, _, rest = name.partition(":")
    if kind == "sentence-transformers" and rest:
        return embedders.SentenceTransformers(rest)
    place = _place(name, "embedder", ("minilm", "hashing", "sentence-transformers:NAME"))
    return embedders.HttpEmbedder(
        place.model,
        place.base_url,
        name=name if place.provider else None,
        api_key=place.api_key,
        headers=place.headers,
        concurrency=concurrency,
        key_hint=place.key_hint,
    )


_SECRET_WORDS = ("key", "token", "secret", "password", "auth", "sig")


def refuse_credentials(name: str) -> None:
    """Refuse a model's URL that carries a credential: names stand in plans, reports and logs.

    Raises:
        ConfigError: It does; the message does not repeat it.
    """
    if "://" not in name:
        return
    try:
        url = URL(name.partition("#")[0])
        fields = [field.lower() for field in url.query]
        found = bool(url.user or url.password) or any(w in field for field in fields for w in _SECRET_WORDS)
    except ValueError:
        found = "@" in name
    if found:
        raise ConfigError(f"the model URL carries a credential; leave it out and set {URL_KEY} instead")


@dataclass(frozen=True)
class _Place:
    """A model at an endpoint, with what it takes to talk to it."""

    model: str
    base_url: str
    provider: str | None
    api_key: str | None = None
    headers: dict[str, str] | None = None
    max_tokens_field: str = "max_tokens"
    key_hint: str = ""


def _place(name: str, what: str, others: tuple[str, ...]) -> _Place:
    if name.startswith(("http://", "https://")):
        base, _, model = name.partition("#")
        if not model:
            raise ConfigError(f"{what} URL without a model: expected http(s)://host/v1#model")
        return _Place(model, base, None, api_key=os.environ.get(URL_KEY), key_hint=f"set {URL_KEY}")
    first, _, model = name.partition("/")
    provider = PROVIDERS.get(first)
    if provider is None or not model:
        raise ConfigError(_unknown(name, what, others))
    base = os.environ.get(provider.base_env)
    if base is None and provider.base_url is None:
        raise ConfigError(f"{what} {name!r} needs its endpoint's address: set {provider.base_env}")
    key = os.environ.get(provider.key_env)
    if provider.key_needed and not key:
        raise ConfigError(f"{what} {name!r} needs an API key: set {provider.key_env}")
    base_url = base.rstrip("/") + provider.suffix if base else str(provider.base_url)
    return _Place(
        model,
        base_url,
        first,
        api_key=None if provider.key_header else key,
        headers={provider.key_header: key} if provider.key_header and key else None,
        max_tokens_field=provider.max_tokens_field,
        key_hint=f"set {provider.key_env}",
    )


def _unknown(name: str, what: str, others: tuple[str, ...]) -> str:
    candidates = [*others, *(item.removeprefix("local/") for item in others if item.startswith("local/"))]
    near = difflib.get_close_matches(name, candidates, n=1)
    guess = ""
    if near:
        guess = near[0] if near[0] in others else f"local/{near[0]}"
    elif close := difflib.get_close_matches(name.partition("/")[0], PROVIDERS, n=1):
        guess = f"{close[0]}/{name.partition('/')[2] or 'MODEL'}"
    providers = ", ".join(f"{item}/…" for item in PROVIDERS)
    hint = f"did you mean {guess!r}? " if guess else ""
    return (
        f"unknown {what} {name!r}: {hint}known are {', '.join(others)}, {providers}, http(s)://host/v1#MODEL"
    )


def _chat_entries() -> list[catalog.CatalogEntry]:
    return [item for item in catalog.entries() if item.kind == "chat"]
