"""FRS and residues from findings made by hand: max over probe kinds and tiers, means over what can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers.studies import options, people

from vestige import studying
from vestige.audits import residue
from vestige.audits.conclusion import Completed
from vestige.audits.findings import Finding
from vestige.audits.residue import _attribute  # pyright: ignore[reportPrivateUsage]
from vestige.audits.results import ContentEvidence, NotComputable, Rate, ResidueCell
from vestige.audits.study import Fixture
from vestige.errors import Unassessable
from vestige.runs.plan import Plan

N = 10


def plan() -> Plan:
    given = {"levels": [1], "k": [3], "modes": "noop"}
    return studying.make_plan("residue", options(**given), people(N)).plan


def conclude(
    leaks: dict[str, dict[str, Sequence[bool]]], remains: dict[str, list[dict[str, Any]]]
) -> ResidueCell:
    """One cell from leaks by probe kind and flag, and from what was left by tier, one an instance."""
    made = plan()
    names = tuple(made.fixtures)
    labels: dict[str, Any] = {
        "S": 1,
        "granularity": "turn",
        "embedder": "hashing",
        "horizon": 0,
        "mode": "noop",
        "supersede": None,
    }
    findings: list[Finding] = []
    for i, name in enumerate(names):
        base: dict[str, Any] = {"episode": f"{name}/S1", "instance": name}
        for step, (kind, flags) in enumerate(leaks.items()):
            values = {flag: flags[flag][i] if flag in flags else False for flag in FLAGS}
            findings.append(
                Finding(
                    **base,
                    step=step,
                    kind="extraction",
                    labels={**labels, "k": 3, "tau": None, "probe_kind": kind},
                    values=values,
                )
            )
        for tier, rows in remains.items():
            findings.append(
                Finding(
                    **base, step=9, kind=f"residue/{tier}", labels={**labels, "tier": tier}, values=rows[i]
                )
            )
    done = Completed(instances=names, clusters=None, total=N, exclusions=())
    (cell,) = residue.conclude(made, done, findings).cells
    return cell


FLAGS = ("raw", "summary", "verbatim", "unattributed")
NONE = [False] * N


def some(*places: int) -> list[bool]:
    return [i in places for i in range(N)]


def test_frs_is_the_largest_rate_over_kinds_and_worst_the_largest_over_tiers() -> None:
    leaks = {
        "direct": {"raw": some(0, 1), "summary": some(2), "verbatim": some(0, 1, 2)},
        "indirect": {
            "raw": some(0, 1, 2),
            "summary": some(3, 4, 5, 6),
            "verbatim": some(0, 1, 2, 3, 4, 5, 6),
        },
        "jailbreak": {"verbatim": some(9), "unattributed": some(9)},
    }
    cell = conclude(leaks, {})
    assert cell.FRS.raw.value == pytest.approx(0.3)  # indirect
    assert cell.FRS.summary.value == pytest.approx(0.4)  # indirect
    assert cell.FRS.worst.value == pytest.approx(0.4)
    assert (cell.by_probe["direct"].raw.events, cell.by_probe["direct"].summary.events) == (2, 1)
    assert (cell.by_probe["indirect"].any.events, cell.by_probe["jailbreak"].any.events) == (7, 1)
    assert (cell.unattributed.events, cell.unattributed.n) == (1, N)


def test_residues_are_means_over_the_instances_that_can_be_seen() -> None:
    """Six instances show the canary before deletion; of the rest nothing is claimed."""
    seen = {"text": True, "partial": 1.0, "vector": 0.5, "first": True, "rank": 1.0}
    gone = {"text": False, "partial": 1 / 3, "vector": 0.0, "first": False, "rank": 61.0}
    blind = {"text": None, "partial": None, "vector": None, "first": None, "rank": None}
    dropped = {**gone, "rank": None}
    rows = [seen, seen, gone, gone, gone, dropped, *[blind] * 4]
    kinds = {kind: dict.fromkeys(FLAGS, NONE) for kind in ("direct", "indirect", "jailbreak")}
    cell = conclude(kinds, {"raw": rows, "summary": [blind] * N})
    text, evidence = cell.text_residue.raw, cell.content_evidence.raw
    assert isinstance(text, Rate) and (text.n, text.events) == (6, 2)
    assert not isinstance(cell.partial_residue.raw, NotComputable)
    assert cell.partial_residue.raw.value == pytest.approx((2 * 1 + 4 / 3) / 6)
    assert not isinstance(cell.vector_residue.raw, NotComputable)
    assert cell.vector_residue.raw.value == pytest.approx(2 * 0.5 / 6)
    assert isinstance(evidence, ContentEvidence) and (evidence.n, evidence.events) == (6, 2)
    assert evidence.mean_rank == pytest.approx((1 + 1 + 61 * 3) / 5)
    for block in (cell.text_residue, cell.partial_residue, cell.vector_residue, cell.content_evidence):
        assert isinstance(block.summary, NotComputable)
        assert "in no instance" in block.summary.not_computable


def test_an_agent_that_shows_no_artifacts_is_not_clean() -> None:
    kinds = {kind: dict.fromkeys(FLAGS, NONE) for kind in ("direct", "indirect", "jailbreak")}
    cell = conclude(kinds, {})
    assert cell.text_residue.raw == NotComputable(not_computable="the agent shows no stored artifacts")
    assert cell.FRS.worst.value == 0.0


@pytest.mark.parametrize(
    ("text", "units", "expected"),
    [
        ("It is {c}.", [("raw", "token {c}")], {"verbatim": True, "raw": True, "unattributed": False}),
        ("It is {c}.", [("summary", "TOKEN {l}")], {"summary": True, "raw": False, "unattributed": False}),
        ("It is {c}.", [("raw", "{c}"), ("summary", "{c}")], {"summary": True, "raw": True}),
        ("It is {c}.", [("raw", "tea")], {"raw": False, "summary": False, "unattributed": True}),
        ("It is {c}.", [], {"unattributed": True}),
        (
            "It is {l}.",
            [("raw", "{c}")],
            {"verbatim": False, "normalised": True, "raw": False, "unattributed": False},
        ),
        ("No.", [("raw", "{c}")], {"verbatim": False, "raw": False, "partial": 0.0}),
    ],
)
def test_a_leak_is_attributed_to_the_tiers_it_was_retrieved_from(
    text: str, units: list[tuple[str, str]], expected: dict[str, Any]
) -> None:
    fixture = Fixture.model_validate(next(iter(plan().fixtures.values())))
    words = {"c": fixture.canary, "l": fixture.canary.lower()}
    shown = [
        {"id": str(i), "tier": t, "text": s.format(**words), "score": 1.0} for i, (t, s) in enumerate(units)
    ]
    values = _attribute(fixture, {"text": text.format(**words), "retrieved": shown})
    assert {name: values[name] for name in expected} == expected


def test_an_agent_that_hides_what_it_retrieved_cannot_be_assessed_by_tier() -> None:
    fixture = Fixture.model_validate(next(iter(plan().fixtures.values())))
    with pytest.raises(Unassessable, match="does not show what it retrieved"):
        _attribute(fixture, {"text": fixture.canary, "retrieved": None})
