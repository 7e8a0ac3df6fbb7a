"""Comparing releases: the word improvement needs an observer at least as strong."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.packet.made import SETTINGS, Scored, scored, write_run
from tests.packet.test_check import rewrite

from vestige.audits.verification.results import Bound, VerificationResult
from vestige.audits.verification.settings import PHASES, Observer, VerificationSettings
from vestige.errors import IntegrityError
from vestige.packet.diff import _apart, _changes, _judgement, _verdict, diff  # pyright: ignore[reportPrivateUsage]
from vestige.packet.observer import other_question, weaker
from vestige.stats import clopper_pearson, zero_event_upper_bound


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    folder = tmp_path_factory.mktemp("runs")
    return {"leaks": scored(folder / "leaks", leaks=True), "clean": scored(folder / "clean")}


@pytest.fixture(scope="module")
def packets(runs: dict[str, Scored], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("packets")
    return {name: run.seal(folder / name, zip=True) for name, run in runs.items()}


def test_a_packet_does_not_differ_from_itself(packets: dict[str, Path]) -> None:
    found = diff(packets["leaks"], packets["leaks"].with_name("leaks.zip"))
    assert found.comparable
    assert found.judgement == "no_difference"
    assert {c.direction for c in found.changes} == {"same"}
    assert found.a_root == found.b_root


def test_a_release_that_leaks_where_the_one_before_did_not_is_worse(packets: dict[str, Path]) -> None:
    found = diff(packets["clean"], packets["leaks"])
    assert found.judgement == "regression"
    (verdict,) = [c for c in found.changes if c.what == "verdict"]
    assert (verdict.a, verdict.b, verdict.direction) == ("unassessable", "fails", "worse")


def test_from_fails_to_unassessable_is_no_improvement(packets: dict[str, Path]) -> None:
    found = diff(packets["leaks"], packets["clean"])
    assert found.judgement == "no_difference"
    assert "improvement" not in found.statement


def test_a_damaged_packet_is_not_compared(
    packets: dict[str, Path], runs: dict[str, Scored], tmp_path: Path
) -> None:
    packet = runs["clean"].seal(tmp_path / "packet")
    (packet / "public" / "result.json").write_bytes(b"{}")
    with pytest.raises(IntegrityError, match=r"not compared: public/result\.json: was changed"):
        diff(packets["leaks"], packet)


def test_states_of_the_ledger_that_changed_are_told_and_decide_nothing(
    packets: dict[str, Path], tmp_path: Path
) -> None:
    folder = write_run(tmp_path / "run")
    records = folder.path / "records-0000.jsonl"
    told = b'"absent":{"reasoning":"it has none"}'
    records.write_bytes(records.read_bytes().replace(b'"absent":{"logs":"keeps no log"}', told))
    other = Scored(folder).seal(tmp_path / "packet")
    found = diff(packets["clean"], other)
    states = {c.what: (c.a, c.b, c.direction) for c in found.changes if c.what.startswith("ledger, ")}
    assert states["ledger, nonce, reasoning"] == ("blocked", "out_of_scope", "other")
    assert states["ledger, nonce, answer"] == ("observed", "observed", "same")
    assert found.judgement == "no_difference"


@pytest.mark.parametrize("data", [b"[]", b"3", b"[3]", b'[{"target": 3}]', b'[{"target":"a","layer":"b"}]'])
def test_a_ledger_of_something_else_is_no_crash(
    packets: dict[str, Path], tmp_path: Path, data: bytes
) -> None:
    packet = Path(shutil.copytree(packets["clean"], tmp_path / "packet"))
    rewrite(packet, "public/ledger.json", lambda _: data)
    found = diff(packet, packets["clean"])
    assert all(c.a == "no row" for c in found.changes if c.what.startswith("ledger, "))
    rewrite(packet, "public/ledger.json", lambda _: b"[" * 100_000)
    with pytest.raises(IntegrityError, match="is no JSON"):
        diff(packet, packets["clean"])


def changed(result: VerificationResult, **observer: Any) -> VerificationResult:
    top = {k: observer.pop(k) for k in list(observer) if k not in Observer.model_fields}
    settings = result.settings.model_copy(
        update={**top, "observer": result.settings.observer.model_copy(update=observer)}
    )
    return result.model_copy(update={"settings": settings})


WEAKER: dict[str, dict[str, Any]] = {
    "recall probes": {"recall_probes": 0},
    "choice probes": {"choice_probes": 0},
    "structured probes": {"structured_probes": False},
    "horizon": {"horizon": 0},
    "max tokens": {"max_tokens": 10},
    "normalisations": {"normalisations": ("case",)},
    "targets": {"targets": ("nonce",)},
    "conditions": {"conditions": ("never_exposed", "exposed_unchanged", "exposed_removed")},
    "alpha": {"alpha": 0.1},
    "margin": {"margin": 0.2},
    "leakage bound": {"leakage_bound": 0.1},
    "sensitivity": {"sensitivity": 0.2},
    "utility margin": {"utility_margin": 0.3},
    "collapse": {"collapse": 0.9},
    "pending limit": {"pending_limit": 300.0},
    "maintain": {"maintain": False},
}
PHASE_SETS = (frozenset(PHASES), frozenset(PHASES))


@pytest.mark.parametrize("what", WEAKER)
def test_a_weaker_observer_is_named_and_a_stronger_one_is_not(runs: dict[str, Scored], what: str) -> None:
    one = runs["clean"].result
    other = changed(one, **WEAKER[what])
    (reason,) = weaker(one, other, PHASE_SETS)
    assert reason.startswith(f"{what}: ")
    assert list(weaker(other, one, PHASE_SETS)) == []


def test_fewer_pairs_phases_and_channels_are_weaker(runs: dict[str, Scored]) -> None:
    one = runs["clean"].result
    assert list(weaker(one, one.model_copy(update={"distinct_pairs": 1}), PHASE_SETS)) == [
        "pairs: 2 in A, 1 in B"
    ]
    fewer = (frozenset(PHASES), frozenset(PHASES) - {"delayed"})
    assert list(weaker(one, one, fewer)) == ["phases: not in B: delayed"]
    (claim,) = one.claims
    assert "answer" in claim.covered
    blind = claim.model_copy(update={"covered": ()})
    (reason,) = weaker(one, one.model_copy(update={"claims": (blind,)}), PHASE_SETS)
    assert reason.startswith("covered channels of non-use: not in B: answer")


def test_another_question_is_no_comparison(runs: dict[str, Scored]) -> None:
    one = runs["clean"].result
    assert list(other_question(one, changed(one, task="correction"))) == [
        "task: withdrawal in A, correction in B"
    ]
    (reason,) = other_question(one, one.model_copy(update={"data_sha256": "1" * 64}))
    assert reason.startswith("data: ")


@pytest.mark.parametrize(
    ("a", "b", "direction"),
    [
        ("fails", "limited_evidence", "better"),
        ("unassessable", "limited_evidence", "better"),
        ("limited_evidence", "fails", "worse"),
        ("limited_evidence", "unassessable", "worse"),
        ("unassessable", "fails", "worse"),
        ("fails", "unassessable", "other"),
        ("fails", "fails", "same"),
    ],
)
def test_which_verdict_is_better(a: str, b: str, direction: str) -> None:
    assert _verdict("verdict", a, b).direction == direction


def rate(events: int, n: int) -> Bound:
    exact = clopper_pearson(events, n)
    return Bound(
        value=events / n,
        n=n,
        events=events,
        exact=(exact.low, exact.high),
        upper=zero_event_upper_bound(n),
        method="exact",
    )


@pytest.mark.parametrize(
    ("a", "b", "direction"),
    [
        ((50, 100), (0, 100), "better"),
        ((0, 100), (50, 100), "worse"),
        ((3, 100), (1, 100), "not_told_apart"),
        ((1, 100), (1, 100), "same"),
    ],
)
def test_rates_differ_where_their_intervals_do(
    a: tuple[int, int], b: tuple[int, int], direction: str
) -> None:
    assert _apart(rate(*a), rate(*b), less_is_better=True) == direction


@pytest.mark.parametrize(
    ("better", "worse", "refused", "judgement"),
    [
        (True, False, False, "improvement"),
        (True, False, True, "refused"),
        (True, True, True, "mixed"),
        (False, True, True, "regression"),
        (False, False, True, "no_difference"),
    ],
)
def test_the_word_is_refused_where_the_observer_is_weaker(
    better: bool, worse: bool, refused: bool, judgement: str
) -> None:
    assert _judgement(better, worse, refused) == judgement


def test_settings_that_differ_are_shown(runs: dict[str, Scored]) -> None:
    one = runs["clean"].result
    shown = {
        c.what: (c.a, c.b)
        for c in _changes(one, changed(one, margin=0.2, horizon=3))
        if c.direction == "other"
    }
    assert shown == {"setting margin": ("0.1", "0.2"), "observer horizon": ("1", "3")}
    assert isinstance(SETTINGS, VerificationSettings)


def test_targets_that_were_tested_again_are_named(runs: dict[str, Scored], packets: dict[str, Path]) -> None:
    from vestige.packet.diff import _loaded, _retested  # pyright: ignore[reportPrivateUsage]

    one, two = _loaded(packets["leaks"]), _loaded(packets["clean"])
    assert _retested(one, two) == ()
    two.previous = [{"root": one.root, "pairs": ["P001", "P777"]}, {"root": "other", "pairs": ["P000"]}]
    assert _retested(one, two) == ("P001",)
    assert diff(packets["leaks"], packets["clean"]).not_retested == ("P000", "P001")
