"""Numbers, states and verdicts decide; sentences that another version words otherwise are told and fail nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.packet.made import Scored, json_of, scored
from tests.packet.test_check import edit, resum, rewrite
from typer.testing import CliRunner

from vestige.cli.main import app
from vestige.packet.check import check
from vestige.packet.compare import Difference, Prose, differences, row_differences
from vestige.packet.contents import PROSE
from vestige.packet.diff import diff
from vestige.report.verification.gather import gather, waits
from vestige.report.verification.writing import write_verification

STATEMENT = Prose(names=frozenset({"statement"}))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(tmp_path_factory.mktemp("run") / "r", leaks=True)


@pytest.fixture(scope="module")
def sealed(run: Scored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    paths = write_verification(
        run.result,
        ledger=run.ledger,
        episodes=gather(run.folder, run.findings),
        waited=waits(run.folder),
        folder=folder / "reports",
    )
    return run.seal(folder / "packet", reports=[paths.html, paths.markdown, paths.json])


@pytest.fixture
def packet(sealed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed, tmp_path / "packet"))


def reworded(value: Any, prose: Prose, place: str = "") -> Any:
    """Every sentence put otherwise, as another version would."""
    if isinstance(value, str) and prose.at(place):
        return f"To put it otherwise: {value}"
    if isinstance(value, dict):
        return {k: reworded(v, prose, f"{place}.{k}" if place else k) for k, v in value.items()}
    if isinstance(value, list):
        return [reworded(v, prose, place) for v in value]
    return value


def lines(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        rows = [change(json.loads(line)) for line in data.splitlines()]
        return b"".join(json.dumps(row, sort_keys=True).encode() + b"\n" for row in rows)

    return changed


def whole(prose: Prose) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps(reworded(json.loads(data), prose), sort_keys=True).encode() + b"\n"


# ----------------------------------------------------------------------------------------------- the check


def test_a_packet_in_other_words_is_right_and_says_so(packet: Path, run: Scored) -> None:
    for name, prose in PROSE.items():
        change = lines(lambda row, p=prose: reworded(row, p)) if name.endswith(".jsonl") else whole(prose)
        path = packet / "public" / name
        path.write_bytes(change(path.read_bytes()))
    report_ = Prose(names=frozenset({"statement"}))
    path = packet / "public" / "report.json"
    path.write_bytes(whole(report_)(path.read_bytes()))
    resum(packet)
    report = check(packet)
    assert report.ok, report.problems
    assert {
        level: report.levels[level] for level in ("sums", "statistics", "verdict", "observations")
    } == dict.fromkeys(("sums", "statistics", "verdict", "observations"), "right")
    told = {note.file for note in report.notes}
    assert told >= {
        f"public/{n}" for n in ("result.json", "packet.json", "report.json", "ledger.json", "ledger.jsonl")
    }
    assert report.statement == run.result.statement  # as computed, not as the packet words it
    assert report.made_with == json_of(packet, "manifests.json")["software"]["scored"]["packages"]["vestige"]
    assert diff(packet, packet).judgement == "no_difference"


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("result.json", "notes", ["All is well."]),
        ("result.json", "statement", "All is well."),
        ("result.json", "claims.0.rules.0.reason", "as it should be"),
        ("packet.json", "statement", "All is well."),
        ("report.json", "statement", "All is well."),
        ("report.json", "claims.0.statement", "All is well."),
    ],
)
def test_other_words_are_a_note(packet: Path, name: str, place: str, value: object) -> None:
    rewrite(packet, f"public/{name}", edit(place, value))
    report = check(packet, full=False)
    assert report.ok, report.problems
    assert {note.file for note in report.notes} == {f"public/{name}"}
    assert "this version writes" in report.notes[0].what


def test_other_words_are_told_on_the_command_line_and_end_with_0(packet: Path, sealed: Path) -> None:
    rewrite(packet, "public/packet.json", edit("statement", "All is well."))
    done = CliRunner().invoke(app, ["packet", "check", str(packet)])
    assert done.exit_code == 0, done.output
    assert 'wording differs: public/packet.json: statement: says "All is well."' in done.output
    assert "made with vestige" in done.output and "computed anew" in done.output
    quiet = CliRunner().invoke(app, ["packet", "check", str(sealed)])
    assert quiet.exit_code == 0 and "wording" not in quiet.output
    rewrite(packet, "public/packet.json", edit("verdict", "unassessable"))
    assert CliRunner().invoke(app, ["packet", "check", str(packet)]).exit_code == 1


def test_words_are_covered_by_the_sums(packet: Path) -> None:
    for name in ("packet.json", "result.json", "report.json", "report.html", "report.md", "ledger.jsonl"):
        path = packet / "public" / name
        data = path.read_bytes()
        path.write_bytes(data.replace(b" the ", b" all ", 1))
        assert path.read_bytes() != data, name
        report = check(packet)
        assert not report.ok and report.levels["sums"] == "wrong"
        path.write_bytes(data)


@pytest.mark.parametrize(("old", "new"), [("fails", "is unassessable"), ("n = 2", "n = 300")])
@pytest.mark.parametrize("name", ["packet.json", "result.json", "report.json"])
def test_a_sentence_with_another_number_or_verdict_differs(
    packet: Path, run: Scored, name: str, old: str, new: str
) -> None:
    assert old in run.result.statement
    rewrite(packet, f"public/{name}", edit("statement", run.result.statement.replace(old, new)))
    report = check(packet, full=False)
    assert report.levels["verdict"] == "wrong"
    assert {p.file for p in report.problems} == {f"public/{name}"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", "out_of_scope"), ("found", {"after": 0}), ("looked", {"after": 300}), ("control", 7)],
)
def test_a_cell_of_the_ledger_differs_and_its_reason_is_words(
    packet: Path, field: str, value: object
) -> None:
    def change(name: str, to: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def changed(row: dict[str, Any]) -> dict[str, Any]:
            here = (row["target_id"], row.get("layer")) == ("P000/nonce", "answer")
            return {**row, name: to} if here else row

        return changed

    rewrite(packet, "public/ledger.jsonl", lines(change("reason", "it was looked at")))
    words = check(packet)
    assert words.ok and [n.file for n in words.notes] == ["public/ledger.jsonl"]
    assert words.notes[0].what.startswith("row layer/P000/nonce/answer: reason: says")
    rewrite(packet, "public/ledger.jsonl", lines(change(field, value)))
    report = check(packet)
    assert report.levels["observations"] == "wrong"
    assert {p.file for p in report.problems} == {"public/ledger.jsonl"}
    assert all(p.what.startswith(f"row layer/P000/nonce/answer: {field}") for p in report.problems)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"{",
        lambda data: data + b"[]\n",
        lambda data: data + data.splitlines(keepends=True)[0],
        lambda data: b"".join(data.splitlines(keepends=True)[1:]),
    ],
    ids=["empty", "torn", "half", "list", "twice", "one less"],
)
def test_rows_that_are_too_many_too_few_or_none_differ(
    packet: Path, change: Callable[[bytes], bytes]
) -> None:
    rewrite(packet, "public/ledger.jsonl", change)
    report = check(packet)
    assert {p.file for p in report.problems} == {"public/ledger.jsonl"}


def test_a_thousand_sentences_hide_no_number(packet: Path) -> None:
    """What is told is limited for each kind: words do not push a number out."""

    def changed(row: dict[str, Any]) -> dict[str, Any]:
        row = reworded(row, PROSE["ledger.jsonl"])
        return {**row, "control": row["control"] + 1} if row.get("layer") == "tier summary" else row

    rewrite(packet, "public/ledger.jsonl", lines(changed))
    report = check(packet)
    assert len(report.notes) <= 21 and report.notes[-1].what.endswith("more")
    assert len(report.problems) == 4 and all("control" in p.what for p in report.problems)


# -------------------------------------------------------------------------------------------- the sentences


def say(there: str, here: str) -> list[Difference]:
    return list(differences({"statement": there}, {"statement": here}, STATEMENT))


@pytest.mark.parametrize(
    ("there", "here", "wording"),
    [
        ("It fails: 3 of 60.", "The claim fails in 3 of 60 pairs.", True),
        ("It fails: 3 of 60.", "It fails.", True),
        ("It fails: 3 of 60.", "It fails: 0 of 60.", False),
        ("3 of 60 and 4 of 60", "4 of 60 and 3 of 60", True),
        ("3 of 60 and 3 of 60", "3 of 60 and 4 of 60", False),
        ("Limited evidence, n = 60.", "It fails, n = 60.", False),
        ("limited_evidence", "Limited evidence", True),
        ("at most 4.87 %", "at most 4.9 %", True),
        ("at most 4.87 %", "at most 0.0487", True),
        ("at most 4.87 %", "at most 9.87 %", False),
        ("0.04", "0.0", False),
        ("299 pairs", "300 pairs", False),
        ("differs by -0.05", "differs by +0.05", False),
        ("differs by −0.05", "differs by -0.05", True),
        ("with qwen2.5-coder-0.5b", "with qwen2.5-coder-1.5b", True),  # no number, and recorded elsewhere
    ],
)
def test_a_sentence_that_replaces_a_number_or_a_verdict_is_more_than_words(
    there: str, here: str, wording: bool
) -> None:
    assert [d.wording for d in say(there, here)] == [wording]
    assert [d.wording for d in say(here, there)] == [wording]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_sentences_are_compared_without_a_crash(there: str, here: str) -> None:
    found = say(there, here)
    assert bool(found) == (there != here)


@given(st.integers(0, 999), st.integers(0, 999))
def test_counts_are_compared_exactly(a: int, b: int) -> None:
    assert all(d.wording == (a == b) for d in say(f"{a} of 1000 leak.", f"It leaks in {b} of 1000."))


def test_a_field_that_the_packet_lacks_may_be_empty_here_and_nothing_else() -> None:
    assert list(differences({}, {"external_effects": []})) == []
    assert [d.place for d in differences({}, {"external_effects": ["sends mail"]})] == ["external_effects"]
    assert [d.place for d in differences({"other": []}, {})] == ["other"]


def test_rows_are_told_apart_by_their_keys() -> None:
    prose = Prose(names=frozenset({"reason"}))
    one, two = b'{"n":"a","v":1,"reason":"x"}\n', b'{"n":"b","v":1,"reason":"x"}\n'
    assert list(row_differences(one + two, two + one, ("n",), prose)) == []
    (found,) = row_differences(one, one.replace(b"1", b"2"), ("n",), prose)
    assert (found.place, found.there, found.here, found.wording) == ("row a: v", 1, 2, False)
    (found,) = row_differences(one, one.replace(b"x", b"y"), ("n",), prose)
    assert found.wording
    assert [d.wording for d in row_differences(one, two, ("n",), prose)] == [False, False]
