"""The flags of the audit commands, one table: name, help; a command picks what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["FLAGS", "KNOBS", "LIST", "OUTPUT", "RUN", "WHAT", "as_path", "with_flags"]

LIST = "Several values separated by commas."
WHAT, KNOBS, RUN, OUTPUT = "What is audited", "Memory and probes", "The run", "Output"

FLAGS: dict[str, tuple[Any, str, str]] = {
    "data": (
        str,
        WHAT,
        "A file, or longmemeval:oracle, longmemeval:s, longmemeval:m, locomo, synthetic, synthetic:N. [synthetic]",
    ),
    "format": (str, WHAT, "The file's format, where it is not to be sniffed: longmemeval, locomo."),
    "agent": (str, WHAT, "The agent under test: reference. [reference]"),
    "model": (
        str,
        WHAT,
        "What it answers with: local/NAME, extractive, openai/NAME, ollama/NAME, http://HOST/v1#NAME. [extractive]",
    ),
    "embedder": (
        str,
        WHAT,
        f"Embedders of the memory; the first scores PR: minilm, hashing, … {LIST} [minilm: extra 'local']",
    ),
    "judge": (str, WHAT, "A model that re-scores the answers; its agreement with PR is reported."),
    "instances": (int, WHAT, "Instances drawn from the data. [50, or all there are]"),
    "include_unanswerable": (bool, WHAT, "Keep questions whose evidence stands in no turn of the user."),
    "levels": (str, KNOBS, f"Summarization S: 0 raw turns, 1 key facts, 2 one sentence. {LIST} [0,1,2]"),
    "k": (str, KNOBS, f"Retrieved units put before the model. {LIST} [1,3,6,10,25; residue: 6]"),
    "modes": (
        str,
        KNOBS,
        f"Deletion modes: noop, raw_only, raw_plus_resummarize, full_purge, tombstone. {LIST} [all]",
    ),
    "supersede": (
        str,
        KNOBS,
        f"What raw_plus_resummarize does to older summaries: append, match, replace. {LIST} [match]",
    ),
    "probes": (str, KNOBS, f"Probe kinds: direct, indirect, jailbreak. {LIST} [all]"),
    "all_paraphrases": (bool, KNOBS, "Ask every paraphrase of a probe kind, not one drawn by the seed."),
    "planted": (
        str,
        KNOBS,
        "How the canary is written: verbatim, lower, spaced, split, base64. [verbatim]",
    ),
    "tau": (str, KNOBS, f"Similarity thresholds of retrieval; none: no threshold. {LIST} [none]"),
    "granularity": (str, KNOBS, f"What a raw unit is: turn, sentence, tokens:N. {LIST} [turn]"),
    "horizon": (str, KNOBS, f"Unrelated sessions between planting and probing. {LIST} [0]"),
    "retrieve_from": (str, KNOBS, "Tiers that are searched: auto, raw, summary, both. [auto]"),
    "scrub": (
        str,
        KNOBS,
        "Whether deletion finds other spellings of a value: normalised, exact. [normalised]",
    ),
    "defence": (
        str,
        KNOBS,
        "What stands before the agent, NAME:STRENGTH: prompt, output_filter, threshold, … [none]",
    ),
    "out": (Path, RUN, "The run's folder. [runs/AUDIT-HASH]"),
    "seed": (int, RUN, "Every random draw comes from it. [0]"),
    "temperature": (float, RUN, "Of the agent's model. [0]"),
    "deterministic": (
        bool,
        RUN,
        "Local server with one slot and no prompt cache: same calls, same replies.",
    ),
    "concurrency": (int, RUN, "Episodes at a time. [4]"),
    "cache": (Path, RUN, "A response cache to share between runs. [in the run's folder]"),
    "config": (Path, RUN, "A TOML file with these same names; flags win."),
    "resume": (bool, RUN, "Continue the run in --out where it stopped."),
    "dry_run": (bool, RUN, "Print what the run would do and cost, and stop."),
    "show_canaries": (bool, OUTPUT, "Do not mask the planted secrets in the report."),
    "json": (bool, OUTPUT, "Print the result as JSON on standard output."),
    "quiet": (bool, OUTPUT, "No progress and no summary."),
}


def as_path(text: str | Path) -> Path:
    """A path that was given: an empty one is a slip, though Python takes it for the folder we stand in.

    Newer versions of typer hand a default in as it is, a `Path`.
    """
    if not str(text).strip():
        raise typer.BadParameter("is empty; give a path, or leave the option out")
    return Path(text)


def with_flags(
    leave_out: frozenset[str] = frozenset(),
    table: Mapping[str, tuple[Any, str, str]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give `command(**flags)` the signature that typer reads; a flag that is not given is None."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        hints: dict[str, Any] = {}
        for name, (kind, panel, text) in (FLAGS if table is None else table).items():
            if name in leave_out:
                continue
            flag = "--" + name.replace("_", "-")
            if kind is bool and text.endswith("[on]"):
                flag += f"/--no-{flag.removeprefix('--')}"
            more: dict[str, Any] = {"parser": as_path, "metavar": "<path>"} if kind is Path else {}
            hint = Annotated[
                kind | None, typer.Option(flag, help=text, show_default=False, rich_help_panel=panel, **more)
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
