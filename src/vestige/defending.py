"""`vestige defend` as calls: one membership audit and one frontier audit an arm, in one folder.

OUT/defence.json            the arms, with the hashes of their plans; its own hash names the comparison
OUT/arms/LABEL/membership   a run like any other, with its report
OUT/arms/LABEL/frontier     likewise
OUT/result.json, report.html, report.md, report.json
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from vestige import attacking, studying, workflow
from vestige.agents.opening import check_agent
from vestige.audits.defence.conclusion import ArmRuns
from vestige.audits.defence.conclusion import conclude as concluded
from vestige.audits.defence.results import DefenceResult
from vestige.audits.membership.conclusion import scored_of, sizes_of
from vestige.audits.membership.evidence import Table
from vestige.audits.membership.results import MembershipResult
from vestige.audits.results import FrontierResult
from vestige.defences.spec import DefenceSpec
from vestige.defend_options import DefendOptions
from vestige.errors import ConfigError, IntegrityError, complaint
from vestige.records import Record
from vestige.runs.folder import RunFolder, write_atomic
from vestige.runs.plan import canonical_json
from vestige.services import Models, check_models
from vestige.workflow import Planned

__all__ = ["PLAN", "Arm", "Comparison", "Written", "finish", "is_comparison", "make_plans", "run"]

PLAN = "defence.json"
MAX_PLAN = 1 << 20
"""Bytes of it."""


class Arm(Record):
    """One arm, as the comparison's plan holds it."""

    label: str
    defence: DefenceSpec | None = None
    membership: str
    """SHA-256 of the plan."""
    frontier: str | None = None
    """Likewise; None: the agent cannot be asked."""
    not_asked: str = ""
    """Why not."""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.label.replace(":", "-")


