"""What a packet holds, and what its public part must never hold."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from pathlib import Path

import pytest
from tests.packet.made import KEY, OPTIONS, Scored, every_file, json_of, nonce, rows_of, scored, write_run

from vestige.audits.verification.adjudication import Adjudication, append_adjudication
from vestige.audits.verification.settings import CONDITIONS, EXPOSED
from vestige.errors import ConfigError, IntegrityError
from vestige.packet.contents import HOLDS
from vestige.packet.keyed import Keyed
from vestige.packet.sums import parse_manifest
from vestige.runs.folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(tmp_path_factory.mktemp("run") / "r", leaks=True)


@pytest.fixture(scope="module")
def packet(run: Scored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.seal(tmp_path_factory.mktemp("sealed") / "packet", zip=True)


def by_hand(purpose: str, text: str) -> str:
    """The code of a text, as the docstring defines it."""
    return hmac.new(KEY, b"vestige 1\0%s\0%s" % (purpose.encode(), text.encode()), hashlib.sha256).hexdigest()


def test_it_holds_what_it_lists(packet: Path) -> None:
    assert {p.name for p in (packet / "public").iterdir()} == set(HOLDS)
    assert {p.name for p in packet.iterdir()} == {"ROOT", "MANIFEST", "public", "restricted"}
    restricted = {p.name for p in (packet / "restricted").iterdir()}
    assert {"MANIFEST", "key", "plan.json", "records-0000.jsonl", "blobs", "payloads.json"} <= restricted
    assert set(json_of(packet, "packet.json")["public"]) == set(HOLDS)


def test_the_root_is_the_manifest_s_sum(packet: Path) -> None:
    manifest = (packet / "MANIFEST").read_bytes()
    assert (packet / "ROOT").read_text() == f"{hashlib.sha256(manifest).hexdigest()}  MANIFEST\n"
    for name, value in parse_manifest(manifest).items():
        assert hashlib.sha256((packet / name).read_bytes()).hexdigest() == value


def test_no_plain_sum_of_a_restricted_file_stands_outside(packet: Path) -> None:
    """A session that holds one unknown canary could be guessed from its SHA-256."""
    outside = b"".join(d for n, d in every_file(packet).items() if not n.startswith("restricted/"))
    for path in (packet / "restricted").rglob("*"):
        if path.is_file() and path.name != "MANIFEST":
            assert hashlib.sha256(path.read_bytes()).hexdigest().encode() not in outside
            assert len(path.stem) < 64 or path.stem.encode() not in outside


def test_the_restricted_part_is_for_its_owner_alone(packet: Path) -> None:
    for path in (packet / "restricted").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert stat.S_IMODE((packet / "restricted").stat().st_mode) == 0o700


def test_no_text_of_the_run_is_public(packet: Path) -> None:
    public = b"".join(d for n, d in every_file(packet).items() if not n.startswith("restricted/")).lower()
    secrets = [nonce(n, c) for n in (0, 1) for c in EXPOSED]
    secrets += [name for pair in OPTIONS for name in pair]
    texts = ["I have a dog called Rex", "Ulvatov", "QQA-AMBER-0000", "What is my", "store.db", KEY.hex()]
    for text in (*secrets, *texts):
        assert text.lower().encode() not in public


def test_targets_stand_as_their_hmac(packet: Path) -> None:
    pair = json_of(packet, "fixtures.json")["pairs"]["P000"]
    for condition in EXPOSED:
        value = nonce(0, condition)
        assert pair["targets"]["nonce"][condition] == {"hmac": by_hand("target", value), "length": len(value)}
    assert pair["targets"]["preference"]["favoured"]["hmac"] == by_hand("target", OPTIONS[0][0])
    payloads = json.loads((packet / "restricted" / "payloads.json").read_bytes())
    assert payloads[by_hand("target", nonce(1, "full_reset"))] == {
        "pair": "P001",
        "target": "nonce",
        "role": "full_reset",
        "value": nonce(1, "full_reset"),
    }


def test_every_observed_item_has_a_line(packet: Path) -> None:
    rows = rows_of(packet, "observations.jsonl")
    answers = [r for r in rows if r["channel"] == "answer"]
    assert len(answers) == 2 * 5 * 4
    (leak,) = [
        r for r in answers if r["episode"] == "P000/exposed_removed" and r["probe"] == "P000/recall-nonce-0"
    ]
    text = f"It is {nonce(0, 'exposed_removed')}."
    assert leak["texts"]["text"] == {"hmac": by_hand("text", text), "length": len(text)}
    assert (leak["phase"], leak["target"]) == ("after", "nonce")
    retrieved = [r for r in rows if r["channel"] == "retrieval"]
    assert len(retrieved) == len(answers)
    assert {r["kind"] for r in rows} >= {"exchange", "artifacts", "scan", "receipt", "waited", "description"}


def test_receipts_tell_what_was_said_and_looked_for(packet: Path) -> None:
    rows = [r for r in rows_of(packet, "receipts.jsonl") if r["episode"] == "P000/exposed_removed"]
    kinds = {r["kind"]: r for r in rows}
    message = f"Removed {nonce(0, 'exposed_removed')}."
    assert kinds["receipt"]["message"] == {"hmac": by_hand("text", message), "length": len(message)}
    assert kinds["receipt"]["affected"] == {"other": 2, "raw": 1}
    waited = kinds["waited"]
    assert [waited[n] for n in ("completed", "visible_absence", "physical_cleanup")] == [0.1, 0.2, None]
    assert kinds["absence_check"]["found"] == {"nonce:verbatim": 1}


def test_the_packet_says_what_is_not_in_it(packet: Path) -> None:
    found = json_of(packet, "packet.json")
    assert found["format"] == 1
    assert {"what": "channel logs (erasure)", "why": "absent: keeps no log"} in found["excluded"] or any(
        e["what"].startswith("channel ") for e in found["excluded"]
    )
    assert found["reintroduction"]
    assert any("signature" in limit for limit in found["limits"])


def test_scoring_and_manifests_name_everything(packet: Path) -> None:
    scoring, manifests = json_of(packet, "scoring.json"), json_of(packet, "manifests.json")
    assert scoring["normalisations"] == ["verbatim", "case", "whitespace", "separators", "unicode"]
    assert scoring["settings"]["leakage_bound"] == 0.05
    assert scoring["uncertainty"]["unit"] == "pair"
    for part in ("model", "instructions", "retrieval", "tools", "sources", "sampling", "software"):
        assert manifests[part]
    assert manifests["sources"]["data"]["sha256"] == "0" * 64
    assert manifests["software"]["run"] == [{"vestige": "0.1.0", "python": "3.11", "platform": "Linux"}]


def test_the_same_key_gives_the_same_bytes(run: Scored, packet: Path, tmp_path: Path) -> None:
    again = run.seal(tmp_path / "again", zip=True)
    assert every_file(again) == every_file(packet)
    assert again.with_name("again.zip").read_bytes() == packet.with_name("packet.zip").read_bytes()


def test_keys_are_random_otherwise(run: Scored, tmp_path: Path) -> None:
    roots = {run.seal(tmp_path / str(i), key=None).joinpath("ROOT").read_bytes() for i in range(2)}
    assert len(roots) == 2


def test_a_packet_is_not_written_over(run: Scored, tmp_path: Path) -> None:
    out = run.seal(tmp_path / "packet")
    before = every_file(out)
    with pytest.raises(ConfigError, match="exists already"):
        run.seal(out)
    assert every_file(out) == before
    run.seal(out, key=KEY[::-1], replace=True)
    assert every_file(out) != before
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        run.seal(tmp_path / "folder", replace=True)
    assert {p.name for p in tmp_path.iterdir()} == {"packet", "folder"}


# --------------------------------------------------------------------------------------------------- leaks


def test_a_report_with_a_target_in_it_is_refused_by_its_name(run: Scored, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    for text in (nonce(0, "exposed_removed").lower(), OPTIONS[1][0], nonce(1, "full_reset").encode().hex()):
        report.write_text(f"<p>seen: {text}</p>")
        with pytest.raises(IntegrityError) as caught:
            run.seal(tmp_path / "packet", reports=[report])
        assert "public/report.html" in str(caught.value)
        assert text not in str(caught.value)
        assert not (tmp_path / "packet").exists()
    report.write_text("<p>seen: [canary]</p>")
    packet = run.seal(tmp_path / "packet", reports=[report])
    assert (packet / "public" / "report.html").read_text() == "<p>seen: [canary]</p>"
    assert "report.html" in json_of(packet, "packet.json")["public"]


@pytest.mark.parametrize("name", ["page.html", "report.exe", "report x.html"])
def test_a_report_has_a_report_s_name(run: Scored, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(ConfigError, match="report"):
        run.seal(tmp_path / "packet", reports=[tmp_path / name])


def test_an_agent_that_describes_itself_with_a_target_is_refused(run: Scored, tmp_path: Path) -> None:
    description = run.brief.description
    assert description is not None
    told = description.model_copy(update={"version": f"1 ({OPTIONS[0][0].upper()})"})
    with pytest.raises(IntegrityError, match=r"public/(brief|manifests)\.json would hold"):
        run.seal(tmp_path / "packet", brief=run.brief.model_copy(update={"description": told}))


def test_nonces_in_reasons_and_plain_hashes_of_texts_are_replaced(tmp_path: Path) -> None:
    keyed = Keyed(KEY, [nonce(0, "exposed_removed")])
    value = nonce(0, "exposed_removed")
    hashed = hashlib.sha256(value.encode()).hexdigest()
    found = keyed.redacted(
        {
            "reason": f"the server said {value}!",
            "payload": hashed,
            "message_sha256": "a" * 64,
        },
        hashes=True,
    )
    code = f"hmac-sha256:{by_hand('target', value)}"
    assert found == {
        "reason": f"the server said {code}!",
        "payload": code,
        "message_sha256": f"hmac-sha256:{by_hand('sha256', 'a' * 64)}",
    }
    assert keyed.redacted({"data_sha256": "b" * 64}) == {"data_sha256": "b" * 64}


def test_findings_hold_no_plain_hash_of_a_message(packet: Path, run: Scored) -> None:
    """ "Removed XQ7-VIOLET-3829." has few enough readings to be guessed from its SHA-256."""
    plain = [f.values["message_sha256"] for f in run.findings if f.kind.startswith("receipt")]
    assert plain
    public = (packet / "public" / "findings.jsonl").read_text()
    assert not any(str(p) in public for p in plain)


def test_a_decision_s_reason_is_masked(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r")
    append_adjudication(
        folder.path,
        Adjudication(
            finding="0" * 16,
            reviewer="Ada",
            decision="confirmed",
            reason=f"it says {nonce(0, 'exposed_removed')}",
        ),
    )
    packet = Scored(RunFolder.open(folder.path)).seal(tmp_path / "packet")
    (row,) = rows_of(packet, "adjudications.jsonl")
    assert (row["reviewer"], row["reason"]) == ("Ada", "it says [canary]")
    assert nonce(0, "exposed_removed") in (packet / "restricted" / "adjudications.jsonl").read_text()


def test_a_result_that_does_not_follow_is_not_sealed(run: Scored, tmp_path: Path) -> None:
    better = run.result.model_copy(update={"verdict": "limited_evidence"})
    with pytest.raises(IntegrityError, match="does not pass its own check"):
        run.seal(tmp_path / "packet", result=better)
    assert list(tmp_path.iterdir()) == []


def test_five_arms_were_written(run: Scored) -> None:
    assert {f.episode.partition("/")[2] for f in run.findings} == set(CONDITIONS)
    assert run.result.verdict == "fails"
