"""Seeds are spawned by names, and equal plans have equal bytes."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from tests.helpers.agents import plan_of

from vestige.runs.plan import Plan, canonical_json, generator, seed_for
from vestige.runs.steps import Ask, Episode


def test_the_same_names_give_the_same_draws_and_others_give_others() -> None:
    draws = {
        names: generator(seed, *names[1:]).integers(0, 2**62, 3).tobytes()
        for names in [(0, "a"), (1, "a"), (0, "b"), (0, "a", "b"), (0, "ab"), (0,), (0, "a", "")]
        for seed in [int(names[0])]
    }
    assert len(set(draws.values())) == len(draws)
    assert generator(0, "a").integers(0, 2**62, 3).tobytes() == draws[0, "a"]


def test_draws_do_not_depend_on_what_was_drawn_before() -> None:
    first = generator(7, "x").random()
    np.random.seed(1)
    generator(7, "y").random(100)
    assert generator(7, "x").random() == first


def test_a_call_s_seed_is_one_that_every_server_takes() -> None:
    seeds = [seed_for(0, "ask", str(i)) for i in range(500)]
    assert all(0 <= s < 2**31 for s in seeds) and len(set(seeds)) == 500


def test_canonical_json_is_sorted_compact_utf_8_and_refuses_what_is_no_json() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "ü\n"}) == '{"a":"ü\\n","b":[1,2.5,null]}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"x": float("nan")})


def test_a_plan_comes_back_from_its_bytes_with_the_same_hash() -> None:
    plan = plan_of((Ask(probe="p0"),), probes=("What? \u2028 ü",))
    again = Plan.model_validate_json(plan.to_bytes())
    assert again == plan and again.sha256 == plan.sha256
    assert json.loads(plan.to_bytes())["schema_version"] == 1
    other = plan.model_copy(update={"episodes": (*plan.episodes, Episode(id="x", instance="x", steps=()))})
    assert other.sha256 != plan.sha256


@pytest.mark.parametrize("episodes", [0, 1, 3])
def test_the_pieces_are_the_canonical_json_of_the_whole(episodes: int) -> None:
    whole = plan_of((Ask(probe="p0"),), probes=("What? ü", "Why?"))
    made = whole.model_copy(update={"episodes": whole.episodes[:1] * episodes})
    if not episodes:
        made = made.model_copy(update={"probes": {}, "fixtures": {}})
    data = canonical_json(made.model_dump(mode="json"))
    assert made.to_bytes() == data
    assert made.sha256 == hashlib.sha256(data).hexdigest()
