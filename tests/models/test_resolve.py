"""Names of models: what each opens, and what is said about one that opens nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige.errors import ConfigError, MissingDependency
from vestige.models import local
from vestige.models.base import ChatModel, ChatRequest, Embedder, Message
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.chat import ChatClient
from vestige.models.local import LocalModel
from vestige.models.prices import cost
from vestige.models.resolve import PROVIDERS, open_embedder, open_model
from vestige.records import Usage


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.base_env, raising=False)
        monkeypatch.delenv(provider.key_env, raising=False)
    monkeypatch.delenv("VESTIGE_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("name", "url", "model"),
    [
        ("openai/gpt-4o-mini", "https://api.openai.com/v1", "gpt-4o-mini"),
        ("ollama/gemma3:12b", "http://127.0.0.1:11434/v1", "gemma3:12b"),
        ("vllm/Qwen/Qwen2.5-7B-Instruct", "http://127.0.0.1:8000/v1", "Qwen/Qwen2.5-7B-Instruct"),
        ("azure/mine", "https://me.openai.azure.com/openai/v1", "mine"),
        ("http://127.0.0.1:9/v1#org/model", "http://127.0.0.1:9/v1", "org/model"),
    ],
)
def test_endpoints(monkeypatch: pytest.MonkeyPatch, name: str, url: str, model: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")
    found = open_model(name)
    assert isinstance(found, ChatClient) and isinstance(found, ChatModel)
    assert (found.transport.base_url, found.model, found.name) == (url, model, name)
    assert found.identity == f"{url}#{model}"


def test_an_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://gpu:1234/v1/")
    found = open_model("vllm/m")
    assert isinstance(found, ChatClient) and found.transport.base_url == "http://gpu:1234/v1"


async def test_a_provider_s_key_goes_to_that_provider_alone(
    monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    asked = ChatRequest(messages=(Message(role="user", content="hi"),))
    by_url = open_model(f"{server.url}#m")
    await by_url.complete(asked)
    await by_url.close()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    by_name = open_model("openai/m")
    await by_name.complete(asked)
    await by_name.close()
    assert "Authorization" not in server.headers[0]
    assert server.headers[1]["Authorization"] == "Bearer for-openai"
    assert server.asked[1]["max_completion_tokens"] == 300 and "max_tokens" not in server.asked[1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai/gpt-4o", "needs an API key: set OPENAI_API_KEY"),
        ("azure/x", "set AZURE_OPENAI_ENDPOINT"),
        ("opnai/gpt-4o", "did you mean 'openai/gpt-4o'"),
        ("extractiv", "did you mean 'extractive'"),
        ("qwen2.5-coder-0.5b", "did you mean 'local/qwen2.5-coder-0.5b'"),
        ("local/qwen2.5-coder-05b", "did you mean 'qwen2.5-coder-0.5b'"),
        ("local/minilm", "is an embedder"),
        ("openai", "unknown model 'openai'"),
        ("openai/", "unknown model 'openai/'"),
        ("", "known are extractive, local/"),
        ("http://127.0.0.1:8000/v1", "without a model"),
        ("http://#m", "expected http"),
    ],
)
def test_what_is_said_about_a_name_that_opens_nothing(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(name)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_local_models_start_nothing_when_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_engine", lambda: (None, "xllamacpp 1.2"))
    found = open_model("local/smollm2-135m", deterministic=True, models_dir=tmp_path)
    assert isinstance(found, LocalModel) and found.name == "local/smollm2-135m"
    assert found.identity.startswith("local/smollm2-135m@b179c952")
    assert found.identity.endswith(";xllamacpp 1.2;deterministic")
    monkeypatch.setattr(local, "_engine", lambda: ("/bin/llama-server", "llama-server"))
    assert found.identity.endswith(";llama-server;deterministic"), (
        "another engine, other replies: other cache keys"
    )
    with pytest.raises(ConfigError, match="a deterministic server has one slot"):
        open_model("local/smollm2-135m", deterministic=True, parallel=2)
    with pytest.raises(ConfigError, match="at least 1 and 64"):
        open_model("local/smollm2-135m", context=10)


async def test_a_local_model_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    found = open_model("local/smollm2-135m", models_dir=tmp_path)
    with pytest.raises(ConfigError, match="vestige models pull smollm2-135m"):
        await found.complete(ChatRequest(messages=(Message(role="user", content="hi"),)))
    await found.close()


def test_a_cache_is_put_in_front(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    found = open_model("ollama/m", cache=cache)
    assert isinstance(found, CachedModel) and found.name == "ollama/m"
    assert found.identity == "http://127.0.0.1:11434/v1#m"
    assert open_model("extractive", cache=cache).name == "extractive"
    cache.close()


def test_embedders_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for name in ("hashing", "openai/text-embedding-3-small", "http://127.0.0.1:9/v1#m"):
        found = open_embedder(name)
        assert isinstance(found, Embedder) and found.name == name
    with pytest.raises(ConfigError, match="did you mean 'minilm'"):
        open_embedder("minilmm")
    with pytest.raises(MissingDependency, match="pip install sentence-transformers"):
        open_embedder("sentence-transformers:all-mpnet-base-v2")


def test_prices() -> None:
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=0)
    assert cost("local/qwen2.5-coder-0.5b", usage) == cost("extractive", usage) == 0.0
    assert cost("http://127.0.0.1:9/v1#m", usage) is None
    assert cost("openai/no-such-model-at-all", usage) is None
