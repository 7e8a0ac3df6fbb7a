"""The deletion ladder, tier by tier, and what becomes of older summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from vestige.errors import ConfigError, ModelError
from vestige.memory.forget import MODES, SUPERSEDE, Mode
from vestige.memory.pipeline import MemoryPipeline
from vestige.memory.units import Unit
from vestige.memory.write import LEVELS
from vestige.models.base import Vectors
from vestige.records import Receipt, RemovalRequest
from vestige.text import fold

from .helpers import CANARY, SESSIONS, MakeMemory, talk

BY_VALUE = RemovalRequest(value=CANARY)
EVERY_MODE = tuple(MODES)


async def built(memory: MemoryPipeline) -> list[Unit]:
    for session in SESSIONS:
        await memory.write("u", session)
    return memory.store.units("u")


def tier(units: Sequence[Unit], name: str) -> list[Unit]:
    return [u for u in units if u.tier == name]


def holds(units: Sequence[Unit]) -> bool:
    return any(fold(CANARY) in fold(u.text) for u in units)


async def embeds(memory: MemoryPipeline, unit: Unit) -> bool:
    """Whether the unit's vector is that of its present text."""
    (vector,) = await memory.embedder.embed([unit.text])
    return vector.astype("<f4").tobytes() == unit.vector


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_noop_changes_nothing(make_memory: MakeMemory, number: int):
    memory = make_memory(level=number, deletion="noop")
    before = await built(memory)
    receipt = await memory.forget("u", BY_VALUE)
    assert memory.store.units("u") == before
    assert receipt == Receipt(
        accepted=True,
        completed=True,
        message="Control: nothing is changed.",
        affected={"raw": 0, "summary": 0},
    )


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_raw_only_scrubs_raw_text_keeps_raw_vectors_and_leaves_summaries(
    make_memory: MakeMemory, number: int
):
    memory = make_memory(level=number, deletion="raw_only")
    before = await built(memory)
    receipt = await memory.forget("u", BY_VALUE)
    after = memory.store.units("u")
    assert not holds(tier(after, "raw"))
    assert [u.vector for u in after] == [u.vector for u in before]
    assert tier(after, "summary") == tier(before, "summary")
    assert receipt.affected == {"raw": 1, "summary": 0}
    assert not await embeds(memory, after[1])


async def test_raw_plus_resummarize_makes_the_affected_session_new_and_leaves_the_others(
    make_memory: MakeMemory,
):
    memory = make_memory(level=1, deletion="raw_plus_resummarize", supersede="replace")
    before = await built(memory)
    receipt = await memory.forget("u", BY_VALUE)
    after = memory.store.units("u")
    assert not holds(after)
    assert [u for u in after if u.session == "s2"] == [u for u in before if u.session == "s2"]
    assert await embeds(memory, after[1])
    new = [u for u in tier(after, "summary") if u.session == "s1"]
    assert [u.text for u in new] == [
        "I moved to Oslo in March.",
        "I like tea.",
        "my private session token is",
    ]
    assert not {u.id for u in new} & {u.id for u in before}, "an id is never given twice"
    assert receipt.affected == {"raw": 1, "summary": 6}


@pytest.mark.parametrize(("supersede", "left"), [("append", True), ("match", False), ("replace", False)])
async def test_supersede_decides_whether_the_older_summary_with_the_value_stays(
    make_memory: MakeMemory, echo_level: int, supersede: str, left: bool
):
    memory = make_memory(level=echo_level, deletion="raw_plus_resummarize", supersede=supersede)
    await memory.write(
        "u", talk("s", f"I like green tea with honey and I moved to Oslo last March, code {CANARY}")
    )
    await memory.forget("u", BY_VALUE)
    assert not holds(memory.store.units("u", tiers=["raw"]))
    assert holds(memory.store.units("u", tiers=["summary"])) is left


async def test_match_leaves_an_older_fact_that_no_new_one_resembles(make_memory: MakeMemory, echo_level: int):
    memory = make_memory(level=echo_level, deletion="raw_plus_resummarize", supersede="match")
    await memory.write("u", talk("s", "I like tea.", f"{CANARY}"))
    await memory.forget("u", BY_VALUE)
    # the turn that was nothing but the value is gone, so no new fact stands against its old summary
    assert [u.text for u in memory.store.units("u", tiers=["summary"])] == [
        f"The user said: {CANARY}",
        "The user said: I like tea.",
    ]


