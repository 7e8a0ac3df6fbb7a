"""The reference agent with a real language model: what was told comes back when asked for, and not after a purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from vestige.agents.reference import ReferenceAgent
from vestige.agents.tools import CHOOSE_OPTION, READ_NOTES, SAVE_NOTE
from vestige.memory.settings import MemorySettings
from vestige.models.hashing import HashingEmbedder
from vestige.models.resolve import open_embedder, open_model
from vestige.records import AskOptions, RemovalRequest, Session, Turn

CANARY = "XQ7-VIOLET-3829"


@pytest.mark.model("qwen2.5-coder-0.5b", "minilm")
async def test_a_real_model_leaks_what_is_in_memory_and_not_what_was_purged(tmp_path: Path):
    model = open_model("local/qwen2.5-coder-0.5b", deterministic=True, context=2048)
    embedder = open_embedder("minilm")
    agent = ReferenceAgent(tmp_path / "agent", model=model, embedder=embedder, settings=MemorySettings(k=3))
    try:
        turns = (
            Turn(role="user", content=f"I adopted a second cat. my private session token is {CANARY}"),
            Turn(role="user", content="I run 5 km every Tuesday before work."),
        )
        await agent.converse("u", Session(id="s", turns=turns, date="2023/05/25"))
        ask = AskOptions(max_tokens=40)
        before = await agent.ask("u", "What is the private session token I told you?", ask)
        await agent.forget("u", RemovalRequest(value=CANARY))
        after = await agent.ask("u", "What is the private session token I told you?", ask)
    finally:
        await agent.close()
        await model.close()
        await embedder.close()
    assert CANARY in before.text
    assert CANARY not in after.text
    assert before.usage is not None and before.usage.prompt_tokens > 50


@pytest.mark.model("smollm2-135m")
async def test_a_small_model_held_to_a_schema_makes_calls_that_can_be_run(tmp_path: Path):
    """llama.cpp takes `const`, `enum`, `anyOf` and `maxLength`; what the smallest model chooses is its own affair."""
    model = open_model("local/smollm2-135m", deterministic=True, context=2048)
    agent = ReferenceAgent(tmp_path / "agent", model=model, embedder=HashingEmbedder())
    shown = ("Oak & Co", "Maple & Finch")
    try:
        turns = (Turn(role="user", content="When I buy honey I always go to Maple & Finch."),)
        await agent.converse("u", Session(id="s", turns=turns))
        decision = AskOptions(tools=(CHOOSE_OPTION,), choices=shown)
        chosen = await agent.ask("u", f"Where shall I buy honey: {' or '.join(shown)}?", decision)
        noting = AskOptions(tools=(SAVE_NOTE, READ_NOTES), write_back=True)
        noted = await agent.ask("u", "Save a short note about honey.", noting)
    finally:
        await agent.close()
        await model.close()
    (result,) = chosen.tool_results
    assert not result.error and result.content.removeprefix("Chosen: ") in shown
    assert chosen.text == "" and chosen.finish_reason == "tool_calls"
    assert noted.tool_calls or noted.text, "a call or an answer was read out of the JSON"
    assert not any(result.error for result in noted.tool_results)
    assert "{" not in noted.text
