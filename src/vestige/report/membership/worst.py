"""The exchanges behind the worst errors: others that score like members, members that score like others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from vestige.report.membership.lines import ATTACK_NAMES
from vestige.report.membership.scores import Scores
from vestige.report.safe import one_line
from vestige.runs.folder import RunFolder
from vestige.runs.store import read_attempts, read_counted

__all__ = ["Said", "Worst", "worst_errors"]

EACH = 10
SHOWN = 300
"""Characters of a prompt or reply."""


@dataclass(frozen=True)
class Said:
    """One exchange."""

    prompt: str
    reply: str


@dataclass(frozen=True)
class Worst:
    """One candidate."""

    title: str
    statement: str
    exchanges: tuple[Said, ...]


def worst_errors(folder: RunFolder, scores: Scores) -> list[Worst]:
    """The ten others that score highest, and the ten members that score lowest, by the first attack in black-box.

    Only candidates on the wrong side of the median of the opposite class are errors; there may be fewer than ten.
    """
    column = next(((key, c) for key, c in scores.columns.items() if key[1] == "black"), None)
    if column is None:
        return []
    (attack, _), values = column
    table = scores.table
    member = table.member
    known = np.isfinite(values) & (table.repeat == 0)
    if not (known & member).any() or not (known & ~member).any():
        return []
    high, low = float(np.median(values[known & member])), float(np.median(values[known & ~member]))
    false = [
        i for i in np.argsort(-values, kind="stable") if known[i] and not member[i] and values[i] >= high
    ]
    missed = [i for i in np.argsort(values, kind="stable") if known[i] and member[i] and values[i] <= low]
    chosen = [(int(i), "false positive") for i in false[:EACH]] + [
        (int(i), "missed member") for i in missed[:EACH]
    ]
    said = _exchanges(folder, {(table.users[i], table.candidates[i]) for i, _ in chosen}, attack)
    texts = _texts(folder, {table.users[i] for i, _ in chosen})
    return [
        Worst(
            title=one_line(
                f"{what}: {table.candidates[i]} ({table.kinds[i]}), {ATTACK_NAMES[attack]} {values[i]:.3f}"
            ),
            statement=one_line(texts.get((table.users[i], table.candidates[i]), ""))[:SHOWN],
            exchanges=tuple(said.get((table.users[i], table.candidates[i]), ())),
        )
        for i, what in chosen
    ]


def _exchanges(
    folder: RunFolder, wanted: set[tuple[str, str]], attack: str
) -> dict[tuple[str, str], list[Said]]:
    user_of = {e.id: e.instance for e in folder.plan.episodes}
    sets = {"ia": "yes_no", "naive": "naive", "mrmmia_s": "similar"}.get(attack, "recall")
    out: dict[tuple[str, str], list[Said]] = {}
    for line in read_counted(folder.path, read_attempts(folder.path), frozenset({"exchange"})):
        key = (user_of.get(line.episode, ""), str(line.labels.get("candidate", "")))
        question = str(line.labels.get("question", ""))
        if key not in wanted or not question.startswith(f"{sets}-") or line.labels.get("repeat", 0) != 0:
            continue
        prompt, reply = str(line.body.get("prompt", "")), str(line.body["reply"].get("text", ""))
        out.setdefault(key, []).append(Said(one_line(prompt)[:SHOWN], one_line(reply)[:SHOWN]))
    return out


def _texts(folder: RunFolder, users: set[str]) -> dict[tuple[str, str], str]:
    out: dict[tuple[str, str], str] = {}
    for user in users:
        held: list[dict[str, Any]] = json.loads(
            folder.get_blob(str(folder.plan.fixtures[user]["candidates"]))
        )
        out |= {(user, str(item["id"])): str(item["text"]) for item in held}
    return out
