"""The reference agent with a real language model: what was told comes back when asked for, and not after a purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from vestige.agents.reference import ReferenceAgent
from vestige.memory.settings import MemorySettings
from vestige.models.resolve import open_embedder, open_model
from vestige.records import AskOptions, RemovalRequest, Session, Turn

CANARY = "XQ7-VIOLET-3829"


@pytest.mark.model
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
