"""What one pass showed of each candidate: written as one flat finding, read back as arrays.

A candidate's values stand under `QUESTION:TERM`, a question being its set and number (`recall-0`):

    r     judged reply: 0, 0.33, 0.67, 1 from a model; absent where cut-offs decide
    key   share of the key value's words that the reply holds and the question did not
    sim   similarity of the reply with the statement; of a yes/no question absent
    hedge 1 where the reply hedges or says that it does not know
    a     of a yes/no question: 1 the expected answer, -1 "I don't know", 0 any other
    block 1 where a filter put its own sentence in the reply's place
    p     mean log-probability of the reply's tokens
    min   mean of its lowest fifth
    m1…   each retrieved unit, best first: the model's score; or without a model 3 where it equals the statement, 2
          where it does after normalisation, else its similarity. `m` is their number, 0 where nothing was retrieved
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vestige.attacks.terms import mean_logprob, mink_raw
from vestige.audits.findings import Finding
from vestige.audits.membership.settings import QuestionSet
from vestige.errors import IntegrityError
from vestige.records import JsonScalar, Reply

__all__ = ["EXACT", "NORMALISED", "TERMS", "Table", "exchange_values"]

Floats = NDArray[np.float64]

TERMS = ("r", "key", "sim", "hedge", "a", "p", "min", "block")
EXACT, NORMALISED = 3.0, 2.0
"""Of a retrieved unit, without a model: above any similarity."""


def exchange_values(question: str, reply: Reply, measured: Mapping[str, Any]) -> dict[str, JsonScalar]:
    """The values of one exchange.

    Args:
        question: Its id: `recall-0`.
        reply: What the agent answered.
        measured: What the scorers said during the run: `response`, and `memory`, a list over the retrieved units.
    """
    out: dict[str, JsonScalar] = {}

    def put(term: str, value: Any) -> None:
        if value is not None and value == value:  # NaN is nothing
            out[f"{question}:{term}"] = round(float(value), 6)

    response: Mapping[str, Any] = measured.get("response") or {}
    for term, name in (
        ("r", "score"),
        ("key", "key"),
        ("sim", "similarity"),
        ("hedge", "hedged"),
        ("a", "agrees"),
    ):
        put(term, response.get(name))
    if reply.finish_reason == "content_filter":
        put("block", 1)
    if reply.logprobs is not None:
        logprobs = np.array([t.logprob for t in reply.logprobs], dtype=float)
        put("p", mean_logprob(logprobs))
        put("min", mink_raw(logprobs))
    if reply.retrieved is not None:
        found: list[Mapping[str, Any]] = list(measured.get("memory") or ())
        put("m", len(found))
        for rank, unit in enumerate(found, start=1):
            put(f"m{rank}", _memory(unit))
    return out


def _memory(unit: Mapping[str, Any]) -> Any:
    if unit.get("score") is not None:
        return unit["score"]
    if unit.get("exact"):
        return EXACT
    return NORMALISED if unit.get("normalised") else unit.get("similarity")


@dataclass
class Rows:
    """One question set over all rows."""

    terms: dict[str, Floats]
    """By term, shape (rows, K)."""
    memory: Floats
    """Shape (rows, K, L): each retrieved unit; NaN past the last."""
    found: Floats
    """Shape (rows, K): how many were retrieved; NaN: the agent does not show it."""


@dataclass
class Table:
    """Every candidate and repeat, a row each, in the order of candidates' ids and repeats."""

    candidates: list[str] = field(default_factory=list[str])
    users: list[str] = field(default_factory=list[str])
    member: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    kinds: list[str] = field(default_factory=list[str])
    repeat: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sets: dict[QuestionSet, Rows] = field(default_factory=dict[QuestionSet, Rows])

    @classmethod
    def of(cls, findings: Iterable[Finding], sizes: Mapping[QuestionSet, int]) -> Table:
        """Read the findings of kind `candidate`.

        Args:
            findings: Any order.
            sizes: Question sets with the number of their questions.

        Raises:
            IntegrityError: A finding is not one of this audit, or stands there twice.
        """
        builder = _Builder(sizes)
        for finding in findings:
            if finding.kind == "candidate":
                builder.add(finding)
        return builder.table()

    def users_index(self) -> tuple[list[str], NDArray[np.int64]]:
        """Names of the users in order, and each row's index into them."""
        names, index = np.unique(np.array(self.users, dtype=object).astype(str), return_inverse=True)
        return [str(n) for n in names], index.astype(np.int64)


class _Builder:
    """Holds numbers alone, in arrays that grow: a run may have tens of thousands of rows."""

    def __init__(self, sizes: Mapping[QuestionSet, int]) -> None:
        self._sizes = sizes
        self._names = [f"{name}-{number}" for name, size in sizes.items() for number in range(size)]
        self._keys: list[tuple[str, int, str, bool, str]] = []
        self._terms = array("d")
        """A row of questions × terms after the other."""
        self._found = array("d")
        """A row of questions after the other; NaN: not shown."""
        self._memory = array("d")
        """What was found, question by question, without gaps."""
        self._seen: set[tuple[str, int]] = set()

    def add(self, finding: Finding) -> None:
        labels = finding.labels
        candidate, repeat, member = labels.get("candidate"), labels.get("repeat"), labels.get("member")
        if not isinstance(candidate, str) or not isinstance(repeat, int) or not isinstance(member, bool):
            raise IntegrityError("a finding of a candidate lacks its name, its repeat or its label")
        if (candidate, repeat) in self._seen:
            raise IntegrityError(f"candidate {candidate[:60]!r} stands in the findings twice")
        self._seen.add((candidate, repeat))
        values = finding.values
        for name in self._names:
            for term in TERMS:
                value = values.get(f"{name}:{term}")
                self._terms.append(float(value) if isinstance(value, int | float) else np.nan)
            shown = values.get(f"{name}:m")
            if not isinstance(shown, int | float):
                self._found.append(np.nan)
                continue
            held = [
                float(v)
                for rank in range(1, int(shown) + 1)
                if isinstance(v := values.get(f"{name}:m{rank}"), int | float)
            ]
            self._found.append(len(held))
            self._memory.extend(held)
        user, kind = sys.intern(str(labels.get("user", ""))), sys.intern(str(labels.get("unit_kind", "")))
        self._keys.append((candidate, repeat, user, member, kind))

    def table(self) -> Table:
        rows, questions = len(self._keys), len(self._names)
        order = sorted(range(rows), key=lambda i: self._keys[i][:2])
        keys = [self._keys[i] for i in order]
        terms = np.array(self._terms).reshape(rows, questions, len(TERMS))[order]
        found = np.array(self._found).reshape(rows, questions)
        counts = np.nan_to_num(found).astype(np.int64)
        memory = np.full((rows, questions, int(counts.max(initial=0))), np.nan)
        memory[np.arange(memory.shape[2]) < counts[:, :, None]] = self._memory
        found, memory = found[order], memory[order]
        sets: dict[QuestionSet, Rows] = {}
        start = 0
        for name, size in self._sizes.items():
            own = slice(start, start + size)
            start += size
            sets[name] = Rows(
                terms={term: terms[:, own, place] for place, term in enumerate(TERMS)},
                memory=memory[:, own],
                found=found[:, own],
            )
        return Table(
            candidates=[k[0] for k in keys],
            repeat=np.array([k[1] for k in keys], dtype=np.int64),
            users=[k[2] for k in keys],
            member=np.array([k[3] for k in keys], dtype=bool),
            kinds=[k[4] for k in keys],
            sets=sets,
        )
