"""One call of an auxiliary model: a prompt of ours, a JSON schema, a reply that is trusted in nothing."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, cast

from vestige.models.base import ChatModel, ChatRequest, Message

__all__ = ["ask_json", "filled", "one_line", "prompts", "prompts_version"]

READ = 20_000
"""Characters of a reply that are parsed."""
SHOWN = 4_000
"""Characters of a statement, question or reply that a model is shown."""


@cache
def prompts() -> dict[str, Any]:
    """The file of prompts."""
    return tomllib.loads(files("vestige.attacks").joinpath("prompts.toml").read_text(encoding="utf-8"))


def prompts_version() -> str:
    """Its version, which stands in every plan."""
    return str(prompts()["version"])


def filled(template: str, **values: str) -> str:
    """The template with its placeholders filled in one pass, so that a value that holds one fills in nothing."""
    known = {f"{{{name}}}": value[:SHOWN] for name, value in values.items()}
    return re.sub("|".join(map(re.escape, known)), lambda m: known[m[0]], template)


def one_line(value: Any, limit: int) -> str:
    """A text out of a reply, in one line and of at most `limit` characters; empty where it is none.

    What cannot be stored or would be no text on a page is left out: halves of surrogate pairs, control characters.
    """
    if not isinstance(value, str):
        return ""
    shown = "".join(c if c.isprintable() else " " for c in value[: 4 * limit])
    return " ".join(shown.split())[:limit].strip()


async def ask_json(
    model: ChatModel,
    system: str,
    user: str,
    schema: dict[str, Any],
    *,
    temperature: float = 0.0,
    max_tokens: int = 60,
    seed: int = 0,
) -> dict[str, Any] | None:
    """The object that the model wrote; None where it wrote none.

    Raises:
        ModelError: The model failed.
    """
    request = ChatRequest(
        messages=(Message(role="system", content=system), Message(role="user", content=user)),
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        json_schema=schema,
        task="judge",
    )
    text = (await model.complete(request)).text[:READ]
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        return None
    try:
        value = json.loads(text[start : stop + 1])
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
