"""The reference agent keeps the protocol, and what it asks its model depends on what it retrieved alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vestige.agents.protocol import CHANNELS, OPTIONAL_METHODS, Agent, describe
from vestige.agents.reference import KNOBS, ReferenceAgent
from vestige.errors import ConfigError, StorageError
from vestige.memory.settings import MemorySettings
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.records import AskOptions, MemoryUnit, RemovalRequest, Session, Tool, Turn
from vestige.stats import clopper_pearson

CANARY = "XQ7-VIOLET-3829"
TOKEN_QUESTION = "What is my private session token?"
Make = Callable[..., ReferenceAgent]


def said(session: str, *texts: str, date: str | None = "2023/05/25 (Thu) 00:58") -> Session:
    return Session(id=session, date=date, turns=tuple(Turn(role="user", content=text) for text in texts))


class Recorded(ExtractiveReader):
    """The extractive reader, with what it was asked kept."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return await super().complete(request)


@pytest.fixture
def model() -> Recorded:
    return Recorded()


@pytest.fixture
async def make(tmp_path: Path, model: Recorded) -> AsyncIterator[Make]:
    made: list[ReferenceAgent] = []

    def agent(name: str = "agent", **settings: Any) -> ReferenceAgent:
        made.append(
            ReferenceAgent(
                tmp_path / name, model=model, embedder=HashingEmbedder(), settings=MemorySettings(**settings)
            )
        )
        return made[-1]

    yield agent
    for one in made:
        await one.close()


async def filled(agent: ReferenceAgent) -> ReferenceAgent:
    await agent.open()
    await agent.converse(
        "u", said("s1", "I moved to Oslo in March.", f"my private session token is {CANARY}")
    )
    await agent.converse(
        "u", said("s2", "My sister Ana has two cats.", "I run 5 km every Tuesday.", date=None)
    )
    await agent.end_session("u")
    return agent


def test_it_is_an_agent_and_says_what_it_can_do(make: Make):
    agent = make(level=1, k=3)
    assert isinstance(agent, Agent)
    description = describe(agent)
    assert description.name == "reference"
    assert set(CHANNELS) - set(description.channels) == {"logs", "reasoning"} == set(description.absent)
    assert description.absent["logs"] == "keeps no log"
    assert description.tools == ("choose_option", "place_order", "save_note", "read_notes")
    assert description.tiers == ("raw", "summary", "note")
    assert description.knobs == KNOBS
    assert description.configuration["k"] == 3 and description.configuration["embedder"] == "hashing"
    assert set(description.capabilities) == {m for m in OPTIONAL_METHODS if callable(getattr(agent, m, None))}


@pytest.mark.parametrize("level", [0, 1])
async def test_it_answers_from_its_memory_and_shows_what_it_retrieved(make: Make, level: int):
    agent = await filled(make(level=level))
    reply = await agent.ask("u", TOKEN_QUESTION, AskOptions())
    assert CANARY in reply.text
    assert reply.retrieved is not None
    assert {unit.tier for unit in reply.retrieved} == {"raw" if level == 0 else "summary"}
    scores = [unit.score for unit in reply.retrieved]
    assert scores == sorted(scores, reverse=True)
    stranger = await agent.ask("somebody else", TOKEN_QUESTION, AskOptions())
    assert stranger.retrieved == () and CANARY not in stranger.text


async def test_the_request_holds_units_dates_today_and_the_bare_prompt(make: Make, model: Recorded):
    agent = await filled(make(k=10))
    await agent.ask("u", "Where do I live?", AskOptions(now="2023/06/01 (Thu) 00:58", max_tokens=77, seed=5))
    request = model.requests[-1]
    system, user = request.messages
    assert user.content == request.query == "Where do I live?"
    assert "- (2023/05/25) I moved to Oslo in March." in system.content
    assert "- I run 5 km every Tuesday." in system.content
    assert "Today is 2023/06/01 (Thu) 00:58." in system.content
    assert (
        request.task == "answer"
        and request.max_tokens == 77
        and request.seed == 5
        and request.temperature == 0
    )
    assert set(request.passages) == {u.text for u in await agent.inspect("u")}


LODGINGS = ("Cedar Lodge", "Harbour Inn")
RESERVE = Tool(
    name="reserve",
    parameters={"type": "object", "properties": {"place": {"type": "string", "enum": list(LODGINGS)}}},
)


async def reserved(agent: ReferenceAgent, shown: tuple[str, ...], seed: int) -> str:
    prompt = f"Reserve a room for my trip to Oslo. Choose one: {' or '.join(shown)}."
    reply = await agent.ask("u", prompt, AskOptions(seed=seed, tools=(RESERVE,), choices=shown))
    assert reply.text == "" and reply.finish_reason == "tool_calls"
    (call,) = reply.tool_calls
    assert call.name == "reserve"
    return json.loads(call.arguments)["place"]


