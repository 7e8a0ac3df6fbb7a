"""Every defence around the reference agent, and around a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vestige.agents.protocol import Agent, describe
from vestige.agents.reference import ReferenceAgent
from vestige.defences.building import defended
from vestige.defences.prompt import paragraph, texts
from vestige.defences.spec import DEFENCES, DefenceSpec
from vestige.errors import ConfigError
from vestige.memory.settings import MemorySettings
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.records import (
    AskOptions,
    MemoryUnit,
    Receipt,
    RemovalRequest,
    Reply,
    Session,
    TokenLogprob,
    Turn,
)
from vestige.rewriters import REWRITERS

SAID = "Ann moved to Lisbon in May 2021 to open a bakery."
OTHER = "Bert collects old maps of Norway."


class Recorded(ExtractiveReader):
    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return await super().complete(request)


class Plain:
    """An agent with four methods, which answers with all it was told."""

    def __init__(self) -> None:
        self.told: dict[str, list[str]] = {}
        self.prompts: list[str] = []

    async def converse(self, user: str, session: Session) -> None:
        self.told.setdefault(user, []).extend(t.content for t in session.turns)

    async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
        self.prompts.append(prompt)
        text = " ".join(self.told.get(user, ["nothing"]))
        return Reply(text=text, logprobs=(TokenLogprob(token="x", logprob=-2.5),), reasoning="because")

    async def forget(self, user: str, request: RemovalRequest) -> Receipt:
        self.told[user] = [
            t for t in self.told.get(user, []) if request.value is None or request.value not in t
        ]
        return Receipt(accepted=True, completed=True)

    async def reset(self, user: str) -> None:
        self.told.pop(user, None)


async def around(agent: Any, name: str, strength: float, pool: tuple[MemoryUnit, ...] = ()) -> Any:
    spec = DefenceSpec.model_validate({"name": name, "strength": strength})
    return await defended(agent, spec, seed=1, embedder=HashingEmbedder(), rewriters=REWRITERS, pool=pool)


def session(*said: str) -> Session:
    return Session(id="s", turns=tuple(Turn(role="user", content=t) for t in said))


def reference(path: Path, model: ExtractiveReader | None = None) -> ReferenceAgent:
    return ReferenceAgent(
        path, model=model or Recorded(), embedder=HashingEmbedder(), settings=MemorySettings()
    )


@pytest.mark.parametrize("name", [n for n in DEFENCES if n != "identifying"])
async def test_a_defended_agent_still_is_one_and_says_so(tmp_path: Path, name: str) -> None:
    agent = reference(tmp_path)
    wrapped = await around(agent, name, DEFENCES[name].sweep[-1])  # type: ignore[index]
    assert isinstance(wrapped, Agent)
    said = describe(wrapped)
    assert said.configuration["defence"] == f"{name}:{DEFENCES[name].sweep[-1]:g}"  # type: ignore[index]
    assert said.capabilities == describe(agent).capabilities
    await wrapped.remember("u", [MemoryUnit(id="1", text=SAID)])
    await wrapped.converse("u", session(OTHER))
    await wrapped.end_session("u")
    reply = await wrapped.ask("u", "Where did Ann move?", AskOptions(seed=1))
    assert isinstance(reply, Reply)
    await wrapped.snapshot("u", tmp_path.parent / f"{name}.snap")
    await wrapped.reset("u")
    assert await wrapped.inspect("u") == []
    await agent.close()


@pytest.mark.parametrize("name", [n for n, kind in DEFENCES.items() if kind.knob])
async def test_a_knob_that_the_agent_lacks_is_one_clear_line(name: str) -> None:
    with pytest.raises(ConfigError, match=f"knob '{DEFENCES[name].knob}', which the agent Plain has not"):  # type: ignore[index]
        await around(Plain(), name, DEFENCES[name].sweep[0])  # type: ignore[index]


async def test_the_paragraph_stands_in_the_system_prompt_and_not_in_the_query(tmp_path: Path) -> None:
    model = Recorded()
    agent = reference(tmp_path, model)
    wrapped = await around(agent, "prompt", 2)
    await wrapped.remember("u", [MemoryUnit(id="1", text=SAID)])
    await wrapped.ask("u", "Where did Ann move?", AskOptions())
    system, question = model.requests[-1].messages
    assert paragraph(2) in system.content
    assert question.content == "Where did Ann move?"
    await agent.close()


async def test_an_agent_without_that_knob_hears_the_paragraph_before_each_question() -> None:
    agent = Plain()
    wrapped = await around(agent, "prompt", 1)
    await wrapped.ask("u", "Where did Ann move?", AskOptions())
    assert agent.prompts == [f"{paragraph(1)}\n\nWhere did Ann move?"]
    assert paragraph(1) in paragraph(2) != paragraph(1)


@pytest.mark.parametrize("strength", [1.0, 0.8])
async def test_the_filter_blocks_what_is_stored_and_nothing_else(strength: float) -> None:
    agent = Plain()
    wrapped = await around(agent, "output_filter", strength)
    await wrapped.converse("u", session(SAID))
    blocked = await wrapped.ask("u", "Where?", AskOptions())
    assert blocked.text == texts()["output_filter"]["blocked"]
    assert blocked.reasoning is None and blocked.finish_reason == "content_filter"
    assert blocked.logprobs is not None and {t.logprob for t in blocked.logprobs} == {0.0}
    other = await wrapped.ask("somebody-else", "Where?", AskOptions())
    assert other.text == "nothing"


async def test_the_filter_does_not_keep_what_was_forgotten() -> None:
    agent = Plain()
    wrapped = await around(agent, "output_filter", 0.9)
    await wrapped.converse("u", session(SAID, OTHER))
    await wrapped.forget("u", RemovalRequest(value="Lisbon"))
    assert "Lisbon" not in str(vars(wrapped)["_told"])
    await wrapped.reset("u")
    assert not vars(wrapped)["_told"]


async def test_the_filter_asks_the_agent_what_is_stored_where_it_can(tmp_path: Path) -> None:
    agent = reference(tmp_path)
    wrapped = await around(agent, "output_filter", 0.9)
    await wrapped.remember("u", [MemoryUnit(id="1", text=SAID)])
    assert (await wrapped.ask("u", "Where did Ann move in 2021?", AskOptions())).text == (
        texts()["output_filter"]["blocked"]
    )
    assert not vars(wrapped)["_told"]
    await agent.close()


async def test_details_are_left_vague_in_what_is_stored(tmp_path: Path) -> None:
    agent = reference(tmp_path)
    wrapped = await around(agent, "generalise", 1)
    await wrapped.remember("u", [MemoryUnit(id="1", text=SAID)])
    await wrapped.converse("u", session("My code is XQ7-VIOLET-3829, keep it."))
    stored = " ".join([a.text for a in await wrapped.inspect("u")])
    assert "Lisbon" not in stored and "2021" not in stored and "VIOLET" not in stored
    assert "Ann" in stored
    await agent.close()


async def test_a_paraphrase_is_stored_instead_and_only_for_its_share(tmp_path: Path) -> None:
    told = [f"Ann recently bought {n} old books in Lisbon." for n in range(2, 60)]
    counts: list[int] = []
    for share in (0.0, 0.5, 1.0):
        agent = Plain()
        wrapped = await around(agent, "paraphrase", share)
        await wrapped.converse("u", session(*told))
        counts.append(sum(a != b for a, b in zip(agent.told["u"], told, strict=True)))
    assert counts[0] == 0 and counts[2] == len(told)
    assert 15 <= counts[1] <= 43  # binomial(58, 0.5), more than 3 sd


async def test_what_the_assistant_said_is_not_rewritten() -> None:
    agent = Plain()
    wrapped = await around(agent, "generalise", 1)
    turns = (Turn(role="user", content=SAID), Turn(role="assistant", content=SAID))
    await wrapped.converse("u", Session(id="s", turns=turns))
    mine, theirs = agent.told["u"]
    assert theirs == SAID != mine


async def test_identifying_content_is_left_out() -> None:
    pytest.importorskip("presidio_analyzer")
    agent = Plain()
    wrapped = await around(agent, "identifying", 0.4)
    await wrapped.converse(
        "u", session("Write to ann@example.org or pay with 4111 1111 1111 1111 in Lisbon.")
    )
    assert agent.told["u"] == ["Write to <EMAIL_ADDRESS> or pay with <CREDIT_CARD> in Lisbon."]
