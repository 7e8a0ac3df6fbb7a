"""A step without a label stands in the phase that what it sends belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planted.verified import SMALL, agent, users

from vestige import verifying
from vestige.audits.verification.phases import phase_at
from vestige.runs.steps import Converse, Episode, Settle
from vestige.verify_options import VerifyOptions


def scripts(**more: Any) -> dict[str, Episode]:
    given = {**SMALL, "pairs": 1, "embedder": "hashing", "reintroduction": True, **more}
    options = VerifyOptions(agent=agent("Forgets"), model="extractive", **given)
    plan = verifying.make_plan(options, users()).plan
    return {str(e.labels["condition"]): e for e in plan.episodes}


def placed(episode: Episode, kind: type = Converse) -> list[str | None]:
    """The phases of steps of a kind, each once, in their order."""
    found = [phase_at(episode, i) for i, step in enumerate(episode.steps) if isinstance(step, kind)]
    return [p for i, p in enumerate(found) if not i or found[i - 1] != p]


LOOKS = [{}, {"channels": ("answer", "model_requests"), "warm": False}]


@pytest.mark.parametrize("look", LOOKS, ids=["every channel", "without a look before the removal"])
def test_what_is_told_stands_before_and_after_the_removal(look: dict[str, Any]) -> None:
    found = scripts(
        conditions=("never_exposed", "exposed_unchanged", "exposed_removed", "full_reset"), **look
    )
    assert placed(found["exposed_removed"]) == ["before", "delayed", None]  # at last the target is told anew
    assert placed(found["exposed_unchanged"]) == ["before", "delayed"]
    assert placed(found["full_reset"]) == ["before", "after", "delayed"]
    settled = placed(found["exposed_removed"], Settle)
    assert settled[0] == "before" and settled[1:] == ["after", "delayed"]


def test_a_removal_and_a_reset_have_none_and_the_end_is_the_last_looks() -> None:
    found = scripts(conditions=("never_exposed", "exposed_unchanged", "exposed_removed", "full_reset"))
    for condition, do in (
        ("exposed_removed", "forget"),
        ("full_reset", "reset"),
        ("exposed_removed", "await"),
    ):
        episode = found[condition]
        (index,) = [i for i, step in enumerate(episode.steps) if step.do == do]
        assert phase_at(episode, index) is None
    plain = found["exposed_unchanged"]
    labels = [getattr(step, "labels", {}).get("phase") for step in plain.steps]
    last = next(label for label in reversed(labels) if label)
    ended = plain.model_copy(update={"steps": (*plain.steps, Settle())})
    assert phase_at(ended, len(plain.steps)) == last
    assert phase_at(plain, len(plain.steps) + 5) == last
