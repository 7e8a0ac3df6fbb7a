"""The provenance is PROV-JSON that the `prov` package reads, and says what was derived from what."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packet.made import KEY, json_of, scored

from vestige.packet.keyed import Keyed
from vestige.packet.provenance import provenance
from vestige.runs.store import read_lines

prov = pytest.importorskip("prov.model")


@pytest.fixture(scope="module")
def packet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("provenance")
    return scored(folder / "r").seal(folder / "packet")


def test_the_prov_package_reads_it(packet: Path) -> None:
    text = (packet / "public" / "provenance.json").read_text()
    document = prov.ProvDocument.deserialize(content=text, format="json")
    kinds = {
        kind: list(document.get_records(kind))
        for kind in (prov.ProvEntity, prov.ProvActivity, prov.ProvAgent)
    }
    assert len(kinds[prov.ProvAgent]) == 2
    assert len(kinds[prov.ProvActivity]) == 2 * 5 + 2 * 3
    assert all(str(r.identifier).startswith("vestige:") for rows in kinds.values() for r in rows)
    again = prov.ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
    assert again == document


def test_every_relation_is_about_what_is_there(packet: Path) -> None:
    found = json_of(packet, "provenance.json")
    known = {name for kind in ("entity", "activity", "agent") for name in found[kind]}
    relations = [
        r
        for kind, rows in found.items()
        if kind not in ("prefix", "entity", "activity", "agent")
        for r in rows.values()
    ]
    assert relations
    for relation in relations:
        assert set(relation.values()) <= known


def test_summaries_come_from_what_they_were_made_of(packet: Path) -> None:
    found = json_of(packet, "provenance.json")
    entities = found["entity"]

    def tier(name: str) -> str:
        return str(entities[name].get("vestige:tier", entities[name]["prov:type"]["$"]))

    derived = {
        (tier(r["prov:generatedEntity"]), tier(r["prov:usedEntity"]))
        for r in found["wasDerivedFrom"].values()
    }
    assert derived == {("summary", "raw"), ("summary", "vestige:Session"), ("raw", "vestige:Session")}
    gone = [r["prov:entity"] for r in found["wasInvalidatedBy"].values()]
    assert {tier(name) for name in gone} == {"raw"}
    assert len(gone) == 2 * 2  # the removed and the reset arm of each pair


def test_interventions_use_their_target_and_give_a_receipt(packet: Path) -> None:
    found = json_of(packet, "provenance.json")
    kinds = {name: a["prov:type"]["$"] for name, a in found["activity"].items()}
    removals = [name for name, kind in kinds.items() if kind == "vestige:Removal"]
    assert len(removals) == 2
    used = {(r["prov:activity"], r["prov:entity"]) for r in found["used"].values()}
    for name in removals:
        assert any(a == name and e.endswith("nonce-exposed_removed") for a, e in used)
    receipts = [n for n, e in found["entity"].items() if e["prov:type"]["$"] == "vestige:Receipt"]
    assert {
        r["prov:activity"] for r in found["wasGeneratedBy"].values() if r["prov:entity"] in receipts
    } >= set(removals)


def test_it_is_a_function_of_the_run_and_the_key(tmp_path: Path) -> None:
    folder = scored(tmp_path / "r").folder
    made = [provenance(folder, read_lines(folder.path), Keyed(key)) for key in (KEY, KEY, bytes(32))]
    assert made[0] == made[1] != made[2]
