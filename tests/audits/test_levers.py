"""The levers beyond S and k: every combination is one row, with its own labels and its own state."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.studies import Ran, people, run

from vestige.records import JsonScalar
from vestige.runs.store import read_lines


def retrieved(made: Ran, **labels: JsonScalar) -> list[int]:
    """How many units each exchange of some rows was answered from."""
    plan = {e.id: e for e in made.plan.episodes}
    found: list[int] = []
    for line in read_lines(made.path):
        if line.kind == "exchange":
            has: dict[str, Any] = {**plan[line.episode].labels, **line.labels}
            if all(has[name] == value for name, value in labels.items()):
                found.append(len(line.body["reply"]["retrieved"]))
    assert found
    return found


def test_every_combination_is_one_row(tmp_path: Path) -> None:
    made = run(
        "frontier",
        tmp_path / "r",
        people(6),
        instances=2,
        levels="0,1",
        k="1,3",
        tau="none,0.3",
        granularity="turn,sentence",
        horizon="0,2",
    )
    rows = [(c.S, c.k, c.tau, c.granularity, c.horizon) for c in made.frontier.configurations]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(product((0, 1), (1, 3), (None, 0.3), ("turn", "sentence"), (0, 2)))
    assert {c.embedder for c in made.frontier.configurations} == {"hashing"}
    levels = [(r.S, r.tau, r.granularity, r.horizon) for r in made.frontier.levels]
    assert len(levels) == len(set(levels)) == 2 * 2 * 2 * 2
    assert (
        len(made.plan.episodes) == 2 * 2 * 2 * 2
    )  # instances x S x granularity x horizon: k and τ meet one state
    for row in made.frontier.levels:
        own = [
            c
            for c in made.frontier.configurations
            if (c.S, c.tau, c.granularity, c.horizon) == (row.S, row.tau, row.granularity, row.horizon)
        ]
        assert row.PR.value == pytest.approx(sum(c.PR.value for c in own) / 2)
        if row.S:
            base = next(
                r
                for r in made.frontier.levels
                if r.S == 0 and (r.tau, r.granularity, r.horizon) == (row.tau, row.granularity, row.horizon)
            )
            assert row.laundering is not None
            assert row.laundering.value == pytest.approx(base.AER_max.value - row.AER_max.value)


def test_a_threshold_leaves_units_out(tmp_path: Path) -> None:
    made = run("frontier", tmp_path / "r", people(3), levels="0", k="3", tau="none,0.99")
    assert set(retrieved(made, tau=None)) == {3}
    assert set(retrieved(made, tau=0.99)) == {0}
    open_, closed = made.frontier.configurations
    assert (open_.tau, closed.tau) == (None, 0.99)
    assert open_.AER.max.value == 1.0 and closed.AER.max.value == 0.0
    assert closed.PR.value == 0.0  # a memory that shows nothing answers nothing


def test_k_is_how_many_units_are_shown(tmp_path: Path) -> None:
    made = run("frontier", tmp_path / "r", people(2), levels="0", k="1,2,25")
    for k, shown in ((1, 1), (2, 2), (25, 4)):
        assert set(retrieved(made, k=k)) == {shown}


def test_sentences_are_smaller_units_than_turns(tmp_path: Path) -> None:
    """The planted sentence stands in a unit of its own, so that one unit more is stored."""
    made = run(
        "frontier", tmp_path / "r", people(2), levels="0", k="25", granularity="turn,sentence,tokens:4"
    )
    turns, sentences, tokens = (retrieved(made, granularity=g)[0] for g in ("turn", "sentence", "tokens:4"))
    assert (turns, sentences) == (4, 5) and tokens > sentences


def test_the_horizon_adds_what_stands_between(tmp_path: Path) -> None:
    made = run("frontier", tmp_path / "r", people(6), instances=3, levels="0", k="25", horizon="0,3")
    assert set(retrieved(made, horizon=0)) == {4} and set(retrieved(made, horizon=3)) == {4 + 3 * 2}


def test_levers_in_the_ladder(tmp_path: Path) -> None:
    made = run(
        "residue",
        tmp_path / "r",
        people(2),
        levels="0",
        k="3",
        tau="none,0.99",
        granularity="turn,sentence",
        modes="noop,full_purge",
    )
    rows = [(c.tau, c.granularity, c.mode) for c in made.residue.cells]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(product((None, 0.99), ("turn", "sentence"), ("noop", "full_purge")))
    for cell in made.residue.cells:
        assert cell.FRS.worst.value == (1.0 if (cell.tau, cell.mode) == (None, "noop") else 0.0)
        # τ hides a unit from retrieval; it is stored all the same.
        assert getattr(cell.text_residue.raw, "value", None) == (1.0 if cell.mode == "noop" else 0.0)


def test_both_tiers_are_searched_where_asked(tmp_path: Path) -> None:
    made = run(
        "residue", tmp_path / "r", people(3), levels="1", k="10", retrieve_from="both", modes="noop,raw_only"
    )
    noop, raw_only = made.residue.cells
    assert noop.FRS.raw.value == noop.FRS.summary.value == 1.0
    assert (raw_only.FRS.raw.value, raw_only.FRS.summary.value) == (0.0, 1.0)


@pytest.mark.model("minilm")
def test_two_embedders(tmp_path: Path) -> None:
    made = run(
        "residue",
        tmp_path / "r",
        people(2),
        levels="0",
        k="1",
        embedder="hashing,minilm",
        modes="noop,raw_only",
    )
    assert [(c.embedder, c.mode) for c in made.residue.cells] == [
        (e, m) for e in ("hashing", "minilm") for m in ("noop", "raw_only")
    ]
    assert made.result.embedder == "hashing"
    stale = [getattr(c.vector_residue.raw, "value", None) for c in made.residue.cells]
    assert stale == [0.0, 1.0, 0.0, 1.0]
