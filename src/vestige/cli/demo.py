"""`vestige demo`: the main job on this machine, with a real model, in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vestige.cli.flags import as_path
from vestige.cli.guard import guarded, resumable, say
from vestige.cli.panels import AUDITS

if TYPE_CHECKING:
    from vestige.options import AuditOptions

__all__ = ["register"]

MODEL = "local/qwen2.5-coder-0.5b"
VERIFIED_PAIRS = 2
"""Of the verification: enough to see how one goes, and to see a deletion fail where it does."""
ATTACKED_USERS = 2
"""Of the attacks at the end, with three statements told and three kept back of each."""


def _prepare(model: str, embedder: str, quiet: bool) -> None:
    """Fetch what the demo needs, so that nothing is missing once it runs."""
    from vestige.cli.catalog import pull_models

    wanted = [
        name.removeprefix("local/")
        for name in (model, embedder)
        if name.startswith("local/") or name == "minilm"
    ]
    pull_models(wanted, quiet=quiet)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(rich_help_panel=AUDITS)
    @guarded
    def demo(
        model: Annotated[str, typer.Option("--model", help="What the agent answers with.")] = MODEL,
        embedder: Annotated[str, typer.Option("--embedder", help="The memory's embedder.")] = "minilm",
        instances: Annotated[int, typer.Option("--instances", min=1, help="Synthetic users.")] = 3,
        seed: Annotated[int, typer.Option("--seed", min=0, help="Every random draw comes from it.")] = 1,
        out: Annotated[
            Path,
            typer.Option("--out", parser=as_path, metavar="<path>", help="Where the runs and the report go."),
        ] = Path("runs/demo"),
        concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Episodes at a time.")] = 4,
        quiet: Annotated[bool, typer.Option("--quiet", help="Print the report's path alone.")] = False,
    ) -> None:
        """Audit a reference memory with a model on this machine; ends with the report's path.

        Plants a secret in the conversations of a few made-up users, measures what the memory leaks and what the leak
        buys, then deletes the secret in five ways and looks at what each leaves behind. At the end one of these ways is
        verified against twins that never saw the secret, with as many pairs as a demo has time for, and it says what
        so few can show. Last it asks who can tell what is remembered, without a defence and behind one. Run again, it
        continues where it stopped.
        """
        from vestige.options import options_from

        _prepare(model, embedder, quiet)
        common: dict[str, Any] = {
            "data": "synthetic",
            "model": model,
            "embedder": embedder,
            "instances": instances,
            "seed": seed,
            "concurrency": concurrency,
            "cache": out / "responses.sqlite",
            "resume": True,
            "quiet": quiet,
        }
        runs = [
            ("frontier", options_from({**common, "out": out / "frontier", "k": "1,6", "levels": "0,1,2"})),
            ("residue", options_from({**common, "out": out / "residue", "k": "6", "levels": "0,1"})),
        ]
        folders = [out / "frontier", out / "residue", out / "verification", out / "defence"]
        with resumable(folders, "run the demo again, and it continues"):
            page = _run_all(runs, out, quiet)
            _verify({**common, "out": out / "verification"})
            _defend({**common, "out": out / "defence"})
        if not quiet:
            say("report:")
        typer.echo(str(page))


def _verify(common: dict[str, Any]) -> None:
    """A short verification of a deletion that keeps its summaries."""
    from vestige.cli.verify import run_verification
    from vestige.options import checked_options
    from vestige.verify_options import VERIFY_LISTS, VerifyOptions

    given = {name: value for name, value in common.items() if name != "instances"}
    options = checked_options(
        VerifyOptions,
        VERIFY_LISTS,
        {
            **given,
            "pairs": VERIFIED_PAIRS,
            "targets": "nonce",
            "conditions": "never_exposed,exposed_unchanged,exposed_removed",
            "level": 1,
            "mode": "raw_only",
            "recall_probes": 1,
            "semantic_probes": 0,
            "structured_probes": False,
            "reintroduction": False,
            "max_tokens": 60,
        },
    )
    run_verification(options)


def _defend(common: dict[str, Any]) -> None:
    """Membership inference on a few statements, of the agent alone and behind a paragraph in its prompt."""
    from vestige.cli.defend import run_defend
    from vestige.defend_options import DEFEND_LISTS, DefendOptions
    from vestige.options import checked_options

    given = {name: value for name, value in common.items() if name not in ("instances", "data")}
    options = checked_options(
        DefendOptions,
        DEFEND_LISTS,
        {
            **given,
            "defences": ("prompt:1",),
            "data": f"synthetic:{ATTACKED_USERS}",
            "questions_data": f"synthetic:{ATTACKED_USERS}",
            "per_user": 3,
            "attacks": ("mrmmia",),
            "questions": 2,
            "max_tokens": 60,
        },
    )
    run_defend(options)


def _run_all(runs: list[tuple[str, AuditOptions]], out: Path, quiet: bool) -> Path:
    from vestige import studying, workflow
    from vestige.cli.audits import say_exclusions
    from vestige.cli.stored import lines_of, report_of

    stored: list[Any] = []
    for audit, options in runs:
        planned = studying.make_plan(audit, options)
        folder, _ = workflow.run(planned, options)
        findings = workflow.score(folder)
        result = workflow.conclude(folder, findings)
        say_exclusions(result)
        stored.append((folder, findings, result))
        if not quiet:
            for line in lines_of(result):
                say(line)
    return report_of(stored, out, show=False, title="Vestige demo").html
