"""A channel is available where it was seen, absent only where the agent declares it, else unavailable."""

from __future__ import annotations

from vestige.agents.protocol import CHANNELS, AgentDescription, Channel
from vestige.channels import states

AGENT = AgentDescription(
    name="a",
    version="1",
    configuration={},
    capabilities=(),
    channels=("answer", "retrieval", "tool_arguments", "storage"),
    absent={"logs": "keeps no log", "reasoning": ""},
)


def test_without_a_description_only_what_was_seen_counts() -> None:
    found = states(None, {"answer": 3, "retrieval": 0})
    assert set(found) == set(CHANNELS)
    assert found["answer"] == ("available", "3 looked at")
    assert {c: s for c, (s, _) in found.items() if c != "answer"} == {
        c: "unavailable" for c in CHANNELS if c != "answer"
    }
    assert states(None, {"answer": 1, "retrieval": 2})["retrieval"][0] == "available"


def test_a_declaration_is_not_enough_where_a_look_would_show_something() -> None:
    found = states(AGENT, {"answer": 1})
    assert found["retrieval"] == ("unavailable", "declared, but no reply showed what was retrieved")
    assert found["storage"][0] == "unavailable"
    assert found["tool_arguments"] == ("available", "declared; no reply showed a tool call")
    assert found["tool_results"][0] == "unavailable"


def test_absent_is_what_the_agent_declares_not_to_have() -> None:
    found = states(AGENT, {})
    assert found["logs"] == ("absent", "keeps no log")
    assert found["reasoning"] == ("absent", "declared absent, without a reason")
    assert found["vectors"][0] == "unavailable"


def test_what_was_seen_beats_what_was_declared() -> None:
    assert states(AGENT, {"logs": 2})["logs"] == ("available", "2 looked at, although it is declared absent")


def test_an_inspection_that_lists_no_summary_does_not_contradict_that_there_is_none() -> None:
    none = AGENT.model_copy(update={"absent": {"summary": "writes none"}})
    assert states(none, {"summary": 5})["summary"] == ("absent", "writes none")
    assert states(AGENT, {"summary": 5})["summary"] == ("available", "5 looked at")


def test_every_state_has_a_reason() -> None:
    everything: dict[Channel, int] = dict.fromkeys(CHANNELS, 1)
    for description in (None, AGENT):
        for observed in ({}, everything):
            assert all(reason for _, reason in states(description, observed).values())
