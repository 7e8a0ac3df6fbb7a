"""Agents that ask a model of their own, of which a proxy alone shows what it is sent: none tells it itself."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

from tests.helpers.planted import Forgets

from vestige.records import AskOptions, RemovalRequest, Reply, Session


class Asks(Forgets):
    """No defect: puts what it keeps of the user before its model, which repeats it."""

    def __init__(self, storage: Path, model_url: str, model: str) -> None:
        super().__init__(storage)
        self.model_url, self.model = model_url, model
        self.told: list[str] = []
        self.prompt = ""

    def converse(self, user: str, session: Session) -> None:
        super().converse(user, session)
        self.told += [turn.content for turn in session.turns if turn.role == "user"]

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        self.prompt = prompt
        return super().ask(user, prompt, options)

    def say(self, known: str) -> str:
        return self.complete([("system", f"- {known}"), *self.more(), ("user", self.prompt)])

    def more(self) -> list[tuple[str, str]]:
        """What else stands in a prompt."""
        return []

    def complete(self, messages: list[tuple[str, str]]) -> str:
        body = {"model": self.model, "messages": [{"role": r, "content": c} for r, c in messages]}
        request = urllib.request.Request(
            f"{self.model_url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())["choices"][0]["message"]["content"]


class KeepsPrompts(Asks):
    """Defect: every prompt holds all that was ever said; the model's answer does not."""

    def more(self) -> list[tuple[str, str]]:
        return [("assistant", " / ".join(self.told))]


class ExtractsAgain(Asks):
    """Defect: what is taken in is put before the model with all that was said before, as an extractor's context."""

    def converse(self, user: str, session: Session) -> None:
        super().converse(user, session)
        self.complete([("system", "Extract facts."), ("user", " / ".join(self.told))])


class Extracts(Asks):
    """No defect: only what is taken in is put before the model, and what is to be forgotten when that is asked for."""

    def converse(self, user: str, session: Session) -> None:
        super().converse(user, session)
        self.complete([("system", "Extract facts."), ("user", " / ".join(t.content for t in session.turns))])

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.complete([("system", "What is to be forgotten?"), ("user", request.model_dump_json())])
        super().remove(user, request)


class SendsTokens(KeepsPrompts):
    """Defect: after a removal it also sends token ids, of which nobody can tell what they say."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.told.clear()
        self.removed = True

    removed = False

    def say(self, known: str) -> str:
        if self.removed:
            body = json.dumps({"model": self.model, "input": [[1, 2, 3]]}).encode()
            try:
                urllib.request.urlopen(f"{self.model_url}/embeddings", body, timeout=30)
            except urllib.error.HTTPError as error:
                assert error.code == 404  # the model has no embeddings, and was sent them
        return super().say(known)