def test_match_takes_the_most_similar_older_fact_from_0_85_on():
    def unit(name: str, vector: Sequence[float]) -> Unit:
        return Unit(name, 1, "summary", 1, "s", 0, None, name, np.array(vector, "<f4").tobytes())

    older = [unit("east", (1, 0)), unit("north", (0, 1)), unit("north-east", (0.6, 0.8))]
    new: Vectors = np.array([[0.0, 1.0], [0.8, 0.6]], np.float32)
    assert SUPERSEDE["match"](older, new) == {"north", "north-east"}
    assert SUPERSEDE["match"](older, np.array([[0.8, -0.6]], np.float32)) == frozenset()
    assert SUPERSEDE["append"](older, new) == frozenset()
    assert SUPERSEDE["replace"](older, new) == {"east", "north", "north-east"}
    assert SUPERSEDE["match"]([], new) == SUPERSEDE["match"](older, new[:0]) == frozenset()


@pytest.mark.parametrize("mode", ["full_purge", "tombstone"])
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_purge_and_tombstone_leave_no_copy_in_text_or_vector(
    make_memory: MakeMemory, number: int, mode: str
):
    memory = make_memory(level=number, deletion=mode)
    before = await built(memory)
    receipt = await memory.forget("u", BY_VALUE)
    after = memory.store.units("u")
    assert not holds(after)
    assert all([await embeds(memory, u) for u in after])
    held = {u.id: u.tier for u in before if fold(CANARY) in fold(u.text)}
    assert receipt.affected == {t: sum(x == t for x in held.values()) for t in ("raw", "summary")}
    assert [u for u in after if u.id not in held] == [u for u in before if u.id not in held]
    marked = [u for u in after if "[REDACTED]" in u.text]
    assert {u.id for u in marked} == (set(held) if mode == "tombstone" else set())


async def test_full_purge_drops_what_it_empties_and_tombstone_does_not(make_memory: MakeMemory):
    for mode, left in (("full_purge", ["I like tea."]), ("tombstone", ["I like tea.", "[REDACTED]!"])):
        memory = make_memory(mode, deletion=mode)
        await memory.write("u", talk("s", "I like tea.", f"{CANARY.lower()}!"))
        await memory.forget("u", BY_VALUE)
        assert [u.text for u in memory.store.units("u")] == left


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_second_request_finds_nothing_left_to_do(make_memory: MakeMemory, number: int, mode: str):
    memory = make_memory(level=number, deletion=mode)
    await built(memory)
    await memory.forget("u", BY_VALUE)
    once = memory.store.units("u")
    receipt = await memory.forget("u", BY_VALUE)
    assert memory.store.units("u") == once
    assert set(receipt.affected.values()) == {0}


@pytest.mark.parametrize("mode", EVERY_MODE)
async def test_other_users_and_absent_values_are_untouched(make_memory: MakeMemory, mode: str):
    memory = make_memory(level=1, deletion=mode)
    before = await built(memory)
    await memory.write("v", SESSIONS[0])
    theirs = memory.store.units("v")
    receipt = await memory.forget("u", RemovalRequest(value="AAA-TEAL-0000"))
    assert receipt.accepted and set(receipt.affected.values()) == {0}
    assert memory.store.units("u") == before
    await memory.forget("u", BY_VALUE)
    assert memory.store.units("v") == theirs


# -- whole units ---------------------------------------------------------------------------------------------


REACH = {
    "noop": (True, True),
    "raw_only": (False, True),
    "raw_plus_resummarize": (False, True),
    "full_purge": (False, False),
}


@pytest.mark.parametrize("mode", REACH)
async def test_a_unit_named_by_id_goes_with_what_came_from_it_as_far_as_the_mode_reaches(
    make_memory: MakeMemory, mode: str
):
    memory = make_memory(level=1, deletion=mode, supersede="append")
    await built(memory)
    await memory.forget("u", RemovalRequest(ids=("raw-2",)))
    raw_stays, summary_stays = REACH[mode]
    assert holds(memory.store.units("u", tiers=["raw"])) is raw_stays
    assert holds(memory.store.units("u", tiers=["summary"])) is summary_stays
    assert [u.text for u in memory.store.units("u", session="s2", tiers=["raw"])] == [
        "My sister Ana has two cats.",
        "I run 5 km every Tuesday.",
    ]


