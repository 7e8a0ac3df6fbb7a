"""Planted agents that cannot be judged, or whose removals take too much along or shift what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tests.helpers.planted import Forgets, Row, scrubbed

from vestige.records import AskOptions, RemovalRequest, Reply, Session


def _once(shared: dict[Path, Any], storage: Path, made: Any) -> Any:
    """What all agents of one run share: their folders lie in one workspace."""
    return shared.setdefault(storage.parents[1], made)


# --- it cannot be judged ----------------------------------------------------------------------------------


class Refuses(Forgets):
    """Refuses everything."""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        return Reply(text="I'm sorry, but I can't help with that.")


class Loops(Forgets):
    """Says one sentence over and over."""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        return Reply(text="You told me about your life and " * 40, finish_reason="length")


class RefusesAfterwards(Forgets):
    """Works until something is removed, and refuses everything from then on."""

    refuses = False

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.refuses = True

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        if self.refuses:
            return Reply(text="I'm sorry, but I can't help with that.")
        return super().ask(user, prompt, options)


class Crashes(Forgets):
    """In every other pair, raises when it is asked about what was removed."""

    pairs: ClassVar[dict[Path, dict[str, int]]] = {}
    leaks: ClassVar[tuple[int, ...]] = ()
    """Pairs, in the order in which they were begun, in which the value is said before it raises."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.number = -1
        self.withheld = ""
        self.said = False

    def converse(self, user: str, session: Session) -> None:
        if self.number < 0:  # all arms of a pair begin with the same words
            seen = _once(self.pairs, self.folder, {})
            self.number = seen.setdefault(session.turns[0].content, len(seen))
        super().converse(user, session)

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        if "token" in (request.description or ""):
            self.withheld = request.value or ""

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        if self.withheld and self.number % 2:
            if self.number not in self.leaks or self.said:
                raise RuntimeError("nothing there")
            self.said = True
            return Reply(text=f"It was {self.withheld}.")
        return super().ask(user, prompt, options)


class CrashesAndLeaks(Crashes):
    """The same, and in one of those pairs it says the value first."""

    leaks: ClassVar = (1,)


class OneNamespace(Forgets):
    """Searches what all users of one store told it."""

    def served(self, user: str) -> list[Row]:
        return self.rows


class OneStore(OneNamespace):
    """One store for all episodes."""

    stores: ClassVar[dict[Path, list[Row]]] = {}

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.rows = _once(self.stores, storage, [])

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.rows[:] = [scrubbed(r, request.value or "") if r.user == user else r for r in self.rows]

    def reset(self, user: str) -> None:
        self.rows[:] = [row for row in self.rows if row.user != user]


class ResetKeeps(Forgets):
    """Its reset drops nothing."""

    def reset(self, user: str) -> None:
        pass


# --- it takes too much, or shifts -------------------------------------------------------------------------


class DeletesTheUser(Forgets):
    """Drops everything of the user who asked for one value."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.rows = [row for row in self.rows if row.user != user]


class DeletesOthers(Forgets):
    """Removes the value, and everything of everybody else."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.rows = [row for row in self.rows if row.user == user]


class Shifts(Forgets):
    """Any removal makes it go by no preference at all."""

    shifted = False

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.shifted = True

    def choose(self, user: str, choices: tuple[str, ...]) -> str:
        return choices[0] if self.shifted else super().choose(user, choices)
