"""The flags of the audit commands, one table: name, help; a command picks what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["with_flags"]

_LIST = "Several values separated by commas."

FLAGS: dict[str, tuple[Any, str, str]] = {
    "data": (
        str,
        "What",
        "A file, or longmemeval:oracle, longmemeval:s, longmemeval:m, locomo, synthetic, synthetic:N. [synthetic]",
    ),
    "format": (str, "What", "The file's format, where it is not to be sniffed: longmemeval, locomo."),
    "agent": (str, "What", "The agent under test: reference. [reference]"),
    "model": (
        str,
        "What",
        "What it answers with: local/NAME, extractive, openai/NAME, ollama/NAME, http://HOST/v1#NAME. [extractive]",
    ),
    "embedder": (
        str,
        "What",
        f"Embedders of the memory; the first scores PR: minilm, hashing, … {_LIST} [minilm: extra 'local']",
    ),
    "judge": (str, "What", "A model that re-scores the answers; its agreement with PR is reported."),
    "out": (Path, "Run", "The run's folder. [runs/AUDIT-HASH]"),
    "seed": (int, "Run", "Every random draw comes from it. [0]"),
    "instances": (int, "What", "Instances drawn from the data. [50, or all there are]"),
    "levels": (str, "Knobs", f"Summarization S: 0 raw turns, 1 key facts, 2 one sentence. {_LIST} [0,1,2]"),
    "k": (str, "Knobs", f"Retrieved units put before the model. {_LIST} [1,3,6,10,25; residue: 6]"),
    "modes": (
        str,
        "Knobs",
        f"Deletion modes: noop, raw_only, raw_plus_resummarize, full_purge, tombstone. {_LIST} [all]",
    ),
    "supersede": (
        str,
        "Knobs",
        f"What raw_plus_resummarize does to older summaries: append, match, replace. {_LIST} [match]",
    ),
    "probes": (str, "Knobs", f"Probe kinds: direct, indirect, jailbreak. {_LIST} [all]"),
    "all_paraphrases": (bool, "Knobs", "Ask every paraphrase of a probe kind, not one drawn by the seed."),
    "planted": (
        str,
        "Knobs",
        "How the canary is written: verbatim, lower, spaced, split, base64. [verbatim]",
    ),
    "tau": (str, "Knobs", f"Similarity thresholds of retrieval; none: no threshold. {_LIST} [none]"),
    "granularity": (str, "Knobs", f"What a raw unit is: turn, sentence, tokens:N. {_LIST} [turn]"),
    "horizon": (str, "Knobs", f"Unrelated sessions between planting and probing. {_LIST} [0]"),
    "retrieve_from": (str, "Knobs", "Tiers that are searched: auto, raw, summary, both. [auto]"),
    "scrub": (
        str,
        "Knobs",
        "Whether deletion finds other spellings of a value: normalised, exact. [normalised]",
    ),
    "include_unanswerable": (bool, "What", "Keep questions whose evidence stands in no turn of the user."),
    "temperature": (float, "Run", "Of the agent's model. [0]"),
    "deterministic": (
        bool,
        "Run",
        "Local server with one slot and no prompt cache: same calls, same replies.",
    ),
    "concurrency": (int, "Run", "Episodes at a time. [4]"),
    "cache": (Path, "Run", "A response cache to share between runs. [in the run's folder]"),
    "config": (Path, "Run", "A TOML file with these same names; flags win."),
    "resume": (bool, "Run", "Continue the run in --out where it stopped."),
    "dry_run": (bool, "Run", "Print what the run would do and cost, and stop."),
    "show_canaries": (bool, "Output", "Do not mask the planted secrets in the report."),
    "json": (bool, "Output", "Print the result as JSON on standard output."),
    "quiet": (bool, "Output", "No progress and no summary."),
}


def with_flags(
    leave_out: frozenset[str] = frozenset(),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give `command(**flags)` the signature that typer reads; a flag that is not given is None."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        hints: dict[str, Any] = {}
        for name, (kind, panel, text) in FLAGS.items():
            if name in leave_out:
                continue
            flag = "--" + name.replace("_", "-")
            hint = Annotated[
                kind | None, typer.Option(flag, help=text, show_default=False, rich_help_panel=panel)
            ]
            hints[name] = hint
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            )
        # `inspect.signature` reads this attribute first; the type of a function does not declare it.
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = hints
        return command

    return decorate
