"""A table of arrays from findings: every number at its place, whatever the order and whatever is missing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.audits.findings import Finding
from vestige.audits.membership.evidence import EXACT, NORMALISED, TERMS, Table, exchange_values
from vestige.audits.membership.settings import QuestionSet
from vestige.errors import IntegrityError
from vestige.records import Reply, RetrievedUnit, TokenLogprob

SIZES: dict[QuestionSet, int] = {"recall": 3, "naive": 1}


def candidate(name: str, values: dict[str, Any], *, repeat: int = 0, member: bool = True) -> Finding:
    labels = {
        "candidate": name,
        "user": name[0],
        "member": member,
        "unit_kind": "plain",
        "repeat": repeat,
    }
    return Finding(
        episode=f"{name[0]}/0", instance=name[0], step=2, kind="candidate", labels=labels, values=values
    )


values = st.dictionaries(
    st.sampled_from(
        [f"{q}:{t}" for q in ("recall-0", "recall-1", "recall-2", "naive-0") for t in (*TERMS, "m1", "m2")]
    ),
    st.floats(-5, 5),
    max_size=20,
)
shown = st.dictionaries(
    st.sampled_from([f"{q}:m" for q in ("recall-0", "recall-2", "naive-0")]), st.integers(0, 3)
)


@given(st.lists(st.tuples(values, shown), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_every_number_stands_at_its_place(rows: list[tuple[dict, dict]], shuffled: random.Random) -> None:
    findings = [candidate(f"{'ab'[i % 2]}{i}", v | m, repeat=i % 2) for i, (v, m) in enumerate(rows)]
    by_name = {str(f.labels["candidate"]): f.values for f in findings}
    shuffled.shuffle(findings)
    table = Table.of(findings, SIZES)
    assert table.candidates == sorted(by_name)
    for row, name in enumerate(table.candidates):
        for set_name, size in SIZES.items():
            held = table.sets[set_name]
            for number in range(size):
                prefix = f"{set_name}-{number}:"
                own = by_name[name]
                for term in TERMS:
                    assert held.terms[term][row, number] == own.get(prefix + term, np.nan) or (
                        np.isnan(held.terms[term][row, number]) and prefix + term not in own
                    )
                seen = [
                    own[f"{prefix}m{k}"]
                    for k in range(1, int(own.get(prefix + "m", 0)) + 1)
                    if f"{prefix}m{k}" in own
                ]
                kept = held.memory[row, number]
                assert list(kept[: len(seen)]) == seen and np.isnan(kept[len(seen) :]).all()
                if prefix + "m" in own:
                    assert held.found[row, number] == len(seen)
                else:
                    assert np.isnan(held.found[row, number])


def test_nothing_found_and_not_shown_are_two_things() -> None:
    table = Table.of([candidate("a1", {"naive-0:m": 0})], SIZES)
    assert table.sets["naive"].found[0, 0] == 0 and np.isnan(table.sets["recall"].found).all()
    assert table.sets["naive"].memory.shape == (1, 1, 0)


def test_no_finding_is_an_empty_table() -> None:
    table = Table.of([], SIZES)
    assert table.candidates == [] and table.sets["recall"].terms["p"].shape == (0, 3)
    assert table.sets["recall"].memory.shape == (0, 3, 0) and len(table.member) == 0


def test_a_candidate_that_stands_there_twice_or_without_its_label_is_refused() -> None:
    with pytest.raises(IntegrityError, match="'a1' stands in the findings twice"):
        Table.of([candidate("a1", {}), candidate("a1", {})], SIZES)
    Table.of([candidate("a1", {}), candidate("a1", {}, repeat=1)], SIZES)
    bare = candidate("a1", {}).model_copy(update={"labels": {"candidate": "a1", "repeat": 0, "member": 1}})
    with pytest.raises(IntegrityError, match="lacks its name, its repeat or its label"):
        Table.of([bare], SIZES)


def test_an_exchange_gives_what_was_seen_and_nothing_else() -> None:
    assert exchange_values("recall-0", Reply(text="x"), {}) == {}
    reply = Reply(
        text="x y",
        logprobs=tuple(TokenLogprob(token="t", logprob=float(-i)) for i in range(1, 11)),
        retrieved=tuple(RetrievedUnit(id=str(i), tier="raw", text="t", score=1.0) for i in range(4)),
    )
    measured = {
        "response": {"key": 0.5, "similarity": float("nan"), "hedged": True},
        "memory": [
            {"exact": True, "similarity": 1.0},
            {"normalised": True},
            {"similarity": 0.25},
            {"score": 0.67},
        ],
    }
    assert exchange_values("recall-0", reply, measured) == {
        "recall-0:key": 0.5,
        "recall-0:hedge": 1.0,
        "recall-0:p": -5.5,
        "recall-0:min": -9.5,
        "recall-0:m": 4.0,
        "recall-0:m1": EXACT,
        "recall-0:m2": NORMALISED,
        "recall-0:m3": 0.25,
        "recall-0:m4": 0.67,
    }
    assert exchange_values("recall-0", Reply(text="", logprobs=(), retrieved=()), {}) == {"recall-0:m": 0.0}
