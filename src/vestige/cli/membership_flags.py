"""The flags of `vestige membership`, one table like that of the other audits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vestige.cli.flags import FLAGS, LIST, RUN, WHAT

__all__ = ["MEMBERSHIP_FLAGS"]

ATTACK, AUXILIARY, AGENT = "The attacks", "The attacker's own parts", "The reference agent"

MEMBERSHIP_FLAGS: dict[str, tuple[Any, str, str]] = {
    "data": (
        str,
        WHAT,
        "Statements of users: a file, locomo, synthetic, synthetic:N (users). [synthetic:20]",
    ),
    "format": (str, WHAT, "The file's layout, where it is not to be sniffed: units, locomo, perltqa, msc."),
    "agent": (
        str,
        WHAT,
        "The agent under test: reference, FILE.py:NAME, package.module:NAME, an HTTP agent's FILE.toml, or a system of "
        "`vestige agents list`. [reference]",
    ),
    "model": FLAGS["model"],
    "embedder": (
        str,
        WHAT,
        "Embedder of the reference agent; also measures similarity. [minilm: extra 'local']",
    ),
    "users": (int, WHAT, "Users tested. [all]"),
    "per_user": (int, WHAT, "Members, and non-members, tested of each user; all members are stored. [all]"),
    "drop_shared": (bool, WHAT, "Leave out statements that stand on both sides after normalisation."),
    "split_seed": (int, WHAT, "Of the rule that makes members and non-members of the data. [42]"),
    "extractor": (str, WHAT, "The model that makes statements, where the data holds dialogues."),
    "attacks": (
        str,
        ATTACK,
        f"mrmmia, mrmmia_s, naive, ia, loss, mink, reference. {LIST} [all but mrmmia_s]",
    ),
    "questions": (int, ATTACK, "K: recall questions, and yes/no questions, a statement. [5]"),
    "follow_up": (bool, ATTACK, "Ask for the source of what is recalled. [on]"),
    "ablate_follow_up": (bool, ATTACK, "Ask the recall questions without it as well."),
    "w_r": (float, ATTACK, "Weight of the judged reply. [1]"),
    "w_p": (float, ATTACK, "Weight of the log-probability. [1]"),
    "w_m": (float, ATTACK, "Weight of the nearest retrieved unit. [1]"),
    "scoring": (str, ATTACK, "paper, or reference-code: its authors' formula. [paper]"),
    "rule": (str, ATTACK, "exact, or equivalence: the attacker holds other words for the same. [exact]"),
    "unscored": (
        str,
        ATTACK,
        "Candidates without a valid question: left_out, or lowest: ranked below all. [left_out]",
    ),
    "auxiliary": (str, AUXILIARY, "The model of every part that has none of its own. [rules]"),
    "generator": (str, AUXILIARY, "Writes the questions: rules, or a model. [rules]"),
    "responses": (str, AUXILIARY, "Judges replies: rules, or a model. [rules]"),
    "memory": (str, AUXILIARY, "Judges retrieved units: rules, or a model. [rules]"),
    "paraphraser": (str, AUXILIARY, "Tells the statement in other words: rules, or a model. [rules]"),
    "defence": (
        str,
        AGENT,
        "What stands before the agent (any agent), NAME:STRENGTH: prompt, output_filter, threshold, … [none]",
    ),
    "level": (int, AGENT, "Summarization S: 0 raw turns, 1 key facts, 2 one sentence. [0]"),
    "k": (int, AGENT, "Retrieved units put before the model. [5]"),
    "tau": (float, AGENT, "Similarity threshold of retrieval. [none]"),
    "temperature": (float, AGENT, "Of the agent's model. [0.7]"),
    "max_tokens": (int, AGENT, "Tokens a reply. [200]"),
    "repeats": (int, RUN, "How often the pass is made, each with seeds of its own. [1]"),
    "budget": (
        str,
        RUN,
        "Time after which no more episodes (--chunk statements) are begun: 30m, 2h, 90s. [none]",
    ),
    "chunk": (int, RUN, "Statements an episode: what is asked again after a kill. [5]"),
    "out": (Path, RUN, "The run's folder. [runs/membership-HASH]"),
    "seed": (int, RUN, "Every random draw comes from it. [42]"),
    **{
        name: FLAGS[name] for name in ("deterministic", "concurrency", "cache", "config", "resume", "dry_run")
    },
    **{name: FLAGS[name] for name in ("json", "quiet")},
}
"""Values in brackets are the defaults."""
