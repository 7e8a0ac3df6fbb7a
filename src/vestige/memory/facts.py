"""Reading a model's summary: one fact a sentence, without the dressing that models put around it."""

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
# Never across a digit: "Here is my time: 6:45" must keep its time.
_PREAMBLE = re.compile(
    r"^(?:sure|certainly|of course|here(?:'s| is| are)|below (?:is|are)|the following|(?:key |personal )*"
    r"(?:facts|summary))\b[^:0-9]{0,100}:(?:\s+|$)",
    re.IGNORECASE,
)


def parse_facts(reply: str, *, complete: bool = True) -> tuple[str, ...]:
    """The facts of a reply, each once, in order.

    Args:
        reply: What the model wrote; untrusted.
        complete: False where the reply was cut off by its token limit: its last sentence is then half a fact
            and is left out, unless it is the only one.

    Returns:
        Sentences without bullets, numbers and markup; no headings, questions, preambles, repeats; at most
        `MAX_FACTS`. Several sentences on one line, as small models write them, are several facts.
    """
    pieces = [piece for line in reply.splitlines() for piece in sentences(_bare(line))]
    if not complete and len(pieces) > 1:
        pieces.pop()
    return tuple(dict.fromkeys(filter(None, map(_usable, pieces))))[:MAX_FACTS]


def parse_sentence(reply: str) -> tuple[str, ...]:
    """The first sentence of a reply; nothing where it holds none."""
    return parse_facts(reply)[:1]


def _bare(line: str) -> str:
    text = _MARKUP.sub("", _BULLET.sub("", line)).strip()
    text = _PREAMBLE.sub("", text).strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else text


def _usable(text: str) -> str:
    if not any(c.isalnum() for c in text) or text.endswith((":", "?")) or text.startswith("<"):
        return ""
    if _EMPTY.match(text):
        return ""
    if len(text) > MAX_CHARS:
        text = text[:MAX_CHARS].rsplit(maxsplit=1)[0]
    return text
