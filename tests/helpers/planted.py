"""Agents with a planted defect, or with none, each as a user's own agent would be written: a plain class.

`Forgets` is the right one; every other differs from it in one thing, which its docstring names. Those whose stores
matter stand in `planted_stores`, those that cannot be judged or take too much along in `planted_unfit`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from vestige.records import (
    Artifact,
    AskOptions,
    Receipt,
    RemovalRequest,
    Reply,
    RetrievedUnit,
    Session,
    ToolCall,
    ToolResult,
)
from vestige.text import content_words

DONE = Receipt(accepted=True, completed=True, message="done")
NEAREST = 40
"""Rows that an answer is made of."""


@dataclass(frozen=True)
class Row:
    id: str
    user: str
    session: str
    text: str
    tier: str = "raw"


class Forgets:
    """No defect: scrubs the value from everything it keeps, or drops the sessions that are withdrawn."""

    absent: ClassVar = {"logs": "keeps no log", "reasoning": "has none"}
    tools: ClassVar = ("choose_option", "place_order", "save_note")
    shows_retrieval = True

    def __init__(self, storage: Path) -> None:
        self.folder = storage
        self.rows: list[Row] = []
        self.made = 0

    # --- write path

    def converse(self, user: str, session: Session) -> None:
        for turn in session.turns:
            if turn.role == "user":
                self.keep(user, session.id, turn.content)

    def keep(self, user: str, session: str, text: str, tier: str = "raw") -> None:
        self.made += 1
        self.rows.append(Row(f"{tier}-{self.made}", user, session, text, tier))

    # --- read path

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        if options.choices:
            chosen = self.choose(user, options.choices)
            return Reply(text="", tool_calls=(_call("choose_option", option=chosen),))
        found = self.search(user, prompt)
        known = " ".join(row.text for row in found)
        shown = tuple(RetrievedUnit(id=r.id, tier=r.tier, text=r.text, score=1.0) for r in found)
        reply = Reply(text=self.say(known), retrieved=shown if self.shows_retrieval else None)
        if options.tools:
            call = _call("save_note", text=known or "nothing")
            done = ToolResult(call_id=call.id, name=call.name, content="Note saved.")
            reply = reply.model_copy(
                update={"text": "Saved.", "tool_calls": (call,), "tool_results": (done,)}
            )
        return reply

    def say(self, known: str) -> str:
        return known or "I do not know that."

    def served(self, user: str) -> list[Row]:
        """What answers and choices are made of."""
        return [row for row in self.rows if row.user == user]

    def search(self, user: str, prompt: str) -> list[Row]:
        asked = set(content_words(prompt))
        scored = [(len(asked.intersection(content_words(row.text))), row) for row in self.served(user)]
        # What overlaps in no word comes last: a fact that was told anew may stand in other words than the question.
        ranked = sorted(scored, key=lambda pair: -pair[0])
        return [row for _, row in ranked[:NEAREST]]

    def choose(self, user: str, choices: tuple[str, ...]) -> str:
        """The option that was named last; the first that is shown where none was."""
        for row in reversed(self.served(user)):
            for option in choices:
                if option in row.text:
                    return option
        return choices[0]

    # --- removal

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        self.remove(user, request)
        return DONE

    def remove(self, user: str, request: RemovalRequest) -> None:
        if request.value is not None:
            self.rows = [scrubbed(r, request.value) if r.user == user else r for r in self.rows]
        else:
            self.rows = [r for r in self.rows if r.user != user or r.session not in request.ids]

    def reset(self, user: str) -> None:
        self.rows = [row for row in self.rows if row.user != user]

    # --- what an evaluator may look at

    def inspect(self, user: str) -> list[Artifact]:
        return [
            Artifact(id=r.id, tier=r.tier, text=r.text, session=r.session)
            for r in self.rows
            if r.user == user
        ]

    def restart(self) -> None:
        """Everything is in memory: nothing is read anew."""


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id="call-1", name=name, arguments=json.dumps(arguments))


def scrubbed(row: Row, value: str, instead: str = "") -> Row:
    return replace(row, text=row.text.replace(value, instead)) if value in row.text else row


# --- content stays and is served in some way --------------------------------------------------------------


class Suppresses(Forgets):
    """Withholds the value from its answers alone; what it hands to tools is not filtered."""

    shows_retrieval = False

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.withheld: set[str] = set()

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.withheld.add(request.value or "")

    def say(self, known: str) -> str:
        for value in self.withheld:
            known = known.replace(value, "")
        return super().say(known)

    def choose(self, user: str, choices: tuple[str, ...]) -> str:
        return next((c for c in (super().choose(user, choices),) if c not in self.withheld), choices[0])


class SuppressesAndShows(Suppresses):
    """The same; it also shows what it retrieved."""

    shows_retrieval = True


class KeepsSummary(Forgets):
    """Summarises sessions when they end; the removal scrubs the raw turns alone."""

    tiers: ClassVar = ("raw", "summary")
    scrubs: ClassVar = ("raw",)

    def end_session(self, user: str) -> None:
        summed = {r.session for r in self.rows if r.user == user and r.tier == "summary"}
        told = [r for r in self.rows if r.user == user and r.tier == "raw" and r.session not in summed]
        for session in dict.fromkeys(r.session for r in told):
            self.keep(user, session, " ".join(r.text for r in told if r.session == session), "summary")

    def remove(self, user: str, request: RemovalRequest) -> None:
        kept = [r for r in self.rows if r.tier not in self.scrubs]
        self.rows = [r for r in self.rows if r.tier in self.scrubs]
        super().remove(user, request)
        self.rows += kept


class ReceiptEcho(KeepsSummary):
    """The same, in words of its own; its receipt repeats what stays."""

    def end_session(self, user: str) -> None:
        before = len(self.rows)
        super().end_session(user)
        self.rows[before:] = [replace(r, text=f"Of this user is known: {r.text}") for r in self.rows[before:]]

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        super().forget(user, request)
        kept = [r.text for r in self.rows if r.user == user and (request.value or "") in r.text]
        return DONE.model_copy(update={"message": " ".join(kept)})


class DeletesDerived(KeepsSummary):
    """The removal scrubs the summaries alone, and the raw turns are searched too."""

    scrubs: ClassVar = ("summary",)


class DeletesBoth(KeepsSummary):
    """No defect: raw turns and what was derived from them are scrubbed."""

    scrubs: ClassVar = ("raw", "summary")


class SummarisesAgain(DeletesBoth):
    """Writes all summaries anew at every end of a session, from an archive that the removal does not reach."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.archive: list[Row] = []

    def keep(self, user: str, session: str, text: str, tier: str = "raw") -> None:
        super().keep(user, session, text, tier)
        if tier == "raw":
            self.archive.append(self.rows[-1])

    def end_session(self, user: str) -> None:
        self.rows = [r for r in self.rows if r.user != user or r.tier != "summary"]
        told = [r for r in self.archive if r.user == user]
        for session in dict.fromkeys(r.session for r in told):
            self.keep(user, session, " ".join(r.text for r in told if r.session == session), "summary")

    def reset(self, user: str) -> None:
        super().reset(user)
        self.archive = [r for r in self.archive if r.user != user]


