"""What one pass showed of each candidate: written as one flat finding, read back as arrays.

A candidate's values stand under `QUESTION:TERM`, a question being its set and number (`recall-0`):

    r     judged reply: 0, 0.33, 0.67, 1 from a model; absent where cut-offs decide
    key   share of the key value's words that the reply holds and the question did not
    sim   similarity of the reply with the statement; of a yes/no question absent
    hedge 1 where the reply hedges or says that it does not know
    a     of a yes/no question: 1 the expected answer, -1 "I don't know", 0 any other
    p     mean log-probability of the reply's tokens
    min   mean of its lowest fifth
    m1…   each retrieved unit, best first: the model's score; or without a model 3 where it equals the statement, 2
          where it does after normalisation, else its similarity. `m` is their number, 0 where nothing was retrieved
"""

from __future__ import annotations

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

TERMS = ("r", "key", "sim", "hedge", "a", "p", "min")
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
    def __init__(self, sizes: Mapping[QuestionSet, int]) -> None:
        self._sizes = sizes
        self._keys: list[tuple[str, int, str, bool, str]] = []
        self._flat: list[Floats] = []
        self._memory: list[dict[tuple[QuestionSet, int], tuple[float, ...]]] = []
        self._slots = {
            (name, number, term): place
            for place, (name, number, term) in enumerate(
                (name, number, term)
                for name, size in sizes.items()
                for number in range(size)
                for term in TERMS
            )
        }
        self._seen: set[tuple[str, int]] = set()

    def add(self, finding: Finding) -> None:
        labels = finding.labels
        candidate, repeat, member = labels.get("candidate"), labels.get("repeat"), labels.get("member")
        if not isinstance(candidate, str) or not isinstance(repeat, int) or not isinstance(member, bool):
            raise IntegrityError("a finding of a candidate lacks its name, its repeat or its label")
        if (candidate, repeat) in self._seen:
            raise IntegrityError(f"candidate {candidate[:60]!r} stands in the findings twice")
        self._seen.add((candidate, repeat))
        row = np.full(len(self._slots), np.nan)
        memory: dict[tuple[QuestionSet, int], tuple[float, ...]] = {}
        for name, size in self._sizes.items():
            for number in range(size):
                for term in TERMS:
                    value = finding.values.get(f"{name}-{number}:{term}")
                    if isinstance(value, int | float):
                        row[self._slots[name, number, term]] = float(value)
                shown = finding.values.get(f"{name}-{number}:m")
                if isinstance(shown, int | float):
                    memory[name, number] = tuple(
                        float(v)
                        for rank in range(1, int(shown) + 1)
                        if isinstance(v := finding.values.get(f"{name}-{number}:m{rank}"), int | float)
                    )
        self._keys.append(
            (candidate, repeat, str(labels.get("user", "")), member, str(labels.get("unit_kind", "")))
        )
        self._flat.append(row)
        self._memory.append(memory)

    def table(self) -> Table:
        order = sorted(range(len(self._keys)), key=lambda i: self._keys[i][:2])
        keys = [self._keys[i] for i in order]
        flat = np.array([self._flat[i] for i in order], dtype=float).reshape(len(order), len(self._slots))
        ranks = max((len(v) for row in self._memory for v in row.values()), default=0)
        sets: dict[QuestionSet, Rows] = {}
        for name, size in self._sizes.items():
            memory = np.full((len(order), size, ranks), np.nan)
            found = np.full((len(order), size), np.nan)
            for place, i in enumerate(order):
                for number in range(size):
                    shown = self._memory[i].get((name, number))
                    if shown is not None:
                        found[place, number] = len(shown)
                        memory[place, number, : len(shown)] = shown
            terms = {
                term: flat[:, [self._slots[name, number, term] for number in range(size)]] for term in TERMS
            }
            sets[name] = Rows(terms=terms, memory=memory, found=found)
        return Table(
            candidates=[k[0] for k in keys],
            repeat=np.array([k[1] for k in keys], dtype=np.int64),
            users=[k[2] for k in keys],
            member=np.array([k[3] for k in keys], dtype=bool),
            kinds=[k[4] for k in keys],
            sets=sets,
        )
