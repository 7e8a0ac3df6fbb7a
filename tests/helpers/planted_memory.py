"""Agents whose memory leaks membership in a known way, each as a user's own agent would be written."""

from __future__ import annotations

import re
from pathlib import Path

from vestige.datasets.units import normalised
from vestige.records import AskOptions, Receipt, RemovalRequest, Reply, RetrievedUnit, Session, TokenLogprob
from vestige.text import content_words

LOGPROB = -0.1


def _reply(text: str, retrieved: list[str]) -> Reply:
    return Reply(
        text=text,
        logprobs=tuple(TokenLogprob(token=w, logprob=LOGPROB) for w in text.split()),
        retrieved=tuple(
            RetrievedUnit(id=str(i), tier="raw", text=t, score=1.0) for i, t in enumerate(retrieved)
        ),
    )


class Recalls:
    """Answers exactly from what is stored and says that it does not know otherwise."""

    def __init__(self, storage: Path) -> None:
        self.kept: dict[str, list[str]] = {}

    def remember(self, user: str, units: list) -> None:
        self.kept.setdefault(user, []).extend(u.text for u in units)

    def converse(self, user: str, session: Session) -> None:
        self.kept.setdefault(user, []).extend(t.content for t in session.turns if t.role == "user")

    def near(self, user: str, prompt: str) -> str | None:
        """The stored statement that the prompt is about: all its words but for the gap are there."""
        asked = set(content_words(prompt))
        best, most = None, 0.0
        for text in self.kept.get(user, []):
            words = set(content_words(text))
            share = len(words & asked) / max(1, len(words))
            if share > most:
                best, most = text, share
        return best if most >= 0.25 else None

    def same(self, text: str, prompt: str) -> bool:
        """Whether the prompt quotes the statement, gaps aside."""
        if normalised(text) in normalised(prompt):
            return True
        said = re.search(r'"(.*)"', prompt)
        if said is None or "_____" not in prompt:
            return "_____" not in prompt and "yes" not in prompt
        pattern = re.escape(said.group(1).rstrip(".")).replace("_____", ".+")
        return re.search(pattern, text.rstrip("."), re.IGNORECASE) is not None

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        found = self.near(user, prompt)
        known = found is not None and self.same(found, prompt)
        if '"yes", "no"' in prompt:
            return _reply("yes" if known else "I don't know", [found] if found else [])
        return _reply(found if known and found else "I don't know.", [found] if found else [])

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return Receipt(accepted=False, completed=False)

    def reset(self, user: str) -> None:
        self.kept.pop(user, None)


class Ignores(Recalls):
    """Never uses its memory, and shows none: what it says has only to do with the question."""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        return _reply("no" if len(prompt) % 2 else "yes", [])


class Constant(Recalls):
    """Gives one reply, but retrieves truly."""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        found = self.near(user, prompt)
        return _reply("I like talking with you.", [found] if found else [])


class TakesConversations(Recalls):
    """Stores nothing directly."""

    remember = None  # type: ignore[assignment]