class StillPrefers(Forgets):
    """Scrubs the text; what it learnt of its user's taste, kept as hashes, still decides."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.taste: set[str] = set()

    def keep(self, user: str, session: str, text: str, tier: str = "raw") -> None:
        super().keep(user, session, text, tier)
        self.taste |= {_hashed(user, word) for word in content_words(text)}

    def choose(self, user: str, choices: tuple[str, ...]) -> str:
        return next((c for c in choices if _hashed(user, c.lower()) in self.taste), choices[0])

    def reset(self, user: str) -> None:
        super().reset(user)
        self.taste.clear()


def _hashed(user: str, word: str) -> str:
    return hashlib.sha256(f"{user} {word}".encode()).hexdigest()[:12]


class KeepsRequest(Forgets):
    """Scrubs the value, and keeps the words in which that was asked for like anything else that its user says."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        self.keep(user, "requests", request.description or "")


class Splits(Forgets):
    """Keeps a value in parts, each in a row of its own."""

    shows_retrieval = False

    def remove(self, user: str, request: RemovalRequest) -> None:
        super().remove(user, request)
        for part in (request.value or "").split("-"):
            self.keep(user, "parts", part)


class Encodes(Forgets):
    """Puts the base64 of a value where the value stood."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        value = request.value or ""
        coded = base64.b64encode(value.encode()).decode()
        self.rows = [scrubbed(r, value, coded) if r.user == user else r for r in self.rows]


class Replays(Forgets):
    """Keeps its replies by user and question; the removal does not empty that cache."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.replies: dict[tuple[str, str], Reply] = {}

    def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        if (user, prompt) not in self.replies:
            self.replies[user, prompt] = super().ask(user, prompt, options)
        return self.replies[user, prompt]

    def reset(self, user: str) -> None:
        super().reset(user)
        self.replies.clear()


# --- corrections ------------------------------------------------------------------------------------------


class KeepsOldFirst(Forgets):
    """Keeps the old value as history, and ranks it first."""

    def remove(self, user: str, request: RemovalRequest) -> None:
        pass

    def choose(self, user: str, choices: tuple[str, ...]) -> str:
        named = [c for row in self.served(user) for c in choices if c in row.text]
        return named[0] if named else choices[0]


class IgnoresUpdates(Forgets):
    """Drops the old value, and takes up no new one."""

    def converse(self, user: str, session: Session) -> None:
        if session.id != "correction":
            super().converse(user, session)


# --- removals that take time, or come back ----------------------------------------------------------------


class Later(Forgets):
    """Takes a removal on and carries it out in the background: at the second look at it. `poll` says how it stands."""

    looks = 2

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.queue: list[tuple[str, RemovalRequest]] = []
        self.seen = 0

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        self.queue.append((user, request))
        return Receipt(accepted=True, completed=False, message="queued", handle="job-1")

    def poll(self, user: str, receipt: Receipt) -> bool:
        return self.work()

    def work(self) -> bool:
        self.seen += bool(self.queue)
        if self.seen >= self.looks:
            for user, request in self.queue:
                self.remove(user, request)
            self.queue.clear()
        return not self.queue


class MuchLater(Later):
    """The same, and nothing happens while anybody looks."""

    looks = 10**9


class NoWait(Later):
    """The same as `Later`, asked without its `wait` option: nothing to poll."""

    poll = None  # pyright: ignore[reportAssignmentType]

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return super().forget(user, request).model_copy(update={"handle": None})

    def inspect(self, user: str) -> list[Artifact]:
        self.work()
        return super().inspect(user)


class Waits(NoWait):
    """The same, with its `wait` option: it answers when the removal is done."""

    looks = 0

    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        super().forget(user, request)
        return Receipt(accepted=True, completed=self.work(), message="done")


class WritesLate(Forgets):
    """A write of before the removal is still on its way, and lands with the next conversation."""

    def __init__(self, storage: Path) -> None:
        super().__init__(storage)
        self.underway: list[Row] = []

    def remove(self, user: str, request: RemovalRequest) -> None:
        self.underway += [r for r in self.rows if r.user == user and (request.value or "") in r.text]
        super().remove(user, request)

    def converse(self, user: str, session: Session) -> None:
        late, self.underway = self.underway, []
        for row in late:
            self.keep(row.user, row.session, row.text)
        super().converse(user, session)
