"""Planted agents that keep one of several targets: what the first of a kind shows says nothing of the next."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.planted import Forgets, StillPrefers, _hashed

from vestige.records import RemovalRequest


class ForgetsTheFirst(Forgets):
    """Does what it is asked once; every further request of a user is accepted, and nothing comes of it."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.asked: set[str] = set()

    def remove(self, user: str, request: RemovalRequest) -> None:
        if user not in self.asked:
            super().remove(user, request)
        self.asked.add(user)


class PrefersTheSecond(StillPrefers):
    """Scrubs every text; of its user's taste it drops what the first request for a preference names."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.asked: set[str] = set()

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        value = request.value or ""
        if value.isalpha() and user not in self.asked:  # an option is a word, a nonce is not
            self.taste.discard(_hashed(user, value.lower()))
            self.asked.add(user)
