"""plan → run → score → conclude → report: how a command goes through a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from pydantic import ValidationError

from vestige.agents.opening import AGENTS
from vestige.audits import frontier, residue
from vestige.audits.conclusion import check_plan, completed
from vestige.audits.findings import Finding, write_findings
from vestige.audits.membership.results import MembershipResult
from vestige.audits.results import FrontierResult, ResidueResult
from vestige.audits.verification.results import VerificationResult
from vestige.errors import ConfigError, IntegrityError, complaint
from vestige.hosts import write_host
from vestige.models import catalog
from vestige.runs.capture import captured
from vestige.runs.engine import RunSummary, execute
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.progress import progress
from vestige.runs.steps import Ask, AskAbout, AskAdaptively, Step
from vestige.runs.store import read_attempts

if TYPE_CHECKING:
    from vestige.services import Models

__all__ = [
    "Planned",
    "RunOptions",
    "conclude",
    "default_out",
    "model_identity",
    "run",
    "run_shared",
    "score",
    "stored_result",
]

AGENT_LOG = "agent.log"
"""What an agent printed, in the run's folder; in no packet."""

Result = FrontierResult | ResidueResult | VerificationResult | MembershipResult
KINDS: dict[str, type[Result]] = {
    "frontier": FrontierResult,
    "residue": ResidueResult,
    "verification": VerificationResult,
    "membership": MembershipResult,
}
"""Result types by the name of the audit in a plan."""


class RunOptions(Protocol):
    """How a plan is run; none of it changes what is measured."""

    @property
    def out(self) -> Path | None:
        """The run's folder."""
        ...

    @property
    def resume(self) -> bool:
        """Continue a run that lies there."""
        ...

    @property
    def cache(self) -> Path | None:
        """The response cache; None: in the run's folder."""
        ...

    @property
    def concurrency(self) -> int:
        """Episodes, or pairs, at a time."""
        ...

    @property
    def quiet(self) -> bool:
        """No progress."""
        ...


@dataclass(frozen=True)
class Planned:
    """A plan with the payloads it names."""

    plan: Plan
    blobs: dict[str, bytes]
    notes: tuple[str, ...] = ()
    """What a reader must know of how the instances were made."""

    @property
    def exchanges(self) -> int:
        """Probes the plan puts to agents."""
        return sum(_exchanges(step) for e in self.plan.episodes for step in e.steps)


def _exchanges(step: Step) -> int:
    """How many exchanges a step makes; an adaptive one asks its own question and one a round."""
    match step:
        case Ask():
            return 1
        case AskAdaptively():
            return step.rounds + 1
        case AskAbout():
            return step.expected
        case _:
            return 0


def model_identity(model: str) -> str:
    """A local model's name with its file's hash; any other's name."""
    return f"{model}@{catalog.entry(model).sha256}" if model.startswith("local/") else model


def default_out(plan: Plan) -> Path:
    """Where a run stands when nobody says."""
    return Path("runs") / f"{plan.audit}-{plan.sha256[:8]}"


def run(
    planned: Planned,
    options: RunOptions,
    *,
    models: Models | None = None,
    on_folder: Callable[[Path], None] | None = None,
    capture: bool = False,
    stop: Callable[[], str | None] | None = None,
) -> tuple[RunFolder, RunSummary]:
    """Run a plan to its end, in the folder that the options name.

    Args:
        planned: The plan.
        options: How to run it; they do not change what is measured.
        models: Models that are open already; None: open them, and close them afterwards.
        on_folder: Called with the folder once it is made.
        capture: Send what this process prints meanwhile to `agent.log` in the folder: an agent under test may print.
        stop: See `vestige.runs.engine.execute`.

    Raises:
        VestigeError: See `execute`; what was recorded stays and `--resume` continues it.
    """
    out = options.out or default_out(planned.plan)
    if models is None and not (out / "plan.json").exists():
        from vestige.services import check_models

        check_models(planned.plan)
    folder = RunFolder.create(out, planned.plan, planned.blobs, resume=options.resume)
    try:
        if on_folder is not None:
            on_folder(folder.path)
        if capture:
            with captured(folder.path / AGENT_LOG) as terminal:
                summary = asyncio.run(_execute(planned, folder, options, models, stop, terminal))
        else:
            summary = asyncio.run(_execute(planned, folder, options, models, stop))
    finally:
        folder.close()
    return folder, summary