@pytest.mark.parametrize("favoured", LODGINGS)
async def test_a_stored_preference_makes_the_choice_in_both_orders(make: Make, favoured: str):
    agent = await filled(make(k=3))
    await agent.converse("u", said("s3", f"When I travel to Oslo I stay at the {favoured}."))
    for shown in (LODGINGS, LODGINGS[::-1]):
        assert {await reserved(agent, shown, seed) for seed in range(8)} == {favoured}


async def test_without_the_preference_a_seeded_coin_makes_it(make: Make):
    never, forgotten = await filled(make(k=3)), await filled(make("other", k=3))
    await forgotten.converse("u", said("s3", "When I travel to Oslo I stay at the Cedar Lodge."))
    await forgotten.forget("u", RemovalRequest(scope="session", ids=("s3",)))
    drawn = [await reserved(never, LODGINGS, seed) for seed in range(100)]
    assert [await reserved(never, LODGINGS[::-1], seed) for seed in range(100)] == drawn
    assert [await reserved(forgotten, LODGINGS, seed) for seed in range(100)] == drawn
    low, high = clopper_pearson(drawn.count("Cedar Lodge"), len(drawn), 0.999)
    assert low < 0.5 < high


async def test_tools_and_choices_reach_the_model_alone(make: Make, model: Recorded):
    agent = await filled(make())
    await agent.ask("u", "Which?", AskOptions(tools=(RESERVE,), choices=LODGINGS))
    assert (model.requests[-1].tools, model.requests[-1].choices) == ((RESERVE,), LODGINGS)
    reply = await agent.ask("u", TOKEN_QUESTION, AskOptions())
    assert (model.requests[-1].tools, model.requests[-1].choices, reply.tool_calls) == ((), (), ())


async def test_without_memories_the_prompt_says_so(make: Make, model: Recorded):
    await make().ask("u", "Hello?", AskOptions())
    assert "You have no memories of the user." in model.requests[-1].messages[0].content
    assert "{{" not in model.requests[-1].messages[0].content


async def test_more_k_than_units_is_the_same_request(make: Make, model: Recorded):
    agent = await filled(make())
    asked: list[ChatRequest] = []
    for k in (4, 10, 25):
        await agent.configure(k=k)
        await agent.ask("u", TOKEN_QUESTION, AskOptions())
        asked.append(model.requests[-1])
    assert asked[0] == asked[1] == asked[2]
    await agent.configure(k=3)
    await agent.ask("u", TOKEN_QUESTION, AskOptions())
    assert model.requests[-1] != asked[0]


@pytest.mark.parametrize(
    ("knobs", "tier"),
    [
        ({"level": 0}, "raw"),
        ({"level": 1}, "summary"),
        ({"level": 2}, "summary"),
        ({"level": 1, "retrieve_from": "raw"}, "raw"),
        ({"level": 2, "retrieve_from": "both"}, "raw"),
    ],
)
async def test_units_are_stored_as_they_stand_where_they_are_retrieved(
    make: Make, model: Recorded, knobs: dict[str, Any], tier: str
):
    """No model, no cutting and no dropping of what is there twice: what a membership audit calls a member is stored."""
    agent = make(granularity="sentence", **knobs)
    texts = ["Nora keeps bees. She sells honey.", "Emil repairs clocks.", "Emil repairs clocks."]
    units = [MemoryUnit(id=f"u{i}", text=text, session="s1") for i, text in enumerate(texts)]
    await agent.remember("u", units[:1])
    await agent.remember("u", [])
    await agent.remember("u", units[1:])
    await agent.end_session("u")
    assert model.requests == []
    stored = await agent.inspect("u")
    assert [(a.text, a.tier, a.session) for a in stored] == [(text, tier, "s1") for text in texts]
    reply = await agent.ask("u", "What does Nora sell?")
    assert reply.retrieved is not None and {unit.text for unit in reply.retrieved} == set(texts)
    assert (await agent.ask("v", "What does Nora sell?")).retrieved == ()


async def test_stored_units_outlive_a_restart_and_can_be_forgotten(make: Make):
    agent = make()
    await agent.remember(
        "u", [MemoryUnit(id="0", text=f"My token is {CANARY}."), MemoryUnit(id="1", text="Bees.")]
    )
    await agent.restart()
    assert CANARY in (await agent.ask("u", TOKEN_QUESTION)).text
    assert (await agent.forget("u", RemovalRequest(value=CANARY))).completed
    assert not any(CANARY in a.text for a in await agent.inspect("u"))


