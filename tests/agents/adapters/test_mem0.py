"""mem0 behind its adapter, and what mem0 2.2.1 keeps after a deletion; in mem0's own environment, if there is one."""

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
    ],
}
RAIN = {"id": "friday", "date": None, "turns": [{"role": "user", "content": "It rained today."}]}


@pytest.fixture
def mem0(tmp_path: Path) -> Drive:
    return driver("mem0", "Mem0Agent", tmp_path)


def tiers(artifacts: list[dict[str, Any]], needle: str) -> set[str]:
    return {a["tier"] for a in artifacts if needle in a["text"]}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return looks("mem0", 5)


# ------------------------------------------------------------------------------------- what mem0 2.2.1 does


def test_the_versions_are_the_pinned_ones(found: dict[str, Any]) -> None:
    assert {p: found[p] for p in ("mem0ai", "qdrant-client")} == {
        p: pinned("mem0")[p] for p in ("mem0ai", "qdrant-client")
    }
    assert found["mem0ai"] == "2.2.1"


def test_delete_leaves_live_history_rows_that_history_returns(found: dict[str, Any]) -> None:
    seen = found["delete_by_id"]
    assert (seen["in_search"], seen["in_get_all"], seen["get_returns_it"]) == (0, 0, 0)
    assert seen["history_returns_text"] == seen["history_rows_not_marked_deleted"] == 5
    assert seen["history_rows_of_the_delete_itself"] == 5


def test_update_leaves_the_old_text_in_history(found: dict[str, Any]) -> None:
    assert found["update_by_id"] == {"updated": 5, "in_get_all": 0, "history_returns_old_text": 5}


def test_delete_all_leaves_messages_that_the_next_five_extractions_are_given(found: dict[str, Any]) -> None:
    seen = found["delete_all_of_a_user"]
    assert (seen["stored"], seen["in_get_all"], seen["in_messages"]) == (5, 0, 5)
    assert seen["sent_to_the_model_by_unrelated_add"] == [5, 5, 5, 5, 5, 0]
    assert found["delete_one_of_a_conversation"]["in_messages"] == 5


def test_an_extractor_that_repeats_its_context_makes_the_deleted_live_again(found: dict[str, Any]) -> None:
    seen = found["learned_again"]
    assert seen["gone_after_delete_all"] == 5
    assert seen["live_again_after_one_unrelated_add"] == seen["found_by_search_again"] == 5


def test_what_has_expired_is_hidden_but_returned_by_id_and_sent_to_the_model(found: dict[str, Any]) -> None:
    seen = found["expired"]
    assert (seen["in_search"], seen["in_get_all"]) == (0, 0)
    assert seen["get_returns_it"] == seen["sent_to_the_model_by_the_next_add"] == seen["still_stored"] == 5
    assert seen["methods_that_sweep"] == []


def test_an_id_is_enough_to_read_another_user_and_a_shared_run_deletes_both(found: dict[str, Any]) -> None:
    seen = found["other_users"]
    assert seen["user1_found_as_user10"] == 0
    assert seen["get_without_a_user"] == seen["history_without_a_user"] == 5
    assert seen["users_in_one_run"] == 2
    assert seen["left_of_both_users_after_delete_all_of_the_run"] == 0


def test_entities_outlive_a_deletion_by_a_process_that_has_added_nothing(found: dict[str, Any]) -> None:
    seen = found["entities"]
    assert seen["same_process_entities_before"] == seen["fresh_process_entities_before"] == 5
    assert seen["same_process_entities_after_delete_all"] == 0
    assert seen["fresh_process_memories_after_delete_all"] == 0
    assert seen["fresh_process_entities_after_delete_all"] == seen["fresh_process_entities_after_reset"] == 5


def test_deleted_bytes_stay_where_sqlite_does_not_zero_them(found: dict[str, Any]) -> None:
    seen = found["bytes_on_disk"]
    assert seen["off_secure_delete"] == [0, 0]
    assert seen["off_in_qdrant_file_after_delete"] > 0
    assert seen["off_in_history_file_after_reset"] > 0
    if seen["as_built_secure_delete"] == [1, 1]:
        assert seen["as_built_in_qdrant_file_after_delete"] == 0
    assert seen["off_in_any_file_after_vacuum"] == seen["as_built_in_any_file_after_vacuum"] == 0