async def run_shared(planned: Planned, options: RunOptions, models: Models) -> None:
    """As `run`, inside an event loop in which several plans share models that are open already."""
    folder = RunFolder.create(
        options.out or default_out(planned.plan), planned.plan, planned.blobs, resume=options.resume
    )
    try:
        await _execute(planned, folder, options, models, None)
    finally:
        folder.close()


async def _execute(
    planned: Planned,
    folder: RunFolder,
    options: RunOptions,
    models: Models | None,
    stop: Callable[[], str | None] | None,
    terminal: TextIO | None = None,
) -> RunSummary:
    from vestige.services import Models

    before = read_attempts(folder.path).done
    if all(e.id in before for e in planned.plan.episodes):
        return RunSummary(skipped=len(planned.plan.episodes))
    own = models or Models(
        planned.plan, cache=options.cache or folder.path / "responses.sqlite", concurrency=options.concurrency
    )
    began = time.time()
    try:
        if models is None:
            await own.start()
        plan = planned.plan
        title = f"{plan.audit} {plan.models.agent if plan.agent.name in AGENTS else plan.agent.name}"
        done = sum(_exchanges(step) for e in planned.plan.episodes if e.id in before for step in e.steps)
        with progress(title, planned.exchanges, done=done, quiet=options.quiet, stream=terminal) as on_event:
            summary = await execute(
                planned.plan,
                folder,
                own.services(planned.plan, planned.blobs),
                concurrency=options.concurrency,
                on_event=on_event,
                stop=stop,
            )
    finally:
        if models is None:
            await own.close()
    if summary.done or summary.failed:
        write_host(folder, began, own.facts(), summary)
    return summary


def score(folder: RunFolder) -> Collection[Finding]:
    """Score a stored run, without any model, and write its findings; those of a membership run are not held."""
    check_plan(folder, read_attempts(folder.path))
    try:
        found = _score(folder) if folder.plan.audit == "membership" else list(_score(folder))
        stored = write_findings(folder, found)
    except (KeyError, TypeError, ValidationError) as error:
        why = complaint(error) if isinstance(error, ValidationError) else type(error).__name__
        raise IntegrityError(f"{folder.path}: a record is not one that this version writes ({why})") from None
    return found if isinstance(found, list) else stored


def _score(folder: RunFolder) -> Iterator[Finding]:
    plan = folder.plan
    match plan.audit:
        case "frontier":
            return frontier.score(plan, folder)
        case "residue":
            return residue.score(plan, folder)
        case "verification":
            from vestige.audits.verification import scoring

            return scoring.score(plan, folder)
        case "membership":
            from vestige.audits.membership import scoring as candidates

            return candidates.score(plan, folder)
        case other:
            raise IntegrityError(f"plan.json: audit {other!r} is not one this version knows")


def conclude(folder: RunFolder, findings: Collection[Finding] | None = None) -> Result:
    """Compute the result of a stored run and write `result.json`.

    Raises:
        Unassessable: No instance was completed.
    """
    findings = score(folder) if findings is None else findings
    result: Result
    match folder.plan.audit:
        case "verification":
            from vestige.audits.verification import conclusion, reading

            result = conclusion.conclude(reading.brief_of(folder.plan, folder), findings)
        case "membership":
            from vestige.audits.membership import conclusion as ranked

            result = ranked.conclude(folder.plan, folder, findings)
        case "frontier":
            result = frontier.conclude(folder.plan, completed(folder), findings)
        case _:
            result = residue.conclude(folder.plan, completed(folder), findings)
    folder.write_json("result.json", result.model_dump(mode="json"))
    return result


def stored_result(folder: RunFolder) -> Result:
    """The result that was written before.

    Raises:
        ConfigError: There is none yet.
        IntegrityError: It cannot be read.
    """
    path = folder.path / "result.json"
    kind = KINDS.get(folder.plan.audit)
    if kind is None:
        raise IntegrityError(f"plan.json: audit {folder.plan.audit!r} is not one this version knows")
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(
            f"{folder.path}: no result yet; run `vestige conclude {folder.path}` first"
        ) from None
    except ValidationError as error:
        raise IntegrityError(f"{path}: not a result: {complaint(error)}") from None
