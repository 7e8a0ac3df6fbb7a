"""LangGraph behind its adapter, and what LangGraph 1.2.24 keeps after a deletion: in its own environment, where there
is one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.systems import Drive, Model, driver, looks, pinned

pytestmark = [pytest.mark.systems, pytest.mark.slow]

CODE = {"id": "s1", "text": "My locker code is QX-4471-ZED.", "session": "monday"}
TEA = {"id": "s2", "text": "I love green tea with lemon.", "session": "tuesday"}
TALK = {
    "id": "monday",
    "date": None,
    "turns": [
        {"role": "user", "content": "My locker code is QX-4471-ZED."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "And it rained today."},
    ],
}


@pytest.fixture
def langgraph(tmp_path: Path) -> Drive:
    return driver("langgraph", "LangGraphAgent", tmp_path)


def tiers(artifacts: list[dict[str, Any]], needle: str) -> set[str]:
    return {a["tier"] for a in artifacts if needle in a["text"]}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return looks("langgraph", 5)


# ---------------------------------------------------------------------------------- what LangGraph 1.2.24 does


def test_the_versions_are_the_pinned_ones(found: dict[str, Any]) -> None:
    names = ("langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec")
    assert {p: found[p] for p in names} == {p: pinned("langgraph")[p] for p in names}
    assert (found["langgraph"], found["langgraph-checkpoint-sqlite"]) == ("1.2.24", "3.1.2")
    assert found["refused"] == []


def test_removing_a_message_leaves_earlier_checkpoints_with_it(found: dict[str, Any]) -> None:
    seen = found["message_removed"]
    assert seen["in_current_state"] == 0
    assert seen["threads_with_it_in_earlier_checkpoints"] == 5
    assert (seen["earlier_checkpoints_with_it_per_thread"], seen["kept_writes_with_it_per_thread"]) == (5, 1)
    assert (
        seen["get_state_of_an_earlier_checkpoint_returns_it"]
        == seen["in_get_state_history_after_vacuum"]
        == 5
    )


def test_sqlite_saver_cannot_drop_earlier_checkpoints_and_keep_the_thread(found: dict[str, Any]) -> None:
    assert set(found["earlier_checkpoints_dropped"].values()) == {"NotImplementedError"}


def test_a_deleted_thread_stays_in_the_write_ahead_log(found: dict[str, Any]) -> None:
    seen = found["thread_deleted"]
    for case in ("as_built", "off"):
        assert seen[f"{case}_rows_left"] == 0
        assert seen[f"{case}_in_the_write_ahead_log"] == 5
        assert seen[f"{case}_in_any_file_after_vacuum"] == 0
    assert seen["off_in_any_file_after_the_log_is_emptied"] > 0
    if seen["as_built_secure_delete"] == 1:
        assert seen["as_built_in_any_file_after_the_log_is_emptied"] == 0


def test_deleting_an_item_leaves_its_vector_in_the_table(found: dict[str, Any]) -> None:
    seen = found["item_deleted"]
    assert (seen["in_get_or_search"], seen["foreign_keys"]) == (0, 0)
    assert seen["vectors_left_after_vacuum"] == 5
    assert seen["secret_picked_out_of_n_guesses_by_its_vector"] == 5
    assert seen["id_used_again_scored_by_the_deleted_text"] == 5


def test_what_has_expired_is_returned_until_the_sweep_and_its_vector_after_it(found: dict[str, Any]) -> None:
    seen = found["expired"]
    assert seen["get_returns_it_before_the_sweep"] == seen["search_returns_it_before_the_sweep"] == 5
    assert (seen["swept"], seen["get_returns_it_after_the_sweep"]) == (5, 0)
    assert seen["vectors_left_after_the_sweep"] == 5


def test_namespaces_do_not_run_into_each_other_and_a_parent_reads_all(found: dict[str, Any]) -> None:
    for kind in ("sqlite", "in_memory"):
        for reader in ("user10_read_as_user1", "user1_read_as_user10", "user1_read_as_USER1"):
            assert found["scopes"][f"{kind}_{reader}"] == 0
        assert found["scopes"][f"{kind}_user1_read_at_the_parent"] == 5


def test_two_users_with_one_session_id_share_a_thread(found: dict[str, Any]) -> None:
    assert found["one_session_id"]["first_users_message_in_the_second_users_run"] == 5


def test_configurable_values_stay_in_the_checkpoints(found: dict[str, Any]) -> None:
    assert found["configurable"]["value_in_the_metadata"] == 5


def test_a_node_cache_answers_with_what_was_deleted(found: dict[str, Any]) -> None:
    assert found["node_cache"] == {"deleted": 5, "answered_from_the_cache": 5}


def test_the_documented_fields_of_the_index_are_ignored_by_the_sqlite_store(found: dict[str, Any]) -> None:
    assert found["indexed_fields"]["in_memory_embeds"] == ["I like tea."]
    assert "QX-" in found["indexed_fields"]["sqlite_embeds"][0]


def test_deleted_items_stay_in_the_file_where_sqlite_does_not_zero_them(found: dict[str, Any]) -> None:
    seen = found["bytes_on_disk"]
    assert (seen["in_the_file"] > 0) == (seen["secure_delete"] == 0)
    assert seen["in_the_file_after_vacuum"] == 0


# ------------------------------------------------------------------------------------------- the adapter


def test_statements_are_stored_found_with_scores_and_answered_from(langgraph: Drive) -> None:
    _, reply, listed = langgraph(
        ["remember", "u.1", [CODE, TEA]],
        ["ask", "u.1", "What is my locker code?", {"trace": True}],
        ["inspect", "u.1"],
    )
    assert reply["text"] == CODE["text"]
    assert [unit["id"] for unit in reply["retrieved"]] == ["s1", "s2"]
    assert reply["retrieved"][0]["score"] > reply["retrieved"][1]["score"]
    assert CODE["text"] in reply["model_requests"][0]
    assert {(a["id"], a["tier"], a["session"]) for a in listed} == {
        ("s1", "raw", "monday"),
        ("s2", "raw", "tuesday"),
    }
    assert all(a["vector"] for a in listed)


@pytest.mark.parametrize(
    "request_",
    [
        {"scope": "unit", "value": "qx-4471-zed"},
        {"scope": "unit", "ids": ["s1"]},
        {"scope": "session", "ids": ["monday"]},
        {"scope": "source", "ids": ["monday"]},
    ],
    ids=lambda r: f"{r['scope']} by {'value' if 'value' in r else 'id'}",
)
def test_a_deletion_takes_what_it_names_and_leaves_the_vector(
    langgraph: Drive, request_: dict[str, Any]
) -> None:
    _, _, receipt, mine, other = langgraph(
        ["remember", "u1", [CODE, TEA]],
        ["remember", "u10", [CODE]],
        ["forget", "u1", request_],
        ["inspect", "u1"],
        ["inspect", "u10"],
    )
    assert receipt == {"accepted": True, "completed": True, "affected": {"raw": 1}}
    assert {(a["id"], a["tier"]) for a in mine} == {("s2", "raw"), ("vector/s1", "vector")}
    assert [(a["id"], a["tier"]) for a in other] == [("s1", "raw")]


@pytest.mark.parametrize(
    ("deletion", "left"),
    [("store", {"thread", "checkpoint"}), ("messages", {"checkpoint"}), ("threads", set[str]())],
)
def test_a_value_said_in_a_conversation_goes_as_far_as_the_knob_says(
    langgraph: Drive, deletion: str, left: set[str]
) -> None:
    *_, before, receipt, after = langgraph(
        ["configure", {"deletion": deletion}],
        ["converse", "u", TALK],
        ["inspect", "u"],
        ["forget", "u", {"scope": "unit", "value": "QX-4471-ZED"}],
        ["inspect", "u"],
    )
    assert tiers(before, "QX-4471-ZED") == {"summary", "thread", "checkpoint"}
    assert receipt["affected"]["summary"] == 1
    assert tiers(after, "QX-4471-ZED") == left


def test_a_session_is_deleted_with_its_items_and_its_thread_and_no_other_users(langgraph: Drive) -> None:
    *_, mine, other = langgraph(
        ["converse", "u1", TALK],
        ["converse", "u2", TALK],
        ["forget", "u1", {"scope": "session", "ids": ["monday"]}],
        ["inspect", "u1"],
        ["inspect", "u2"],
    )
    assert {a["tier"] for a in mine} == {"vector"}
    assert tiers(other, "QX-4471-ZED") == {"summary", "thread", "checkpoint"}


def test_threads_named_by_session_alone_are_shared(langgraph: Drive) -> None:
    hello = {"id": "monday", "date": None, "turns": [{"role": "user", "content": "Hello, who am I?"}]}
    *_, reply = langgraph(
        ["converse", "u1", TALK],
        ["converse", "u2", hello],
        ["ask", "u2", "What is the locker code?", {"session": "monday"}],
        threads="session",
    )
    assert reply["text"] == CODE["text"]
    assert reply["retrieved"][0]["text"] == "Hello, who am I?"


def test_a_user_everything_and_a_reset(langgraph: Drive) -> None:
    _, _, _, one, _, two, _, three = langgraph(
        ["converse", "u1", TALK],
        ["converse", "u2", TALK],
        ["forget", "u1", {"scope": "user"}],
        ["inspect", "u1"],
        ["forget", "u1", {"scope": "everything"}],
        ["inspect", "u2"],
        ["reset", "u2"],
        ["inspect", "u2"],
    )
    assert {a["tier"] for a in one} == {a["tier"] for a in two} == {"vector"}
    assert three == []


def test_a_request_that_names_nothing_is_not_accepted(langgraph: Drive) -> None:
    (receipt,) = langgraph(["forget", "u", {"scope": "unit", "description": "Please forget it."}])
    assert receipt["accepted"] is False


def test_another_process_goes_on_where_a_killed_one_stopped(langgraph: Drive) -> None:
    langgraph(["converse", "u", TALK], ["remember", "u", [TEA]], ["die"])
    receipt, listed, reply = langgraph(
        ["forget", "u", {"scope": "unit", "value": "QX-4471-ZED"}],
        ["inspect", "u"],
        ["ask", "u", "tea with lemon?", {"session": "monday"}],
    )
    assert receipt["affected"] == {"summary": 1, "thread": 1}
    assert tiers(listed, "QX-4471-ZED") == {"checkpoint"}
    assert reply["text"] == TEA["text"]


def test_a_probe_leaves_no_trace_and_a_write_back_does(langgraph: Drive) -> None:
    _, before, _, after, reply, last = langgraph(
        ["converse", "u", TALK],
        ["inspect", "u"],
        ["ask", "u", "Do I have a dog called Quill?", {"session": "monday"}],
        ["inspect", "u"],
        ["ask", "u", "I have a dog called Quill.", {"write_back": True, "session": "monday"}],
        ["inspect", "u"],
    )
    assert before == after
    assert reply["memory_writes"] == ["I have a dog called Quill."]
    assert tiers(last, "Quill") == {"summary", "thread", "checkpoint"}


def test_an_expired_item_is_read_until_maintenance_sweeps_it(langgraph: Drive) -> None:
    *_, before, _, after = langgraph(
        ["configure", {"ttl": -1}],
        ["remember", "u", [CODE]],
        ["ask", "u", "my locker code", {}],
        ["maintain"],
        ["ask", "u", "my locker code", {}],
    )
    assert before["text"] == CODE["text"]
    assert after["retrieved"] == []


def test_files_are_named_and_maintenance_keeps_what_is_stored(langgraph: Drive, tmp_path: Path) -> None:
    _, _, files, _, _, reply = langgraph(
        ["remember", "u", [CODE]],
        ["converse", "u", TALK],
        ["storage"],
        ["settle"],
        ["maintain"],
        ["ask", "u", "my locker code", {}],
    )
    assert {Path(f).name for f in files} >= {"store.sqlite", "checkpoints.sqlite", "checkpoints.sqlite-wal"}
    assert all(Path(f).is_relative_to(tmp_path) for f in files)
    assert reply["text"] == CODE["text"]


def test_the_store_in_memory_is_gone_with_the_process_and_threads_are_not(langgraph: Drive) -> None:
    langgraph(["converse", "u", TALK], store="memory")
    (listed,) = langgraph(["inspect", "u"], store="memory")
    assert tiers(listed, "QX-4471-ZED") == {"thread", "checkpoint"}


def test_it_says_how_each_sqlite_treats_deleted_bytes_and_never_the_key(langgraph: Drive) -> None:
    (said,) = langgraph(["describe"], api_key="sk-secret")
    assert said["version"] == "1.2.24"
    assert {"store_secure_delete", "checkpoints_secure_delete"} <= set(said["configuration"])
    assert "sk-secret" not in json.dumps(said)


def test_a_model_lists_facts_and_answers_by_an_embedder_that_is_measured(
    langgraph: Drive, model: Model
) -> None:
    model.answer = lambda messages: {
        "content": "- The locker code is QX-4471-ZED.\n- It rained."
        if "List what" in messages[0]["content"]
        else "Yes."
    }
    settings = {
        "model": "m",
        "model_url": model.url,
        "extractor": "model",
        "embedder": "e",
        "embedder_url": model.url,
    }
    _, listed, reply = langgraph(
        ["converse", "u", TALK], ["inspect", "u"], ["ask", "u", "What is my code?", {"seed": 4}], **settings
    )
    assert {a["text"] for a in listed if a["tier"] == "summary"} == {
        "The locker code is QX-4471-ZED.",
        "It rained.",
    }
    assert (reply["text"], reply["usage"]) == ("Yes.", {"prompt_tokens": 7, "completion_tokens": 3})
    assert model.chats[-1]["seed"] == 4
    assert "QX-4471-ZED" in model.chats[-1]["messages"][0]["content"]
    assert {body["model"] for body in model.embeddings} == {"e"}


def test_a_react_agent_saves_and_searches_by_its_own_calls(langgraph: Drive, model: Model) -> None:
    def call(name: str, **arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}

    def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
        last = messages[-1]
        if last["role"] == "tool":
            return {"content": f"Done: {last['content']}"}
        if "?" in last["content"]:
            return call("search_memory", query=last["content"])
        return call("save_memory", text=last["content"])

    model.answer = answer
    saved, asked = langgraph(
        ["ask", "u", CODE["text"], {"write_back": True, "session": "s"}],
        ["ask", "u", "What is my locker code?", {}],
        model="m",
        model_url=model.url,
        agent="react",
        extractor="none",
    )
    assert saved["memory_writes"] == [CODE["text"]]
    assert [c["name"] for c in saved["tool_calls"]] == ["save_memory"]
    assert asked["text"] == f"Done: {CODE['text']}"
    assert asked["tool_results"][0]["content"] == asked["retrieved"][0]["text"] == CODE["text"]
    assert json.loads(asked["tool_calls"][0]["arguments"]) == {"query": "What is my locker code?"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": 1}, "unknown setting 'colour'"),
        ({"deletion": "magic"}, "deletion='magic': expected store, messages, threads"),
        ({"model": "m"}, "model_url is missing"),
        ({"agent": "react"}, "agent='react' needs a model that calls tools"),
    ],
)
def test_a_setting_that_is_not_usable_is_told(
    langgraph: Drive, settings: dict[str, Any], message: str
) -> None:
    (told,) = langgraph(**settings)
    assert message in told["ValueError"]