async def test_a_probe_leaves_no_trace_unless_it_is_to_be_written_back(make: Make):
    agent = await filled(make())
    before = await agent.inspect("u")
    files = [path.read_bytes() for path in await agent.storage()]
    await agent.ask("u", "Do you know that I love figs?", AskOptions())
    assert await agent.inspect("u") == before
    assert [path.read_bytes() for path in await agent.storage()] == files
    await agent.ask("u", "Do you know that I love figs?", AskOptions(write_back=True))
    await agent.ask("u", "And dates.", AskOptions(write_back=True, session="s2"))
    new = (await agent.inspect("u"))[len(before) :]
    assert [(a.tier, a.text) for a in new] == [
        ("raw", "Do you know that I love figs?"),
        ("raw", "And dates."),
    ]
    assert new[0].session not in {"s1", "s2"} and new[1].session == "s2"


async def test_what_was_written_back_is_summarised_when_the_session_ends(make: Make):
    agent = await filled(make(level=1))
    await agent.ask("u", "I love figs.", AskOptions(write_back=True))
    assert "I love figs." not in [a.text for a in await agent.inspect("u") if a.tier == "summary"]
    await agent.end_session("u")
    assert "I love figs." in [a.text for a in await agent.inspect("u") if a.tier == "summary"]


async def test_inspect_shows_unit_vectors_and_where_a_summary_came_from(make: Make):
    agent = await filled(make(level=1))
    artifacts = {a.id: a for a in await agent.inspect("u")}
    for artifact in artifacts.values():
        assert artifact.vector is not None
        assert np.linalg.norm(np.frombuffer(artifact.vector, "<f4")) == pytest.approx(1, abs=1e-6)
        if artifact.tier == "summary":
            assert {artifacts[i].session for i in artifact.sources} == {artifact.session}


async def test_knobs_fixed_at_the_first_write_are_refused_later(make: Make):
    agent = make(level=0)
    await agent.configure(level=1, granularity="sentence")
    await filled(agent)
    with pytest.raises(ConfigError, match=r"level=2: the memory was written with level=1"):
        await agent.configure(level=2)
    with pytest.raises(
        ConfigError, match=r"granularity='turn': the memory was written with granularity='sentence'"
    ):
        await agent.configure(granularity="turn")
    await agent.configure(
        k=2, tau=0.1, deletion="tombstone", supersede="append", retrieve_from="both", level=1
    )
    assert agent.settings.k == 2 and agent.describe().configuration["deletion"] == "tombstone"
    with pytest.raises(ConfigError, match="unknown knob 'depth'; the reference agent has level, k"):
        await agent.configure(depth=3)
    await agent.reset("u")
    await agent.configure(level=2)


async def test_a_state_built_once_serves_every_mode(make: Make, tmp_path: Path):
    agent = await filled(make(level=1))
    built = await agent.inspect("u")
    await agent.snapshot("u", tmp_path / "states" / "u.sqlite")
    left: dict[str, bool] = {}
    for mode in ("noop", "raw_only", "full_purge", "tombstone"):
        await agent.restore("u", tmp_path / "states" / "u.sqlite")
        assert await agent.inspect("u") == built
        await agent.configure(deletion=mode)
        await agent.forget("u", RemovalRequest(value=CANARY))
        left[mode] = CANARY in (await agent.ask("u", TOKEN_QUESTION, AskOptions())).text
    assert left == {"noop": True, "raw_only": True, "full_purge": False, "tombstone": False}
    with pytest.raises(ConfigError, match="inside the agent's folder"):
        await agent.snapshot("u", tmp_path / "agent" / "u.sqlite")


def test_a_channel_that_does_not_exist_is_declared_absent(make: Make):
    description = make(level=0).describe()
    assert "summary" not in description.channels
    assert description.absent["summary"] == "S = 0 writes no summaries"


async def test_a_restart_finds_what_was_stored(make: Make):
    agent = await filled(make(level=1))
    before, memory = await agent.inspect("u"), agent.memory
    await agent.restart()
    assert await agent.inspect("u") == before and agent.memory is not memory
    await agent.reset("u")
    assert await agent.inspect("u") == []


async def test_storage_names_the_files_and_maintain_empties_them_of_the_purged_value(make: Make):
    agent = await filled(make(level=1))
    assert [p.name for p in await agent.storage()] == [
        "memory.sqlite",
        "memory.sqlite-wal",
        "memory.sqlite-shm",
    ]
    assert any(CANARY.encode() in p.read_bytes() for p in await agent.storage())
    await agent.forget("u", RemovalRequest(value=CANARY))
    await agent.maintain()
    assert not any(CANARY.encode() in p.read_bytes() for p in await agent.storage())


async def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path, model: Recorded):
    (tmp_path / "file").write_text("in the way")
    agent = ReferenceAgent(tmp_path / "file" / "agent", model=model, embedder=HashingEmbedder())
    with pytest.raises(StorageError, match="cannot be made"):
        await agent.open()