def test_with_telemetry_off_no_host_is_looked_up(found: dict[str, Any]) -> None:
    tried = found["connections"]
    assert tried["hosts_tried_off"] == found["refused_so_far"] == []
    assert "us.i.posthog.com" in tried["hosts_tried_default"]
    assert "raw.githubusercontent.com" in tried["hosts_tried_default"]


def test_a_key_of_openrouter_in_the_environment_overrules_the_address(found: dict[str, Any]) -> None:
    assert found["other_address"]["used"].startswith("https://openrouter.ai/")


# ------------------------------------------------------------------------------------------- the adapter


def test_statements_are_stored_found_with_scores_and_answered_from(mem0: Drive) -> None:
    _, reply, listed = mem0(
        ["remember", "u 1", [CODE, TEA]],
        ["ask", "u 1", "What is my locker code?", {"trace": True}],
        ["inspect", "u 1"],
    )
    assert reply["text"] == CODE["text"]
    assert [unit["text"] for unit in reply["retrieved"]] == [CODE["text"], TEA["text"]]
    assert reply["retrieved"][0]["score"] > reply["retrieved"][1]["score"]
    assert CODE["text"] in reply["model_requests"][0]
    raw = [a for a in listed if a["tier"] == "raw"]
    assert [a["session"] for a in raw if a["text"] == CODE["text"]] == ["monday"]
    assert all(a["vector"] for a in raw)


def test_k_bounds_what_is_retrieved(mem0: Drive) -> None:
    results = mem0(
        ["remember", "u", [CODE, TEA]], ["configure", {"k": 1}], ["ask", "u", "my locker code", {}]
    )
    assert len(results[-1]["retrieved"]) == 1


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
def test_a_deletion_takes_what_it_names_and_leaves_history(mem0: Drive, request_: dict[str, Any]) -> None:
    _, _, receipt, mine, other = mem0(
        ["remember", "u1", [CODE, TEA]],
        ["remember", "u10", [CODE]],
        ["forget", "u1", request_],
        ["inspect", "u1"],
        ["inspect", "u10"],
    )
    assert receipt == {"accepted": True, "completed": True, "affected": {"raw": 1}}
    assert tiers(mine, "QX-4471-ZED") == {"history"}
    assert "raw" in tiers(mine, "green tea")
    assert "raw" in tiers(other, "QX-4471-ZED")


def test_a_run_of_mem0_is_deleted_as_a_whole(mem0: Drive) -> None:
    _, receipt, mine = mem0(
        ["remember", "u", [CODE, TEA]],
        ["forget", "u", {"scope": "session", "ids": ["monday"]}],
        ["inspect", "u"],
        sessions="run_id",
    )
    assert receipt["affected"] == {"raw": 1}
    assert tiers(mine, "QX-4471-ZED") == {"history"}


def test_a_user_is_deleted_but_for_history_and_messages_and_a_reset_leaves_nothing(mem0: Drive) -> None:
    _, before, receipt, after, _, reset, other = mem0(
        ["converse", "u1", TALK],
        ["inspect", "u1"],
        ["forget", "u1", {"scope": "user"}],
        ["inspect", "u1"],
        ["reset", "u1"],
        ["inspect", "u1"],
        ["inspect", "u2"],
    )
    assert tiers(before, "QX-4471-ZED") == {"summary", "history", "log"}
    assert receipt["affected"] == {"summary": 1}
    assert tiers(after, "QX-4471-ZED") == {"history", "log"}
    assert reset == other == []


def test_everything_goes_by_mem0_s_own_reset(mem0: Drive) -> None:
    *_, one, two = mem0(
        ["converse", "u1", TALK],
        ["remember", "u2", [CODE]],
        ["forget", "u1", {"scope": "everything"}],
        ["inspect", "u1"],
        ["inspect", "u2"],
    )
    assert one == two == []


def test_a_request_that_names_nothing_is_not_accepted(mem0: Drive) -> None:
    (receipt,) = mem0(["forget", "u", {"scope": "unit", "description": "Please forget it."}])
    assert receipt["accepted"] is False


def test_another_process_goes_on_where_a_killed_one_stopped(mem0: Drive) -> None:
    mem0(["converse", "u", TALK], ["remember", "u", [TEA]], ["die"])
    receipt, listed, reply = mem0(
        ["forget", "u", {"scope": "unit", "value": "QX-4471-ZED"}],
        ["inspect", "u"],
        ["ask", "u", "tea with lemon?", {}],
    )
    assert receipt["affected"] == {"summary": 1}
    assert tiers(listed, "QX-4471-ZED") == {"history", "log"}
    assert reply["text"] == TEA["text"]


