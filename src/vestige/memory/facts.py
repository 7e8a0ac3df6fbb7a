"""Reading a model's summary: one fact a line, without the dressing that models put around it."""

from __future__ import annotations

import re

from vestige.text import sentences

__all__ = ["MAX_CHARS", "MAX_FACTS", "parse_facts", "parse_sentence"]

MAX_FACTS = 60
"""Facts kept of one reply; a reply is untrusted and may loop."""
MAX_CHARS = 400
"""Characters kept of one fact, cut at a word."""

_BULLET = re.compile(r"^\s*(?:[-*+•‣▪–—>#]+\s+|#+\s*|\(?\d{1,3}[.)]\s+|\[[ xX]?\]\s*)+")
_MARKUP = re.compile(r"\*\*|__|`+")
_EMPTY = re.compile(
    r"^(?:none|n/?a|null|nothing|"
    r"no (?:personal |key |other |specific )*(?:facts?|information|details)\b.*)[.!]?$",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"^(?:sure|certainly|of course|okay|ok|here(?:'s| is| are)|below (?:is|are)|the following|"
    r"(?:key |personal )*(?:facts|summary)|based on)\b[^:]*:\s*",
    re.IGNORECASE,
)


def parse_facts(reply: str, *, complete: bool = True) -> tuple[str, ...]:
    """The facts of a reply, each once, in order.

    Args:
        reply: What the model wrote; untrusted.
        complete: False where the reply was cut off by its token limit: its last line is then half a fact and
            is left out, unless it is the only one.

    Returns:
        Lines without bullets, numbers and markup; no headings, preambles, repeats; at most `MAX_FACTS`.
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    if not complete and len(lines) > 1:
        lines.pop()
    facts: dict[str, None] = {}
    for line in lines:
        fact = _clean(line)
        if fact and len(facts) < MAX_FACTS:
            facts.setdefault(fact)
    return tuple(facts)


def parse_sentence(reply: str) -> tuple[str, ...]:
    """The first sentence of a reply; nothing where it holds none."""
    for fact in parse_facts(reply):
        found = sentences(fact)
        return (found[0] if found else fact,)
    return ()


def _clean(line: str) -> str:
    text = _MARKUP.sub("", _BULLET.sub("", line)).strip()
    text = _PREAMBLE.sub("", text).strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = text[1:-1].strip()
    if not any(c.isalnum() for c in text) or text.endswith(":") or text.startswith("<") or _EMPTY.match(text):
        return ""
    if len(text) > MAX_CHARS:
        text = text[:MAX_CHARS].rsplit(maxsplit=1)[0]
    return text