async def test_a_tombstone_stands_where_the_named_units_were(make_memory: MakeMemory):
    memory = make_memory(level=1, deletion="tombstone")
    before = await built(memory)
    await memory.forget("u", RemovalRequest(ids=("raw-2",)))
    after = memory.store.units("u")
    assert [u.id for u in after] == [u.id for u in before]
    assert {u.text for u in after if u.session == "s1"} == {"I moved to Oslo in March.", "[REDACTED]"}


@pytest.mark.parametrize(
    "request_",
    [
        RemovalRequest(scope="session", ids=("s1",)),
        RemovalRequest(scope="session", value=CANARY),
    ],
)
async def test_a_session_goes_whole_and_alone(make_memory: MakeMemory, request_: RemovalRequest):
    memory = make_memory(level=1)
    before = await built(memory)
    receipt = await memory.forget("u", request_)
    assert memory.store.units("u") == [u for u in before if u.session == "s2"]
    assert receipt.affected == {"raw": 2, "summary": 3}


async def test_a_source_named_by_a_value_goes_whole(make_memory: MakeMemory):
    memory = make_memory(level=0)
    await built(memory)
    await memory.forget("u", RemovalRequest(scope="source", value=CANARY))
    assert "raw-2" not in {u.id for u in memory.store.units("u")}
    assert len(memory.store.units("u")) == 3


@pytest.mark.parametrize("scope", ["user", "everything"])
async def test_everything_of_the_user_goes_and_nothing_of_others(
    make_memory: MakeMemory, scope: Literal["user", "everything"]
):
    memory = make_memory(level=1)
    await built(memory)
    await memory.write("v", SESSIONS[0])
    await memory.forget("u", RemovalRequest(scope=scope))
    assert memory.store.units("u") == []
    assert memory.store.sessions("u") == []
    assert len(memory.store.units("v")) == 5


async def test_a_description_alone_is_refused_in_plain_words(make_memory: MakeMemory):
    memory = make_memory()
    before = await built(memory)
    receipt = await memory.forget("u", RemovalRequest(description="forget my token"))
    assert not receipt.accepted and not receipt.completed
    assert "needs a value or ids" in receipt.message
    assert memory.store.units("u") == before


async def test_a_failing_embedder_leaves_the_state_as_it_was(make_memory: MakeMemory):
    memory = make_memory(level=1)
    before = await built(memory)

    class Broken(type(memory.embedder)):  # a base class known at run time alone
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise ModelError("down")

    memory.embedder = Broken()
    with pytest.raises(ModelError):
        await memory.forget("u", BY_VALUE)
    assert memory.store.units("u") == before


# -- planted failures are possible, so audits can be shown to catch them ----------------------------------------


async def test_a_registered_mode_that_forgets_to_reembed_leaves_the_old_vectors(make_memory: MakeMemory):
    MODES.add("forgets_vectors", Mode("Planted.", frozenset(("raw", "summary")), reembed=False))
    try:
        memory = make_memory(level=1, deletion="forgets_vectors")
        before = await built(memory)
        await memory.forget("u", BY_VALUE)
        after = memory.store.units("u")
        assert not holds(after)
        assert [u.vector for u in after] == [u.vector for u in before]
    finally:
        MODES.remove("forgets_vectors")


async def test_an_exact_scrub_misses_a_lower_cased_copy(make_memory: MakeMemory):
    memory = make_memory(scrub="exact")
    await memory.write("u", talk("s", f"one {CANARY} two {CANARY.lower()}"))
    await memory.forget("u", BY_VALUE)
    assert [u.text for u in memory.store.units("u")] == [f"one  two {CANARY.lower()}"]


def test_unknown_names_list_what_there_is():
    with pytest.raises(ConfigError, match="unknown deletion mode 'purge'; choose one of noop, raw_only"):
        MODES.find("purge")
    with pytest.raises(ConfigError, match="choose one of append, match, replace"):
        SUPERSEDE.find("merge")
    with pytest.raises(ConfigError, match="choose one of 0, 1, 2"):
        LEVELS.find(True)
