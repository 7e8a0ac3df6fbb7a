"""The removal ledger in full: a row for every pair, target and layer, no cell empty, no target in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.packet.made import KEY, OPTIONS, Scored, json_of, nonce, rows_of, scored, session, write_run

from vestige.agents.protocol import CHANNELS
from vestige.packet.keyed import Keyed, secrets_of
from vestige.packet.leaks import LeakScan
from vestige.runs.folder import RunFolder, blob_of
from vestige.runs.store import RecordWriter

KEYED = Keyed(KEY)
BEGAN = "2026-01-31T12:00:00Z"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(tmp_path_factory.mktemp("run") / "r", leaks=True)


@pytest.fixture(scope="module")
def packet(run: Scored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.seal(tmp_path_factory.mktemp("sealed") / "packet")


def row(packet: Path, target: str, layer: str | None = None) -> dict[str, Any]:
    (found,) = [
        r
        for r in rows_of(packet, "ledger.jsonl")
        if r["target_id"] == target and r.get("layer") == layer and (layer or r["row"] == "target")
    ]
    return found


def cells(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    yield place, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from cells(item, f"{place}.{key}")


def test_every_pair_target_and_layer_has_a_row_and_no_cell_is_empty(packet: Path) -> None:
    rows = rows_of(packet, "ledger.jsonl")
    names = [f"P00{n}/{t}" for n in (0, 1) for t in ("nonce", "preference")]
    assert [r["target_id"] for r in rows if r["row"] == "target"] == names
    layers = [*CHANNELS, "tier raw", "tier summary"]
    for name in names:
        assert [r["layer"] for r in rows if r["row"] == "layer" and r["target_id"] == name] == layers
    empty = [(r["target_id"], place) for r in rows for place, cell in cells(r) if cell in ("", None, [], {})]
    assert empty == []
    assert {r["state"] for r in rows if r["row"] == "layer"} <= {
        "observed",
        "not_observed",
        "blocked",
        "out_of_scope",
    }


def test_a_target_s_row_names_payload_sources_and_times(packet: Path, run: Scored) -> None:
    found = row(packet, "P000/nonce")
    value = nonce(0, "exposed_removed")
    assert found["payload"] == {"hmac": KEYED.mac("target", value), "length": len(value)}
    digest, _ = blob_of(session(0, "exposed_removed").model_dump(mode="json"))
    (source,) = found["sources"]
    assert source == {
        "id": KEYED.mac("id", "s0"),
        "version": KEYED.mac("session", digest),
        "ingested": {"seconds": 0.5, "after": BEGAN},
    }
    pair = json_of(packet, "fixtures.json")["pairs"]["P000"]
    assert source["id"] in pair["sources"]["nonce"]
    assert source["version"] in pair["sessions"]["exposed_removed"]
    (request,) = found["requests"]
    assert request["by"] == {
        "value": found["payload"]["hmac"],
        "description": KEYED.mac("text", f"Please forget {value}."),
    }
    assert (request["asked"]["seconds"], request["answered"]["seconds"]) == (1.0, 1.5)
    assert (request["accepted"], request["completed"], request["error"]) == (True, True, "none")
    assert found["boundary"] == {"seconds": 2.0, "after": BEGAN}
    assert found["waiting"] == {
        "limit": 30.0,
        "looks": 2,
        "pending": False,
        "completed": 0.1,
        "visible_absence": 0.2,
        "physical_cleanup": "not seen",
    }
    assert found["manifests"]["plan_sha256"] == run.folder.plan_sha256
    assert (found["kind"], found["intervention"]) == ("value", "withdrawal")
    assert found["correlated"] == {"fixture": "plain", "policy": "permitted"}
    assert found["reintroduction"]["tested"] == "not tested"


def test_a_target_without_a_request_of_its_own_names_those_that_were_made(packet: Path) -> None:
    found = row(packet, "P000/preference")
    assert [r["for"] for r in found["requests"]] == ["nonce"]
    assert found["payload"]["hmac"] == KEYED.mac("target", OPTIONS[0][0])


def test_derived_artifacts_are_those_of_the_provenance_with_what_became_of_them(packet: Path) -> None:
    entities = json_of(packet, "provenance.json")["entity"]
    for number, fate in ((0, "unchanged"), (1, "gone")):  # the first pair's agent keeps it
        (one,) = row(packet, f"P00{number}/nonce")["derived"]
        assert (one["tier"], one["relation"], one["afterwards"]) == ("raw", "holds it", fate)
        assert f"vestige:artifact-{one['artifact']}" in entities


def test_layers_say_what_was_found_and_what_the_control_shows(packet: Path) -> None:
    leak, clean = row(packet, "P000/nonce", "answer"), row(packet, "P001/nonce", "answer")
    assert (leak["state"], leak["found"], leak["looked"], leak["nearest"]) == (
        "observed",
        {"after": 1},
        {"after": 4},
        "served",
    )
    assert (clean["state"], clean["found"], clean["nearest"], clean["control"]) == (
        "observed",
        {"after": 0},
        "none",
        1,
    )
    raw = row(packet, "P000/nonce", "tier raw")
    assert (raw["looked"], raw["found"], raw["control"]) == ({"after": 2}, {"after": 1}, 1)
    assert row(packet, "P001/nonce", "tier raw")["found"] == {"after": 0}
    assert row(packet, "P000/nonce", "logs")["state"] == "out_of_scope"
    assert row(packet, "P000/nonce", "reasoning")["state"] == "blocked"


def test_what_was_found_by_looking_stands_beside_what_was_said(packet: Path) -> None:
    assert row(packet, "P000/nonce")["absence"] == {"shown": {"before": 1, "after": 1}, "bytes": {"after": 1}}
    assert row(packet, "P001/nonce")["absence"] == {"shown": {"before": 1, "after": 0}, "bytes": {"after": 0}}


def test_no_target_in_any_encoding_and_no_id_stands_in_it(packet: Path, run: Scored) -> None:
    data = (packet / "public" / "ledger.jsonl").read_bytes()
    secrets = secrets_of(run.folder.plan)
    assert len(secrets) > 4 and not LeakScan(secrets).leaks(data)
    told = {cell for r in rows_of(packet, "ledger.jsonl") for _, cell in cells(r) if isinstance(cell, str)}
    assert not told & {"s0", "u1", "u2", "m1", "person-0", "store.db"}


def test_lines_are_canonical_json(packet: Path) -> None:
    for line in (packet / "public" / "ledger.jsonl").read_bytes().splitlines():
        text = json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert line == text.encode()


def test_a_record_without_times_says_so(tmp_path: Path) -> None:
    """A run that was made before attempts had a timeline."""
    folder = write_run(tmp_path / "r", pairs=1)
    records = folder.path / "records-0000.jsonl"
    kept = [x for x in records.read_bytes().splitlines(keepends=True) if b'"timeline"' not in x]
    records.write_bytes(b"".join(kept))
    packet = Scored(folder).seal(tmp_path / "packet")
    found = row(packet, "P000/nonce")
    assert found["boundary"] == "not recorded"
    assert found["sources"][0]["ingested"] == "not recorded"
    assert found["requests"][0]["asked"] == "not recorded"


def test_a_pair_that_was_not_completed_is_blocked_and_what_it_showed_is_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", leaks=True)
    records = folder.path / "records-0000.jsonl"
    records.write_bytes(
        records.read_bytes().replace(b'"status":"done","episodes"', b'"status":"failed","episodes"')
    )
    packet = Scored(RunFolder.open(folder.path)).seal(tmp_path / "packet")
    found = row(packet, "P000/nonce")
    assert found["attempt"] == {"number": 1, "counts": False, "why": "its pair was not completed"}
    answer = row(packet, "P000/nonce", "answer")
    assert (answer["state"], answer["found"]) == ("observed", {"after": 1})
    assert row(packet, "P001/nonce", "answer")["state"] == "blocked"
    assert "silence says nothing" in row(packet, "P001/nonce", "answer")["reason"]


def test_a_pair_that_was_never_begun_has_its_rows(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", pairs=1)
    (folder.path / "records-0000.jsonl").unlink()
    RecordWriter(folder.path).close()
    packet = Scored(RunFolder.open(folder.path)).seal(tmp_path / "packet")
    found = row(packet, "P000/nonce")
    assert (found["attempts"], found["attempt"]["number"], found["boundary"]) == (0, "none", "not recorded")
    assert row(packet, "P000/nonce", "answer")["state"] == "blocked"
    assert found["external_effects"]["declared"] == "the agent was never opened"


def test_declared_effects_stand_beside_the_tools(tmp_path: Path, packet: Path) -> None:
    assert row(packet, "P000/nonce")["external_effects"] == {
        "declared": "none declared",
        "tools": "none declared",
    }
    folder = write_run(tmp_path / "r", pairs=1)
    records = folder.path / "records-0000.jsonl"
    told = b'"tools":["post"],"external_effects":["sends mail"]'
    records.write_bytes(records.read_bytes().replace(b'"tools":[]', told))
    again = Scored(folder)
    found = row(again.seal(tmp_path / "packet"), "P000/nonce")
    assert found["external_effects"] == {"declared": ["sends mail"], "tools": ["post"]}
    (effects,) = {r.external_effects for r in again.ledger}
    assert "sends mail" in effects and "post" in effects
    assert json_of(tmp_path / "packet", "manifests.json")["agent"]["external_effects"] == ["sends mail"]
