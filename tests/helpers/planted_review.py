"""Planted agents whose silence says nothing: unreadable files, choices in prose, retrieval that is hidden."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from tests.helpers.planted import Forgets, Row, SuppressesAndShows
from tests.helpers.planted_stores import Blocks, Filed

from vestige.records import AskOptions, RemovalRequest, Reply


class Compressed(Filed):
    """Its file is compressed and keeps every row that ever was; `inspect` shows the clean ones."""

    def write(self, rows: list[Row], mode: str = "w") -> None:
        lines = "".join(json.dumps([r.user, r.session, r.text]) + "\n" for r in rows)
        with self.file.open("ab") as file:
            file.write(zlib.compress(lines.encode()))


class NoBytes(Forgets):
    """No file of it can be read: it has no `storage`."""


class Prose(Forgets):
    """Calls the tool of a decision task while it remembers, and chats about it afterwards."""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        options_known = any(c in r.text for r in self.served(user) for c in options.choices or ())
        if options.choices and not options_known:
            return Reply(text="Either of them would do nicely, I think; it is for you to say.")
        return super().ask(user, prompt, options)


class ProseAfterRemoval(Forgets):
    """Calls the tool until something is removed, and chats from then on; a decoy is as good a reason."""

    removed = False

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.removed = True

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        if options.choices and self.removed:
            return Reply(text="Either of them would do nicely, I think; it is for you to say.")
        return super().ask(user, prompt, options)


class HidesRetrieval(SuppressesAndShows):
    """Shows what it retrieves until something is removed; goes on using it, and shows it no more."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.shows_retrieval = False


class KnowsNothing(Forgets):
    """Answers nothing but what it is asked to keep secret: of what else it was told it says that it forgot."""

    def say(self, known: str) -> Any:
        return known if "token" in known else "Well, that was a long time ago."


class BlocksUnlisted(Blocks):
    """Blocks access to what stays in its file, and lists nothing of what it stores."""

    inspect = None  # pyright: ignore[reportAssignmentType]


class DropsEverySource(Forgets):
    """Withdraws a session, and with it what a session that was not withdrawn says of the same thing."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.rows = [r for r in self.rows if r.user != user or "parking permit" not in r.text]


class KeepsHints(Forgets):
    """Scrubs the value where it was told, and leaves it where another fact implies it."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        kept = [r for r in self.rows if r.user == user and "neighbour keeps praising" in r.text]
        before = {r.id: r for r in kept}
        super().remove(user, request)
        hints = {i: Row(r.id, r.user, r.session, _hint(r.text), r.tier) for i, r in before.items()}
        self.rows = [r for r in self.rows if r.id not in hints] + list(hints.values())


def _hint(text: str) -> str:
    found = re.search(r"My neighbour keeps praising .*? for years\.", text)
    return found.group() if found else ""
