"""Embedders with a model: MiniLM on this machine, an endpoint, sentence-transformers."""

from __future__ import annotations

import asyncio
import collections
import importlib.util
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vestige.errors import MissingDependency, ModelError
from vestige.models import catalog
from vestige.models.base import Vectors
from vestige.models.transport import Limits, Transport

__all__ = ["HttpEmbedder", "MiniLM", "SentenceTransformers"]


class _Remembered:
    """The vectors of the texts seen last, so that a repeated text costs nothing."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._known: collections.OrderedDict[str, NDArray[np.float32]] = collections.OrderedDict()

    def get(self, text: str) -> NDArray[np.float32] | None:
        found = self._known.get(text)
        if found is not None:
            self._known.move_to_end(text)
        return found

    def put(self, text: str, vector: NDArray[np.float32]) -> None:
        self._known[text] = vector
        if len(self._known) > self._most:
            self._known.popitem(last=False)


def _stack(rows: Sequence[NDArray[np.float32]], size: int) -> Vectors:
    return np.stack(rows).astype(np.float32, copy=False) if rows else np.empty((0, size), np.float32)


def _unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    """Scaled to length one, in double precision before rounding; a zero vector stays zero."""
    wide = np.asarray(vector, np.float64)
    length = math.sqrt(float(wide @ wide))
    return (wide / length if length > 0 else wide).astype(np.float32)


class MiniLM:
    """all-MiniLM-L6-v2 as int8 ONNX: 384 dimensions, mean pooling, the first 256 tokens.

    Its activations are quantised over the whole batch, so a text's vector would depend on its neighbours;
    each text is therefore embedded alone, on one thread, and always gets the same bytes.

    Args:
        models_dir: Where model files lie; default: `catalog.models_dir()`.
        threads: Texts embedded at once.

    Raises:
        MissingDependency: onnxruntime or tokenizers is not installed.
        ConfigError: The model files are not here.
    """

    name = "minilm"
    size = 384

    def __init__(self, *, models_dir: Path | str | None = None, threads: int = 2) -> None:
        for package in ("onnxruntime", "tokenizers"):
            if importlib.util.find_spec(package) is None:
                raise MissingDependency(package, "the embedder 'minilm'", "local")
        self._entry = catalog.entry("minilm")
        self._path = catalog.locate("minilm", folder=models_dir)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="minilm")
        self._seen = _Remembered()
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def identity(self) -> str:
        """Name and file hash."""
        return f"minilm@{self._entry.sha256}"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts`; shape (n, 384)."""
        fresh = [text for text in dict.fromkeys(texts) if self._seen.get(text) is None]
        rows = {text: vector for text in texts if (vector := self._seen.get(text)) is not None}
        if fresh:
            loop = asyncio.get_running_loop()
            made = await asyncio.gather(
                *(loop.run_in_executor(self._pool, self._one, text) for text in fresh)
            )
            for text, vector in zip(fresh, made, strict=True):
                rows[text] = vector
                self._seen.put(text, vector)
        return _stack([rows[text] for text in texts], self.size)

    async def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> tuple[Any, Any]:
        """The tokenizer and the session, made once."""
        with self._loading:
            if self._loaded is None:
                import onnxruntime
                import tokenizers

                tokenizer = tokenizers.Tokenizer.from_file(str(self._path.with_name("tokenizer.json")))
                tokenizer.no_padding()
                tokenizer.enable_truncation(256)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.inter_op_num_threads = 1
                options.log_severity_level = 3
                session = onnxruntime.InferenceSession(
                    str(self._path), options, providers=["CPUExecutionProvider"]
                )
                self._loaded = tokenizer, session
        return self._loaded

    def _one(self, text: str) -> NDArray[np.float32]:
        tokenizer, session = self._load()
        encoded = tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        mask = np.array([encoded.attention_mask], np.int64)
        feeds = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoded.type_ids], np.int64),
        }
        hidden = np.asarray(session.run(None, feeds)[0][0], np.float64)
        return _unit(hidden[mask[0].astype(bool)].mean(axis=0))


