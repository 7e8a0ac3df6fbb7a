"""What calls cost, by the public price list of the package genai-prices (extra `prices`)."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from vestige.records import Usage

__all__ = ["cost"]


def cost(model: str, usage: Usage) -> float | None:
    """The price of `usage` in US dollars; None where the list is not installed or does not know the model.

    Args:
        model: `provider/model`, as plans name it. What runs on this machine costs 0.
        usage: Tokens read and written.
    """
    provider, _, name = model.partition("/")
    if provider in ("extractive", "local", "ollama", "vllm"):
        return 0.0
    if not name or "://" in model or importlib.util.find_spec("genai_prices") is None:
        return None
    prices: Any = importlib.import_module("genai_prices")
    tokens = prices.Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)
    try:
        return float(prices.calc_price(tokens, model_ref=name, provider_id=provider).total_price)
    except LookupError:
        return None
