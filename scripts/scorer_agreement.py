"""How a model's judgements agree with those by rules, on the replies of a stored membership audit.

Usage: python scripts/scorer_agreement.py RUN [--labels FILE]

RUN was made with `--auxiliary MODEL`. Its recorded replies and retrieved units are judged again by rules, with the
plan's embedder; nothing is asked again. Printed: how often the two give the same step of 0, 0.33, 0.67, 1,
Cohen's kappa (weighted, linear), and MRMMIA's AUC under either. FILE, lines of `CANDIDATE,QUESTION,SCORE`, adds a
person's judgements.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from vestige.attacks.cutoffs import DEFAULT_MEMORY, DEFAULT_RESPONSE, LADDER, snap_memory, snap_response
from vestige.attacks.question import Question
from vestige.attacks.scorers import RuleMemoryScorer, RuleResponseScorer, Vectors
from vestige.models.resolve import open_embedder
from vestige.records import Reply
from vestige.runs.folder import RunFolder
from vestige.runs.store import read_attempts, read_counted
from vestige.stats import roc_auc

Key = tuple[str, str]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--labels", type=Path)
    given = parser.parse_args()
    folder = RunFolder.open(given.run)
    rows = asyncio.run(judged(folder))
    members = {c: bool(v[0]) for f in folder.plan.fixtures.values() for c, v in f["labels"].items()}
    agreement("replies, model and rules", [(r["model"], r["rules"]) for r in rows.values()])
    if given.labels is not None:
        with given.labels.open(encoding="utf-8", newline="") as lines:
            said = {(c, q): float(s) for c, q, s in csv.reader(lines)}
        both = [key for key in said if key in rows]
        agreement("replies, a person and the model", [(said[k], rows[k]["model"]) for k in both])
        agreement("replies, a person and rules", [(said[k], rows[k]["rules"]) for k in both])
    agreement(
        "retrieved units, model and rules",
        [pair for r in rows.values() for pair in zip(r["memory_model"], r["memory_rules"], strict=True)],
    )
    for name, parts in (("model", ("model", "memory_model")), ("rules", ("rules", "memory_rules"))):
        scores: dict[str, list[tuple[float, float]]] = {}
        for (candidate, _), row in rows.items():
            nearest = max(row[parts[1]], default=0.0)
            scores.setdefault(candidate, []).append((row[parts[0]], nearest))
        ids = sorted(scores)
        labels = [members[c] for c in ids]
        black = [float(np.mean([r for r, _ in scores[c]])) for c in ids]
        white = [float(np.mean([r + m for r, m in scores[c]])) for c in ids]
        print(
            f"MRMMIA's AUC judged by {name}: black-box {roc_auc(black, labels):.3f}, with retrieved units "
            f"{roc_auc(white, labels):.3f} ({sum(labels)} members, {len(labels) - sum(labels)} others)"
        )


async def judged(folder: RunFolder) -> dict[Key, dict[str, Any]]:
    """Every recall exchange with both judgements."""
    embedder = open_embedder(folder.plan.models.scorer_embedder)
    vectors = Vectors(embedder)
    replies, units = RuleResponseScorer(vectors), RuleMemoryScorer(vectors)
    out: dict[Key, dict[str, Any]] = {}
    for line in read_counted(folder.path, read_attempts(folder.path), frozenset({"exchange"})):
        if not str(line.labels.get("question", "")).startswith("recall-"):
            continue
        key = (str(line.labels["candidate"]), str(line.labels["question"]))
        body = line.body
        asked = question_of(folder, line)
        if asked is None:
            continue
        question, told = asked
        reply = Reply.model_validate(body["reply"])
        measured = body["measured"]
        by_rules = await replies.score(told, question, reply.text)
        texts = [u.text for u in reply.retrieved or ()]
        near = await units.score(told, texts)
        values = [3.0 if m.exact else 2.0 if m.normalised else (m.similarity or 0.0) for m in near]
        similarity = np.nan if by_rules.similarity is None else by_rules.similarity
        out[key] = {
            "model": float(measured["response"]["score"]),
            "rules": float(
                snap_response(
                    np.array(by_rules.key),
                    np.array(similarity),
                    np.array(float(by_rules.hedged)),
                    DEFAULT_RESPONSE,
                )
            ),
            "memory_model": [float(m.get("score", 0.0)) for m in measured.get("memory", ())],
            "memory_rules": [float(v) for v in snap_memory(np.array(values), DEFAULT_MEMORY)],
        }
    await embedder.close()
    return out


_INTERVIEWS: dict[tuple[str, int], dict[str, Any]] = {}


def question_of(folder: RunFolder, line: Any) -> tuple[Question, str] | None:
    """The question of an exchange, out of the interview that was recorded before it."""
    if not _INTERVIEWS:
        for other in read_counted(folder.path, read_attempts(folder.path), frozenset({"interview"})):
            _INTERVIEWS[other.episode, other.step] = {q["id"]: q for q in other.body["questions"]}
    found = _INTERVIEWS.get((line.episode, line.step), {}).get(str(line.labels["question"]))
    if found is None:
        return None
    about = dict(found["about"])
    told = str(about.pop("told"))
    return Question.model_validate(about), told


def agreement(name: str, pairs: list[tuple[float, float]]) -> None:
    """Print how two judges agree."""
    if not pairs:
        return
    first = [min(range(4), key=lambda i: abs(LADDER[i] - a)) for a, _ in pairs]
    second = [min(range(4), key=lambda i: abs(LADDER[i] - b)) for _, b in pairs]
    same = float(np.mean([a == b for a, b in zip(first, second, strict=True)]))
    kappa = cohen_kappa_score(first, second, weights="linear", labels=[0, 1, 2, 3])
    print(f"{name}: {len(pairs)}, the same step {same:.3f}, weighted kappa {kappa:.3f}")
    table = Counter(zip(first, second, strict=True))
    for i in range(4):
        print(f"    {LADDER[i]:>4}  " + "  ".join(f"{table[i, j]:>5}" for j in range(4)))


if __name__ == "__main__":
    main()
