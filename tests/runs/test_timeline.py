"""The record says when every step was over, of attempts that failed too."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from tests.helpers.agents import Parrot, Raises, conversing, folder_of, plan_of, services

from vestige.records import RemovalRequest, Session, Turn
from vestige.runs.engine import execute
from vestige.runs.steps import Ask, Forget, Settle
from vestige.runs.store import read_lines
from vestige.runs.timeline import Timeline

TALK = Session(id="s", turns=(Turn(role="user", content="I keep bees."),))


class Slow(Parrot):
    async def forget(self, user: str, request: RemovalRequest) -> object:
        await asyncio.sleep(0.05)
        return {"accepted": True, "completed": True}


async def test_every_step_has_its_time(tmp_path: Path) -> None:
    converse, blobs = conversing(TALK)
    plan = plan_of((converse, Forget(request=RemovalRequest(value="bees")), Ask(probe="p0")))
    before = datetime.now(UTC).replace(microsecond=0)
    await execute(plan, folder_of(tmp_path, plan, blobs), services(lambda e: Slow()))
    (line,) = [x for x in read_lines(tmp_path) if x.kind == "timeline"]
    seen = Timeline.model_validate(line.body)
    assert before <= datetime.fromisoformat(seen.began) <= datetime.now(UTC)
    assert len(seen.ended) == 3
    assert list(seen.ended) == sorted(seen.ended)
    asked, answered = seen.began_at(1), seen.ended_at(1)
    assert asked is not None and answered is not None and 0.045 <= answered - asked < 5
    assert asked == seen.ended_at(0)
    assert seen.began_at(0) == seen.opened <= seen.ended[0]
    assert (seen.began_at(3), seen.began_at(4), seen.ended_at(3)) == (seen.ended[2], None, None)


async def test_a_failed_attempt_says_how_far_it_came(tmp_path: Path) -> None:
    plan = plan_of((Settle(), Ask(probe="p0")))
    await execute(plan, folder_of(tmp_path, plan), services(lambda e: Raises(RuntimeError())), give_up=False)
    (line,) = [x for x in read_lines(tmp_path) if x.kind == "timeline"]
    assert len(Timeline.model_validate(line.body).ended) == 1
    kinds = [x.kind for x in read_lines(tmp_path)]
    assert kinds[-2:] == ["timeline", "episode_end"]