def test_a_context_repeating_extractor_brings_the_deleted_back(mem0: Drive) -> None:
    *_, listed = mem0(
        ["converse", "u", TALK],
        ["forget", "u", {"scope": "user"}],
        ["converse", "u", RAIN],
        ["inspect", "u"],
        extractor="scripted-context",
    )
    assert "summary" in tiers(listed, "QX-4471-ZED")


def test_a_probe_leaves_no_trace_and_a_write_back_does(mem0: Drive) -> None:
    _, before, _, after, reply = mem0(
        ["remember", "u", [TEA]],
        ["inspect", "u"],
        ["ask", "u", "Do I have a dog called Quill?", {"write_back": False}],
        ["inspect", "u"],
        ["ask", "u", "I have a dog called Quill.", {"write_back": True, "session": "s"}],
    )
    assert before == after
    assert reply["memory_writes"] == ["I have a dog called Quill."]


def test_a_choice_follows_the_memory_and_else_a_coin_that_ignores_the_order(mem0: Drive) -> None:
    options = ["green tea", "black coffee"]
    asked = "Which would I rather have, green tea or black coffee?"
    chosen = mem0(
        ["ask", "u", asked, {"choices": options, "seed": 1}],
        ["ask", "u", asked, {"choices": options[::-1], "seed": 1}],
        ["remember", "u", [TEA]],
        ["ask", "u", asked, {"choices": options}],
    )
    assert chosen[0]["text"] == chosen[1]["text"]
    assert chosen[3]["text"] == "green tea"


def test_files_are_named_and_maintenance_keeps_what_is_stored(mem0: Drive, tmp_path: Path) -> None:
    _, files, _, _, reply = mem0(
        ["remember", "u", [CODE]], ["storage"], ["settle"], ["maintain"], ["ask", "u", "my locker code", {}]
    )
    assert {Path(f).name for f in files} >= {"history.db", "storage.sqlite"}
    assert all(Path(f).is_relative_to(tmp_path) for f in files)
    assert reply["text"] == CODE["text"]


def test_what_expires_is_hidden_from_search_and_still_listed(mem0: Drive) -> None:
    *_, reply, listed = mem0(
        ["configure", {"expires": "2020-01-01"}],
        ["remember", "u", [CODE]],
        ["ask", "u", "my locker code", {}],
        ["inspect", "u"],
    )
    assert reply["retrieved"] == []
    assert "raw" in tiers(listed, "QX-4471-ZED")


def test_it_says_how_sqlite_treats_deleted_bytes_and_never_the_key(mem0: Drive) -> None:
    (said,) = mem0(["describe"], api_key="sk-secret")
    assert said["version"] == "2.2.1"
    assert said["configuration"]["secure_delete"] in (0, 1, 2)
    assert "sk-secret" not in json.dumps(said)


def test_a_model_extracts_and_answers_and_an_embedder_is_measured(mem0: Drive, model: Model) -> None:
    def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if "## New Messages" in messages[-1]["content"]:
            fact = {"id": "0", "text": "User's locker code is QX-4471-ZED", "attributed_to": "user"}
            return {"content": json.dumps({"memory": [fact]})}
        return {"content": "It is QX-4471-ZED."}

    model.answer = answer
    settings = {
        "model": "m",
        "model_url": model.url,
        "extractor": "model",
        "embedder": "e",
        "embedder_url": model.url,
    }
    _, listed, reply = mem0(
        ["converse", "u", TALK], ["inspect", "u"], ["ask", "u", "What is my code?", {"seed": 4}], **settings
    )
    assert [a["text"] for a in listed if a["tier"] == "summary"] == ["User's locker code is QX-4471-ZED"]
    assert (reply["text"], reply["usage"]) == (
        "It is QX-4471-ZED.",
        {"prompt_tokens": 7, "completion_tokens": 3},
    )
    assert model.chats[-1]["seed"] == 4
    assert "QX-4471-ZED" in model.chats[-1]["messages"][0]["content"]
    assert {body["model"] for body in model.embeddings} == {"e"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": 1}, "unknown setting 'colour'"),
        ({"extractor": "magic"}, "extractor='magic': expected model, scripted"),
        ({"model": "m"}, "model_url is missing"),
        ({"embedder": "e"}, "embedder_url is missing"),
    ],
)
def test_a_setting_that_is_not_usable_is_told(mem0: Drive, settings: dict[str, Any], message: str) -> None:
    (told,) = mem0(**settings)
    assert message in told["ValueError"]
