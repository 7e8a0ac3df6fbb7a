"""The flags of `vestige verify`, one table like that of the other audits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vestige.cli.flags import FLAGS, LIST, OUTPUT, RUN, WHAT

__all__ = ["VERIFY_FLAGS"]

TARGET, OBSERVER, DECISION, MEMORY, PACKET = (
    "What is removed",
    "The observer",
    "The decision",
    "The reference agent",
    "The packet",
)

_SHARED = (
    "temperature",
    "deterministic",
    "concurrency",
    "cache",
    "config",
    "resume",
    "dry_run",
    "json",
    "quiet",
)

VERIFY_FLAGS: dict[str, tuple[Any, str, str]] = {
    "data": (
        str,
        WHAT,
        "Conversations the fixtures are made of: a file, longmemeval:oracle, locomo, synthetic. [synthetic]",
    ),
    "format": FLAGS["format"],
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
    "judge": (str, WHAT, "A model that gives its opinion on semantic findings."),
    "pairs": (int, WHAT, "Matched pairs, each with its own fixture. [100]"),
    "targets": (
        str,
        TARGET,
        f"nonce: literal disclosure; preference: choices; up to five of each, as nonce-2. {LIST} [one of each]",
    ),
    "nonces": (int, TARGET, "How many nonces, in the place of --targets. [1]"),
    "preferences": (int, TARGET, "How many preferences, in the place of --targets. [1]"),
    "kind": (
        str,
        TARGET,
        "What the request names: value, source (one session), derivations (all made of it). [value]",
    ),
    "task": (
        str,
        TARGET,
        "withdrawal, or correction: a replacement is told and the old value must go. [withdrawal]",
    ),
    "fixture": (str, TARGET, "plain, correlated (retained facts hint at it), two_sources. [plain]"),
    "correlated_policy": (
        str,
        TARGET,
        "Of a correlated fixture: permitted, or prohibited: hints belong to the target and count too. [permitted]",
    ),
    "reintroduction": (bool, TARGET, "Tell the target again at the end: can it be used anew? [on]"),
    "conditions": (
        str,
        OBSERVER,
        f"Arms; only full_reset and sham_removal can be left out. {LIST} [all five]",
    ),
    "claims": (
        str,
        OBSERVER,
        f"non_use: nothing shows or uses it; erasure: storage, vectors, logs. {LIST} [non_use]",
    ),
    "tolerate": (
        str,
        OBSERVER,
        "Worst grade of residue that erasure tolerates: old_version, dead_bytes, vector_only. [none]",
    ),
    "required": (
        str,
        OBSERVER,
        f"Channels that must be covered too, beyond those that a claim requires anyway. {LIST} [none]",
    ),
    "credentials": (
        str,
        OBSERVER,
        "operator: every channel; user: answer, reasoning, tool arguments and results alone. [operator]",
    ),
    "channels": (str, OBSERVER, f"Where the observer looks, of what the credentials reach. {LIST} [all]"),
    "token_budget": (
        int,
        OBSERVER,
        "Most reply tokens an episode; a plan that needs more is refused. [none]",
    ),
    "normalisations": (
        str,
        OBSERVER,
        "Forms that count as literal: case, whitespace, separators, unicode, spelled_digits, reversed, base64, hex. "
        f"{LIST} [the first four]",
    ),
    "combine_fragments": (bool, OBSERVER, "Put parts seen in different channels of an episode together."),
    "warm": (bool, OBSERVER, "Ask the probes before the removal too."),
    "recall_probes": (int, OBSERVER, "Recall questions a target and episode. [2]"),
    "semantic_probes": (int, OBSERVER, "Semantic questions a target and episode. [2]"),
    "structured_probes": (bool, OBSERVER, "Tasks whose tool arguments could carry the target. [on]"),
    "choice_probes": (int, OBSERVER, "Decision tasks an episode: 1, or 2 for both option orders. [1]"),
    "adaptive_rounds": (int, OBSERVER, "Questions that the auxiliary model writes. [0]"),
    "auxiliary": (str, OBSERVER, "The model that writes adaptive questions."),
    "horizon": (int, OBSERVER, "Unrelated sessions before the delayed probes. [1]"),
    "max_tokens": (int, OBSERVER, "Tokens a reply. [200]"),
    "pending_limit": (float, OBSERVER, "Seconds to wait for an asynchronous deletion. [30]"),
    "maintain": (bool, OBSERVER, "Have the store cleaned up, and look again. [on]"),
    "stopping": (str, DECISION, "fixed number of pairs, or mixture: bounds that hold at any look. [fixed]"),
    "alpha": (float, DECISION, "Level of each one-sided test. [0.05]"),
    "margin": (float, DECISION, "δ: the smallest difference of action rates that matters. [0.10]"),
    "leakage_bound": (float, DECISION, "What the upper bound of union leakage must not exceed. [0.05]"),
    "sensitivity": (float, DECISION, "Least lower limit of the positive control. [0.5]"),
    "utility_margin": (float, DECISION, "How much worse the retained answers may be. [0.10]"),
    "level": (int, MEMORY, "Summarization S: 0 raw turns, 1 key facts, 2 one sentence. [0]"),
    "mode": (
        str,
        MEMORY,
        "Deletion mode: noop, raw_only, raw_plus_resummarize, full_purge, tombstone. [full_purge]",
    ),
    "k": (int, MEMORY, "Retrieved units put before the model. [6]"),
    "tau": (float, MEMORY, "Similarity threshold of retrieval. [none]"),
    "granularity": (str, MEMORY, "What a raw unit is: turn, sentence, tokens:N. [turn]"),
    "supersede": (str, MEMORY, "Older summaries in raw_plus_resummarize: append, match, replace. [match]"),
    "retrieve_from": FLAGS["retrieve_from"],
    "scrub": FLAGS["scrub"],
    "out": (Path, RUN, "The run's folder. [runs/verification-HASH]"),
    "seed": (
        int,
        RUN,
        "Every random draw comes from it; targets can be drawn again from one that is known. [random]",
    ),
    **{name: FLAGS[name] for name in _SHARED[:7]},
    "previous": (Path, PACKET, "A packet of an earlier verification: its targets are tested again."),
    "sign": (Path, PACKET, "Ed25519 private key file to sign the packet with."),
    "recipient": (Path, PACKET, "X25519 public key file to encrypt the packet's restricted part to."),
    "zip": (bool, PACKET, "Write the packet as one ZIP file too."),
    "show_targets": (bool, OUTPUT, "Do not mask the targets in the report."),
    **{name: FLAGS[name] for name in _SHARED[7:]},
}
