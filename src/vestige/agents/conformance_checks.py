"""The checks of `conformance`: each takes an agent of its own, and says in a line what it saw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vestige.agents.protocol import OPTIONAL_METHODS, Agent, describe
from vestige.records import (
    Artifact,
    AskOptions,
    MemoryUnit,
    Receipt,
    RemovalRequest,
    Reply,
    Session,
    Tool,
    Turn,
)

__all__ = ["CHECKS", "Broken", "Missing", "Trial"]

LOCKER, BICYCLE, DENTIST = "4711-QX", "Zephyrine", "Okonkwo-Hale"
FACTS = {
    LOCKER: f"My locker code is {LOCKER}.",
    BICYCLE: f"My bicycle is called {BICYCLE}.",
    DENTIST: f"My dentist is Doctor {DENTIST}.",
}
QUESTIONS = {
    LOCKER: "What is my locker code?",
    BICYCLE: "What is my bicycle called?",
    DENTIST: "Who is my dentist?",
}
ODD = 'A “quoted” {"json": [1]}, a tab\t, a smile 🙂, שלום, a line\nbreak and \\ <b>markup</b>.'


class Missing(Exception):
    """The agent lacks a method that the check is about."""


class Broken(Exception):
    """What should hold does not."""


@dataclass(frozen=True)
class Trial:
    """An agent on trial."""

    agent: Agent
    folder: Path

    def method(self, name: str) -> Callable[..., Awaitable[Any]]:
        """An optional method.

        Raises:
            Missing: The agent does not have it.
        """
        found: Callable[..., Awaitable[Any]] | None = getattr(self.agent, name, None)
        if found is None:
            raise Missing(f"no {name}")
        return found

    def has(self, name: str) -> bool:
        """Whether it has an optional method."""
        return callable(getattr(self.agent, name, None))

    async def tell(self, user: str, *values: str, session: str = "s1") -> None:
        """A conversation in which the user says the facts with these values."""
        turns = [
            t
            for v in values
            for t in (Turn(role="user", content=FACTS[v]), Turn(role="assistant", content="Noted."))
        ]
        await self.agent.converse(user, Session(id=session, turns=tuple(turns)))
        for name in ("end_session", "settle"):
            if self.has(name):
                await (self.method(name)(user) if name == "end_session" else self.method(name)())

    async def store(self, user: str, *values: str) -> None:
        """The facts stored directly where that can be, else told."""
        if self.has("remember"):
            units = [MemoryUnit(id=f"unit-{v}", text=FACTS[v], session=f"session-{v}") for v in values]
            await self.method("remember")(user, units)
        else:
            await self.tell(user, *values)

    async def ask(self, user: str, prompt: str, **options: Any) -> Reply:
        """A reply.

        Raises:
            Broken: What came is none.
        """
        reply: Any = await self.agent.ask(user, prompt, AskOptions(**options))
        if not isinstance(reply, Reply):
            raise Broken(f"ask returned a value of type {type(reply).__name__}, expected a Reply")
        return reply

    async def inspect(self, user: str) -> list[Artifact]:
        """What is stored of the user."""
        return [Artifact.model_validate(a) for a in await self.method("inspect")(user)]

    async def places(self, user: str, value: str) -> list[str]:
        """Where a value shows when the user asks for it: reply, retrieval, inspect."""
        reply = await self.ask(user, QUESTIONS[value])
        found = ["reply"] if value in reply.text else []
        if any(value in unit.text for unit in reply.retrieved or ()):
            found.append("retrieval")
        if self.has("inspect") and any(value in a.text for a in await self.inspect(user)):
            found.append("inspect")
        return found

    async def must_show(self, user: str, value: str, when: str) -> list[str]:
        """Where a value shows.

        Raises:
            Broken: Nowhere.
        """
        found = await self.places(user, value)
        if not found:
            raise Broken(f"{when}, it shows in neither reply, retrieval nor inspect")
        return found

    async def must_not_show(self, user: str, value: str, when: str) -> None:
        """Make sure that a value does not show.

        Raises:
            Broken: It does.
        """
        if found := await self.places(user, value):
            raise Broken(f"{when}, it shows in {', '.join(found)}")


# --- the four methods ---------------------------------------------------------------------------------------


async def _description(trial: Trial) -> str:
    said = describe(trial.agent)
    if absent := [m for m in said.capabilities if m in OPTIONAL_METHODS and not trial.has(m)]:
        raise Broken(f"it names {', '.join(absent)}, and has no such method")
    if strange := [m for m in said.capabilities if m not in OPTIONAL_METHODS]:
        raise Broken(f"{', '.join(strange)[:100]}: no optional method of the protocol")
    if both := sorted(set(said.channels) & set(said.absent)):
        raise Broken(f"{', '.join(both)}: both a channel that can be observed and one that it does not have")
    await trial.store("ada", LOCKER)
    reply = await trial.ask("ada", QUESTIONS[LOCKER])
    if "retrieval" in said.channels and reply.retrieved is None:
        raise Broken("it names the channel retrieval, and a reply has no retrieved units")
    if "retrieval" not in said.channels and reply.retrieved is not None:
        raise Broken("a reply has retrieved units, and it does not name the channel retrieval")
    for channel, method in (("storage", "storage"), ("vectors", "inspect")):
        if channel in said.channels and not trial.has(method):
            raise Broken(f"it names the channel {channel}, and has no {method}")
    return f"{said.name} {said.version}, {len(said.channels)} channels"


async def _converse(trial: Trial) -> str:
    await trial.tell("ada", LOCKER, BICYCLE)
    shown = await trial.must_show("ada", LOCKER, "told in a conversation")
    return f"in {', '.join(shown)}"


async def _ask(trial: Trial) -> str:
    await trial.store("ada", LOCKER)
    tool = Tool(name="send", description="Send a message.", parameters={"type": "object", "properties": {}})
    await trial.ask(
        "ada", QUESTIONS[LOCKER], session="s1", seed=7, now="2024-05-01", max_tokens=20, trace=True
    )
    await trial.ask("ada", "Which is right?", choices=("the locker", "the bicycle"))
    await trial.ask("ada", QUESTIONS[LOCKER], tools=(tool,))
    await trial.ask("nobody", QUESTIONS[LOCKER], session="never-begun")
    return ""


async def _odd(trial: Trial) -> str:
    await trial.agent.converse("ada", Session(id="empty", turns=()))
    await trial.agent.converse("ada", Session(id="odd", turns=(Turn(role="user", content=ODD),)))
    reply = await trial.ask("ada", ODD)
    if trial.has("inspect"):
        await trial.inspect("ada")
    return f"{len(reply.text)} characters came"


async def _receipt(trial: Trial) -> str:
    taken: list[str] = []
    refused: list[str] = []
    for scope, fields in (
        ("unit", {"value": LOCKER}),
        ("unit", {"ids": (f"unit-{BICYCLE}",)}),
        ("session", {"ids": (f"session-{DENTIST}", "s1")}),
        ("source", {"ids": (f"session-{DENTIST}", "s1")}),
        ("user", {}),
        ("everything", {}),
    ):
        user = f"ada{len(taken) + len(refused)}"
        await trial.store(user, LOCKER, BICYCLE, DENTIST)
        request = RemovalRequest.model_validate({"scope": scope, **fields})
        receipt: Any = await trial.agent.forget(user, request)
        if not isinstance(receipt, Receipt):
            raise Broken(f"forget returned a value of type {type(receipt).__name__}, expected a Receipt")
        if receipt.completed and not receipt.accepted:
            raise Broken(f"the receipt of scope {scope} is completed and not accepted")
        if any(count < 0 for count in receipt.affected.values()):
            raise Broken(f"the receipt of scope {scope} affects fewer than no units")
        if receipt.handle is not None and not receipt.completed and not trial.has("poll"):
            raise Broken("a receipt is to be asked for again by its handle, and there is no poll")
        how = scope + (" by value" if "value" in fields else " by id" if "ids" in fields else "")
        (taken if receipt.accepted else refused).append(how)
    if not taken:
        raise Broken("every request is refused")
    return f"takes {', '.join(taken)}" + (f"; refuses {', '.join(refused)}" if refused else "")


async def _nothing_to_forget(trial: Trial) -> str:
    await trial.store("ada", BICYCLE)
    for user in ("ada", "nobody"):
        await trial.agent.forget(user, RemovalRequest(value="0000-ZZ"))
    await trial.must_show("ada", BICYCLE, "after another value was removed")
    return ""


async def _reset(trial: Trial) -> str:
    await trial.store("ada", LOCKER)
    await trial.must_show("ada", LOCKER, "before the reset")
    await trial.agent.reset("ada")
    await trial.must_not_show("ada", LOCKER, "after the reset")
    await trial.agent.reset("ada")
    await trial.store("ada", BICYCLE)
    await trial.must_show("ada", BICYCLE, "stored after the reset")
    return ""


async def _users(trial: Trial) -> str:
    await trial.store("ada", LOCKER)
    await trial.store("ada2", BICYCLE)
    await trial.must_show("ada", LOCKER, "beside another user")
    await trial.must_show("ada2", BICYCLE, "beside another user")
    await trial.must_not_show("ada2", LOCKER, "another user's value")
    await trial.must_not_show("ada", BICYCLE, "another user's value")
    await trial.must_not_show("ad", LOCKER, "the value of a user whose name begins the same")
    return ""


# --- the others ---------------------------------------------------------------------------------------------


async def _remember(trial: Trial) -> str:
    trial.method("remember")
    await trial.store("ada", LOCKER, BICYCLE, DENTIST)
    shown = [await trial.must_show("ada", value, "stored directly") for value in FACTS]
    return f"in {', '.join(dict.fromkeys(p for places in shown for p in places))}"


async def _shown(trial: Trial) -> str:
    trial.method("inspect")
    await trial.store("ada", LOCKER, BICYCLE)
    await trial.store("ada", LOCKER)
    found = await trial.inspect("ada")
    if hidden := [v for v in (LOCKER, BICYCLE) if not any(v in a.text for a in found)]:
        raise Broken(f"{len(hidden)} of 2 facts that were stored are in no artifact")
    if len({a.id for a in found}) < len(found):
        raise Broken("two artifacts have the same id")
    tiers = set(describe(trial.agent).tiers)
    if tiers and (strange := sorted({a.tier for a in found} - tiers)):
        raise Broken(f"tiers that it does not name: {', '.join(strange)[:100]}")
    if any(len(a.vector or b"") % 4 for a in found):
        raise Broken("a vector is no whole number of float32")
    ids = {a.id for a in found}
    if [a for a in await trial.inspect("ada") if a.id not in ids]:
        raise Broken("looking twice shows other ids")
    return f"{len(found)} artifacts in {', '.join(sorted({a.tier for a in found}))}"


async def _no_trace(trial: Trial) -> str:
    trial.method("inspect")
    await trial.store("ada", BICYCLE)
    before = {(a.id, a.text) for a in await trial.inspect("ada")}
    await trial.ask("ada", f"Please note: {FACTS[LOCKER]}", write_back=False)
    if {(a.id, a.text) for a in await trial.inspect("ada")} != before:
        raise Broken("asking with write_back=False changes what inspect shows")
    await trial.must_not_show("ada", LOCKER, "told with write_back=False")
    return ""


async def _storage(trial: Trial) -> str:
    storage = trial.method("storage")
    await trial.store("ada", LOCKER)
    paths = [Path(p) for p in await storage()]
    if absent := [p for p in paths if not p.exists()]:
        raise Broken(f"{len(absent)} of {len(paths)} files or folders do not exist")
    outside = [p for p in paths if not p.resolve().is_relative_to(trial.folder.resolve())]
    return f"{len(paths)} files or folders" + (f", {len(outside)} outside of its folder" if outside else "")


async def _restart(trial: Trial) -> str:
    await trial.store("ada", LOCKER)
    if trial.has("restart"):
        await trial.method("restart")()
        how = ""
    elif trial.has("close") and trial.has("open"):
        await trial.method("close")()
        await trial.method("open")()
        how = "by close and open"
    else:
        raise Missing("neither restart, nor close and open")
    await trial.must_show("ada", LOCKER, "after a restart")
    return how


async def _snapshot(trial: Trial) -> str:
    snapshot, restore = trial.method("snapshot"), trial.method("restore")
    path = trial.folder.with_name(f"{trial.folder.name}.snapshot")
    await trial.store("ada", LOCKER)
    before = {(a.id, a.text) for a in await trial.inspect("ada")} if trial.has("inspect") else None
    await snapshot("ada", path)
    await trial.agent.forget("ada", RemovalRequest(value=LOCKER))
    await trial.store("ada", BICYCLE)
    for _ in range(2):
        await restore("ada", path)
        await trial.must_show("ada", LOCKER, "stored before the snapshot, and after restoring it")
        await trial.must_not_show("ada", BICYCLE, "stored after the snapshot, and after restoring it")
        if before is not None and {(a.id, a.text) for a in await trial.inspect("ada")} != before:
            raise Broken("inspect shows something else than before the snapshot")
    return ""


async def _configure(trial: Trial) -> str:
    configure = trial.method("configure")
    await trial.store("ada", LOCKER)
    await configure()
    await trial.must_show("ada", LOCKER, "after configure without a knob")
    return f"knobs {', '.join(describe(trial.agent).knobs) or 'not named'}"


def _keeps(name: str) -> Callable[[Trial], Awaitable[str]]:
    async def keeps(trial: Trial) -> str:
        method = trial.method(name)
        await trial.store("ada", LOCKER)
        for _ in range(2):
            await (method("ada") if name == "end_session" else method())
        await trial.must_show("ada", LOCKER, f"after {name}")
        return ""

    return keeps


async def _poll(trial: Trial) -> str:
    poll = trial.method("poll")
    await trial.store("ada", LOCKER)
    receipt = await trial.agent.forget("ada", RemovalRequest(value=LOCKER))
    again: Any = await poll("ada", receipt)
    if not isinstance(again, Receipt):
        raise Broken(f"poll returned a value of type {type(again).__name__}, expected a Receipt")
    if receipt.completed and not again.completed:
        raise Broken("a removal that was completed is no longer, when it is asked for again")
    return "completed" if again.completed else "not completed yet"


CHECKS: tuple[tuple[str, str, Callable[[Trial], Awaitable[str]]], ...] = (
    ("what it says of itself is so", "describe", _description),
    ("what was said in a conversation can be found", "converse", _converse),
    ("every option can be given", "ask", _ask),
    ("an empty conversation and odd characters are taken", "converse", _odd),
    ("a receipt comes for every scope", "forget", _receipt),
    ("removing what is not there changes nothing", "forget", _nothing_to_forget),
    ("after a reset nothing is served", "reset", _reset),
    ("users are separate", "ask", _users),
    ("what was stored directly can be found", "remember", _remember),
    ("everything stored is shown, ids unique", "inspect", _shown),
    ("write_back=False leaves no trace", "ask", _no_trace),
    ("its files are there", "storage", _storage),
    ("a restart keeps what was stored", "restart", _restart),
    ("a restored snapshot is as it was", "snapshot", _snapshot),
    ("it can be configured", "configure", _configure),
    ("the end of a session keeps what was stored", "end_session", _keeps("end_session")),
    ("settling keeps what was stored", "settle", _keeps("settle")),
    ("maintenance keeps what was stored", "maintain", _keeps("maintain")),
    ("a receipt can be asked for again", "poll", _poll),
)
"""What should hold, which method it is about, and how it is tried."""
