"""What is written of a session at each level, and how long sessions are cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.errors import ConfigError, ModelError
from vestige.memory.write import LEVELS, Writer, level, parts, token_estimate
from vestige.models.base import ChatModel, ChatReply, ChatRequest
from vestige.models.extractive import ExtractiveReader
from vestige.records import Session, Turn

from .helpers import CANARY, SESSIONS, MakeMemory, talk


class Recorded:
    """A model with its requests kept."""

    def __init__(self, model: ChatModel) -> None:
        self.model, self.requests = model, list[ChatRequest]()

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return await self.model.complete(request)

    async def close(self) -> None:
        await self.model.close()


class Says(ExtractiveReader):
    """A model that writes the same reply to every request."""

    def __init__(self, text: str, finish_reason: str = "stop") -> None:
        super().__init__()
        self.reply = ChatReply(text=text, finish_reason=finish_reason)

    async def complete(self, request: ChatRequest) -> ChatReply:
        return self.reply


async def test_level_0_stores_each_user_turn_and_asks_no_model(make_memory: MakeMemory):
    memory = make_memory(level=0)
    memory.model = Recorded(memory.model)
    for session in SESSIONS:
        await memory.write("u", session)
    units = memory.store.units("u")
    assert [(u.tier, u.session, u.position, u.text) for u in units] == [
        ("raw", "s1", 0, "I moved to Oslo in March."),
        ("raw", "s1", 2, f"I like tea. my private session token is {CANARY}"),
        ("raw", "s2", 0, "My sister Ana has two cats."),
        ("raw", "s2", 2, "I run 5 km every Tuesday."),
    ]
    assert [u.id for u in units] == ["raw-1", "raw-2", "raw-3", "raw-4"]
    assert all(u.date == "2023/05/25 (Thu) 00:58" for u in units)
    assert memory.model.requests == []


async def test_level_1_stores_one_unit_a_fact_with_its_sources_and_keeps_the_raw_archive(
    make_memory: MakeMemory,
):
    memory = make_memory(level=1)
    memory.model = Recorded(memory.model)
    await memory.write("u", SESSIONS[0])
    raw = memory.store.units("u", tiers=["raw"])
    facts = memory.store.units("u", tiers=["summary"])
    assert [u.text for u in raw] == [t.content for t in SESSIONS[0].turns if t.role == "user"]
    assert [f.text for f in facts] == [
        "I moved to Oslo in March.",
        "I like tea.",
        f"my private session token is {CANARY}",
    ]
    assert [f.position for f in facts] == [0, 1, 2]
    assert all(f.sources == tuple(u.id for u in raw) and f.level == 1 and f.session == "s1" for f in facts)
    request = memory.model.requests[0]
    assert len(memory.model.requests) == 1
    assert request.task == "facts" and request.temperature == 0 and request.max_tokens == 500
    assert request.passages == tuple(u.text for u in raw)
    assert "Noted." not in "".join(m.content for m in request.messages), (
        "assistant turns are never summarised"
    )


async def test_level_2_stores_one_sentence_a_session(make_memory: MakeMemory):
    memory = make_memory(level=2)
    memory.model = Recorded(memory.model)
    for session in SESSIONS:
        await memory.write("u", session)
    assert [u.session for u in memory.store.units("u", tiers=["summary"])] == ["s1", "s2"]
    assert [r.task for r in memory.model.requests] == ["sentence", "sentence"]


@pytest.mark.parametrize("number", [1, 2])
async def test_a_reply_without_a_usable_line_leaves_no_fact_and_a_note(make_memory: MakeMemory, number: int):
    memory = make_memory(level=number)
    memory.model = Says("No personal facts are mentioned.\n---")
    await memory.write("u", SESSIONS[0])
    assert memory.store.units("u", tiers=["summary"]) == []
    assert [n.note for n in memory.store.sessions("u")] == ["the summary reply had no usable line"]


async def test_a_session_without_user_words_stores_nothing(make_memory: MakeMemory):
    memory = make_memory(level=1)
    memory.model = Recorded(memory.model)
    await memory.write(
        "u",
        Session(id="s", turns=(Turn(role="assistant", content="Hello."), Turn(role="user", content=" … "))),
    )
    assert memory.store.units("u") == []
    assert memory.model.requests == []


async def test_a_failing_model_leaves_nothing_half_written(make_memory: MakeMemory):
    class Broken(ExtractiveReader):
        async def complete(self, request: ChatRequest) -> ChatReply:
            raise ModelError("the endpoint is down")

    memory = make_memory(level=1)
    memory.model = Broken()
    with pytest.raises(ModelError):
        await memory.write("u", SESSIONS[0])
    assert memory.store.units("u") == []
    assert memory.store.sessions("u") == []


async def test_finer_granularity_cuts_the_archive_but_not_what_is_summarised(make_memory: MakeMemory):
    memory = make_memory(level=1, granularity="sentence")
    memory.model = Recorded(memory.model)
    await memory.write("u", SESSIONS[0])
    assert [u.position for u in memory.store.units("u", tiers=["raw"])] == [0, 2, 2]
    assert memory.model.requests[0].passages[1] == f"I like tea. my private session token is {CANARY}"


async def test_a_long_session_is_summarised_in_parts_under_the_budget(make_memory: MakeMemory):
    memory = make_memory(level=1, summary_budget=50)
    memory.model = Recorded(memory.model)
    said = [f"I have {n} cats in town number {n}." for n in range(40)] + [
        "I own " + "very " * 100 + "old books."
    ]
    await memory.write("u", talk("s", *said))
    assert len(memory.model.requests) > 5
    for request in memory.model.requests:
        assert sum(token_estimate(p) for p in request.passages) <= 50
    facts = [u.text for u in memory.store.units("u", tiers=["summary"])]
    assert facts[:40] == said[:40]


async def test_a_long_session_still_comes_to_one_sentence(make_memory: MakeMemory):
    memory = make_memory(level=2, summary_budget=50)
    await memory.write("u", talk("s", *(f"I have {n} cats in town number {n}." for n in range(40))))
    assert len(memory.store.units("u", tiers=["summary"])) == 1


@given(st.lists(st.text(alphabet="ab \n", max_size=400), max_size=12), st.integers(1, 60))
def test_parts_hold_every_word_in_order_under_the_budget(turns: list[str], budget: int):
    groups = list(parts(turns, budget))
    assert all(sum(map(token_estimate, group)) <= budget for group in groups)
    joined = "".join(piece for group in groups for piece in group)
    assert "".join(joined.split()) == "".join("".join(turns).split())


async def test_a_user_can_register_a_level(make_memory: MakeMemory):
    @level(7, name="loud")
    async def loud(turns: Sequence[str], writer: Writer) -> Sequence[str]:
        return [turn.upper() for turn in turns]

    try:
        memory = make_memory(level=7)
        await memory.write("u", talk("s", "I like tea."))
        assert [u.text for u in memory.store.units("u", tiers=["summary"])] == ["I LIKE TEA."]
        with pytest.raises(ConfigError, match="registered already"):
            level(7, name="again")(loud)
    finally:
        LEVELS.remove(7)
    with pytest.raises(ConfigError, match="unknown summarisation level 7"):
        make_memory("other", level=7)


async def test_a_session_continued_later_is_summarised_again_with_what_was_new(make_memory: MakeMemory):
    memory = make_memory(level=1, supersede="replace")
    await memory.write("u", talk("s", "I like tea."))
    await memory.note("u", "s", "I also like coffee.")
    assert [u.text for u in memory.store.units("u", tiers=["summary"])] == ["I like tea."]
    assert [n.open for n in memory.store.sessions("u")] == [True]
    await memory.end_session("u")
    assert [u.text for u in memory.store.units("u", tiers=["summary"])] == [
        "I like tea.",
        "I also like coffee.",
    ]
    assert [n.open for n in memory.store.sessions("u")] == [False]
