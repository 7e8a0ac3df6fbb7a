"""LongMemEval (Wu et al., ICLR 2025): one question over a user's chat sessions, with evidence flags on turns.

The public files differ in detail: `has_answer` flags may be present, false or missing, answers may be
integers, dates may be null, sessions of the oracle file are unsorted, and abstention is marked by the id's
suffix.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from vestige.datasets.formats import Format, Parsed, unique_id
from vestige.datasets.instance import Instance, TurnRef
from vestige.datasets.reading import Node
from vestige.records import Session, Turn

__all__ = ["LONGMEMEVAL"]

_DATE = re.compile(r"\s*(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?:\D+(\d{1,2}):(\d{2}))?")
_ASSISTANT_TYPE = "single-session-assistant"


def _when(date: str | None) -> tuple[int, ...] | None:
    """The sort key of ``2023/05/30 (Tue) 21:48`` or an ISO date; None where it cannot be read."""
    found = _DATE.match(date or "")
    return tuple(int(part or 0) for part in found.groups()) if found else None


def _aligned(record: Node, key: str, n: int) -> list[Node | None]:
    """A list that runs beside the sessions; all None where the record has none."""
    field = record.get(key)
    if field.value is None:
        return [None] * n
    items = field.items()
    if len(items) != n:
        field.fail(f"one entry for each of the {n} sessions", got=f"{len(items)} entries")
    return list(items)


class _Reader:
    """Reads records one by one, shares equal turns between them, and counts what a reader must know."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.turns: dict[tuple[Turn, ...], tuple[Turn, ...]] = {}
        self.counts: Counter[str] = Counter()

    def session(self, node: Node) -> tuple[tuple[Turn, ...], set[int], bool]:
        """The turns, the indices of those that hold the answer, and whether any turn has a flag."""
        turns: list[Turn] = []
        answers: set[int] = set()
        flagged = False
        for i, item in enumerate(node.items()):
            role = item.get("role")
            if role.value not in ("user", "assistant"):
                role.fail("'user' or 'assistant'", got=repr(role.value)[:40])
            content = item.get("content").text()
            turns.append(Turn(role="user" if role.value == "user" else "assistant", content=content))
            flag = item.get("has_answer").flag()
            flagged = flagged or flag is not None
            if flag:
                answers.add(i)
        shared = tuple(turns)
        # S and M draw their distractor sessions from one pool: equal sessions are kept once.
        return self.turns.setdefault(shared, shared), answers, flagged

    def record(self, node: Node) -> Instance:
        question_id = node.get("question_id").text_or_digits()
        node = node.named(question_id)
        unique_id(node.get("question_id"), question_id, self.seen)
        question_type = node.get("question_type").optional_text() or ""
        listed = node.get("haystack_sessions").items()
        ids = _aligned(node, "haystack_session_ids", len(listed))
        dates = _aligned(node, "haystack_dates", len(listed))

        rows: list[tuple[str, str | None, tuple[Turn, ...], set[int]]] = []
        used: Counter[str] = Counter()
        flagged = False
        for i, session in enumerate(listed):
            turns, answers, has_flags = self.session(session)
            flagged = flagged or has_flags
            if not turns:
                self.counts["empty"] += 1
                continue
            given = ids[i]
            name = f"{question_id}_s{i + 1}" if given is None else given.text_or_digits()
            used[name] += 1
            if used[name] > 1:
                name = f"{name}#{used[name]}"
            date = dates[i]
            rows.append((name, None if date is None else date.optional_text(), turns, answers))
        if not rows:
            node.get("haystack_sessions").fail("at least one session with a turn", got="none")

        keys = [_when(row[1]) for row in rows]
        if all(key is not None for key in keys):
            order = sorted(range(len(rows)), key=lambda i: keys[i] or ())
            self.counts["reordered"] += order != list(range(len(rows)))
            rows = [rows[i] for i in order]
        else:
            self.counts["undated"] += 1
        evidence: tuple[TurnRef, ...] | None = None
        if flagged:
            evidence = tuple((s, t) for s, row in enumerate(rows) for t in sorted(row[3]))
        else:
            self.counts["unflagged"] += 1

        abstention = question_id.endswith("_abs") or question_type == "abstention"
        by_assistant = question_type == _ASSISTANT_TYPE and not evidence
        if evidence:
            by_assistant = all(rows[s][2][t].role == "assistant" for s, t in evidence)
        answerable = abstention or not by_assistant
        self.counts["unanswerable"] += not answerable
        return Instance(
            id=question_id,
            sessions=tuple(Session(id=name, date=date, turns=turns) for name, date, turns, _ in rows),
            question=node.get("question").filled(),
            expected=node.get("answer").text_or_digits(),
            abstention=abstention,
            question_type=question_type,
            question_date=node.get("question_date").optional_text(),
            evidence=evidence,
            answerable=answerable,
        )

    def notes(self, n: int) -> tuple[str, ...]:
        said = {
            "unflagged": f"no has_answer flags in {{}} of {n} records: their evidence turns are unknown",
            "undated": f"a session without a readable date in {{}} of {n} records: file order kept",
            "reordered": f"sessions sorted by date in {{}} of {n} records",
            "unanswerable": f"{{}} of {n} questions ask what only the assistant said",
            "empty": "{} sessions without a turn left out",
        }
        return tuple(text.format(self.counts[key]) for key, text in said.items() if self.counts[key])


def _read(records: Iterable[Node]) -> Parsed:
    reader = _Reader()
    instances = tuple(reader.record(node) for node in records)
    return Parsed(instances, reader.notes(len(instances)))


def _looks(first: Node) -> bool:
    return isinstance(first.value, dict) and bool({"haystack_sessions", "question_id"} & set(first.keys()))


LONGMEMEVAL = Format(
    name="longmemeval",
    looks=_looks,
    read=_read,
    expected="records with question_id, question, answer and haystack_sessions",
    license="MIT",
)
"""The loader of LongMemEval's oracle, S and M files."""
