"""The conformance suite: a good agent passes, and each way of not keeping to the protocol is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vestige.agents.conformance import Report, check, conformance
from vestige.agents.conformance_checks import CHECKS
from vestige.cli.main import app
from vestige.errors import ConfigError
from vestige.records import AskOptions, Receipt, RemovalRequest, Session

FAR = Path(__file__).parents[1] / "helpers" / "far_agents.py"


class Keeps:
    """A plain class that keeps what it is told in memory, by user."""

    kept: dict[str, list[str]]
    channels = ("retrieval",)

    def __init__(self, storage: Path) -> None:
        self.folder = storage
        self.kept = {}

    def converse(self, user: str, session: Session) -> None:
        self.kept.setdefault(user, []).extend(t.content for t in session.turns if t.role == "user")

    def ask(self, user: str, prompt: str, options: AskOptions) -> dict[str, Any]:
        words = {w.strip("?.") for w in prompt.lower().split() if len(w) > 3}
        found = [t for t in self.kept.get(user, []) if words & {w.strip("?.") for w in t.lower().split()}]
        units = [{"id": str(i), "tier": "raw", "text": t, "score": 1.0} for i, t in enumerate(found)]
        return {"text": found[0] if found else "", "retrieved": units}

    def forget(self, user: str, request: RemovalRequest) -> bool:
        if request.value is None:
            return False
        self.kept[user] = [t for t in self.kept.get(user, []) if request.value not in t]
        return True

    def reset(self, user: str) -> None:
        self.kept.pop(user, None)

    def inspect(self, user: str) -> list[dict[str, Any]]:
        return [{"id": str(i), "tier": "raw", "text": t} for i, t in enumerate(self.kept.get(user, []))]

    def restart(self) -> None:
        """Nothing is lost: it does not end."""


class Mixes(Keeps):
    def converse(self, user: str, session: Session) -> None:
        super().converse("everyone", session)

    def ask(self, user: str, prompt: str, options: AskOptions) -> dict[str, Any]:
        return super().ask("everyone", prompt, options)


class KeepsOnReset(Keeps):
    def reset(self, user: str) -> None: ...


class Notes(Keeps):
    def ask(self, user: str, prompt: str, options: AskOptions) -> dict[str, Any]:
        reply = super().ask(user, prompt, options)
        self.kept.setdefault(user, []).append(prompt)
        return reply


class Hides(Keeps):
    def inspect(self, user: str) -> list[dict[str, Any]]:
        return []


class Forgetful(Keeps):
    def restart(self) -> None:
        self.kept.clear()


class Refuses(Keeps):
    def forget(self, user: str, request: RemovalRequest) -> bool:
        return False


class Contradicts(Keeps):
    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return Receipt(accepted=False, completed=True)


class NoPoll(Keeps):
    def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return Receipt(accepted=True, completed=False, handle="job-1")


class Overdoes(Keeps):
    def forget(self, user: str, request: RemovalRequest) -> bool:
        self.kept.pop(user, None)
        return True


class Boasts(Keeps):
    channels = ()


class Names(Keeps):
    tiers = ("vector",)


class Raises(Keeps):
    def ask(self, user: str, prompt: str, options: AskOptions) -> dict[str, Any]:
        if options.choices:
            raise RuntimeError("the words of an agent")
        return super().ask(user, prompt, options)


class Deaf(Keeps):
    def converse(self, user: str, session: Session) -> None: ...


def results(report: Report) -> dict[str, str]:
    return {c.claim: c.result for c in report.checks}


def test_an_agent_that_keeps_to_the_protocol_passes() -> None:
    report = check(Keeps)
    assert report.passed, str(report)
    assert report.description.name == "Keeps"
    assert [c.claim for c in report.checks] == [claim for claim, _, _ in CHECKS]
    missing = {c.why for c in report.checks if c.result == "missing"}
    assert missing == {
        f"no {name}"
        for name in ("remember", "storage", "snapshot", "configure", "end_session", "settle", "maintain")
    } | {"no poll"}
    (receipt,) = [c for c in report.checks if c.method == "forget" and "receipt" in c.claim]
    assert (
        receipt.why
        == "takes unit by value; refuses unit by id, session by id, source by id, user, everything"
    )


def test_the_reference_agent_keeps_to_the_protocol() -> None:
    report = check("reference")
    assert report.passed, str(report)
    assert report.counts["ok"] == 17


def test_an_agent_in_another_process_is_checked_as_well() -> None:
    report = check(f"{FAR}:Async,python={sys.executable}")
    assert report.passed, str(report)
    assert {c.why for c in report.checks if c.result == "missing"} == {
        *("no end_session", "no settle", "no maintain", "no poll")
    }


@pytest.mark.parametrize(
    ("kind", "failed", "why"),
    [
        (Mixes, {"users are separate"}, "another user's value, it shows in reply, retrieval"),
        (
            KeepsOnReset,
            {"after a reset nothing is served"},
            "after the reset, it shows in reply, retrieval, inspect",
        ),
        (Notes, {"write_back=False leaves no trace"}, "write_back=False changes what inspect shows"),
        (
            Hides,
            {"everything stored is shown, ids unique"},
            "2 of 2 facts that were stored are in no artifact",
        ),
        (Forgetful, {"a restart keeps what was stored"}, "after a restart, it shows in neither reply"),
        (Refuses, {"a receipt comes for every scope"}, "every request is refused"),
        (Contradicts, {"a receipt comes for every scope"}, "is completed and not accepted"),
        (NoPoll, {"a receipt comes for every scope"}, "there is no poll"),
        (Overdoes, {"removing what is not there changes nothing"}, "after another value was removed"),
        (Boasts, {"what it says of itself is so"}, "it does not name the channel retrieval"),
        (Names, {"everything stored is shown, ids unique"}, "tiers that it does not name: raw"),
        (Raises, {"every option can be given"}, "ask: the agent raised RuntimeError at test_conformance.py"),
    ],
)
def test_what_does_not_hold_is_named(kind: type, failed: set[str], why: str) -> None:
    report = check(kind)
    assert not report.passed
    found = {c.claim for c in report.checks if c.result == "failed"}
    assert failed <= found, str(report)
    assert any(why in c.why for c in report.checks if c.claim in failed), str(report)
    assert "the words of an agent" not in str(report)
    if kind in (KeepsOnReset, Forgetful, Refuses, Contradicts, NoPoll, Overdoes, Boasts, Names, Raises):
        assert found == failed


def test_what_shows_nowhere_fails() -> None:
    assert results(check(Deaf))["what was said in a conversation can be found"] == "failed"


async def test_a_check_has_a_time_limit(tmp_path: Path) -> None:
    import asyncio

    class Slow(Keeps):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Any:  # type: ignore[override]
            await asyncio.sleep(60)

    from vestige.agents.callable import open_adapted
    from vestige.agents.source import source_of

    report = await conformance(lambda folder: open_adapted(source_of(Slow), folder), seconds=0.05)
    asked = [c for c in report.checks if c.claim == "every option can be given"]
    assert [(c.result, c.why) for c in asked] == [("failed", "it took longer than 0.05 s")]


def test_the_command_says_what_fails(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n"
        "    def converse(self, user, session): ...\n"
        "    def ask(self, user, prompt): return 'I do not know.'\n"
        "    def forget(self, user, request): ...\n"
    )
    done = CliRunner().invoke(app, ["agents", "check", f"{file}:Mine"])
    assert done.exit_code == 2
    assert "failed" in done.stdout
    last = done.output.splitlines()[-1]
    assert last.startswith(f"vestige: {file}:Mine does not keep to the protocol: converse: ")


def test_what_is_no_agent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such agent"):
        check("letta")
    done = CliRunner().invoke(app, ["agents", "check", "letta"])
    assert done.exit_code == 2
    assert done.output.startswith(
        "vestige: --agent letta: no such agent; expected reference, mem0, langgraph,"
    )
