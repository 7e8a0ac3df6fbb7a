"""Finds an extractor by its name."""

from __future__ import annotations

from pathlib import Path

from vestige.datasets.fetch import data_folder
from vestige.datasets.units.extractor import Extractor
from vestige.datasets.units.model_extractor import ModelExtractor
from vestige.datasets.units.rule_extractor import RuleExtractor

__all__ = ["open_extractor"]


def open_extractor(name: str, *, cache: Path | None = None, concurrency: int = 8) -> Extractor:
    """The extractor called `name`: `extractive` (rules, no model), or any chat model's name.

    Args:
        name: `extractive`, `openai/gpt-4o-mini`, `local/qwen2.5-coder-1.5b`, …; see `vestige.models.open_model`.
        cache: Where a model's replies are kept; None: in the data folder.
        concurrency: Requests in flight at once.

    Raises:
        ConfigError: The name is unknown, or a key is missing.
        MissingDependency: An optional package is not installed.
    """
    if name == "extractive":
        return RuleExtractor()
    from vestige.models.cache import ResponseCache
    from vestige.models.resolve import open_model

    model = open_model(name, concurrency=concurrency)
    kept = ResponseCache(cache or data_folder() / "statements.sqlite")
    return ModelExtractor(model, cache=kept, concurrency=concurrency)
