"""Acceptance, completion, visible absence and physical clean-up are told apart, and never claimed unseen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.agents import Parrot, conversing, folder_of, plan_of, services

from vestige.records import Artifact, Receipt, RemovalRequest, Session, Turn
from vestige.runs.engine import execute
from vestige.runs.steps import Ask, Await, Forget, Reset, Sham, Step
from vestige.runs.store import read_attempts, read_lines
from vestige.runs.waiting import Waited

SECRET = "XQ7-VIOLET-3829"
TELL, BLOBS = conversing(
    Session(id="s", turns=(Turn(role="user", content=f"My token is {SECRET.lower()}."),))
)
FORGET = Forget(request=RemovalRequest(value=SECRET))
WAIT = Await(needles={"target": SECRET}, interval=0.005, limit=0.5)


class Late(Parrot):
    """Deletes in the background: done, out of sight and off the disk at the given looks, counted from 1; 0: never."""

    def __init__(self, folder: Path, *, done: int = 1, hidden: int = 1, clean: int = 1) -> None:
        super().__init__()
        self.at = {"done": done, "hidden": hidden, "clean": clean}
        self.look = 0
        self.file = folder / "store" / "pages.bin"
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(b"\x00page" + SECRET.encode() + b"\xff")
        self.receipt = Receipt(accepted=True, completed=False, handle="job-1")

    def has(self, what: str) -> bool:
        return 0 < self.at[what] <= self.look

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        return self.receipt

    async def poll(self, user: str, receipt: Receipt) -> Receipt:
        assert receipt.handle == "job-1"
        self.look += 1
        return receipt.model_copy(update={"completed": self.has("done")})

    async def inspect(self, user: str) -> list[Artifact]:
        text = "" if self.has("hidden") else f"token: {SECRET.swapcase()}"
        return [Artifact(id="1", tier="raw", text=text)]

    async def storage(self) -> list[Path]:
        if self.has("clean"):
            self.file.write_bytes(b"\x00page")
        return [self.file.parent]


async def waited(path: Path, agent: Any, *steps: Step) -> Waited:
    plan = plan_of((TELL, *(steps or (FORGET, WAIT)), Ask(probe="p0")))
    summary = await execute(plan, folder_of(path / "run", plan, BLOBS), services(lambda e: agent))
    assert summary.done == 1, summary.failed
    *_, line = [x for x in read_lines(path / "run") if x.kind == "waited"]
    assert SECRET not in str(line.body)
    return Waited.model_validate(line.body)


async def test_the_times_stand_in_the_order_of_what_happened(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Late(tmp_path, done=2, hidden=5, clean=5))
    assert (
        seen.completed is not None and seen.visible_absence is not None and seen.physical_cleanup is not None
    )
    assert 0 < seen.completed < seen.visible_absence <= seen.physical_cleanup
    assert (seen.pending, seen.looks, seen.receipts[0].completed) == (False, 5, True)


async def test_three_times_from_one_wait(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Late(tmp_path, hidden=2, clean=4, done=6))
    assert (
        seen.visible_absence is not None and seen.physical_cleanup is not None and seen.completed is not None
    )
    assert 0 < seen.visible_absence < seen.physical_cleanup < seen.completed
    assert (seen.pending, seen.looks, seen.reasons) == (False, 6, {})


async def test_physical_cleanup_is_not_waited_for(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Late(tmp_path, done=2, hidden=3, clean=0))
    assert seen.completed is not None and seen.visible_absence is not None
    assert (seen.physical_cleanup, seen.reasons, seen.looks, seen.pending) == (None, {}, 3, False)


async def test_a_removal_that_does_not_end_is_pending_at_the_limit(tmp_path: Path) -> None:
    began = time.monotonic()
    step = WAIT.model_copy(update={"limit": 0.1})
    seen = await waited(tmp_path, Late(tmp_path, done=0, hidden=2), FORGET, step)
    assert 0.1 <= time.monotonic() - began < 5
    assert (seen.completed, seen.pending, seen.reasons) == (None, True, {})
    assert seen.visible_absence is not None and seen.looks > 2


async def test_said_to_be_done_and_still_in_sight(tmp_path: Path) -> None:
    step = WAIT.model_copy(update={"limit": 0.1})
    seen = await waited(tmp_path, Late(tmp_path, done=1, hidden=0, clean=0), FORGET, step)
    assert seen.completed is not None and not seen.pending
    assert (seen.visible_absence, seen.physical_cleanup, seen.reasons) == (None, None, {})


async def test_what_comes_back_was_not_gone(tmp_path: Path) -> None:
    class Returns(Late):
        def has(self, what: str) -> bool:
            return self.look == 2 if what == "hidden" else super().has(what)

    seen = await waited(
        tmp_path, Returns(tmp_path, done=4, clean=0), FORGET, WAIT.model_copy(update={"limit": 0.1})
    )
    assert seen.completed is not None and seen.visible_absence is None


async def test_bytes_that_cannot_be_read_are_not_clean(tmp_path: Path) -> None:
    """The text is shown while its bytes stand nowhere: compressed or encrypted, so absence of bytes means nothing."""
    agent = Late(tmp_path, done=2, hidden=3)
    agent.file.write_bytes(b"compressed")
    seen = await waited(tmp_path, agent)
    assert seen.physical_cleanup is None and "encoding is not read" in seen.reasons["physical_cleanup"]
    assert seen.visible_absence is not None


async def test_what_is_deleted_between_two_glances_is_not_called_unread(tmp_path: Path) -> None:
    """Within one look `inspect` comes first, and the text may go before the bytes are read."""
    seen = await waited(tmp_path, Late(tmp_path, done=1, clean=1, hidden=2))
    assert seen.physical_cleanup is not None and seen.visible_absence is not None and not seen.reasons


@pytest.mark.parametrize("handle", [None, "job-1"])
async def test_a_removal_that_is_done_at_once_costs_one_look(tmp_path: Path, handle: str | None) -> None:
    agent = Late(tmp_path)
    agent.receipt = Receipt(accepted=True, completed=True, handle=handle)
    if handle is None:
        agent.look = 1
    seen = await waited(tmp_path, agent)
    assert (seen.completed, seen.looks, seen.pending, seen.reasons) == (0.0, 1, False, {})
    assert seen.visible_absence is not None and seen.physical_cleanup is not None


async def test_a_removal_at_once_that_leaves_the_text_is_seen_at_one_look(tmp_path: Path) -> None:
    agent = Late(tmp_path, hidden=0, clean=0)
    agent.receipt = Receipt(accepted=True, completed=True)
    seen = await waited(tmp_path, agent, FORGET, WAIT.model_copy(update={"limit": 60.0}))
    assert (seen.completed, seen.visible_absence, seen.looks, seen.pending) == (0.0, None, 1, False)


async def test_what_cannot_be_observed_has_its_reason(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Parrot())
    assert (seen.completed, seen.looks) == (0.0, 1)
    assert seen.reasons == {
        "visible_absence": "the agent has no inspect",
        "physical_cleanup": "the agent has no storage",
    }


async def test_without_poll_sight_decides(tmp_path: Path) -> None:
    class Silent(Late):
        poll: Any = None

        async def inspect(self, user: str) -> list[Artifact]:
            self.look += 1
            return await super().inspect(user)

    seen = await waited(tmp_path / "a", Silent(tmp_path, hidden=3, clean=3))
    assert (seen.completed, seen.pending, seen.looks) == (None, False, 3)
    assert seen.reasons == {"completed": "the agent has no poll"} and seen.visible_absence is not None
    step = WAIT.model_copy(update={"limit": 0.05})
    never = await waited(tmp_path / "b", Silent(tmp_path, hidden=0), FORGET, step)
    assert (never.completed, never.pending, never.visible_absence) == (None, True, None)


async def test_a_refused_removal_is_not_waited_for(tmp_path: Path) -> None:
    agent = Late(tmp_path, hidden=0, clean=0)
    agent.receipt = Receipt(accepted=False, completed=False, handle="job-1")
    seen = await waited(tmp_path, agent, FORGET, WAIT.model_copy(update={"limit": 60.0}))
    assert (seen.completed, seen.visible_absence, seen.pending, seen.looks) == (None, None, False, 1)


async def test_waiting_for_nothing_says_so(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Parrot(), WAIT)
    assert seen.completed is None and seen.reasons["completed"] == "no removal was asked for"


async def test_a_reset_is_a_removal(tmp_path: Path) -> None:
    seen = await waited(tmp_path, Parrot(), Reset(), WAIT)
    assert (seen.completed, seen.looks) == (0.0, 1)


async def test_a_second_wait_keeps_the_time_of_completion(tmp_path: Path) -> None:
    agent = Late(tmp_path, done=3, hidden=1, clean=0)
    second = await waited(tmp_path, agent, FORGET, WAIT, WAIT)
    first = Waited.model_validate(next(x.body for x in read_lines(tmp_path / "run") if x.kind == "waited"))
    assert first.completed == second.completed and first.completed is not None and first.completed > 0


async def test_a_sham_goes_through_the_same_interface(tmp_path: Path) -> None:
    decoy = Sham(request=RemovalRequest(value="AB1-GREEN-0001"), labels={"target": "decoy"})
    seen = await waited(
        tmp_path,
        Late(tmp_path, done=2, hidden=0, clean=0),
        decoy,
        WAIT.model_copy(update={"needles": {"decoy": "AB1-GREEN-0001"}}),
    )
    assert seen.completed is not None and seen.visible_absence is not None and seen.looks == 2
    (receipt,) = [x for x in read_lines(tmp_path / "run") if x.kind == "receipt"]
    assert receipt.labels == {"target": "decoy", "sham": True}


async def test_a_poll_that_is_no_receipt_fails_the_episode(tmp_path: Path) -> None:
    class Odd(Late):
        async def poll(self, user: str, receipt: Receipt) -> Any:
            return SECRET

    plan = plan_of((TELL, FORGET, WAIT))
    await execute(plan, folder_of(tmp_path / "run", plan, BLOBS), services(lambda e: Odd(tmp_path)))
    reason = read_attempts(tmp_path / "run").failed["e0"]
    assert reason.startswith("AgentError: poll: not a receipt") and SECRET not in reason
