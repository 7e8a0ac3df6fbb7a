"""The same plan gives the same bytes, whatever the order of execution; another seed gives another study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.echo import Echo
from tests.helpers.studies import Ran, options, people, run

from vestige import studying
from vestige.audits.study import Fixture
from vestige.canaries import GRAMMAR


def findings(made: Ran) -> bytes:
    return (made.path / "findings.jsonl").read_bytes()


@pytest.mark.parametrize("audit", ["frontier", "residue"])
def test_one_at_a_time_or_eight_at_once(tmp_path: Path, audit: str) -> None:
    """The server takes a different time for each reply, so eight at once end in another order than they began."""
    with Echo(delay=0.01) as server:
        given: dict[str, Any] = {"model": server.model, "levels": "0,1", "k": "1,3"}
        alone = run(audit, tmp_path / "a", people(4), concurrency=1, **given)
        together = run(audit, tmp_path / "b", people(4), concurrency=8, **given)
    assert alone.plan.sha256 == together.plan.sha256
    assert alone.bytes == together.bytes
    assert findings(alone) == findings(together)
    order = [(made.path / "records-0000.jsonl").read_bytes() for made in (alone, together)]
    assert order[0] != order[1]


def test_where_and_how_it_runs_is_no_part_of_the_plan() -> None:
    data = people(2)
    base = studying.make_plan("frontier", options(), data).plan.sha256
    for given in (
        {"concurrency": 9},
        {"out": "elsewhere"},
        {"cache": "c"},
        {"show_canaries": True},
        {"resume": True},
    ):
        assert studying.make_plan("frontier", options(**given), data).plan.sha256 == base
    for given in (
        {"seed": 1},
        {"k": "1"},
        {"model": "local/smollm2-135m"},
        {"temperature": 1},
        {"tau": "0.2"},
        {"scrub": "exact"},
    ):
        assert studying.make_plan("frontier", options(**given), data).plan.sha256 != base


def test_another_seed_plants_other_canaries() -> None:
    def planted(seed: int) -> dict[str, Fixture]:
        plan = studying.make_plan("frontier", options(seed=seed), people(6)).plan
        return {name: Fixture.model_validate(f) for name, f in plan.fixtures.items()}

    first, second = planted(0), planted(1)
    assert list(first) == list(second) and len(first) == 6
    values = [f.canary for f in (*first.values(), *second.values())]
    assert len(set(values)) == 12 and all(GRAMMAR.fullmatch(v) for v in values)
    assert planted(0) == first


def test_an_instance_s_canary_and_probes_do_not_depend_on_what_else_is_asked() -> None:
    """A study with fewer probes, levels or k is a part of the larger one, so their numbers can be compared."""
    data = people(3)
    large = studying.make_plan("frontier", options(levels="0,1,2", k="1,3,6"), data).plan
    small = studying.make_plan("residue", options(levels="1", k="3", probes="indirect"), data).plan
    assert {n: f["canary"] for n, f in large.fixtures.items()} == {
        n: f["canary"] for n, f in small.fixtures.items()
    }
    assert set(small.probes.items()) <= set(large.probes.items())


def test_the_canary_stands_where_the_fixture_says_and_nowhere_else() -> None:
    planned = studying.make_plan("frontier", options(), people(6))
    for name, raw in planned.plan.fixtures.items():
        fixture = Fixture.model_validate(raw)
        episode = next(e for e in planned.plan.episodes if e.instance == name)
        told = [json.loads(planned.blobs[s.session]) for s in episode.steps if s.do == "converse"]
        where = [
            (i, j)
            for i, session in enumerate(told)
            for j, turn in enumerate(session["turns"])
            if fixture.canary in turn["content"]
        ]
        assert where == [tuple(ref) for ref in fixture.planted_at]
        assert [told[i]["turns"][j]["role"] for i, j in where] == ["user"]
        assert (0, 0) not in where  # the evidence turn
        everything = json.dumps([json.loads(data) for data in planned.blobs.values()])
        assert everything.count(fixture.canary) == 1
