"""The audits as functions: `vestige.frontier(...)`, `vestige.residue(...)`, `vestige.verify(...)` and so on."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vestige import studying, workflow
from vestige.audits.defence.results import DefenceResult
from vestige.audits.membership.results import MembershipResult
from vestige.audits.results import FrontierResult, ResidueResult
from vestige.audits.verification.results import VerificationResult
from vestige.datasets.instance import Dataset
from vestige.datasets.units import UnitDataset
from vestige.defend_options import DEFEND_LISTS, DefendOptions
from vestige.membership_options import MEMBERSHIP_LISTS, MembershipOptions
from vestige.options import AuditOptions, checked_options, options_from
from vestige.verify_options import VERIFY_LISTS, VerifyOptions

__all__ = ["defend", "frontier", "membership", "residue", "verify"]

T = TypeVar("T")


def frontier(data: str | Path | Dataset = "synthetic", **options: Any) -> FrontierResult:
    """Measure the privacy–utility frontier of an agent's memory.

    Args:
        data: A path, a name (`longmemeval:oracle`, `locomo`, `synthetic:50`), or a loaded `Dataset`.
        **options: As on the command line (`vestige.options.AuditOptions`): `model`, `embedder`, `seed`,
            `instances`, `levels`, `k`, `probes`, `tau`, `granularity`, `horizon`, `judge`, `out`, `resume`, …
            Without `out` the run is kept in a temporary folder and deleted afterwards.

    Returns:
        The typed result; with `out`, the run folder holds the same as `result.json`.

    Raises:
        UserError: An option or the data cannot be used.
        ModelError: A model failed and retries did not mend it.
        StorageError: The disk is full.
        Unassessable: No instance was completed.
    """
    result = _audit("frontier", data, options)
    assert isinstance(result, FrontierResult)
    return result


def residue(data: str | Path | Dataset = "synthetic", **options: Any) -> ResidueResult:
    """Measure what each way of deleting leaves behind, tier by tier.

    Args:
        data: As for `frontier`.
        **options: As for `frontier`, and `modes` and `supersede`.

    Returns:
        The typed result.

    Raises:
        VestigeError: As `frontier`.
    """
    result = _audit("residue", data, options)
    assert isinstance(result, ResidueResult)
    return result


def verify(
    agent: Any = "reference", data: str | Path | Dataset = "synthetic", **options: Any
) -> VerificationResult:
    """Verify that an agent forgets: matched episodes after a removal against a twin that never saw the target.

    Args:
        agent: `reference`, `FILE.py:NAME`, `package.module:NAME`, an HTTP agent's `FILE.toml`, or the class (or a
            function that makes an agent) itself.
        data: What the fixtures are made of: a path, a name, or a loaded `Dataset`.
        **options: As on the command line (`vestige.verify_options.VerifyOptions`): `pairs`, `targets`, `claims`,
            `mode`, `level`, `margin`, `out`, …. With `out` the run's folder holds report and packet too; without, the
            run is deleted afterwards.

    Returns:
        The typed result; its `verdict` is `fails`, `limited_evidence` or `unassessable`.

    Raises:
        UserError: An option, the agent or the data cannot be used.
        ModelError: A model cannot be reached at all.
        StorageError: The disk is full.
    """
    from vestige import verifying
    from vestige.agents.source import name_of

    dataset = data if isinstance(data, Dataset) else None
    name = data.name if isinstance(data, Dataset) else str(data)
    given = {
        "quiet": True,
        **options,
        "data": name,
        "agent": agent if isinstance(agent, str) else name_of(agent),
    }
    checked = checked_options(VerifyOptions, VERIFY_LISTS, given)

    def go(chosen: VerifyOptions) -> VerificationResult:
        planned = verifying.make_plan(chosen, dataset)
        folder, _ = workflow.run(planned, chosen)
        if options.get("out") is None:
            result = workflow.conclude(folder)
            assert isinstance(result, VerificationResult)
            return result
        packet = verifying.PacketOptions(sign=chosen.sign, recipient=chosen.recipient, zip=chosen.zip)
        return verifying.finish(folder, show_targets=chosen.show_targets, packet=packet).result

    return _kept_or_not(go, checked)


def membership(
    agent: Any = "reference", data: str | Path | UnitDataset = "synthetic:20", **options: Any
) -> MembershipResult:
    """Find out whether somebody who talks to an agent can tell whether a statement is in its memory.

    Args:
        agent: As for `verify`.
        data: Statements of users: a path, a name (`locomo`, `synthetic:N`), or a loaded `UnitDataset`.
        **options: As on the command line (`vestige.membership_options.MembershipOptions`): `attacks`, `questions`,
            `users`, `per_user`, `auxiliary`, `budget`, `out`, …. With `out` the run's folder holds report and scores
            too; without, the run is deleted afterwards.

    Returns:
        The typed result.

    Raises:
        UserError: An option, the agent or the data cannot be used.
        ModelError: A model cannot be reached at all.
        StorageError: The disk is full.
        Unassessable: No candidate was completed.
    """
    from vestige import attacking
    from vestige.agents.source import name_of

    loaded = data if isinstance(data, UnitDataset) else None
    given = {
        "quiet": True,
        **options,
        "data": data.name if isinstance(data, UnitDataset) else str(data),
        "agent": agent if isinstance(agent, str) else name_of(agent),
    }
    checked = checked_options(MembershipOptions, MEMBERSHIP_LISTS, given)

    def go(chosen: MembershipOptions) -> MembershipResult:
        planned = attacking.make_plan(chosen, loaded)
        folder, _ = workflow.run(planned, chosen, stop=attacking.stopper(chosen.seconds))
        if options.get("out") is None:
            result = workflow.conclude(folder)
            assert isinstance(result, MembershipResult)
            return result
        return attacking.finish(folder).result

    return _kept_or_not(go, checked)


def defend(agent: Any = "reference", defences: Sequence[str] | None = None, **options: Any) -> DefenceResult:
    """Measure what defences of an agent's memory buy, and what they cost.

    Args:
        agent: As for `verify`.
        defences: Each NAME, for every strength of its sweep, or NAME:STRENGTH (`vestige.defences.spec.DEFENCES`).
        **options: As on the command line (`vestige.defend_options.DefendOptions`): `data`, `questions_data`, `attacks`,
            `users`, `per_user`, `k`, `level`, `out`, …. With `out` the folder holds every arm's runs and reports too;
            without, they are deleted afterwards.

    Returns:
        The typed result: the agent alone, and an arm for each defence and strength.

    Raises:
        VestigeError: As `membership`.
    """
    from vestige import defending
    from vestige.agents.source import name_of

    given = {"quiet": True, **options, "agent": agent if isinstance(agent, str) else name_of(agent)}
    if defences is not None:
        given["defences"] = tuple(defences)
    checked = checked_options(DefendOptions, DEFEND_LISTS, given)

    def go(chosen: DefendOptions) -> DefenceResult:
        return defending.finish(defending.run(defending.make_plans(chosen), chosen)).result

    return _kept_or_not(go, checked)


def _audit(audit: str, data: str | Path | Dataset, given: dict[str, Any]) -> FrontierResult | ResidueResult:
    dataset = data if isinstance(data, Dataset) else None
    name = data.name if isinstance(data, Dataset) else str(data)
    options = options_from({"quiet": True, **given, "data": name})

    def go(checked: AuditOptions) -> FrontierResult | ResidueResult:
        planned = studying.make_plan(audit, checked, dataset)
        folder, _ = workflow.run(planned, checked)
        result = workflow.conclude(folder)
        assert isinstance(result, FrontierResult | ResidueResult)
        return result

    return _kept_or_not(go, options)


Options = TypeVar("Options", AuditOptions, VerifyOptions, MembershipOptions, DefendOptions)


def _kept_or_not(go: Callable[[Options], T], options: Options) -> T:
    """Run in the folder that the options name, or in one that is deleted afterwards."""
    if options.out is not None:
        return _outside_a_loop(lambda: go(options))
    with tempfile.TemporaryDirectory(prefix="vestige-") as home:
        return _outside_a_loop(lambda: go(options.model_copy(update={"out": Path(home) / "run"})))


def _outside_a_loop(call: Callable[[], T]) -> T:
    """Call here, or in a thread of its own where an event loop runs already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(call())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