class Comparison(Record):
    """What is fixed before the first exchange."""

    schema_version: Literal[1] = 1
    level: int
    k: int
    arms: tuple[Arm, ...]

    @property
    def sha256(self) -> str:
        """Its name."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json"))).hexdigest()


@dataclass(frozen=True)
class Plans:
    """A comparison with the plans of its arms."""

    comparison: Comparison
    membership: list[Planned]
    frontier: list[Planned | None]

    @property
    def exchanges(self) -> int:
        """At most so many."""
        return sum(p.exchanges for p in (*self.membership, *self.frontier) if p is not None)


def make_plans(options: DefendOptions) -> Plans:
    """Fix every arm.

    Raises:
        ConfigError: An option cannot be met.
        DataError: The data cannot be read.
    """
    why = ""
    try:
        check_agent(options.agent, studying.NEEDS["frontier"])
    except ConfigError as error:
        check_agent(options.agent)  # not there at all: that is the user's mistake
        why = f"the frontier audit cannot ask this agent: {error}"
    arms: list[Arm] = []
    members: list[Planned] = []
    asked: list[Planned | None] = []
    nowhere = Path("unused")
    data = dataset = None
    for spec in (None, *options.specs()):
        chosen = options.membership(spec, nowhere, nowhere)
        data = data or attacking.load_data(chosen)
        members.append(attacking.make_plan(chosen, data))
        if not why:
            own = options.frontier(spec, nowhere, nowhere)
            dataset = dataset or studying.load_data(own)
            asked.append(studying.make_plan("frontier", own, dataset))
        else:
            asked.append(None)
        last = asked[-1]
        arms.append(
            Arm(
                label="none" if spec is None else str(spec),
                defence=spec,
                membership=members[-1].plan.sha256,
                frontier=None if last is None else last.plan.sha256,
                not_asked=why,
            )
        )
    return Plans(Comparison(level=options.level, k=options.k, arms=tuple(arms)), members, asked)


def run(plans: Plans, options: DefendOptions, *, on_arm: Callable[[Path, str], None] | None = None) -> Path:
    """Run every arm, in the folder that the options name; what is done already is not done again.

    Raises:
        ConfigError: The folder holds something else.
        VestigeError: As `vestige.workflow.run`.
    """
    out = options.out or Path("runs") / f"defence-{plans.comparison.sha256[:8]}"
    wanted = canonical_json(plans.comparison.model_dump(mode="json")) + b"\n"
    plan = out / PLAN
    if plan.exists():
        if not options.resume:
            raise ConfigError(
                f"--out {out}: holds a comparison already; continue it with --resume, or name another"
            )
        if plan.read_bytes() != wanted:
            raise ConfigError(
                f"--out {out}: holds the comparison {read_plan(out).sha256[:12]}, not {plans.comparison.sha256[:12]}: "
                "the options differ; name another folder"
            )
    elif out.exists() and any(out.iterdir()):
        raise ConfigError(f"--out {out}: not empty and holds no comparison; name another folder")
    if not plan.exists():
        check_models(plans.membership[0].plan)
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(plan, wanted)
    cache = options.cache or out / "responses.sqlite"
    asyncio.run(_run_arms(plans, options, out, cache, on_arm))
    return out


async def _run_arms(
    plans: Plans, options: DefendOptions, out: Path, cache: Path, on_arm: Callable[[Path, str], None] | None
) -> None:
    """One arm after the other, with the same open models: what two arms ask alike is computed once."""
    models = Models(plans.membership[0].plan, cache=cache, concurrency=options.concurrency)
    try:
        await models.start()
        for arm, members, asked in zip(plans.comparison.arms, plans.membership, plans.frontier, strict=True):
            home = out / "arms" / arm.folder
            if on_arm is not None:
                on_arm(out, arm.label)
            await workflow.run_shared(
                members, options.membership(arm.defence, home / "membership", cache), models
            )
            if asked is not None:
                await workflow.run_shared(
                    asked, options.frontier(arm.defence, home / "frontier", cache), models
                )
    finally:
        await models.close()


def is_comparison(folder: Path) -> bool:
    """Whether a folder is one of `vestige defend`."""
    return (folder / PLAN).is_file() and not (folder / "plan.json").exists()


def read_plan(folder: Path) -> Comparison:
    """The stored plan of a comparison.

    Raises:
        IntegrityError: It cannot be read.
    """
    path = folder / PLAN
    if path.stat().st_size > MAX_PLAN:
        raise IntegrityError(f"{path}: larger than {MAX_PLAN} bytes")
    try:
        found = Comparison.model_validate_json(path.read_bytes())
    except (ValidationError, ConfigError) as error:
        why = complaint(error) if isinstance(error, ValidationError) else str(error)
        raise IntegrityError(f"{path}: not a comparison of defences: {why}") from None
    labels = ["none" if arm.defence is None else str(arm.defence) for arm in found.arms]
    if not labels or labels[0] != "none" or labels.count("none") > 1 or len(set(labels)) < len(labels):
        raise IntegrityError(
            f"{path}: not a comparison of defences: the agent alone stands first, and each arm once"
        )
    for arm, label in zip(found.arms, labels, strict=True):
        if arm.label != label:
            raise IntegrityError(f"{path}: an arm has the name {arm.label[:40]!r} and the defence {label}")
    return found


@dataclass(frozen=True)
class Written:
    """A comparison with what was written of it."""

    result: DefenceResult
    report: Path


def finish(folder: Path, *, out: Path | None = None, title: str | None = None) -> Written:
    """Score and conclude every arm of a stored comparison, and write its report and those of its arms.

    Raises:
        Unassessable: An arm has no completed candidate.
        IntegrityError: A record cannot be read, or an arm's plan is another than the comparison names.
    """
    from vestige.report.defence import write_defence

    comparison = read_plan(folder)
    runs = [_arm_runs(folder / "arms" / arm.folder, arm) for arm in comparison.arms]
    result = concluded(runs, comparison.sha256, comparison.k, comparison.level)
    write_atomic(folder / "result.json", _json(result.model_dump(mode="json")))
    return Written(result, write_defence(result, out or folder, title=title))


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _arm_runs(home: Path, arm: Arm) -> ArmRuns:
    if "/" in arm.folder or arm.folder in ("", ".", ".."):
        raise IntegrityError(f"{PLAN}: an arm has the name {arm.folder[:40]!r}")
    members = _opened(home / "membership", arm.membership)
    if members.plan.agent.defence != arm.defence:
        raise IntegrityError(f"{home.name}: was not run behind the defence that {PLAN} names")
    written = attacking.finish(members)
    table = Table.of(workflow.score(members), sizes_of(written.result.settings))
    seed = int(members.plan_sha256[:13], 16)
    asked: FrontierResult | None = None
    if arm.frontier is not None:
        from vestige.report import write
        from vestige.report.gather import gather

        folder = _opened(home / "frontier", arm.frontier)
        findings = workflow.score(folder)
        found = workflow.conclude(folder, findings)
        assert isinstance(found, FrontierResult)
        write([found], exchanges=gather(folder, findings), folder=folder.path)
        asked = found
    assert isinstance(written.result, MembershipResult)
    facts = members.plan.settings.get("defence") or {}
    return ArmRuns(
        spec=arm.defence,
        membership=written.result,
        scored=scored_of(table, written.result.settings, seed, written.result.parts),
        frontier=asked,
        not_asked=arm.not_asked,
        facts={str(k): str(v) for k, v in facts.items() if k not in ("defence", "does")},
    )


def _opened(path: Path, sha256: str) -> RunFolder:
    folder = RunFolder.open(path)
    if folder.plan_sha256 != sha256:
        raise IntegrityError(
            f"{path}: holds the plan {folder.plan_sha256[:12]}, and {PLAN} names {sha256[:12]}"
        )
    return folder
