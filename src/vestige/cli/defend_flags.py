"""The flags of `vestige defend`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vestige.cli.flags import FLAGS, LIST, RUN, WHAT
from vestige.cli.membership_flags import AGENT, ATTACK, AUXILIARY, MEMBERSHIP_FLAGS

__all__ = ["DEFEND_FLAGS"]

DEFENCE = "The defences"

DEFEND_FLAGS: dict[str, tuple[Any, str, str]] = {
    "defences": (
        str,
        DEFENCE,
        "prompt, output_filter, threshold, random_ranking, query_noise, paraphrase, generalise, randomised_response, "
        f"identifying; NAME tries its usual strengths, NAME:STRENGTH one. {LIST} [all but identifying]",
    ),
    "data": (
        str,
        WHAT,
        "Statements of users, for the attacks: a file, locomo, synthetic, synthetic:N (users). [synthetic:10]",
    ),
    "format": MEMBERSHIP_FLAGS["format"],
    "questions_data": (
        str,
        WHAT,
        "Conversations with the questions that must still be answered, in which canaries are planted: a file, "
        "longmemeval:oracle, locomo, synthetic:N. [synthetic:20]",
    ),
    "agent": MEMBERSHIP_FLAGS["agent"],
    "model": FLAGS["model"],
    "embedder": MEMBERSHIP_FLAGS["embedder"],
    "users": MEMBERSHIP_FLAGS["users"],
    "per_user": MEMBERSHIP_FLAGS["per_user"],
    "attacks": (str, ATTACK, f"mrmmia, mrmmia_s, naive, ia, loss, mink, reference. {LIST} [mrmmia,naive,ia]"),
    "questions": MEMBERSHIP_FLAGS["questions"],
    "auxiliary": (str, AUXILIARY, "The model of every part of the attacks. [rules]"),
    "level": MEMBERSHIP_FLAGS["level"],
    "k": MEMBERSHIP_FLAGS["k"],
    "temperature": (float, AGENT, "Of the agent's model. [0]"),
    "max_tokens": MEMBERSHIP_FLAGS["max_tokens"],
    "repeats": MEMBERSHIP_FLAGS["repeats"],
    "out": (Path, RUN, "The folder of all runs. [runs/defence-HASH]"),
    "seed": MEMBERSHIP_FLAGS["seed"],
    **{
        name: FLAGS[name] for name in ("deterministic", "concurrency", "cache", "config", "resume", "dry_run")
    },
    **{name: FLAGS[name] for name in ("json", "quiet")},
}
"""Values in brackets are the defaults."""
