"""An embedder without a model: hashed words and character n-grams, for installs of the core alone."""

from __future__ import annotations

import collections
import functools
import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vestige.models.base import Vectors
from vestige.text import STOP_WORDS

__all__ = ["HashingEmbedder"]

_WORD = re.compile(r"[^\W_]+")


class HashingEmbedder:
    """Texts as signed hashes of their words and of the character 3- and 4-grams within words; numpy alone.

    Similarity is overlap in wording, no more: a paraphrase in other words stays far away. The hash is
    CRC-32, so vectors are the same on every machine.

    Args:
        size: Dimensions.
    """

    def __init__(self, size: int = 384) -> None:
        self.size = size
        self.name = "hashing"
        self.identity = f"hashing-1:{size}"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts`; shape (n, size). A text without any word becomes the first unit vector."""
        rows = np.zeros((len(texts), self.size), np.float64)
        for row, text in zip(rows, texts, strict=True):
            counts = collections.Counter(word.casefold() for word in _WORD.findall(text))
            for word, count in counts.items():
                indices, values = _features(word, self.size)
                np.add.at(row, indices, values * (1.0 + np.log(count)))
            length = np.sqrt(row @ row)
            if length > 0:
                row /= length
            else:
                row[0] = 1.0
        return rows.astype(np.float32)

    async def close(self) -> None:
        """Nothing is open."""


@functools.lru_cache(maxsize=1 << 16)
def _features(word: str, size: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Where a word's features fall, and their signed weights; common words weigh a tenth."""
    marked = f"<{word[:64]}>"
    grams = [marked[start : start + n] for n in (3, 4) for start in range(len(marked) - n + 1)]
    weight = 0.1 if word in STOP_WORDS else 1.0
    hashes = [zlib.crc32(f"w{word}".encode("utf-8", "replace"))]
    hashes += [zlib.crc32(f"g{gram}".encode("utf-8", "replace")) for gram in grams]
    signs = np.array([1.0 if value & 0x80000000 else -1.0 for value in hashes])
    signs[0] *= weight
    signs[1:] *= weight / np.sqrt(max(1, len(grams)))
    return np.array([value % size for value in hashes], np.intp), signs
