"""What a plan will cost, before it runs: exchanges, model calls, tokens, time."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vestige.records import Record
from vestige.runs.plan import Plan
from vestige.runs.steps import Ask, Configure, Converse, Episode, Forget, Restore

__all__ = ["Estimate", "estimate"]

CHARACTERS_PER_TOKEN = 4.0
OVERHEAD_TOKENS = 120
"""Instructions and question around the memory units."""
ANSWER_TOKENS, FACTS_TOKENS, SENTENCE_TOKENS = 50, 110, 40
"""Typical lengths of what a model writes, seen with small local models."""
FACTS_A_SESSION = 6


class Estimate(Record):
    """Counts are exact; calls, tokens and time are estimates (the prompts are not known yet)."""

    exchanges: int
    episodes: int
    states_built: int
    calls: int
    """Model calls after identical ones are merged."""
    naive_calls: int
    """Calls if every state were built, and every exchange asked, on its own."""
    prompt_tokens: int
    completion_tokens: int
    judge_calls: int


class _Episode:
    """Counts one episode by following its script."""

    def __init__(self, plan: Plan, episode: Episode, sessions: Mapping[str, tuple[int, int]]) -> None:
        self.plan, self.level = plan, int(episode.labels.get("S") or 0)
        self.turns = self.characters = self.count = self.asked = 0
        self.calls: dict[tuple[str, int, str], int] = {}
        self.prompt = self.completion = self.writes = self.judged = 0
        k, state = 6, "built"
        for step in episode.steps:
            match step:
                case Converse():
                    self._write(sessions[step.session])
                case Configure():
                    k = int(step.knobs.get("k") or k)
                    state = str(step.knobs.get("deletion") or state)
                case Restore():
                    state = "built"
                case Forget():
                    state = str(step.labels.get("mode") or "forgotten")
                    if state == "raw_plus_resummarize" and self.level:
                        self.writes += 1
                case Ask():
                    self._ask(step.probe, k, "built" if state == "noop" else state)
                case _:
                    pass

    def _write(self, session: tuple[int, int]) -> None:
        turns, characters = session
        self.turns, self.characters, self.count = (
            self.turns + turns,
            self.characters + characters,
            self.count + 1,
        )
        if self.level:
            self.writes += 1
            self.prompt += int(characters / CHARACTERS_PER_TOKEN) + OVERHEAD_TOKENS
            self.completion += FACTS_TOKENS if self.level == 1 else SENTENCE_TOKENS

    def _ask(self, probe: str, k: int, state: str) -> None:
        self.asked += 1
        match self.level:
            case 0:
                units, size = max(1, self.turns), self.characters / max(1, self.turns)
            case 1:
                units, size = self.count * FACTS_A_SESSION, 70.0
            case _:
                units, size = max(1, self.count), 160.0
        shown = min(k, units)
        if (probe, shown, state) in self.calls:
            return
        self.calls[probe, shown, state] = 1
        self.prompt += int(shown * size / CHARACTERS_PER_TOKEN) + OVERHEAD_TOKENS
        self.completion += ANSWER_TOKENS
        self.judged += "judge" in self.plan.probes[probe].measures


def estimate(plan: Plan, blobs: Mapping[str, bytes]) -> Estimate:
    """Follow every script of a plan."""
    sessions: dict[str, tuple[int, int]] = {}
    for digest, data in blobs.items():
        value = json.loads(data)
        if isinstance(value, dict):
            users = [t["content"] for t in value["turns"] if t["role"] == "user"]
            sessions[digest] = (len(users), sum(map(len, users)))
    seen = [_Episode(plan, e, sessions) for e in plan.episodes]
    return Estimate(
        exchanges=sum(e.asked for e in seen),
        episodes=len(seen),
        states_built=len(seen),
        calls=sum(len(e.calls) + e.writes for e in seen),
        naive_calls=sum(e.asked * (1 + (e.count if e.level else 0)) for e in seen),
        prompt_tokens=sum(e.prompt for e in seen),
        completion_tokens=sum(e.completion for e in seen),
        judge_calls=sum(e.judged for e in seen),
    )