class HttpEmbedder:
    """Any OpenAI-compatible `/v1/embeddings`; vectors are scaled to length one.

    Args:
        model: The name the server knows the model by.
        base_url: As `https://host/v1`.
        name: What plans and reports call it; default: the base URL and the model.
        api_key: Sent as a bearer token.
        headers: Further headers.
        concurrency: Requests in flight at once.
        batch: Texts in one request. A server whose vectors depend on their neighbours needs 1.
        limits: On time, size and retries; a reply of many vectors may be 64 MiB.
        key_hint: What to set when the key is refused.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        name: str | None = None,
        api_key: str | None = None,
        headers: dict[str, str] | None = None,
        concurrency: int = 8,
        batch: int = 1,
        limits: Limits | None = None,
        key_hint: str = "",
    ) -> None:
        self.transport = Transport(
            base_url,
            api_key=api_key,
            headers=headers,
            concurrency=concurrency,
            limits=limits or Limits(reply_bytes=64 << 20),
            key_hint=key_hint,
        )
        self.model = model
        self.identity = f"{self.transport.base_url}#{model}"
        self.name = name or self.identity
        self._batch = max(1, batch)
        self._size: int | None = None
        self._seen = _Remembered()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts`; shape (n, d).

        Raises:
            ModelError: The endpoint refused, failed in spite of retries, or broke its protocol.
        """
        rows = {text: vector for text in texts if (vector := self._seen.get(text)) is not None}
        fresh = [text for text in dict.fromkeys(texts) if text not in rows]
        batches = [fresh[start : start + self._batch] for start in range(0, len(fresh), self._batch)]
        for batch, made in zip(batches, await asyncio.gather(*map(self._ask, batches)), strict=True):
            for text, vector in zip(batch, made, strict=True):
                rows[text] = vector
                self._seen.put(text, vector)
        return _stack([rows[text] for text in texts], self._size or 0)

    async def close(self) -> None:
        """Let go of the connection."""
        await self.transport.close()

    async def _ask(self, batch: Sequence[str]) -> list[NDArray[np.float32]]:
        # An empty text is refused by most servers; a space stands for it.
        payload = {"model": self.model, "input": [text or " " for text in batch], "encoding_format": "float"}
        answer = await self.transport.post("/embeddings", payload)
        try:
            items = sorted(answer["data"], key=lambda item: int(item.get("index", 0)))
            vectors = [np.asarray(item["embedding"], np.float64) for item in items]
        except (KeyError, TypeError, AttributeError, ValueError):
            raise self._broken("the reply has no data[].embedding") from None
        if len(vectors) != len(batch):
            raise self._broken(f"{len(vectors)} vectors for {len(batch)} texts")
        for vector in vectors:
            self._size = self._size or vector.size
            if (
                vector.ndim != 1
                or vector.size != self._size
                or not np.isfinite(vector).all()
                or not vector.any()
            ):
                raise self._broken(f"a vector is not {self._size} finite numbers")
        return [_unit(vector) for vector in vectors]

    def _broken(self, reason: str) -> ModelError:
        return ModelError(f"{self.transport.base_url}/embeddings: {reason}")


class SentenceTransformers:
    """A model of the package sentence-transformers, where that is installed.

    Raises:
        MissingDependency: It is not.
    """

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingDependency("sentence-transformers", f"the embedder {model!r}")
        self.model = model
        self.name = self.identity = f"sentence-transformers:{model}"
        self._loaded: Any = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sentence-transformers")
        self._seen = _Remembered()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts` one by one, so that none depends on its neighbours; shape (n, d)."""
        loop = asyncio.get_running_loop()
        rows = [await loop.run_in_executor(self._pool, self._one, text) for text in texts]
        return _stack(rows, 0)

    async def close(self) -> None:
        """Stop the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _one(self, text: str) -> NDArray[np.float32]:
        found = self._seen.get(text)
        if found is None:
            if self._loaded is None:
                import sentence_transformers  # pyright: ignore[reportMissingImports]

                self._loaded = sentence_transformers.SentenceTransformer(self.model)
            found = _unit(self._loaded.encode([text])[0])
            self._seen.put(text, found)
        return found
