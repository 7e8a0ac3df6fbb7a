"""A bad knob is one line that shows the value and what was expected."""

from __future__ import annotations

from typing import Any

import pytest

from vestige.errors import ConfigError
from vestige.memory.settings import MemorySettings
from vestige.memory.write import token_estimate

from .helpers import SESSIONS, MakeMemory, talk


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"level": 5}, "unknown summarisation level 5; choose one of 0, 1, 2"),
        ({"level": "1"}, "unknown summarisation level '1'"),
        ({"k": 0}, "k=0 is not a whole number from 1 to 10000"),
        ({"k": True}, "k=True is not a whole number"),
        ({"k": 3.0}, "k=3.0 is not a whole number"),
        ({"tau": 1.5}, "tau=1.5 is not a number from -1.0 to 1.0"),
        ({"tau": float("nan")}, "tau=nan is not a number"),
        ({"tau": "high"}, "tau='high' is not a number"),
        ({"granularity": "word"}, "granularity 'word' is not known; write turn, sentence or tokens:N"),
        ({"granularity": 3}, "granularity '3' is not known"),
        (
            {"retrieve_from": "all"},
            "retrieve_from='all' is not known; choose one of auto, raw, summary, both",
        ),
        ({"retrieve_from": "summary"}, "finds nothing at level 0"),
        ({"deletion": "purge"}, "unknown deletion mode 'purge'; choose one of noop"),
        ({"supersede": "merge"}, "unknown supersede policy 'merge'"),
        ({"scrub": "fuzzy"}, "scrub='fuzzy' is not known; choose one of normalised, exact"),
        ({"temperature": -1}, "temperature=-1 is not a number from 0.0 to 2.0"),
        ({"max_tokens": 0}, "max_tokens=0 is not a whole number"),
        ({"kk": 3}, "unknown memory setting 'kk'; choose among level, k, tau"),
    ],
)
def test_a_bad_value_is_one_clear_line(knobs: dict[str, Any], says: str):
    with pytest.raises(ConfigError) as caught:
        MemorySettings(**knobs)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError):
        MemorySettings.model_validate(knobs)


def test_every_setting_has_a_check():
    from vestige.memory.settings import _CHECKS

    assert set(_CHECKS) == set(MemorySettings.model_fields)


@pytest.mark.parametrize(
    ("knobs", "tiers"),
    [
        ({}, ("raw",)),
        ({"level": 1}, ("summary",)),
        ({"level": 2}, ("summary",)),
        ({"level": 1, "retrieve_from": "raw"}, ("raw",)),
        ({"level": 1, "retrieve_from": "summary"}, ("summary",)),
        ({"level": 1, "retrieve_from": "both"}, ("raw", "summary")),
    ],
)
async def test_retrieval_searches_the_tiers_of_the_level(
    make_memory: MakeMemory, knobs: dict[str, Any], tiers
):
    memory = make_memory(k=100, **knobs)
    assert memory.settings.tiers() == tiers
    for session in SESSIONS:
        await memory.write("u", session)
    found = await memory.retrieve("u", "tea")
    assert [u for u, _ in found if u.tier not in tiers] == []
    assert {u.tier for u, _ in found} == set(tiers)


async def test_what_does_not_fit_the_prompt_is_left_out_best_first(make_memory: MakeMemory):
    memory = make_memory(k=100, context_budget=50)
    await memory.write(
        "u", talk("s", "I like tea.", "I like tea very much. " * 50, "I have a cat.", "Cats like me.")
    )
    found = await memory.retrieve("u", "Do I like tea?")
    assert sum(token_estimate(u.text) for u, _ in found) <= 50
    assert found[0][0].text == "I like tea."
    memory.configure(k=1)
    ((unit, _),) = await memory.retrieve("u", "very much")
    assert unit.text and ("I like tea very much. " * 50).startswith(unit.text)


async def test_k_and_tau_limit_what_is_retrieved(make_memory: MakeMemory):
    memory = make_memory(k=100)
    for session in SESSIONS:
        await memory.write("u", session)
    everything = await memory.retrieve("u", "I like tea")
    assert [s for _, s in everything] == sorted((s for _, s in everything), reverse=True)
    assert everything[0][0].text.startswith("I like tea")
    memory.configure(k=2)
    assert await memory.retrieve("u", "I like tea") == everything[:2]
    memory.configure(k=100, tau=everything[1][1])
    assert await memory.retrieve("u", "I like tea") == everything[:2]
    memory.configure(tau=1.0)
    assert await memory.retrieve("u", "I like tea") == []
